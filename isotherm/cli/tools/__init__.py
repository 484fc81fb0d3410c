"""Commands that are not about one stack: config, sim, import-heat."""
