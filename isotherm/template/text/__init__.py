"""From text to plain data: the YAML reader with positions and limits."""
