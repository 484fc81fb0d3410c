"""Units of work that open, plan, settle and close operations.

`settle` is the one place that every end of a step passes.
"""
