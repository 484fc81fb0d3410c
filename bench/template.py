"""The template language over the bare parser: the cost of parsing, binding and validation beside reading the text.

The template has 10,000 resources, each with three properties, one get_attr and one get_param. Our side is everything from
text to plan: reading, binding, validating, the levels of the graph, and the frozen definitions. The other side is
yaml.CSafeLoader on the same text. Growth is one template of ten times the size over ten of this size: 1 is linear, and the
limit is below n log n. Times are CPU times.
"""

from __future__ import annotations

import sys

import yaml

from bench import harness
from isotherm import collector
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.resources import builtin
from isotherm.resources.validation import validate
from isotherm.template import environment
from isotherm.template.model import model
from isotherm.template.parameters import parameters
from isotherm.template.text import document

HEAD = """heat_template_version: 2018-08-31
parameters:
  label:
    type: string
    default: a label for all of them
resources:
  r0:
    type: OS::Heat::TestResource
"""
RESOURCE = """  r{number}:
    type: OS::Heat::TestResource
    properties:
      value: {{get_attr: [r{parent}, output]}}
      client_name: {{get_param: label}}
      wait_secs: 0
"""
LIMIT = 3.0
GROWTH_LIMIT = 1.1
ROOMY = document.Limits(max_bytes=1 << 30, max_nodes=1 << 30)


def text_of(size: int) -> str:
    """Return a template whose graph is a tree: each resource requires an attribute of an earlier one."""
    return HEAD + "".join(RESOURCE.format(number=number, parent=(number - 1) // 2) for number in range(1, size))


def plan(text: str, size: int) -> None:
    """Do everything from the text to the plan."""
    template = model.parse(document.load(text, limits=ROOMY))
    given = environment.load({})
    values = parameters.bind(template.parameters, given, parameters.Pseudo(stack_name="bench"))
    bound = model.bind(template, values)
    validate.validate(bound, given, builtin.registry())
    frozen = {name: definition.freeze() for name, definition in bound.definitions.items()}
    levels = DependencyTaskGraph({name: definition.requires for name, definition in bound.definitions.items()}).levels()
    assert len(frozen) == size == sum(len(level) for level in levels), "the plan does not hold all resources"


def ten_times(text: str, size: int) -> None:
    for _ in range(10):
        plan(text, size)


def main() -> int:
    options = harness.arguments("The template language against the bare YAML parser.")
    collector.tune()  # as the services do
    size = 1_000 if options.small else 10_000
    report = harness.Report("template", options.runs)
    text, larger = text_of(size), text_of(size * 10)
    report.figure("size of the text", len(text) / 1e6, "MB")
    report.ratio(f"parse, validate and plan {size:,} / yaml.CSafeLoader", lambda: plan(text, size),
                 lambda: yaml.load(text, yaml.CSafeLoader), limit=LIMIT, cpu=True)
    report.ratio(f"one of {size * 10:,} / ten of {size:,}", lambda: plan(larger, size * 10),
                 lambda: ten_times(text, size), limit=GROWTH_LIMIT, cpu=True)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
