"""The observer: observes the objects of stacks, compares them with what was applied, records drift, and opens repairs.

`service` is the loop, `observe` calls the types, `record` stores the results and opens repairs, `policies` decides what
follows from drift. Run by `engine.process` and by the command `isotherm observer`.
"""
