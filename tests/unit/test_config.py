"""Options and where they come from."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from isotherm import config, errors
from isotherm.config import files


def written(tmp_path: Path, text: Any, name: str = "heat.conf") -> Any:
    file = tmp_path / name
    file.write_text(text)
    return file


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert config.load(tmp_path / "none.conf") == config.Settings()
    assert config.Settings().convergence_engine


def test_a_file_that_says_nothing_changes_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, "")
    assert config.load(file) == dataclasses.replace(config.Settings(), config_files=(str(file),))


@pytest.mark.parametrize(("text", "value"), [("false", False), ("False", False), ("0", False), ("yes", True)])
def test_an_option_is_read_and_those_of_others_are_left_alone(tmp_path: Path, text: Any, value: Any) -> None:
    file = written(tmp_path, f"[DEFAULT]\nconvergence_engine = {text}\nsomething_else = %(x)s\n[cache]\nbackend = x\n")
    assert config.load(file).convergence_engine is value
    assert files.unknown([str(file)]) == ["[DEFAULT] something_else", "[cache] backend"]


def test_each_kind_of_option_in_the_section_where_heat_has_it(tmp_path: Path) -> None:
    found = config.load(written(tmp_path, """
[DEFAULT]
max_stacks_per_tenant = 7
template_fetch_timeout = 2.5
hidden_stack_tags = a,b
debug = true
[heat_api]
bind_host = ::1
bind_port = 18004
[database]
connection = sqlite:////tmp/x.db
[oslo_policy]
policy_file = rules.yaml
"""))
    assert (found.max_stacks_per_tenant, found.template_fetch_timeout, found.debug) == (7, 2.5, True)
    assert found.hidden_stack_tags == ("a", "b")
    assert (found.bind_host, found.bind_port) == ("::1", 18004)
    assert found.database_connection == "sqlite:////tmp/x.db"
    assert found.policy_file == "rules.yaml"


def test_later_files_win(tmp_path: Path) -> None:
    one = written(tmp_path, "[DEFAULT]\nmax_files = 1\nmax_snapshots_per_stack = 3\n", "one.conf")
    two = written(tmp_path, "[DEFAULT]\nmax_files = 2\n", "two.conf")
    found = config.load(one, two)
    assert (found.max_files, found.max_snapshots_per_stack) == (2, 3)


@pytest.mark.parametrize("text", [
    "convergence_engine = true", "[DEFAULT]\nconvergence_engine = perhaps", "[DEFAULT]\nnonsense"])
def test_what_cannot_be_read_is_one_clear_error(tmp_path: Path, text: Any) -> None:
    with pytest.raises(errors.UserError, match=r"bad\.conf"):
        config.load(written(tmp_path, text, "bad.conf"))


@pytest.mark.parametrize(("section", "line", "named"), [
    ("DEFAULT", "max_files = many", "max_files"), ("DEFAULT", "max_files = -1", "max_files"),
    ("DEFAULT", "auth_strategy = trust-me", "auth_strategy"), ("heat_api", "bind_port = x", "bind_port"),
    ("heat_api", "bind_port = 70000", "bind_port"),
    ("DEFAULT", "max_template_size = $none", "max_template_size"),
])
def test_a_bad_value_names_file_section_and_option(tmp_path: Path, section: Any, line: Any, named: Any) -> None:
    good = written(tmp_path, "[DEFAULT]\ndebug = true\n", "good.conf")
    bad = written(tmp_path, f"[{section}]\n{line}\n", "bad.conf")
    with pytest.raises(errors.UserError) as error:
        config.load(bad, good)
    assert f"bad.conf: [{section}] {named}: " in str(error.value)


def test_keys_are_in_no_picture_of_the_settings(tmp_path: Path) -> None:
    found = config.load(written(tmp_path, "[DEFAULT]\nauth_encryption_key = MARKER-1\n"
                                          "auth_encryption_key_ring = MARKER-2,MARKER-3\n"
                                          "[database]\nconnection = sqlite:///MARKER-4\n"))
    assert found.auth_encryption_key == "MARKER-1"
    assert found.auth_encryption_key_ring == ("MARKER-2", "MARKER-3")
    assert "MARKER" not in repr(found)


def test_options_have_names_of_their_own_and_say_what_they_are_for() -> None:
    known = config.options()
    assert len({(one.group, one.name) for one in known}) == len(known)
    assert {one.field for one in known} == {one.name for one in dataclasses.fields(config.Settings)} - {"config_files"}
    assert all(one.help.endswith(".") for one in known)


@pytest.mark.parametrize(("there", "loaded"), [(False, "False"), (True, "True")])
def test_the_library_is_loaded_only_for_a_file(tmp_path: Path, there: Any, loaded: Any) -> None:
    if there:
        written(tmp_path, "")
    code = ("import pathlib, sys; from isotherm import config; config.load(pathlib.Path('heat.conf'));"
            "print('oslo_config' in sys.modules)")
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
                            env=environment)
    assert answer.stdout.strip() == loaded
