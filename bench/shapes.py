"""Templates of a given shape and size, for the benchmarks of the engine.

- independent: no edges
- chain: each requires the one before
- layered: ten layers, each resource with two requirements in the layer before; one of them provides a value
- fan_in: all but the last are independent, and the last requires them all
"""

from __future__ import annotations

import json
from typing import Any

SHAPES = ("independent", "layered", "fan_in", "chain")
LAYERS = 10


def template(shape: str, size: int, value: str = "x", changed: int | None = None) -> str:
    """Return a template as JSON text. `value` is the value of the first `changed` resources, or of all."""
    limit = size if changed is None else changed
    resources = {
        f"r{i}": _resource(shape, i, size, value if i < limit else "x") for i in range(size)
    }
    return json.dumps({"heat_template_version": "2018-08-31", "resources": resources})


def _resource(shape: str, i: int, size: int, value: str) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "OS::Heat::TestResource", "properties": {"value": value}}
    width = max(1, size // LAYERS)
    if shape == "chain" and i:
        made["depends_on"] = [f"r{i - 1}"]
    elif shape == "fan_in" and i == size - 1:
        made["depends_on"] = [f"r{j}" for j in range(size - 1)]
    elif shape == "layered" and i >= width:
        above, column = (i // width - 1) * width, i % width
        made["properties"]["client_name"] = {"get_attr": [f"r{above + column}", "output"]}
        made["depends_on"] = [f"r{above + (column + 1) % width}"]
    return made
