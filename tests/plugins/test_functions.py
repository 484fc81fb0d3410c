"""A template function of a plug-in, in a stack that is created, updated and read back by other processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SHOUT = """
    from isotherm.template.functions.node import Function, Misuse

    class Shout(Function):
        '''The string in capital letters.'''

        form = "example.shout"

        def evaluate(self, args, scope):
            if args is None:
                return None  # an attribute that is not known yet
            if not isinstance(args, str):
                raise Misuse(f"{self.name} takes a string")
            return args.upper() + "!"

    FUNCTIONS = {"shout": Shout}
"""
# The argument is known when the first resource exists: so the definition is stored with the function in it.
TEMPLATE = """
heat_template_version: 2021-04-16
parameters: {word: {type: string}}
resources:
  first: {type: OS::Heat::Value, properties: {value: {get_param: word}}}
  second: {type: OS::Heat::Value, properties: {value: {shout: {get_attr: [first, value]}}}}
outputs: {loud: {value: {shout: {get_attr: [second, value]}}}}
"""


def test_a_function_is_stored_with_a_stack_and_evaluated_again(run: Any, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(TEMPLATE)
    assert run("deploy", "s", "-t", "t.yaml", "-p", "word=red", shout=SHOUT)[0] == 0
    assert "RED!!" in json.dumps(run("outputs", "s")[1])
    assert run("update", "s", "--existing", "-p", "word=blue")[0] == 0
    assert "BLUE!!" in json.dumps(run("outputs", "s")[1])
    assert "The string in capital letters." in json.dumps(run("function", "list")[1])
    assert run("check", "s")[0] == 0
    assert run("delete", "s", "--yes")[0] == 0


def test_a_misuse_is_reported_with_its_place(run: Any, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(TEMPLATE.replace("{get_attr: [first, value]}", "[1, 2]"))
    code, answer = run("validate", "t.yaml", "-p", "word=red", shout=SHOUT)
    assert code != 0
    assert "shout takes a string" in json.dumps(answer)
