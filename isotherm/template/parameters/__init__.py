"""Parameters: their schema, parsing, constraints and values."""
