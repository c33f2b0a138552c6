"""The join graph of a lake: which tables join with which, what they reach, and how it looks."""
