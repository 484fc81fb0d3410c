"""What holds for every template: it is read or refused, resolving twice is resolving once, thawing undoes freezing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from isotherm.errors import UserError
from isotherm.template import environment, versions
from isotherm.template.limits import Limits
from isotherm.template.model import definitions, model
from isotherm.template.parameters import parameters
from isotherm.template.text import document

LIMITS = Limits(max_value=20_000, max_evaluated=200_000, yaql_steps=300)
COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=150)

scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 70_000), st.floats(allow_nan=False, width=16),
                    st.text(max_size=6), st.sampled_from(["r", "s", "p", "q", "a,b", "c", "value", "%v%", "md5", "Retain"]))
plain = st.recursive(scalars, lambda inner: st.one_of(
    st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)), max_leaves=8)
NAMES = sorted({name for dialect in versions.VERSIONS.values()
                for name in (*dialect.functions, *dialect.condition_functions, *dialect.removed)})
KEYS = ["template", "params", "for_each", "permutations", "expression", "data", "keys", "values", "host", "port", "query"]


def _calls(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Calls with arguments of about the right shape, so that many get past the first question."""
    args = st.one_of(inner, st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4))
    call = st.builds(lambda name, value: {name: value}, st.sampled_from(NAMES), args)
    likely = st.sampled_from([
        {"get_param": "p"}, {"get_param": "q"}, {"get_param": "secret"}, {"get_resource": "r"},
        {"get_attr": ["r", "value"]},
        {"get_attr": ["s", "a", 0]}, {"list_join": [",", [{"get_param": "p"}, {"get_attr": ["r", "x"]}]]},
        {"yaql": {"expression": "$.data", "data": {"get_attr": ["r", "x"]}}}, {"if": ["c", {"get_param": "q"}, 1]},
        {"str_replace": {"template": "a %v%", "params": {"%v%": {"get_attr": ["r", "x"]}}}}, {"get_file": "f"},
        {"repeat": {"template": "%v%", "for_each": {"%v%": {"get_param": "q"}}}}])
    return st.one_of(call, likely, st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3))


snippets = st.recursive(scalars, _calls, max_leaves=12)
trees = st.dictionaries(st.sampled_from(["a", "b", "value"]), snippets, max_size=3)
maybe = st.one_of(trees, snippets)
resource = st.fixed_dictionaries({"type": st.just("OS::Heat::Value")}, optional={
    "properties": maybe, "metadata": maybe, "depends_on": st.one_of(st.sampled_from(["r", "s", ["r"], "zz"]), plain),
    "deletion_policy": st.one_of(st.sampled_from(["Delete", "retain"]), snippets), "update_policy": maybe,
    "condition": st.one_of(st.sampled_from(["c", True, False]), snippets), "external_id": snippets, "description": plain})
PARAMETERS = {"p": {"type": "string", "default": "v"}, "q": {"type": "comma_delimited_list", "default": "a,b"},
              "secret": {"type": "string", "default": "hunter2", "hidden": True}, "missing": {"type": "json"}}
templates = st.fixed_dictionaries({
    "heat_template_version": st.sampled_from(sorted(value for key, value in versions.VERSIONS if key == versions.HOT_KEY)),
    "resources": st.dictionaries(st.sampled_from(["r", "s", "t"]), st.one_of(resource, plain), max_size=3),
}, optional={"outputs": st.dictionaries(st.sampled_from(["o", "u"]), st.one_of(
    st.fixed_dictionaries({"value": snippets}, optional={"condition": snippets}), plain), max_size=2),
    "conditions": st.one_of(st.dictionaries(st.sampled_from(["c", "d"]), snippets, max_size=2), plain),
    "parameters": st.one_of(st.just(PARAMETERS), plain), "parameter_groups": plain, "other": plain})
good_resource = st.fixed_dictionaries({"type": st.just("OS::Heat::Value"), "properties": trees},
                                      optional={"metadata": trees})
good_templates = st.fixed_dictionaries({
    "heat_template_version": st.just("2021-04-16"), "parameters": st.just(PARAMETERS), "conditions": st.just({"c": True}),
    "resources": st.dictionaries(st.sampled_from(["r", "s", "t"]), good_resource, min_size=1, max_size=3)})


class Answers:
    """References that know something about everything."""

    def reference_id(self, resource: str) -> object:
        return f"{resource}-id"

    def attribute(self, resource: str, attribute: str, path: tuple[Any, ...]) -> object:
        return definitions.select({"a": ["x"], "x": "y"}.get(attribute), path)

    def attributes(self, resource: str) -> object:
        return {"a": 1}

    def parameter(self, name: str) -> object:
        return "hunter2"


def _bound(data: Any) -> model.Bound:
    template = model.parse(data, limits=LIMITS)
    values = parameters.bind(template.parameters, environment.load({}), parameters.Pseudo("s", "i", "p"),
                             require_all=False, check_values=False)
    return model.bind(template, values, files={"f": "content"}, limits=LIMITS)


def _live(data: Any) -> dict[str, definitions.Definition]:
    """Definitions of a template, or none if it was refused."""
    try:
        return _bound(data).definitions
    except UserError:
        return {}


@COMMON
@given(st.one_of(st.text(max_size=200), st.binary(max_size=200), st.text(alphabet="{}[]:,-&*!|>'\"\n \tab<", max_size=80)))
@example("&a [*a]")
@example("a: &a\n<<: *a")
@example("{? {a: b} : c}")
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    try:
        found = document.load(text, limits=LIMITS)
        model.parse(found, limits=LIMITS)
    except UserError as error:
        assert str(error)


@COMMON
@given(plain.filter(lambda data: "\\u0000" not in json.dumps(data)))
def test_what_json_says_is_read(data: Any) -> None:
    assert document.load(json.dumps({"a": data})).data == {"a": data}


@COMMON
@given(templates)
def test_any_template_is_bound_or_refused(data: dict[str, Any]) -> None:
    try:
        bound = _bound(data)
        bound.check_groups()
        bound.check_conditions()
        bound.check_references()
        for output in bound.outputs.values():
            output.resolve(Answers(), limits=LIMITS)
        for definition in bound.definitions.values():
            definition.resolve(Answers(), limits=LIMITS)
        assert isinstance(bound.conditions, dict)
    except UserError as error:
        assert error.kind


@COMMON
@given(st.one_of(good_templates, templates))
def test_thaw_undoes_freeze(data: dict[str, Any]) -> None:
    for definition in _live(data).values():
        frozen = definition.freeze()
        assert definitions.thaw(frozen) == definition
        assert definitions.thaw(json.loads(json.dumps(frozen))) == definition
        assert "hunter2" not in json.dumps(frozen)


@COMMON
@given(good_templates)
def test_resolving_is_idempotent(data: dict[str, Any]) -> None:
    """What is resolved holds no call any more: reading it again changes nothing, and neither does asking twice."""
    for definition in _live(data).values():
        try:
            once = definition.resolve(Answers(), limits=LIMITS)
        except UserError:
            continue
        assert definition.resolve(Answers(), limits=LIMITS) == once
        assert definitions.resolve_value(once.properties, Answers()) == once.properties


@COMMON
@given(good_templates)
def test_what_is_required_is_there(data: dict[str, Any]) -> None:
    found = _live(data)
    for definition in found.values():
        assert definition.requires <= set(found)
        assert {name for name, _ in definition.needs} <= definition.requires
