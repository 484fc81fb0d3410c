"""The users that the service acts for: the caller of a request, the requester for the engine, the credentials of stacks.

`caller` is for the API, `requester` for the engine's services, `credentials` and `delegation` for stacks. Only `trusts`
calls Keystone. Entered by the API, the engine and the command that starts the service.
"""
