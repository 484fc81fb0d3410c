"""The types of OpenStack's services, and the port through which they call them (`port`).

`table` describes a type; `table_object`, `observed_object` and `driver` make a resource type of the description. `rest`
sends requests through the cloud port of the context, `faults` makes errors of the answers, `finders` turns names into
ids. The types are in a package for each service. `builtin` registers the types, the engine's processes build the port.
"""
