"""What holds for all tests: a busy machine is no failure, and folders have their databases where this run wants them."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Sequence
from typing import TypeVar

import hypothesis
import pytest

from tests import databases, of_one_database

# How long an example takes says more of the machine than of us.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


Item = TypeVar("Item")


def pytest_configure(config: pytest.Config) -> None:
    databases.start(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are about another database than this run's are left out."""
    apart = {item: of_one_database.is_apart(item, databases.ON) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if apart[item]])
    items[:] = [item for item in items if not apart[item]]


@pytest.hookimpl(specname="pytest_collection_modifyitems", trylast=True)
def start_long_first(items: list[pytest.Item]) -> None:
    """Put tests marked `long` at the front of each worker's share, so that no worker begins one when the others are done.

    xdist's `worksteal` gives each worker one share of the list, in its order.
    """
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    items[:] = shares([item for item in items if item.get_closest_marker("long")],
                      [item for item in items if not item.get_closest_marker("long")], count)


@pytest.hookimpl(specname="pytest_collection_finish", trylast=True)
def freeze_collected(session: pytest.Session) -> None:
    """Leave the collected tests out of garbage collections: thousands of them cost a tenth of the processor time."""
    gc.collect()
    gc.freeze()


def shares(first: list[Item], rest: list[Item], count: int) -> list[Item]:
    """Cut a list into `count` shares of the same length (but for one), each of which begins with its part of `first`."""
    found: list[Item] = []
    taken = 0
    for share in range(count):
        mine = first[share::count]
        size = (len(first) + len(rest)) * (share + 1) // count - (len(first) + len(rest)) * share // count
        end = taken + max(0, size - len(mine))
        found += [*mine, *rest[taken:end]]
        taken = end
    return found + rest[taken:]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the seed of the order, which pytest-randomly puts into a header that `-q` leaves out."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None and config.getoption("randomly_reorganize"):
        terminalreporter.write_line(f"order of the tests: --randomly-seed={seed}")
    for reason, names in untested(terminalreporter.stats.get("skipped", [])).items():
        terminalreporter.write_line(f"{'!' * 100}\n{len(names)} TESTS: {reason}", red=True)
        terminalreporter.write_line("\n".join([*(f"  {name}" for name in names), "!" * 100]))


def untested(skipped: Sequence[pytest.TestReport]) -> dict[str, list[str]]:
    """Return the names of tests that lacked a server, a broker or a cloud, by reason. Such a reason says NOT TESTED."""
    found: dict[str, list[str]] = {}
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if "NOT TESTED" in reason:
            found.setdefault(reason.removeprefix("Skipped: "), []).append(report.nodeid)
    return {reason: sorted(names) for reason, names in found.items()}


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
