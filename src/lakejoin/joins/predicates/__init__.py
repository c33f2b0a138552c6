"""Join predicates: which columns to equate, by a preference for the result."""
