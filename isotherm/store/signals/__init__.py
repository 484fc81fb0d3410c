"""Units of work that come from outside an operation: signals, hooks, health marks, scaling."""
