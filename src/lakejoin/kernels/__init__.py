"""Array primitives compiled by numba: they see flat arrays only, and no other part of lakejoin."""
