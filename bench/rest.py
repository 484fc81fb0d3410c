"""False drift: stacks with every type of a cloud rest on a real cloud, and nothing that the services do counts as drift.

`python -m bench rest --cloud FOLDER --minutes 60`, where FOLDER is that of a running cloud (docs/testing.md). An observer
looks every 15 seconds with the policy `report`. It writes an event whenever drift begins, and none is allowed. Without a
cloud it measures nothing and says so.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.request
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from bench import harness
from tests import cloud_stacks, clouds, drift_changes, leftovers
from tests.clouds import CloudProject
from tools import instance

ISOTHERM = str(Path(sys.executable).with_name("isotherm"))
INTERVAL_S, LOOK_S = 15.0, 10.0
SEEN = "Drift seen"
#: What the other stacks do not have: associations, handles, routes.
MORE = """
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  inside: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: sub}}}
  routes:
    type: OS::Neutron::ExtraRouteSet
    properties: {router: {get_resource: router}, routes: [{destination: 10.77.0.0/24, nexthop: 10.9.0.77}]}
    depends_on: inside
  server: {type: OS::Nova::Server, properties: {image: cirros, flavor: m1.nano, networks: [{subnet: {get_resource: sub}}]}}
  instance: {type: AWS::EC2::Instance, properties: {ImageId: cirros, InstanceType: m1.nano, SubnetId: {get_resource: sub}}}
  ip: {type: OS::Nova::FloatingIP, properties: {pool: public}}
  link:
    type: OS::Nova::FloatingIPAssociation
    properties: {floating_ip: {get_resource: ip}, server_id: {get_resource: server}}
    depends_on: inside
  eip: {type: AWS::EC2::EIP}
  eip_link:
    type: AWS::EC2::EIPAssociation
    properties: {EIP: {get_resource: eip}, InstanceId: {get_resource: instance}}
    depends_on: inside
  handle: {type: OS::Heat::SwiftSignalHandle}
  other: {type: AWS::CloudFormation::WaitConditionHandle}
"""


class Resting:
    """Stacks in a project, and a service with its observer."""

    def __init__(self, project: CloudProject, folder: Path) -> None:
        self._folder = folder
        self.home = folder / "home"
        self._environment = {**os.environ, **project.environment, "ISOTHERM_HOME": str(self.home)}

    def run(self, *arguments: str) -> str:
        ended = subprocess.run([ISOTHERM, *arguments], env=self._environment, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(f"isotherm {' '.join(arguments)}: exit code {ended.returncode}\n"
                               f"{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
        return ended.stdout

    @contextmanager
    def deployed(self, templates: Mapping[str, str], policy: str) -> Iterator[None]:
        """Make the stacks; delete them on exit."""
        def deploy(name: str) -> None:
            file = self._folder / f"{name}.yaml"
            file.write_text(templates[name], encoding="utf-8")
            given = ("--parameter", f"policy={policy}") if "get_param: policy" in templates[name] else ()
            self.run("deploy", name, "-t", str(file), *given)

        with ThreadPoolExecutor(4) as pool:
            try:
                list(pool.map(deploy, templates))
                yield
            finally:
                list(pool.map(lambda name: self.run("delete", name, "--yes"), templates))

    def drift(self, name: str) -> list[str]:
        """Return the drift that was ever seen in a stack, from its events."""
        return [f"{name}: {one['event_time']} {one['resource_name']}: {one['resource_status_reason']}"
                for one in json.loads(self.run("events", name, "--json"))
                if SEEN in str(one["resource_status_reason"])]


def stacks() -> dict[str, str]:
    """Return the templates by name."""
    more = yaml.safe_dump({"heat_template_version": "2021-04-16", "resources": yaml.safe_load(MORE)})
    return {**{name: cloud_stacks.template(name) for name in cloud_stacks.STACKS},
            "more": more, "every-property": drift_changes.TEMPLATE}


def types(templates: Mapping[str, str]) -> set[str]:
    return {one["type"] for text in templates.values() for one in yaml.safe_load(text)["resources"].values()}


@contextmanager
def qos_policy(project: CloudProject) -> Iterator[str]:
    network: Any = project.admin.network
    policy = network.create_qos_policy(name=f"rest-{secrets.token_hex(4)}", shared=True)
    try:
        yield policy.id
    finally:
        leftovers.removed(project.sdk, project.id, project.user_id)
        network.delete_qos_policy(policy)


def metrics(url: str) -> dict[str, float]:
    """Return the metrics of the observer."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as reply:
        lines = [line for line in reply.read().decode().splitlines() if line.startswith("isotherm_")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def watched(resting: Resting, project: CloudProject, minutes: float) -> tuple[dict[str, float], float, float]:
    """Run the observer; return the last metrics, the most resources that it could not see, and the seconds."""
    os.environ.update(project.environment)
    with instance.isotherm(resting.home, {"DEFAULT": {"observer_interval": str(INTERVAL_S)}}) as service:
        began, unseen = time.monotonic(), 0.0
        while True:
            time.sleep(LOOK_S)
            took, last = time.monotonic() - began, metrics(service.url)
            unseen = max(unseen, last["isotherm_unseen_resources"])
            print(f"{took:7.0f} s  {last['isotherm_observer_observations']:.0f} observations, "
                  f"{last['isotherm_drifted_resources']:.0f} drifted, {last['isotherm_unseen_resources']:.0f} unseen",
                  file=sys.stderr, flush=True)
            if took >= 60 * minutes:
                return last, unseen, took


def rest(report: harness.Report, cloud: Path, minutes: float, folder: Path) -> None:
    templates = stacks()
    missing = cloud_stacks.table_types() - types(templates)
    with clouds.project(cloud, folder) as project, qos_policy(project) as policy:
        clouds.promote(project)
        resting = Resting(project, folder)
        # Volume types have the names of their stacks, and belong to no project.
        named = {f"{project.name}-{name}": text for name, text in templates.items()}
        with resting.deployed(named, policy):
            last, unseen, took = watched(resting, project, minutes)
            found = [line for name in named for line in resting.drift(name)]
            print("\n".join(found), file=sys.stderr)
            size = sum(len(yaml.safe_load(text)["resources"]) for text in templates.values())
            report.figure("resting time", took / 60.0, "minutes")
            report.figure("resources", size, "resources")
            report.figure("types without a resource", len(missing), "types", limit=0)
            report.figure("observations", last["isotherm_observer_observations"], "observations")
            report.figure("requests of the observer", last["isotherm_observer_calls"], "calls")
            report.figure("most resources that could not be seen at a time", unseen, "resources")
            left = last["isotherm_unseen_resources"]
            report.figure("resources that could not be seen at the end", left, "resources", limit=0)
            report.figure("false drift", len(found), "events", limit=0)


def main() -> int:
    def more(parser: ArgumentParser) -> None:
        parser.add_argument("--cloud", type=Path, help="the folder of a running cloud")
        parser.add_argument("--minutes", type=float, default=60.0, help="how long the stacks rest (%(default)s)")

    options = harness.arguments("The drift that an observer sees in stacks that nothing changes.", more)
    if options.cloud is None:
        print("bench rest: not measured, because --cloud names no cloud", file=sys.stderr)
        return 0
    report = harness.Report("rest", 1)
    with tempfile.TemporaryDirectory() as folder:
        rest(report, options.cloud, 0.5 if options.small else options.minutes, Path(folder))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
