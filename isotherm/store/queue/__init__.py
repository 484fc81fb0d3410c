"""Units of work of the work queue: a worker claims due nodes; claims of dead workers are released."""
