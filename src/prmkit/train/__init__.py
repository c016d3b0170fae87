"""Learning: a PRM from labelled steps, a policy from step rewards."""
