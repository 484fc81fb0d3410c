"""Units of work of the delivery of events to sinks: the position of each sink, and the scalings of groups."""
