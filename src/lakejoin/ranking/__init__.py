"""Fused search: one ranked list of tables, whatever kind of join each of them needs."""
