"""Invariants: the witness of every commit and call, and the checks when nothing moves any more."""
