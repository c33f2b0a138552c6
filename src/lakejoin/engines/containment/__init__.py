"""Find the columns that contain at least a share of the query: LSH Ensemble."""
