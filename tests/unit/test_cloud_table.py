"""The table of the cloud's services names templates, ports and placeholders that there are."""

from __future__ import annotations

import configparser
import shlex
from pathlib import Path

import pytest

from tools.cloud.place import PORTS, TEMPLATES, Place
from tools.cloud.table import SERVICES, Service

PLACE = Place(Path("/cloud"), Path("/env/bin/python"), {name: 20000 + number for number, name in enumerate(PORTS)},
              "mysql+pymysql://me:word@127.0.0.1:3306", "rabbit://me:word@127.0.0.1:5672/")


@pytest.mark.parametrize("service", SERVICES, ids=lambda one: one.name)
def test_everything_of_a_service_can_be_filled_in(service: Service) -> None:
    assert service.files and service.prepare and service.daemons
    texts = [*service.prepare, *(endpoint.url for endpoint in service.endpoints),
             *(text for daemon in service.daemons for text in (daemon.command, daemon.ready, *daemon.environment.values()))]
    for text in texts:
        assert "$" not in PLACE.fill(text, service.name)
    for daemon in service.daemons:
        assert Path(shlex.split(PLACE.fill(daemon.command, service.name))[0]).parent == PLACE.python.parent
    for name in service.files:
        filled = PLACE.fill((TEMPLATES / name).read_text(), service.name)
        assert "$" not in filled
        if name.endswith(".conf"):
            configparser.RawConfigParser(strict=True).read_string(filled)


def test_every_template_belongs_to_one_service() -> None:
    used = [name for service in SERVICES for name in service.files]
    assert sorted(used) == sorted(path.name for path in TEMPLATES.iterdir())
