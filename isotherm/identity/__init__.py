"""Identity of callers and stacks: the caller of a request, trusts in Keystone, and the credentials stored for stacks.

Used by the API and the engine. Only `trusts` calls Keystone.
"""
