"""The convergence architecture: many workers, no stack lock, every step on its own.

    worker            claims due nodes, and considers, begins, acts and reports
    one_by_one        writes the parts of a turn that the database refused as a whole
    snapshot_cleanup  deletes snapshots

`engine.process` and `sim` start workers; nothing else enters.
"""
