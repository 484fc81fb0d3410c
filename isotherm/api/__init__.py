"""The Orchestration API v1, as Heat's clients know it, over the Orchestrator.

A request passes `app` (version, authentication, policy), finds its place in the table of `routes`, and is answered by a
handler that gets a `Call`. What goes wrong on the way becomes an envelope in `faults`.
"""
