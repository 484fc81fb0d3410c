"""Heat's Orchestration API v1, served over the Orchestrator.

A request passes `app` (version, authentication, policy), is matched by the table in `routes`, and is answered by a handler
that gets a `Call`. `http.faults` turns every error into a response.

To add a route: write the handler in `handlers`, add a line to the table in `routes`, a rule in `policy.rules`, and the
fields in `openapi.fields`. Only `isotherm.cli.service` imports this package.
"""
