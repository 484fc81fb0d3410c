"""Which tests run on which database, each exception with its reason: the one place. Every other test passes on all three.

`make test` runs everything on SQLite. On each server it runs the folders of ON_SERVERS, without the modules of ONCE and,
where a test is told on both paths, on the convergence path only. `make test-all` runs all of these folders on servers too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long_form import ALL

ROOT = Path(__file__).parent

# Folders whose tests speak SQL, and why they are asked on each server.
ON_SERVERS: dict[str, str] = {
    "store": "every statement that there is",
    "engine": "which statements meet which in one transaction, and who waits for whom",
    "importing": "rows of another database become rows of ours",
    "api": "lists, filters, orders and pages",
}

# All other folders: why SQLite is enough.
ON_SQLITE: dict[str, str] = {
    "bus": "it has no database",
    "cli": "the command line asks what the API asks, on a file of its own",
    "clients": "they see what the API answers",
    "compat": "it has no database",
    "e2e": "processes are started, killed and replaced; test_torture has a farm of them on each server",
    "openstack": "it is about what types do in a real cloud",
    "plugins": "it has no database",
    "testing": "it is about what types do",
    "fetch": "it has no database",
    "sim": "its database is in memory",
    "tempest": "it sees what the API answers",
    "web": "the page sees what the API answers",
    "unit": "it has no database, or a file that is read for something else",
}

# Why a module in a folder of ON_SERVERS runs on SQLite only, unless this run is the long form.
_REFUSED = "requests are refused, or cut, before they reach a database"
_DECIDED = "policy and identity decide, before and after the same statements that other modules make"
_READ = "it reads templates and types; no statement depends on it"
_TEXTS = "most of it is refused; store/test_texts and engine/test_lengths store texts of any kind"
_TYPES = "it is about what a type does outside; its rows are those of test_life"
ONCE: dict[str, str] = {
    "api/test_abuse": _DECIDED,
    "api/test_abuse_list": "it is about a list of tests",
    "api/test_abuse_secrets": "engine/test_secrets looks into the tables of every database",
    "api/test_abuse_templates": _REFUSED,
    "api/test_forbidden_types": _DECIDED,
    "api/test_generated": _TEXTS,
    "api/test_heatclient": "a client sees what the API answers",
    "api/test_keystone": _DECIDED,
    "api/test_nasty": _TEXTS,
    "api/test_openapi": "it is about a document",
    "api/test_policy": _DECIDED,
    "api/test_remote": "it is about what is fetched",
    "api/test_sockets": _REFUSED,
    "api/test_stack_users": _DECIDED,
    "api/test_transport": _REFUSED,
    "api/test_trusts": _DECIDED,
    "api/test_types": _READ,
    "api/test_unavailable_types": _DECIDED,
    "api/test_validate": _READ,
    "engine/test_any_values": _TYPES,
    "engine/test_http_object": _TYPES,
    "engine/test_local": _TYPES,
    "engine/test_local_files": _TYPES,
    "engine/test_local_processes": _TYPES,
}

# Modules that need a server.
OF_SERVERS: dict[str, str] = {
    "store/test_lost": "there is a way to a server, which can be cut",
    "store/test_open": "several may open a database of a server before it has any table",
}

# By test: why it is about SQLite only.
OF_SQLITE: dict[str, str] = {
    "test_what_is_acknowledged_is_durable": "it asks for SQLite's own settings",
    "test_opening_a_file_that_is_being_created_waits": "servers know no files",
    "test_an_index_leads_to_what_is_due": "it reads SQLite's own words; test_plans asks all of them",
    "test_a_worker_is_woken_for_the_operations_of_others": "it listens to the file; elsewhere the bus carries the news",
}


def is_apart(item: pytest.Item, on: str) -> bool:
    """Tell whether a test has nothing to say about the database that this run is on."""
    module, test = module_of(item.path), getattr(item, "originalname", item.name)
    if on == "sqlite":
        return module in OF_SERVERS
    return test in OF_SQLITE or (module in ONCE and not ALL)


def module_of(path: Path) -> str:
    """Name a module as the lists do: `api/test_policy`."""
    return path.relative_to(ROOT).with_suffix("").as_posix() if path.is_relative_to(ROOT) else path.stem


def paths(on: str, both: tuple[str, ...]) -> tuple[str, ...]:
    """Choose the paths for tests that are told on both: on a server the first one alone, unless in the long form."""
    return both if on == "sqlite" or ALL else both[:1]
