"""Whether this run is the long form of the tests, `make test-all`. docs/testing.md has what it adds."""

from __future__ import annotations

import os

ALL = bool(os.environ.get("ISOTHERM_TEST_ALL"))
