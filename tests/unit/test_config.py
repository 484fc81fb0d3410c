"""Options and where they come from."""

from __future__ import annotations

import pytest

from isotherm import config, errors


def test_without_a_file_the_defaults_hold(tmp_path):
    assert config.load(tmp_path / "none.conf") == config.Settings()
    assert config.Settings().convergence_engine


@pytest.mark.parametrize(("text", "value"), [("false", False), ("False", False), ("0", False), ("yes", True)])
def test_an_option_is_read_and_those_of_others_are_left_alone(tmp_path, text, value):
    file = tmp_path / "heat.conf"
    file.write_text(f"[DEFAULT]\nconvergence_engine = {text}\nsomething_else = %(x)s\n[database]\nconnection = x\n")
    assert config.load(file).convergence_engine is value


@pytest.mark.parametrize("text", [
    "convergence_engine = true", "[DEFAULT]\nconvergence_engine = perhaps", "[DEFAULT]\nnonsense"])
def test_what_cannot_be_read_is_one_clear_error(tmp_path, text):
    file = tmp_path / "bad.conf"
    file.write_text(text)
    with pytest.raises(errors.UserError, match=r"bad\.conf"):
        config.load(file)
