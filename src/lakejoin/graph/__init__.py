"""The join graph of a lake: which columns join with which, what tables reach, and pictures."""
