"""What the arms of the claims do with one seed, a module a claim."""
