"""The legacy architecture: one engine holds the lock of a stack and walks its graph in memory.

    engine          takes and renews locks of stacks, and starts a walker for each
    walker          walks the phases of one stack's operations
    graph           the graph of one phase: which nodes are ready
    step            one step of a node, with the parts of `engine.steps`
    recorder        records reports in order, many in one transaction
    fair_semaphore  limits by project and stack, in turns

`engine.process` starts the engine; nothing else enters.
"""
