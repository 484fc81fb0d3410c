"""Resource types: their contract, schemas and properties, and the runner that executes their operations.

`contract` is what an author of a type reads. `gate` is the only place that calls the methods of a type. The types
themselves are in `heat`, `http`, `local`, `nested` and `openstack`; `builtin` registers them.
"""
