"""The outputs of a stack, from what its resources have published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from isotherm import errors
from isotherm.engine import desired
from isotherm.engine.references import PublishedReferences
from isotherm.store.records import Input
from isotherm.template.definitions import Output


def of(
    goal: desired.Desired, shown: Iterable[Output], found: Sequence[tuple[str, int | None, str | None]]
) -> list[dict[str, Any]]:
    """Output values from what resources have published; one that cannot be had says why."""
    references = PublishedReferences([Input(*one) for one in found], goal.values.__getitem__)
    views = []
    for output in shown:
        view: dict[str, Any] = {"output_key": output.name, "description": output.description, "output_value": None}
        try:
            view["output_value"] = output.resolve(references)
        except errors.IsothermError as error:
            view["output_error"] = str(error)
        views.append(view)
    return views
