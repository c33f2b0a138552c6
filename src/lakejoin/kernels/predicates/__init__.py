"""Kernels of join predicates."""
