"""Units of work for sessions of browsers and the one-time codes that begin them. Ids are hashes."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from isotherm.store import tables as t
from isotherm.store.database import sealing

_OF = t.page_sessions.c
# Most rows that are over and deleted with one new row.
_SWEPT = 100


class PageSession(NamedTuple):
    """One session, with its token opened."""

    project: str
    token: str
    until: float


def add(connection: sa.Connection, id_: str, session: PageSession, now: float, *, is_code: bool = False) -> None:
    """Store a session or a code, and delete some that are over."""
    over = connection.execute(sa.select(_OF.id).where(_OF.until <= now).limit(_SWEPT)).scalars().all()
    connection.execute(sa.delete(t.page_sessions).where(_OF.id.in_(over)))
    connection.execute(sa.insert(t.page_sessions).values(
        id=id_, is_code=is_code, project=session.project, created_at=now, until=session.until,
        token=sealing.of(connection).seal(session.token, "token", id_, session.project)))


def redeem(connection: sa.Connection, id_: str, now: float) -> str | None:
    """Delete a code. Return its project if it existed and was not over: of two requests with a code, one gets it."""
    chosen = (_OF.id == id_, _OF.is_code == sa.true())
    project = connection.execute(sa.select(_OF.project).where(*chosen, _OF.until > now)).scalar()
    deleted = connection.execute(sa.delete(t.page_sessions).where(*chosen)).rowcount
    return project if deleted else None


def find(connection: sa.Connection, id_: str, now: float) -> PageSession | None:
    query = sa.select(_OF.project, _OF.token, _OF.until).where(_OF.id == id_, _OF.is_code == sa.false(), _OF.until > now)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return PageSession(row[0], sealing.of(connection).open(row[1], "token", id_, row[0]), row[2])


def end(connection: sa.Connection, id_: str) -> None:
    connection.execute(sa.delete(t.page_sessions).where(_OF.id == id_))
