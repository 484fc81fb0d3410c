"""Handlers of the routes that exist for the page beside Heat's API: docs/page-api.md describes them.

Each answers one view by one request. The commands `isotherm why` and `isotherm timeline` show the same.
"""
