"""Vectors in their compact form: the order that puts near ones together, and boxes around them."""
