"""Descriptions of types: the names that Heat has, and the documents that users are shown."""
