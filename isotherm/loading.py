"""Loads what is needed when it is needed: an address names an object, and importing waits for its first use (decision 33).

Commands take part of a second to start if they import all that they might use. So tables of many things that a process
rarely needs all of (commands, resource types, services of the engine) hold addresses, and libraries that few need are
loaded where they are used. All other imports stand at the top of their module.
"""

from __future__ import annotations

import gc
import importlib
from typing import Any


def load(address: str) -> Any:
    """Return the object at an address of the form `module:attribute`, or the module at `module`."""
    name, _, attribute = address.partition(":")
    # What an import makes stays for good: the collector would scan it again and again for nothing.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        module = importlib.import_module(name)
    finally:
        if was_enabled:
            gc.enable()
    return getattr(module, attribute) if attribute else module
