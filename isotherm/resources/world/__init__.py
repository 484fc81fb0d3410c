"""Ports through which a type reaches the outside: signals, signed URLs, software configs, the local machine."""
