"""Find the columns that may hold the query's values in another form, by rare tokens."""
