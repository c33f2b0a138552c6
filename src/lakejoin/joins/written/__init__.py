"""The join as code to take away: SQL, pandas, polars, PySpark."""
