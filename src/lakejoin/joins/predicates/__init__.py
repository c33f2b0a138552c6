"""Join predicates: which columns to join on, by a preference for the result."""
