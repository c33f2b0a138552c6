"""Join two tables: find how they join, make the joined rows and write them."""
