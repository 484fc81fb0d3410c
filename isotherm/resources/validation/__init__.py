"""Validation of a stack before anything is made: the whole template, properties, constraints, facades."""
