"""Writes the table of options into docs/configuration.md. A test fails where the page is not up to date.

    python tools/config_page.py
"""

from __future__ import annotations

from pathlib import Path

from isotherm import config
from isotherm.config.settings import Option

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"
BEGIN, END = "<!-- options: written by tools/config_page.py -->\n", "<!-- end of options -->\n"


def render(page: str) -> str:
    """Return the page with the current table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{_tables()}{END}{after}"


def _tables() -> str:
    groups = dict.fromkeys(one.group for one in config.options())
    return "".join(_table(group, [one for one in config.options() if one.group == group]) for group in groups)


def _table(group: str, known: list[Option]) -> str:
    rows = "".join(f"| `{one.name}` | {_default(one)} | {one.help}{_more(one)} |\n" for one in known)
    return f"\n### [{group}]\n\n| option | default | |\n|---|---|---|\n{rows}\n"


def _default(one: Option) -> str:
    value = one.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if value not in ("", ()) else "none"


def _more(one: Option) -> str:
    choices = f" One of {', '.join(f'`{choice}`' for choice in one.choices)}." if one.choices else ""
    return choices + (f" Heat's own default is `{one.heat}`." if one.heat else "")


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
