"""Versions of resources under their nodes: the current one, superseded ones, and objects held by several."""
