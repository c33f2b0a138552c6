"""The join graph of a lake: which tables join, what can be reached from a table, pictures."""
