"""Fair shares of a worker's capacity among projects and stacks."""
