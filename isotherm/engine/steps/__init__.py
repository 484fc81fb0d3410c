"""The step of a node, from its claim to its report. Both architectures use it; they differ in who claims and settles.

    consider            from a claim to an answer; by kind of node: consider_update, consider_cleanup, consider_visit
    decide              compares wanted, applied and live properties: create, update, replace or nothing
    search, observe     what a search by token and an observation of reality mean to a decision
    outcomes            the answers, as values
    lookup              finds the facts that an answer asks for
    hooks, throttle     what may hold an answer back: hooks of the environment, limits on steps of a type
    act                 runs one step of the operation, within the lease
    reports             masks secrets in a report
    fail_early          reports of nodes that fail before a handler has run
    ports               the ports of an engine, and these parts built from them

`engine.convergence` and `engine.legacy` enter here; `importing` and `engine.admin` use `decide`.
"""
