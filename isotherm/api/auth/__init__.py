"""Authentication of API requests, one module for each way: a token of the home, Keystone, stack users.

Used by `api.app`, through `strategy`.
"""
