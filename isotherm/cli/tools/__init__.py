"""Commands beside stacks: config, sim, import-heat."""
