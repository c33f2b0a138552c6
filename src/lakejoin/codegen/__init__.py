"""Generate code for a join: SQL, pandas, polars, PySpark."""
