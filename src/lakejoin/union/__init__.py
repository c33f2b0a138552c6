"""Find tables whose rows can be appended to a table, and build the union."""
