"""HTTP plumbing that knows nothing of stacks: bodies, query values, links, answers and error envelopes.

Handlers, authentication and policy may use it. It uses nothing else of the API.
"""
