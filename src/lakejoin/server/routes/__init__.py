"""Routes of the REST API, grouped by what they do."""
