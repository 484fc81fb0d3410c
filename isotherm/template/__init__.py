"""The template language: text to definitions. Pure: no I/O, no clock, no logging, nothing but data in and data out.

    document, construct, scalars     text -> plain data, with limits and places
    versions, structure              what each version can say; the shape of a template
    parameters, constraints, ...     schemata and values
    environment, merging             what surrounds a template
    functions/, parse, conditions    calls inside data, and what they are worth
    model, binding, uses             Template, and Bound: what it asks for with these values
    definitions, freezing            one resource: resolved when its time comes, stored until then
"""
