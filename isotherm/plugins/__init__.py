"""Plug-ins: resource types, constraints, functions and lifecycle hooks that other packages bring along.

`installed` finds them, `discover` loads them, `lifecycle` is the interface of hooks on operations. The engine and the
command line call `discover.load` once per process. docs/plugins.md is the guide for authors.
"""
