"""Which columns should be equated? Join predicates for what is wanted of the result."""
