"""The observer: observes the objects of stacks, compares them with what was applied, records drift and asks for repairs.

    service      the loop of an observer: takes due stacks, then observe, compare, record, repair for each
    observe      reads reality through the types, within a rate limit
    compare      turns what a type returned into a stored Observation (also used by the engine's steps)
    record       writes observations and drift events, and decides with `repair` what is repaired
    repair       the breaker of each resource, and the repair that is asked for
    watch_state  the policy, mode and repair records that hold for a stack
    policies     policy of a resource and intervals; pure
    rate_limit   calls per second, by project and type
    hints        notifications about reality from the bus

The engine and everything above it may import this package; it imports the store, planning and resources.
"""
