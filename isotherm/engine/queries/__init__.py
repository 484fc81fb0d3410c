"""Services of the Orchestrator that read: stacks, resources, events, outputs, inputs, drift. They change no row."""
