"""Canonical values, encoded columns and their profiles."""
