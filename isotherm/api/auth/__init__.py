"""Who is asking: one module for each way to find out."""
