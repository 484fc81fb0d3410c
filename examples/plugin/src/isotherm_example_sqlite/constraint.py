"""The custom constraint `example.sqlite_name`."""

import re


def check_name(value):
    """Return what is wrong with the name of a table or a column; None if nothing is."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", str(value)) is None:
        return f"'{value}' is not a name: letters, digits and underscores, and no digit first"
    if str(value).lower().startswith("sqlite_"):
        return f"'{value}' begins with sqlite_, which SQLite keeps for itself"
    return None
