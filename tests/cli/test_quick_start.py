"""Commands load what they use (decision 32): modules that each of them must not import, as whole processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench import startup

# Of services, of other databases, and of rare work. A prefix stands for the modules below it, too.
NEVER = (
    "aio_pika", "aiohttp", "alembic", "isotherm.api", "isotherm.importing", "isotherm.observer.service", "isotherm.sim",
    "keystoneauth1", "keystonemiddleware", "opentelemetry", "oslo_config", "oslo_policy", "prometheus_client", "psycopg",
    "pymysql", "sqlalchemy.dialects.mysql", "sqlalchemy.dialects.postgresql", "sqlalchemy.orm", "starlette", "uvicorn",
    "yaql",
    # Types that the template does not name.
    "isotherm.resources.aws.stack", "isotherm.resources.http.object", "isotherm.resources.local.file",
    "isotherm.resources.openstack.cinder.volume", "isotherm.resources.openstack.neutron.net",
    "isotherm.resources.openstack.nova.server", "isotherm.resources.openstack.octavia.pool",
    "isotherm.resources.openstack.swift.container", "isotherm.resources.openstack.table_object",
    "isotherm.resources.heat.software",
    # Drawn on terminals only.
    "rich.live", "isotherm.cli.show.live_view",
    # Services of the engine that none of these commands uses.
    "isotherm.engine.delivery", "isotherm.engine.overview", "isotherm.engine.preview", "isotherm.identity.stack_users",
)
_NOT_TO_DRIVE = ("isotherm.engine.convergence", "isotherm.engine.legacy", "isotherm.engine.steps")
ALSO = {
    "list": (*_NOT_TO_DRIVE, "cryptography", "isotherm.plugins", "isotherm.template", "yaml"),
    "show": (*_NOT_TO_DRIVE,),
    "validate": (*_NOT_TO_DRIVE, "cryptography", "isotherm.store", "sqlalchemy"),
}


@pytest.fixture(scope="module")
def loaded() -> Iterator[dict[str, set[str]]]:
    with startup.home() as (folder, environment):
        yield {name: startup.modules(given, folder, environment) for name, (given, _) in startup.COMMANDS.items()}


@pytest.mark.parametrize("name", startup.COMMANDS)
def test_a_command_does_not_load_what_it_does_not_use(loaded: dict[str, set[str]], name: str) -> None:
    unwanted = (*NEVER, *ALSO.get(name, ()))
    found = [one for one in loaded[name] if one.startswith(tuple(f"{prefix}." for prefix in unwanted)) or one in unwanted]
    assert not found


@pytest.mark.parametrize("name", startup.COMMANDS)
def test_a_command_loads_few_modules(loaded: dict[str, set[str]], name: str) -> None:
    assert len(loaded[name]) <= startup.COMMANDS[name][1]


def test_a_command_loads_what_it_uses(loaded: dict[str, set[str]]) -> None:
    assert "isotherm.resources.heat.test_resource" in loaded["deploy"]
    assert "isotherm.engine.convergence.worker" in loaded["deploy"]
