"""The stored histories that find the seeded bugs, so that a test run need not search for them.

    .venv/bin/python -m tests.sim.bug_histories [NAME ...]    replaces those that do not find their bugs any more

A history holds everything that a run depends on, the dice included. A change of the engine or of the simulator changes the
run, so each history is played with a few other dice before the test fails. The program then draws histories of many seeds
until one finds the bug. Where none does, write one by hand, as that of a_check_forgets_what_an_update_had_begun.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from isotherm.sim import run
from isotherm.sim.histories.drawn_histories import LIMITED_FROM, PROTECTED_FROM, draw, moving, moving_between
from isotherm.sim.histories.history import History
from tests.sim import (
    bugs,
    bugs_of_identity,
    bugs_of_life,
    bugs_of_limits,
    bugs_of_moves,
    bugs_of_observer,
    bugs_of_outcome,
    bugs_of_protection,
    bugs_of_types,
)

STORED = Path(__file__).with_name("histories.json")
RENEW = "`.venv/bin/python -m tests.sim.bug_histories` searches for another one, and stores it"
OF_ENGINE = {**bugs.BUGS, **bugs_of_outcome.BUGS, **bugs_of_life.BUGS, **bugs_of_types.BUGS, **bugs_of_identity.BUGS,
             **bugs_of_limits.BUGS, **bugs_of_protection.BUGS, **bugs_of_moves.BUGS}
OF_OBSERVER = bugs_of_observer.BUGS
# With so many other dice a stored history is played, and among so many seeds the program searches.
DICE, SEEDS = 20, 20_000


# Stored histories.


def plain(value: Any) -> Any:
    """Take a history apart into what JSON knows. Fields that have their defaults are left out."""
    if dataclasses.is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in dataclasses.fields(value)
                if not (_has_default(one) and getattr(value, one.name) == _default(one))}
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return not field.default is field.default_factory is dataclasses.MISSING


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def parsed(stored: Any) -> History:
    """Put a history together again. Fields that are missing have their defaults, and unknown ones are left out."""
    return msgspec.convert(stored, History)


def stored() -> dict[str, Any]:
    """All stored histories by the names of their bugs, as JSON has them."""
    found: dict[str, Any] = json.loads(STORED.read_text()) if STORED.exists() else {}
    return found


def store(found: Mapping[str, Any]) -> None:
    """Write them down, each on a line of its own, if the bug is still there."""
    lines = [f"{json.dumps(name)}: {json.dumps(found[name], separators=(',', ':'))}"
             for name in sorted(OF_ENGINE | OF_OBSERVER) if name in found]
    STORED.with_suffix(".new").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    STORED.with_suffix(".new").replace(STORED)


# Playing them.


def broken(name: str, tries: Iterable[History]) -> Iterator[History]:
    """Those that break something with the bug and nothing without it."""
    apply = (OF_ENGINE | OF_OBSERVER)[name]
    for one in tries:
        with pytest.MonkeyPatch.context() as patch:
            apply(patch)
            well = run.play(one).well
        if not well and run.play(one).well:
            yield one


def found(name: str) -> History | None:
    """The stored history with dice that find the bug, its own or others; None if it does not find it any more."""
    try:
        known = parsed(stored()[name])
    except (KeyError, msgspec.ValidationError):
        return None
    dice = (known.dice, *range(DICE))
    return next(broken(name, (dataclasses.replace(known, dice=number) for number in dice)), None)


# Searching.


def searched(name: str) -> History | None:
    """The history of the first seed that finds the bug; None if there is none among so many."""
    first = LIMITED_FROM if name in bugs_of_limits.BUGS else PROTECTED_FROM if name in bugs_of_protection.BUGS else 0
    drawn = (draw(seed) for seed in range(first, first + SEEDS))
    if name in bugs_of_moves.BUGS:
        draws = moving_between if name in bugs_of_moves.BETWEEN else moving
        drawn = (draws(Random(f"moves/{seed}"), seed) for seed in range(SEEDS))
    if name in OF_OBSERVER:
        drawn = (one for one in drawn if one.watched.observers)
    return next(broken(name, drawn), None)


def _renewed(name: str) -> tuple[History | None, str]:
    began = time.monotonic()
    known, how = found(name), "stored"
    if known is None:
        known, how = searched(name), "new"
    return known, f"{how if known else 'NOT FOUND'} ({time.monotonic() - began:.0f} s)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", default=sorted(OF_ENGINE | OF_OBSERVER), help="a bug; all if none is named")
    names, known, missing = parser.parse_args().name, stored(), []
    if unknown := set(names) - (OF_ENGINE | OF_OBSERVER).keys():
        parser.error(f"no such bug: {', '.join(sorted(unknown))}")
    # Each in a process of its own: what one bug has changed is no other's.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=fresh, max_tasks_per_child=1) as pool:
        tasks = {pool.submit(_renewed, name): name for name in names}
        for number, done in enumerate(as_completed(tasks), 1):
            name = tasks[done]
            try:
                history, told = done.result()
            except Exception as error:  # noqa: BLE001 - one bug that cannot be seeded is no reason to leave the others alone
                history, told = None, f"FAILED: {type(error).__name__}: {error}"
            sys.stdout.write(f"{number} of {len(tasks)}: {name}: {told}\n")
            sys.stdout.flush()
            if history is None:
                missing.append(name)
            else:
                known[name] = plain(history)
                store(known)
    if missing:
        sys.stderr.write(f"No history finds {', '.join(sorted(missing))}: write one by hand into {STORED.name}\n")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
