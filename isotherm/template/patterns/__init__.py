"""Regular expressions of users, matched in bounded time."""
