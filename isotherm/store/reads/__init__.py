"""Reads of the store: single rows, pages of lists, live frames, gauges."""
