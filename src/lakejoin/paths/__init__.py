"""Chains of joins that lead from one table to another."""
