"""Base classes of types whose object is a stack: nested stacks and groups of members."""
