"""Who acts for a stack: the caller of a request, trusts lent to the service, and the credentials kept for stacks.

The API, the engine and the store's units for credentials meet here; Keystone is called by `trusts` only.
"""
