"""Files that a template names are collected on the user's side, each relative to the file that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from isotherm import errors
from isotherm.cli.client import files
from isotherm.template.text import document

NESTED = "heat_template_version: 2018-08-31\nresources: {r: {type: T, properties: {x: {get_file: script.sh}}}}\n"


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        file = folder / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def test_a_file_is_filed_under_the_name_that_the_template_uses(tmp_path: Path) -> None:
    write(tmp_path, script_sh="echo", sub__other_sh="echo two")
    collection = files.Collection(tmp_path)
    collection.add_template(document.load("a: {get_file: ./script.sh}\nb: [{get_file: sub/other.sh}]"))
    assert collection.files == {"./script.sh": "echo", "sub/other.sh": "echo two"}


def test_a_nested_template_names_files_relative_to_itself(tmp_path: Path) -> None:
    write(tmp_path, script_sh="of the root", sub__nested_yaml=NESTED, sub__script_sh="of the nested one")
    collection = files.Collection(tmp_path)
    collection.add_template(document.load("a: {get_file: script.sh}\nr: {type: sub/nested.yaml}"))
    assert collection.files["script.sh"] == "of the root"
    assert collection.files["sub/script.sh"] == "of the nested one"
    assert "get_file: sub/script.sh" in collection.files["sub/nested.yaml"]


def test_a_nested_template_beside_the_root_is_passed_on_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path, nested_yaml=NESTED, script_sh="echo")
    collection = files.Collection(tmp_path)
    collection.add_template(document.load("r: {type: nested.yaml}"))
    assert collection.files["nested.yaml"] == NESTED


def test_templates_that_include_each_other_are_read_once(tmp_path: Path) -> None:
    write(tmp_path, a_yaml="r: {type: b.yaml}", b_yaml="r: {type: a.yaml}")
    collection = files.Collection(tmp_path)
    collection.add_template(document.load("r: {type: a.yaml}"))
    assert set(collection.files) == {"a.yaml", "b.yaml"}


def test_an_environment_maps_types_to_files_relative_to_itself(tmp_path: Path) -> None:
    write(tmp_path, env__types__web_yaml="heat_template_version: 2018-08-31\n")
    found = document.load("resource_registry:\n  My::Web: types/web.yaml\n  My::Alias: OS::Heat::Value\n"
                          "  resources: {r: {hooks: pre-create, My::Other: types/web.yaml}}\n")
    collection = files.Collection(tmp_path / "templates")
    collection.add_environment(found, tmp_path / "env")
    assert set(collection.files) == {"../env/types/web.yaml"}
    registry = found.data["resource_registry"]
    assert registry["My::Web"] == registry["resources"]["r"]["My::Other"] == "../env/types/web.yaml"
    assert registry["My::Alias"] == "OS::Heat::Value"


def test_an_address_is_left_alone(tmp_path: Path) -> None:
    collection = files.Collection(tmp_path)
    collection.add_template(document.load("a: {get_file: 'https://example.org/x.sh'}"))
    assert collection.files == {}


def test_a_missing_file_is_told_with_the_place_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError) as caught:
        files.Collection(tmp_path).add_template(document.load("a:\n  b: {get_file: gone.sh}\n", source="t.yaml"))
    problem = caught.value.problems[0]
    assert problem.mark is not None
    assert (problem.mark.source, problem.mark.line) == ("t.yaml", 2)
    assert "gone.sh" in problem.message


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(errors.UserError, match="is not UTF-8 text"):
        files.Collection(tmp_path).add_template(document.load("a: {get_file: image}"))
