"""Many seeds: played on all cores, and shrunk where they break an invariant."""
