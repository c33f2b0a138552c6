"""Vectors in compact form: an order that puts near ones together, and boxes around them."""
