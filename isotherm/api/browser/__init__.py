"""Parts for browsers alone: login, sessions, cookies, and the checks against requests of other pages.

`app` wraps the authenticator in a `SessionAuthenticator` and adds the routes of `session_routes`. Clients with a token of
their own are not concerned.
"""
