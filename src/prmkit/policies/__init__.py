"""Opening a policy by name."""
