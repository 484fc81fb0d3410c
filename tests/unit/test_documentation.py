"""The pages say what the project has: generated parts are up to date, tables name what exists, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
# Folders in which a path that a page names may lie.
ROOTS = (ROOT, ROOT / "isotherm", ROOT / "tests", ROOT / "docs")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_generated_parts_are_up_to_date() -> None:
    stale = [name(page) for page, text in pages.current_pages() if page.read_text(encoding="utf-8") != text]
    assert not stale, "run `make pages` and commit what it writes"


def test_a_page_without_the_part_is_an_error() -> None:
    with pytest.raises(ValueError, match="no part 'packages'"):
        pages.render("# A page\n", "packages", "a table")


def test_the_page_about_tests_names_every_folder_and_no_other() -> None:
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `tests/(\w+)` \|", page, re.MULTILINE))
    folders = {folder.name for folder in (ROOT / "tests").iterdir() if any(folder.rglob("test_*.py"))}
    assert named == folders | {"scenarios"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    wrong = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    if page.name == "ledger.md":
        return  # generated, and tested by itself
    named = re.findall(r"`((?:[\w.]+/)+[\w.]+\.(?:py|json|txt|toml|yaml|md))(?:::\w+)?`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not any((root / path).exists() for root in ROOTS)] == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^([\w/-]+)$", index, re.MULTILINE))
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} <= listed


def test_every_make_command_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {(name(page), target) for page in PAGES
             for target in re.findall(r"(?:`|\$ |^ {4})make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)}
    assert {one for one in named if one[1] not in targets} == set()
