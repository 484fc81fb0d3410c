"""The simulator: the production engine in a world made of one seed.

`run` plays a history, `world` replaces time, threads, store and cloud, `histories` draws what clients do, `checks` holds
the invariants, `seeds` runs and shrinks many histories, `scenario` steps scripted ones.
"""
