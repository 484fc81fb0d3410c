"""The engine in a process: the embedded engine, its home folder and keys, heartbeats and listeners."""
