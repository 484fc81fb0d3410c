"""Units of work of the observer: what is due, what was seen, what was repaired."""
