"""Make the joined table: from two tables and the columns that they share to rows on disk."""
