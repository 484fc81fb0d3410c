"""Handlers of the API, one module a noun.

Entered from `api.routes` only. A handler gets a `request.call.Call`, asks the Orchestrator and returns a response; it knows
neither SQL nor authentication.
"""
