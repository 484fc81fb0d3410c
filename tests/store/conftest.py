"""A store on the database of this run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from isotherm.store.database.writer import ThreadedStore
from tests import databases


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ThreadedStore]:
    store = ThreadedStore.open(databases.url_of(tmp_path))
    yield store
    store.close()
