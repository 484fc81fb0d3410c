"""The page about options tells all of them, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from isotherm import config
from isotherm.api.monitoring.metrics import RequestMetrics
from isotherm.engine.process.gauges import Gauges
from isotherm.engine.process.metrics import ServiceMetrics
from tools import config_page

PAGE = config_page.PAGE.read_text(encoding="utf-8")


def test_the_page_is_up_to_date() -> None:
    assert config_page.render(PAGE) == PAGE, "run tools/config_page.py"


def test_every_option_is_on_it_once() -> None:
    for name, number in Counter(one.name for one in config.options()).items():
        assert len(re.findall(rf"^\| `{name}` \|", PAGE, re.MULTILINE)) == number, name


def test_every_metric_is_on_it_and_no_other() -> None:
    metrics = ServiceMetrics()
    RequestMetrics(metrics.registry)
    text = metrics.text(Gauges({}, 0, 0.0, {}, {}, 0, 0)).decode()
    made = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    named = set(re.findall(r"^\| `(isotherm_\w+)` \|", PAGE, re.MULTILINE))
    assert named == {name for name in made if not name.endswith("_created")}


def test_the_example_is_one(tmp_path: Path) -> None:
    (example,) = re.findall(r"```ini\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "example.conf"
    file.write_text(example)
    assert config.load(file).max_resources_per_stack == 1000
