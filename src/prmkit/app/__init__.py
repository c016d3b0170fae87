"""What a person meets: the command line, the demo and the report."""
