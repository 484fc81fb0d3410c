"""Checks of the invariants I1 to I19 (docs/invariants.md).

`witness` sees every unit of work and cloud call, and hands them to the checks; each module names the invariants
that it checks. `idle` checks the idle state; `observers` has the checks of the observers. `operation_log` and `evidence`
are what they judge by.
"""
