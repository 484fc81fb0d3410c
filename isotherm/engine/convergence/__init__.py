"""The convergence architecture: many workers, no stack lock, every step on its own."""
