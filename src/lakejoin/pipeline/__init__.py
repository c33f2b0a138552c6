"""Build an index as plain tasks: plan, read, write segments, maintain. Knows nothing of Spark."""
