"""Fused search: one ranked list of tables, whichever way each of them joins."""
