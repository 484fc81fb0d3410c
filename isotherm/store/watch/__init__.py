"""Units of work of the observer: due stacks, observations and repairs."""
