"""Waits until a cloud is ready: each daemon of Nova and Cinder has reported since its start, and Nova knows its host.

The services' own APIs call a daemon up for two minutes after its last report, so the tables are read instead.
"""

from __future__ import annotations

import time
from pathlib import Path

import sqlalchemy as sa

from tools.cloud.daemons import Daemons
from tools.cloud.place import Place
from tools.services import Impossible, processes

_PATIENCE_S = 600.0
_NOVA = ("select count(distinct topic) from nova.services "
         "where last_seen_up >= :since and topic in ('conductor', 'scheduler', 'compute')")
_CINDER = ("select count(distinct topic) from cinder.services "
           "where updated_at >= :since and topic in ('cinder-scheduler', 'cinder-volume', 'cinder-backup')")
_HOSTS = "select count(*) from nova_api.host_mappings"


def now(place: Place) -> str:
    """Return the time of the database, as the daemons write it."""
    return str(_ask(place, "select date_format(utc_timestamp(), '%Y-%m-%d %H:%i:%s')"))


def wait(place: Place, since: str, daemons: Daemons) -> None:
    """Wait until all daemons have reported. Raises Impossible."""
    deadline = time.monotonic() + _PATIENCE_S
    while not (_ask(place, _NOVA, since) == 3 and _ask(place, _CINDER, since) == 3 and _ask(place, _HOSTS)):
        for name in ("nova", "cinder"):
            started = daemons.known()[name]
            if not started.is_alive():
                raise Impossible(f"{name} ended, see {started.log}:\n{processes.tail(Path(started.log))}")
        if time.monotonic() > deadline:
            raise Impossible(f"the daemons of nova or cinder have not reported within {_PATIENCE_S:.0f} s, see {place.log}")
        time.sleep(0.2)


def _ask(place: Place, statement: str, since: str = "") -> object:
    engine = sa.create_engine(f"{place.database}/", poolclass=sa.NullPool)
    with engine.connect() as connection:
        return connection.execute(sa.text(statement), {"since": since} if since else {}).scalar()
