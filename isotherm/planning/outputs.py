"""The outputs of a stack, from what its resources have published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.planning.references import PublishedReferences
from isotherm.secrets import MASK, Redactor
from isotherm.store.records import Input
from isotherm.template.model.definitions import Output


def of(
    values: Mapping[str, Any], shown: Iterable[Output], found: Sequence[tuple[str, int | None, str | None]]
) -> list[dict[str, Any]]:
    """Return the outputs from published values; an output that cannot be computed has an error."""
    references = PublishedReferences([Input(*one) for one in found], values.__getitem__)
    views = []
    for output in shown:
        view: dict[str, Any] = {"output_key": output.name, "description": output.description, "output_value": None}
        try:
            view["output_value"] = output.resolve(references)
        except errors.IsothermError as error:
            view["output_error"] = str(error)
        views.append(view)
    return views


def masked(output: Output, view: Mapping[str, Any], secrets: Redactor) -> dict[str, Any]:
    """Mask an output: the whole value if it depends on a hidden parameter, otherwise the secrets in it."""
    value = view["output_value"]
    shown = MASK if output.secrets and value is not None else secrets.value(value)
    error = {"output_error": secrets.text(view["output_error"])} if "output_error" in view else {}
    return {**view, "output_value": shown, **error}
