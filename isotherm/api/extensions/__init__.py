"""Handlers of routes that Heat's API does not have, beyond drift and the page's reads."""
