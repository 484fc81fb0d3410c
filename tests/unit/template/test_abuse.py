"""The abuse cases about templates and expressions, each under its number.

Bounds on time are generous where a machine may be busy, and still far below what the attack would take.
"""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from isotherm.errors import UserError
from isotherm.template import environment
from isotherm.template.functions import sandbox
from isotherm.template.limits import Budget, Limits
from isotherm.template.model import definitions, model
from isotherm.template.parameters import parameters
from isotherm.template.text import document
from tests.unit.template.small_templates import LATEST, Known, bound, value

# Two processors that share a core, and the tracing of coverage, make the same work take several times as long. Work
# without a limit would take minutes.
_SLOWEST = 8.0


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Assert that a block takes at most `seconds` of processor time on a quiet machine."""
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds * _SLOWEST


def refusal(text: str | bytes, limits: Limits | None = None) -> UserError:
    with pytest.raises(UserError) as caught:
        document.load(text, limits=limits or Limits())
    return caught.value


def _bomb(width: int, levels: int) -> str:
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_case_1_alias_bomb() -> None:
    tracemalloc.start()
    try:
        with within(0.2):
            error = refusal(_bomb(10, 9))
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    assert error.kind == "RequestLimitExceeded"


def test_case_1_aliases_are_counted_by_what_they_expand_to() -> None:
    assert refusal(_bomb(10, 3), Limits(max_alias_nodes=1_000)).kind == "RequestLimitExceeded"
    assert document.load(_bomb(10, 3)).data["a2"][9][9][9] == "x"


def test_case_1_merge_keys_do_not_hide_a_bomb() -> None:
    lines = ["a0: &a0 {k0: 1, l0: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k{n}: *a{n - 1}, l{n}: *a{n - 1}}}" for n in range(1, 60)]
    with within(1.0):
        assert refusal("\n".join(lines)).kind == "RequestLimitExceeded"


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "&a [[[*a]]]", "a: &a\n  b: &b {c: *a}\n"])
def test_case_2_value_inside_itself(text: str) -> None:
    assert "stands inside the value it names" in str(refusal(text))


@pytest.mark.parametrize("text", [
    "[" * 20_000 + "]" * 20_000, '{"a":' * 20_000 + "1" + "}" * 20_000, "".join(f"{' ' * n}a:\n" for n in range(5_000)),
    "- " * 20_000 + "x", "a: &a [1]\n" + "".join(f"b{n}: &b{n} [*{f'b{n - 1}' if n else 'a'}]\n" for n in range(5_000)),
], ids=["json lists", "json maps", "yaml maps", "yaml lists", "aliases"])
def test_case_3_deep_nesting(text: str) -> None:
    with within(1.0):
        assert refusal(text).kind == "RequestLimitExceeded"


def test_case_3_what_is_allowed_is_handled_by_every_stage() -> None:
    nested: Any = {"get_resource": "r"}
    for _ in range(45):
        nested = {"a": [nested]}
    text = json.dumps({"heat_template_version": LATEST, "resources": {
        "r": {"type": "T"}, "s": {"type": "T", "properties": {"p": nested}}}})
    definition = bound(text).definitions["s"]
    assert definitions.thaw(definition.freeze()) == definition
    assert "r" in json.dumps(definition.resolve(definitions.Unresolved()).properties)


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system ['touch {0}']", "!!python/name:os.system x",
                                 "!include {0}", "!!python/object/new:os.system ['touch {0}']", "!<x:y> z"])
def test_case_4_tags_run_nothing(tag: str, tmp_path: Path) -> None:
    target = tmp_path / "made"
    assert "could not determine a constructor" in str(refusal("a: " + tag.format(target)))
    assert not target.exists()


@pytest.mark.parametrize("text", ["a: 1\na: 2", '{"a": 1, "a": 2}', "a: {b: 1, 'b': 2}", '{"a": 1, "\\u0061": 2}',
                                  "{1: a, '1': b}"])
def test_case_5_duplicate_keys(text: str) -> None:
    assert "duplicate key" in str(refusal(text))


def test_case_5_json_means_the_same_read_as_json() -> None:
    data = {"on": "yes", "n": [1e3, -0.0, 1, True, None], "t": "a\tb\u2028", "012": "012", "x": "~"}
    assert document.load(json.dumps(data)).data == data


def test_case_6_limit_is_named() -> None:
    text = "a: " + "x" * 100
    assert document.load(text, limits=Limits(max_bytes=103)).data
    assert "exceeds maximum allowed size (102 bytes)" in str(refusal(text, Limits(max_bytes=102)))


@pytest.mark.parametrize("text", [b"a: \xff\xfe", b"\xc0\x80", "a: b\0", 'a: "\\0"', '{"a": "\\u0000"}', "a: \ud800",
                                  '{"a": "\\ud800"}', '{"a": "\\udc00\\ud800"}', "a: \x07"])
def test_case_8_bad_text(text: str | bytes) -> None:
    assert refusal(text).kind == "ValueError"


def test_case_8_wide_characters_stay_intact() -> None:
    name = "\U0001f600-\u65e5\u672c"
    definition = bound({"resources": {name: {"type": "T", "properties": {name: {"get_param": "text"}}}}}).definitions[name]
    assert definitions.thaw(json.loads(json.dumps(definition.freeze()))).properties == {name: "t"}


@pytest.mark.parametrize("name", ["a\nb", "a\r\nX-Header: y", "\x1b[2J", "..", ".", "n" * 10_240, "\u202eabc"])
@pytest.mark.parametrize("section", ["resources", "parameters", "outputs", "conditions"])
def test_case_9_names(name: str, section: str) -> None:
    content = {"resources": {"type": "T"}, "parameters": {"type": "string"}, "outputs": {"value": 1}, "conditions": True}
    with pytest.raises(UserError) as caught:
        bound({"heat_template_version": LATEST, section: {name: content[section]}})
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "/"])
def test_case_9_names_of_resources_are_parts_of_addresses(name: str) -> None:
    with pytest.raises(UserError, match='Resource name may not contain "/"'):
        bound({"resources": {name: {"type": "T"}}})


@pytest.mark.parametrize("name", ["a;DROP TABLE stack", "it's", 'say "hi"', "%2e%2e", "a b"])
def test_case_9_odd_names_are_just_names(name: str) -> None:
    found = bound({"resources": {name: {"type": "T"}, "r": {"type": "T", "properties": {"p": {"get_resource": name}}}}})
    assert found.definitions["r"].requires == {name}


def test_case_10_markup_is_data() -> None:
    text = "<script>alert(1)</script>"
    found = bound({"heat_template_version": LATEST, "description": text,
                   "outputs": {"o": {"value": text, "description": text}}})
    assert found.template.description == text
    assert (found.outputs["o"].value, found.outputs["o"].description) == (text, text)


@pytest.mark.parametrize(("section", "entry"), [
    ("parameters", {"type": "string"}), ("outputs", {"value": 1}), ("conditions", True)])
def test_case_11_too_many_entries(section: str, entry: Any) -> None:
    with pytest.raises(UserError) as caught:
        model.parse({"heat_template_version": LATEST, section: {f"n{n}": entry for n in range(10_000)}})
    assert caught.value.kind == "RequestLimitExceeded"
    assert "5000" in str(caught.value)


def test_case_11_conditions_in_a_cycle() -> None:
    ring = {f"c{n}": {"not": f"c{(n + 1) % 4_000}"} for n in range(4_000)}
    with within(2.0), pytest.raises(UserError, match="Circular definition for condition"):
        bound({"conditions": ring}).check_conditions()
    with pytest.raises(UserError):
        bound({"conditions": ring, "resources": {"r": {"type": "T", "condition": "c0"}}})


def _doubled(depth: int) -> Any:
    snippet: Any = "x" * 64
    for _ in range(depth):
        snippet = {"str_replace": {"template": "xx" * 32, "params": {"x": snippet}}}
    return snippet


BOMBS = {
    "repeat": {"repeat": {"template": "%a%" * 10, "for_each": {f"%{c}%": list("0123456789") for c in "abcdefghij"}}},
    "repeat with an empty list": {"repeat": {"template": "x", "for_each": {
        f"%{c}%": [] if c == "j" else list("0123456789") for c in "abcdefghij"}}},
    "str_replace": _doubled(12),
    "list_join": {"list_join": ["x" * 100_000, [""] * 100_000]},
    "nested repeat": {"repeat": {"template": {"repeat": {"template": "y" * 1_000, "for_each": {"%a%": ["1"] * 2_000}}},
                                 "for_each": {"%b%": ["1"] * 2_000}}},
    "growing repeat": {"repeat": {"template": "%a%" * 1_000, "for_each": {"%a%": ["%b%" * 1_000], "%b%": ["x" * 1_000]}}},
    "yaql": {"yaql": {"expression": "let(x=>[1,2]) -> " + "let(x=>[$x,$x]) -> " * 40 + "$x", "data": 1}},
}


@pytest.mark.parametrize("name", BOMBS)
def test_case_13_small_texts_that_grow(name: str) -> None:
    tracemalloc.start()
    try:
        with within(5.0):
            if name == "repeat with an empty list":
                assert value(BOMBS[name]) == []
            else:
                with pytest.raises(UserError) as caught:
                    value(BOMBS[name])
                assert caught.value.kind in ("RequestLimitExceeded", "MemoryQuotaExceededException")
        assert tracemalloc.get_traced_memory()[1] < 200_000_000
    finally:
        tracemalloc.stop()


def test_case_13_the_whole_counts_too() -> None:
    """Every value is allowed by itself; a thousand of them are not."""
    data = {"resources": {f"r{n}": {"type": "T", "properties": {"p": {"list_join": ["x" * 1_000, [""] * 1_000]}}}
                          for n in range(1_000)}}
    with within(10.0), pytest.raises(UserError) as caught:
        bound(data, limits=Limits(max_evaluated=20_000_000))
    assert caught.value.kind == "RequestLimitExceeded"


def test_case_13_uses_of_a_large_parameter_count() -> None:
    big = {"p": {"type": "json", "default": {"k": ["x" * 1_000] * 1_000}}}
    data = {"heat_template_version": LATEST, "parameters": big, "resources": {
        f"r{n}": {"type": "T", "properties": {"p": {"get_param": "p"}}} for n in range(1_000)}}
    with within(5.0), pytest.raises(UserError) as caught:
        bound(data)
    assert caught.value.kind == "RequestLimitExceeded"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a*)*b", "(.*)*x", "(a|aa)+$"])
def test_case_14_catastrophic_patterns(pattern: str) -> None:
    template = model.parse({"heat_template_version": LATEST, "parameters": {
        "p": {"type": "string", "constraints": [{"allowed_pattern": pattern}]}}})
    with within(2.0), pytest.raises(UserError):
        parameters.bind(template.parameters, environment.load({"parameters": {"p": "a" * 5_000 + "!"}}),
                        parameters.Pseudo("s"))


@pytest.mark.parametrize("how", ["plain", "url", "relative"])
def test_case_15_no_file_is_opened(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.txt").write_text("do not read")
    monkeypatch.chdir(tmp_path)
    name = {"plain": str(tmp_path / "secret.txt"), "url": (tmp_path / "secret.txt").as_uri(), "relative": "secret.txt"}[how]
    with pytest.raises(UserError) as caught:
        value({"get_file": name}, files={"other": "x"})
    assert (caught.value.kind, "do not read" in str(caught.value)) == ("ValueError", False)


GREEDY = [
    "range(1000000000)", "range(1000000000).len()", "range(199).select(range(199).select(range(199).select($ + 1)))",
    '"a" * 1000000000', "[1] * 1000000000", "pow(10, 1000000000)", "pow(10, 10000)", "shiftBitsLeft(1, 10000000000)",
    "range(199).aggregate($1 * $1, 9)", 'regex("(a+)+$").matches($.data.s)', '$.data.s =~ "(a+)+$"',
    '$.data.s.matches("(a|a)*$")', "generate(0, true, 1).where(false)", "sequence(0, 1).where(false).first()",
    "def(f, f()) -> f()", "let(x=>[1], y=>[1]) -> " + "let(x=>[$x,$x], y=>[$y,$y]) -> " * 40 + "$x = $y",
    "let(x=>[1]) -> " + "let(x=>[$x,$x]) -> " * 40 + "[$x].toSet().len()", "1000000000 * [1, 2]",
    "let(x=>dict(a=>1)) -> " + "let(x=>dict(a=>$x, b=>$x)) -> " * 30 + "$x.mergeWith($x)",
    "let(x=>[1]) -> " + "let(x=>[$x,$x]) -> " * 40 + "str($x).len()",
    '"aaaaaaaaaa".replace(dict(a=>"b" * 9000, b=>"c" * 9000, c=>"d" * 9000))',
    'regex(".").replace("a" * 9000, "b" * 9000)', "(" * 3_000 + "1" + ")" * 3_000, "1" + "+1" * 3_000,
    "range(199).join(range(199), $1 = $2, 1).len() + range(199).join(range(199), $1 = $2, 1).len()", "1 + " * 10_000 + "1",
]


@pytest.mark.parametrize("expression", GREEDY, ids=lambda each: each[:40])
def test_case_16_greedy_expressions(expression: str) -> None:
    with within(8.0), pytest.raises(UserError):
        value({"yaql": {"expression": expression, "data": {"s": "a" * 5_000}}})


def test_case_16_many_greedy_expressions_share_one_budget() -> None:
    greedy = {"yaql": {"expression": "range(199).select(range(199).select($ + 1)).len() + range(100).select($ + 1).sum()",
                       "data": 1}}
    costly = {"yaql": {"expression": "range(199).select(range(199).select(range(199).select($ + 1)))", "data": 1}}
    data = {"resources": {f"r{n}": {"type": "T", "properties": {"p": costly, "q": greedy}} for n in range(200)}}
    with within(20.0), pytest.raises(UserError) as caught:
        bound(data, limits=Limits(max_evaluated=20_000_000))
    assert caught.value.kind == "RequestLimitExceeded"


@pytest.mark.parametrize("expression", [
    "$.__class__", "$.data.__class__", "$.data.s.__class__", "$.data.s.format()", "'{0.__class__}'.format($)",
    "$.data.keys", "eval('1')", "import(os)", "open('/etc/passwd')", "env(HOME)", "$.data.s.__init__()",
    "call(eval, ['1'], {})", "$.data.get.__func__", "getattr($.data, 'keys')", "regex('a')",
])
def test_case_17_nothing_to_climb_out_by(expression: str) -> None:
    with pytest.raises(UserError) as caught:
        value({"yaql": {"expression": expression, "data": {"s": "text"}}})
    assert "class" not in str(caught.value) or "__class__" in expression


def test_case_17_only_data_comes_out() -> None:
    for expression in ("$", "$.data.items()", "$.data.values()", "range(3)", "now()", "dict(a => [1, {b => 2}])"):
        found = sandbox.evaluate(expression, {"a": 1, "b": [2]}, Budget())
        assert json.loads(json.dumps(found)) == found


def test_case_18_same_limits_at_run() -> None:
    snippet = {"yaql": {"expression": "$.data.select($.len()).sum()", "data": {"get_attr": ["other", "rows"]}}}
    found = bound({"resources": {"other": {"type": "T"}, "r": {"type": "T", "properties": {"p": snippet}}}})
    definition = definitions.thaw(found.definitions["r"].freeze())
    assert definition.resolve(Known(found.values, other={"rows": [[1], [2, 3]]})).properties == {"p": 3}
    with within(3.0), pytest.raises(UserError) as caught:
        definition.resolve(Known(found.values, other={"rows": [[1]] * 100_000}))
    assert caught.value.problems[0].path == "resources.r.properties.p"


def test_case_18_other_functions_too() -> None:
    snippet = {"repeat": {"template": "%a%%b%%c%", "for_each": {
        name: {"get_attr": ["other", "rows"]} for name in ("%a%", "%b%", "%c%")}}}
    found = bound({"resources": {"other": {"type": "T"}, "r": {"type": "T", "properties": {"p": snippet}}}})
    with within(3.0), pytest.raises(UserError) as caught:
        found.definitions["r"].resolve(Known(found.values, other={"rows": ["x"] * 1_000}))
    assert caught.value.kind == "RequestLimitExceeded"
