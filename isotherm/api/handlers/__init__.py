"""The handlers of the API, one module per noun.

Only `api.routes` and `api.openapi.fields` import them. A handler gets a `request.call.Call`, calls the Orchestrator and
returns a response. Authentication and the rule of the route have been checked before.
"""
