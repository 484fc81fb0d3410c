"""Isotherm beside the real Heat: the same questions, the same answers."""
