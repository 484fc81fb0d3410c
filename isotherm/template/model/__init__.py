"""Templates as parsed: definitions, conditions, binding with parameters, and the frozen form."""
