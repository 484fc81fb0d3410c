"""docs/cli.md and the README agree with the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.cli.conftest import Run
from tests.cli.test_help import ALL

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_names_every_command_and_no_other() -> None:
    named = {re.sub(r" (\[?[A-Z]+\]?).*", "", command) for command in re.findall(r"\| `isotherm ([^`]+)` \|", PAGE)}
    assert named == {" ".join(path) for path, _command in ALL}


def test_the_page_has_the_exit_codes_of_the_help() -> None:
    in_help = dict(re.findall(r"^ +(\d+) +(\S.*)$", codes.HELP, re.MULTILINE))
    assert dict(re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE)) == in_help


@pytest.mark.ledger("S2.3")
def test_the_first_session_of_the_readme_works(run: Run) -> None:
    session = README.partition("## A first session")[2].partition("\n## ")[0]
    typed = re.findall(r"^\$ isotherm ([^#|\n]+)", session, re.MULTILINE)
    assert len(typed) >= 8
    for line in typed:
        expected = codes.WRONG if "broken" in line else codes.OK
        arguments = [str(ROOT / word) if word.startswith("examples/") else word for word in line.split()]
        if arguments[:2] in (["deploy", "demo"], ["update", "demo"]):
            arguments += ["--parameter", "max_wait_secs=0"]  # a test does not sit and wait
        assert run(*arguments).code == expected, line


def test_the_first_screen_of_the_readme_shows_real_output(run: Run) -> None:
    screen = README.partition("## Two commands")[2].partition("\n**Status.**")[0]
    shown = re.findall(r"^\$ isotherm (.+)\n((?:(?!\$ |```).*\n)+)", screen, re.MULTILINE)
    assert [line.split()[0] for line, _ in shown] == ["plan", "validate"]
    for line, output in shown:
        ran = run(*(str(ROOT / word) if word.startswith("examples/") else word for word in line.split()))
        assert _plain(ran.out + ran.err) == _plain(output), line


def _plain(output: str) -> list[str]:
    return [line.rstrip() for line in output.replace(f"{ROOT}/", "").strip().splitlines()]


def test_every_command_of_the_readme_exists() -> None:
    """Some sections need servers and are typed by no test: their commands and options are looked up in the help."""
    known = dict(ALL)
    for line in re.findall(r"\$ isotherm ([^#|\n]+)", README):
        words = line.split()
        path = max((tuple(words[:length]) for length in (1, 2, 3) if tuple(words[:length]) in known), key=len)
        options = {option for parameter in known[path].params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, line
