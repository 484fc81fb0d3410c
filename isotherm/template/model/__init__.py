"""A template once read: definitions, conditions, binding with parameters, and its frozen form."""
