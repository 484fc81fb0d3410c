"""Isotherm compared with the real Heat on the same templates."""
