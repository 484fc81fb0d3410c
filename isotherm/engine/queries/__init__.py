"""What can be read of resources, events, outputs, inputs and drift. Nothing here changes a row."""
