"""The home folder of a service, for reading.

The folder holds the database, the keys of sealed texts, the journal of reality for types without a cloud, and the locks of
live processes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from isotherm import config
from isotherm.clock import SystemClock
from isotherm.engine.process import key_file, service_list
from isotherm.engine.process.home_files import CONFIG, DATABASE
from isotherm.engine.queries.follow import StackFollower
from isotherm.engine.queries.lists import EventList, ResourceList
from isotherm.engine.queries.stacks import StackQueries
from isotherm.identity.requester import DEFAULT_PROJECT
from isotherm.store.admin import type_origins
from isotherm.store.database import connect
from isotherm.store.database.writer import ThreadedStore
from isotherm.store.reads import live


class Folder:
    """A home folder, opened for reading its stacks."""

    def __init__(self, path: Path, files: Sequence[Path] = (), cloud_name: str = "") -> None:
        """`files` are more files of options: later files win. `cloud_name` is the entry of clouds.yaml that was chosen.

        Raises UserError if the keys of the database are lost.
        """
        self.path = path
        self.cloud_name = cloud_name
        self.clock = SystemClock()
        self.settings = config.load(path / CONFIG, *files)
        #: The keys; read or created when a text is first sealed, unsealed or signed.
        self.ring = functools.cache(functools.partial(key_file.ring, path, self.settings))
        url = database_url(path, self.settings)
        # The SQLite file; None if a server holds the database.
        self.database = connect.file_of(url)
        self.store = ThreadedStore.open(url, self.ring, max_events=self.settings.max_events_per_stack,
                                        max_history=self.settings.max_operation_history)
        try:
            key_file.check(path, self.settings, url)
        except BaseException:
            self.store.close()
            raise
        self.stacks = StackQueries(self.store, DEFAULT_PROJECT)
        self.resources = ResourceList(self.store, DEFAULT_PROJECT)
        self.events = EventList(self.store, DEFAULT_PROJECT)

    def close(self) -> None:
        self.store.close()

    def type_origins(self) -> dict[str, str]:
        """Return the packages and files that types of plug-ins came from. Blocks: for a process whose loop does not run."""
        return self.store.read_at_start(type_origins.read)

    def follow(self, stack_id: str) -> StackFollower:
        return StackFollower(self.store, self.clock, stack_id)

    async def is_driven(self) -> bool:
        """Return whether a live engine works on the stacks of the folder."""
        return await service_list.is_driven(self)

    async def in_progress(self, besides: Sequence[str] = ()) -> list[str]:
        """Return the names of stacks with an unfinished operation, except `besides`."""
        return await self.store.read(lambda connection: live.others_in_progress(connection, DEFAULT_PROJECT, besides))


def database_url(path: Path, settings: config.Settings) -> str:
    """Return the URL of a folder's database."""
    return settings.database_connection or f"sqlite:///{path / DATABASE}"


def shown_database(path: Path, settings: config.Settings) -> str:
    """Return the URL of a folder's database without its password."""
    return connect.shown(database_url(path, settings))
