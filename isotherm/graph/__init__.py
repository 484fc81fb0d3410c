"""Dependency graphs, pure: `DependencyTaskGraph`, the plan of a traversal, and a writer for Graphviz.

The package knows nothing of resources, stores or time.
"""
