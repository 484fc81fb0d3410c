"""Previews of an update: of one resource, of a stack tree, and in the form of Heat's API.

The decisions are those of `engine.steps.decide`, which the worker uses too.
"""
