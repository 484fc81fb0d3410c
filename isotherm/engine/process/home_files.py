"""The names of the files in a home folder.

Apart from `home`, which loads the store: a command that only reads a template needs the names alone.
"""

from __future__ import annotations

DATABASE, JOURNAL, WORKERS, CONFIG = "isotherm.db", "reality.journal", "workers", "isotherm.conf"
OBSERVERS = "observers"
