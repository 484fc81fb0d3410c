"""Histories: requests, shapes of stacks and faults, drawn from a seed."""
