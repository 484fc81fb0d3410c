"""HTTP plumbing that knows nothing of stacks: bodies, query values, links, responses and faults.

Handlers, authentication and policy import it. It imports nothing else of the API.
"""
