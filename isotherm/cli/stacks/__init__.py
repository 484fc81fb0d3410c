"""Commands on stacks, one module a noun."""
