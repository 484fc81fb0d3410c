"""Every module and function that docs/walks.md names exists."""

from __future__ import annotations

import contextlib
import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "walks.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)
PACKAGES = r"(?:api|bus|cli|engine|observer|planning|resources|store)"


def in_tables() -> list[tuple[str, str]]:
    return re.findall(r"^\|[^|]+\| `([\w.]+)` \| `([\w.]+)` \|", PAGE, re.MULTILINE)


def in_pictures() -> list[tuple[str, str]]:
    found = []
    for picture in PICTURES:
        modules = dict(re.findall(r"participant (\w+) as ([\w.]+)", picture))
        found += [(modules[to], name) for to, name in re.findall(r"\w+-+>>(\w+): ([\w.]+)", picture)]
    return found


def in_text() -> list[tuple[str, str]]:
    prose = re.sub(r"^\|.*$", "", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL), flags=re.MULTILINE)
    found = []
    for name in re.findall(rf"`({PACKAGES}(?:\.\w+)+)`", prose):
        parts = name.split(".")
        # A module is in lower case; the class or the function is the rest.
        classes = [n for n, part in enumerate(parts) if part[:1].isupper()]
        at = classes[0] if classes else len(parts) - 1
        found.append((".".join(parts[:at]), ".".join(parts[at:])))
    return found


def test_the_page_is_read() -> None:
    assert len(PICTURES) == 2
    assert len(in_tables()) > 30
    assert len(in_pictures()) > 30
    assert len(in_text()) > 5


@pytest.mark.parametrize(("module", "name"), sorted({*in_tables(), *in_pictures(), *in_text()}))
def test_a_name_of_the_page_exists(module: str, name: str) -> None:
    try:
        found: object = importlib.import_module(f"isotherm.{module}")
    except ModuleNotFoundError:
        pytest.fail(f"docs/walks.md: there is no module isotherm.{module}")
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(f"isotherm.{module}.{name}")  # a module is an attribute of its package once it is imported
    for part in name.split("."):
        assert hasattr(found, part), f"docs/walks.md: isotherm.{module} has no {name}"
        found = getattr(found, part)
