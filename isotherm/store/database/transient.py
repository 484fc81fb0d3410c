"""Whose fault an error was: the database's, whose next answer may be another, or that of the unit that asked.

Drivers sort errors by classes, and put much into one: that of MariaDB has an unknown column and a server that is going
down for the same, that of PostgreSQL has a session that was ended for its silence among what should never happen.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from isotherm import errors

# The numbers of MariaDB that may pass.
_CONNECTION = (1040, 1043, 1044, 1045, 1049, 1053, 1129, 1130, 1152, *range(1158, 1162), 1184, 1203, 1226, 1698, 1927,
               1928, 1929, *range(2002, 2007), 2012, 2013, 2014, 2027, 2045, 2055, 3169, 4031)
_CONFLICT = (1020, 1205, 1206, 1213, 1614)
_TROUBLE = (1021, 1030, 1036, 1037, 1038, 1041, 1105, 1180, 1181, 1182, 1290, 1317, 1792, 1836, 1969, 3024)
_NUMBERS = frozenset((0, *_CONNECTION, *_CONFLICT, *_TROUBLE))
_TOO_LONG = 1153
# By PostgreSQL's SQLSTATE: it has become one that only reads; we were silent for too long. And its limits, which stay.
_STATES = frozenset(("25006", "25P03"))
_LIMITS = "54"
# SQLite says so of a statement that means nothing to it.
_NONSENSE = 1


def may_pass(error: BaseException) -> bool:
    """Whether the database, rather than the unit, was the reason: then it is worth another try."""
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
    """Whether the server is not, or not any more, the one that may be written to: another connection may find it."""
    if not isinstance(error, sa.exc.DBAPIError):
        return False
    return _number(error.orig) in (1290, 1792, 1836) or getattr(error.orig, "sqlstate", None) == "25006"


def translated(error: sa.exc.DBAPIError) -> Exception:
    """The error as others know it."""
    if may_pass(error):
        return errors.Unavailable(f"the database does not answer: {error.orig}")
    if _number(error.orig) == _TOO_LONG:
        return errors.UserError(f"This is too large for the database: {_text(error.orig)}.", kind="RequestLimitExceeded",
                                hint="Set max_allowed_packet of MariaDB to twice the size of the largest template.")
    return error


def _number(error: Any) -> int | None:
    """The number that MariaDB's driver gives each error."""
    first = next(iter(getattr(error, "args", ())), None)
    return first if isinstance(first, int) else None


def _text(error: Any) -> str:
    return str(error.args[1])
