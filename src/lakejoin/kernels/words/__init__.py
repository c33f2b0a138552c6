"""Kernels of the text encoders: texts to words, words to rows of a table, rows to vectors.

Plain IEEE arithmetic in a fixed order, no fast-math: a text has the same bits on every machine and
in every batch.
"""
