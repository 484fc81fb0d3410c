"""Operators' work on a whole service: housekeeping, migration to convergence."""
