"""A type whose plug-in is gone is reported with the package or file that it came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from isotherm.plugins.discover import Plugin, Plugins
from isotherm.plugins.installed import TYPES
from tests.plugins.test_discover import LAMP

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {l: {type: Example::Lamp, properties: {colour: red}}}\n"


def test_a_stack_can_be_deleted_once_the_plug_in_is_back(run: Any, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(TEMPLATE)
    assert run("deploy", "s", "-t", "t.yaml", lamp=LAMP)[0] == 0
    file = tmp_path / "plugins" / "lamp.py"
    file.rename(tmp_path / "away.py")
    missing = ("The Resource Type (Example::Lamp) could not be found. "
               f"It came with {file}, which is not in a folder of the option plugin_dirs here.")
    code, answer = run("update", "s", "-t", "t.yaml")
    assert code != 0
    assert missing in json.dumps(answer)
    for read in ("show", "resources", "events", "outputs", "export"):
        assert run(read, "s")[0] == 0, read
    code, answer = run("delete", "s", "--yes")
    assert code != 0
    assert missing in json.dumps(answer)
    assert run("check", "s")[0] != 0
    (tmp_path / "away.py").rename(file)
    assert run("delete", "s", "--yes")[0] == 0


def test_the_text_says_why_the_type_is_missing() -> None:
    plugins = Plugins([Plugin("b", TYPES, "broken-package 2.0", error="ImportError: x")])
    origins = {"A::Gone": "gone-package 1.0", "A::Broken": "broken-package 1.9"}
    types = plugins.registry(lambda name: origins.get(name, ""))
    texts = {name: str(_raised(types, name)) for name in (*origins, "A::Unknown")}
    assert texts["A::Gone"].endswith("could not be found. It came with gone-package 1.0, which is not installed here.")
    assert texts["A::Broken"].endswith("which could not be loaded here: `isotherm plugin list` says why.")
    assert texts["A::Unknown"].endswith("(A::Unknown) could not be found.")


def _raised(types: Any, name: str) -> Exception:
    try:
        types.get(name)
    except Exception as error:  # noqa: BLE001 - it is the result
        return error
    raise AssertionError("the type was found")
