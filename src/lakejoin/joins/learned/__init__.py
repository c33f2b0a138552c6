"""Learned joins (Auto-Join): programs, learned by example, that rewrite values until they match."""
