"""The simulated world: loop, time, chance, processes, threads, store and cloud."""
