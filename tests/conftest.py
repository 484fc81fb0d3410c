"""What holds for all tests: a busy machine is no failure, and folders have their databases where this run wants them."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from tests import databases, of_one_database

# How long an example takes says more of the machine than of us.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    databases.start(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are about another database than this run's are left out."""
    apart = {item: of_one_database.is_apart(item, databases.ON) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if apart[item]])
    items[:] = [item for item in items if not apart[item]]


@pytest.hookimpl(specname="pytest_collection_modifyitems", trylast=True)
def restore_order(items: list[pytest.Item]) -> None:
    """Put the tests of a module that says `IN_ORDER` back into the order in which they are written.

    Its tests share a service that takes long to start, and see each other's stacks.
    """
    places: dict[object, list[int]] = {}
    for place, item in enumerate(items):
        if isinstance(item, pytest.Function) and getattr(item.module, "IN_ORDER", False):
            places.setdefault(item.module, []).append(place)
    for found in places.values():
        written = sorted((items[place] for place in found), key=_line)
        for place, item in zip(found, written, strict=True):
            items[place] = item


def _line(item: pytest.Item) -> tuple[int, str]:
    return item.location[1] or 0, item.name


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the seed of the order, which pytest-randomly puts into a header that `-q` leaves out."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None and config.getoption("randomly_reorganize"):
        terminalreporter.write_line(f"order of the tests: --randomly-seed={seed}")


@pytest.fixture(scope="session", autouse=True)
def _databases() -> Iterator[None]:
    with databases.in_force():
        yield


@pytest.fixture(scope="module", autouse=True)
def _databases_of_module(_databases: None) -> Iterator[None]:
    yield
    if databases.ON != "sqlite":
        databases.pool().give_back()


@pytest.fixture(autouse=True)
def _databases_of_test(request: pytest.FixtureRequest) -> Iterator[None]:
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if folder is not None and databases.ON != "sqlite":
        databases.pool().give_back(folder)
