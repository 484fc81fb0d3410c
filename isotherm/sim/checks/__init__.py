"""Checks of the invariants I1 to I19 (docs/invariants.md).

`witness` sees every unit of work, commit and cloud call, and hands them to the checks; each module names the invariants
that it checks. `idle` and `observers_idle` check the idle state. `operation_log` and `evidence` are what they judge by.
"""
