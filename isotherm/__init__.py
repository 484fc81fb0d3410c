"""Isotherm: takes a template, makes reality match it, and keeps it matching."""

__version__ = "0.2.0"
