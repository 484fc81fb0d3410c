"""Distinguishes transient errors of the database, which justify a retry, from errors of the unit of work.

The error classes of the drivers are not enough: MariaDB's has an unknown column and a server shutdown in one class, and
PostgreSQL's counts a session that was ended by an idle timeout as an internal error.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from isotherm import errors

# The error numbers of MariaDB that are transient.
_CONNECTION = (1040, 1043, 1044, 1045, 1049, 1053, 1129, 1130, 1152, *range(1158, 1162), 1184, 1203, 1226, 1698, 1927,
               1928, 1929, *range(2002, 2007), 2012, 2013, 2014, 2027, 2045, 2055, 3169, 4031)
_CONFLICT = (1020, 1205, 1206, 1213, 1614)
_TROUBLE = (1021, 1030, 1036, 1037, 1038, 1041, 1105, 1180, 1181, 1182, 1290, 1317, 1792, 1836, 1969, 3024)
_NUMBERS = frozenset((0, *_CONNECTION, *_CONFLICT, *_TROUBLE))
_TOO_LONG = 1153
# SQLSTATEs of PostgreSQL: the server has become read-only; the session was idle in a transaction. Limits are permanent.
_STATES = frozenset(("25006", "25P03"))
_LIMITS = "54"
# SQLITE_ERROR: the statement is wrong.
_NONSENSE = 1


def is_transient(error: BaseException) -> bool:
    """Return whether the database, not the unit of work, caused the error, so that a retry may succeed."""
    if not isinstance(error, sa.exc.DBAPIError):
        return False
    if error.connection_invalidated or isinstance(error, sa.exc.InterfaceError):
        return True
    if (number := _number(error.orig)) is not None:
        return number in _NUMBERS
    state = getattr(error.orig, "sqlstate", None) or ""
    if not isinstance(error, sa.exc.OperationalError):
        return state in _STATES
    return not state.startswith(_LIMITS) and getattr(error.orig, "sqlite_errorcode", None) != _NONSENSE


def is_read_only(error: BaseException) -> bool:
    """Return whether the server only allows reads (any more): another connection may find the primary."""
    if not isinstance(error, sa.exc.DBAPIError):
        return False
    return _number(error.orig) in (1290, 1792, 1836) or getattr(error.orig, "sqlstate", None) == "25006"


def translated(error: sa.exc.DBAPIError) -> Exception:
    """Return the error as an error of the package, if it is one that the user or operator can act on."""
    if is_transient(error):
        return errors.Unavailable(f"the database does not answer: {error.orig}")
    if _number(error.orig) == _TOO_LONG:
        return errors.UserError(f"This is too large for the database: {_text(error.orig)}.", kind="RequestLimitExceeded",
                                hint="Set max_allowed_packet of MariaDB to twice the size of the largest template.")
    return error


def _number(error: Any) -> int | None:
    """Return the error number of MariaDB's driver."""
    first = next(iter(getattr(error, "args", ())), None)
    return first if isinstance(first, int) else None


def _text(error: Any) -> str:
    return str(error.args[1])
