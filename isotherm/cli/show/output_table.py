"""The table of a stack's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from isotherm.cli.show import console

# Heat's text for an output without a description.
NO_DESCRIPTION = "No description given"


def table(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    rows = [(o["output_key"], _value(o), "" if o["description"] == NO_DESCRIPTION else o["description"]) for o in found]
    return console.table(["name", "value", "description"], rows, styles=["cyan", "", "dim"])


def _value(output: Mapping[str, Any]) -> Text:
    if "output_error" in output:
        return console.text(output["output_error"], "red")
    return console.text(output["output_value"])

