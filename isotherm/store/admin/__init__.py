"""Units of work for operators: purge, resealing with a new key, rows of services."""
