"""Tests that are about one kind of database, each with the reason: the one list. Every other test passes on all three."""

from __future__ import annotations

import pytest

# Modules that need a server.
OF_SERVERS: dict[str, str] = {
    "test_lost": "there is a way to a server, which can be cut",
    "test_opening": "several may open a database of a server before it has any table",
}

# By test: why it is about SQLite only.
OF_SQLITE: dict[str, str] = {
    "test_what_is_acknowledged_is_durable": "it asks for SQLite's own settings",
    "test_who_opens_a_file_that_somebody_is_just_making_waits": "servers know no files",
    "test_an_index_leads_to_what_is_due": "it reads SQLite's own words; test_plans asks all of them",
    "test_a_worker_hears_what_was_accepted_elsewhere": "it listens to the file; elsewhere the bus carries the news",
}


def is_apart(item: pytest.Item, on: str) -> bool:
    """Whether a test has nothing to say about the database that this run is on."""
    module, test = item.path.stem, getattr(item, "originalname", item.name)
    return module in OF_SERVERS if on == "sqlite" else test in OF_SQLITE
