"""The state machines of nodes, operations and versions: every write of these three tables, one module for each.

Each change of state is a function that is registered with the states it leads from and to, and with the invariants that
it keeps (docs/invariants.md). docs/state-machines.md is generated from here. No other module of the store writes to
these tables: tests/store/test_transitions.py checks that, and that the functions do what they declare.
"""
