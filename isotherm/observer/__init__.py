"""Looks at what is there, compares it with what was made, tells the difference, and mends it where that is wanted."""
