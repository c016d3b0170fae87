"""Records on disk: the schema, run folders, and the formats of the field."""
