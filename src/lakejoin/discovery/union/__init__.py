"""Union search: which tables of the lake have rows that could be appended to mine?"""
