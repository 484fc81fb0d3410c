"""Drift on the command line: shown as a diff, marked in lists, observed now, and its policies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import HERE, Run

pytestmark = [pytest.mark.ledger("S1.5"), pytest.mark.usefixtures("engine_at")]

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  config: {type: Isotherm::Local::File, properties: {path: a.txt, content: as it should be}}
  neighbour: {type: Isotherm::Local::File, properties: {path: b.txt, content: same}}
"""


@pytest.fixture
def place(run: Run, tmp_path: Path, home: Path) -> Path:
    """Create a stack with a file; return the file's path."""
    (tmp_path / "t.yaml").write_text(TEMPLATE)
    assert run("deploy", "web", "-t", tmp_path / "t.yaml").code == 0
    return home / "local" / "a.txt"


# A service has an observer, which looks whenever it comes to it.
@pytest.mark.parametrize("engine_at", [HERE], indirect=True)
def test_an_unobserved_resource_is_not_called_in_sync(run: Run, place: Path) -> None:
    shown = run("drift", "web")
    assert shown.code == 0
    assert "not observed yet" in shown.out and "never" in shown.out


def test_a_look_shows_a_diff(run: Run, place: Path) -> None:
    place.write_text("as somebody\nlikes it")
    shown = run("observe", "web")
    lines = [line.strip() for line in shown.out.splitlines()]
    assert '- live    "as somebody\\nlikes it"' in lines
    assert "+ wanted  as it should be" in lines and "applied as it should be" in lines
    assert "1 in sync, 1 drifted" in shown.out
    assert "neighbour" not in shown.out
    assert "since 20" in run("drift", "web", "config").out
    data = run("drift", "web", "--json").data
    assert (data["drift"], data["resources"][0]["properties"][0]["live"]) == ("drifted", "as somebody\nlikes it")
    whole = run("drift", "web", "--all", "--json").data["resources"]
    assert {one["resource_name"] for one in whole} == {"config", "neighbour"}


def test_on_a_terminal_the_diff_has_colours(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write_text("wrong")
    run("observe", "web")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    shown = run("drift", "web").out
    assert "\x1b[31m- live    \x1b[0m\x1b[31mwrong" in shown, "red"
    assert "\x1b[32m+ wanted  \x1b[0m\x1b[32mas it should be" in shown, "green"
    assert "\x1b[2m  applied \x1b[0m" in shown, "pale"


def test_lists_and_show_have_a_mark(run: Run, place: Path) -> None:
    assert "drifted" not in run("list").out + run("show", "web").out
    place.unlink()
    assert "gone" in run("observe", "web", "config").out
    assert "≠ 1 drifted" in run("list").out
    assert "≠ 1 drifted" in run("show", "web").out
    assert run("list", "--json").data[0]["drift"] == {"drifted": 1, "given_up": 0}
    assert run("converge", "web", "config").code == 0
    assert [one["resource_name"] for one in run("events", "web", "--json").data
            if one["resource_status"] == "UPDATE_COMPLETE"] == [""], "the neighbour was left alone"
    assert place.read_text() == "as it should be"
    assert "drifted" not in run("list").out


def test_a_protection_that_forbids_a_repair_is_shown(run: Run, place: Path) -> None:
    assert run("drift", "web", "--policy", "repair").code == 0
    assert run("protect", "web", "config", "--from", "update").code == 0
    place.write_text("wrong")
    shown = " ".join(run("observe", "web").out.split())
    assert "not repaired: Resource config of stack web is protected from update by" in shown
    assert "`isotherm unprotect web config` lifts the protection" in shown
    assert run("unprotect", "web", "config").code == 0
    assert "not repaired" not in run("drift", "web").out


def test_how_it_is_watched_can_be_said(run: Run, place: Path) -> None:
    told = run("drift", "web", "--policy", "repair", "--interval", 5, "--mode", "maintenance", "--json").data
    assert (told["policy"], told["interval"], told["mode"]) == ("repair", 5, "maintenance")
    assert run("drift", "web", "config", "--policy", "ignore", "--json").data["policy"] == "ignore"
    assert run("drift", "web", "config", "--policy", "default", "--json").data["policy"] == "repair"
    back = run("drift", "web", "--policy", "default", "--interval", 0, "--mode", "active", "--json").data
    assert (back["policy"], back["interval"], back["mode"]) == ("report", None, "active")
    assert run("observing", "paused", "--json").data == {"mode": "paused"}
    assert run("drift", "web", "--json").data["mode"] == "paused"
    assert run("observing").out.strip() == "paused"


def test_what_makes_no_sense_is_refused(run: Run, place: Path) -> None:
    assert run("drift", "web", "nobody").code != 0
    assert run("drift", "nobody").code != 0
    assert run("drift", "web", "config", "--mode", "paused").code == 2
    assert run("drift", "web", "--policy", "mend").code == 2
