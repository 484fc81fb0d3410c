"""Dependency graphs, pure: `DependencyTaskGraph`, the plan of a traversal, and a writer for Graphviz.

It knows nothing of resources, stores or time.
"""
