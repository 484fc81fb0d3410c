"""The legacy architecture: one engine holds the lock of a stack and walks its graph in memory."""
