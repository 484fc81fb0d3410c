"""The time that stacks take here and with a real Heat, on one cloud, and the difference of their outputs.

It needs a cloud whose catalogue has a Heat: `python -m bench heat --cloud FOLDER`, where FOLDER has a `clouds.yaml`.
Without one it measures nothing and says so. Heat's stack is looked at ten times a second. `--cloud FOLDER --without-heat`
measures the rest on a cloud that has no Heat.

The everyday stack is made with a plain client as well. `chain` is the longest chain of it alone: no orchestrator can be
faster. `by hand` is all of it, with each object requested as soon as those are there that it needs: the services of a small
cloud are slower while they make the other objects.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openstack
import yaml

from bench import harness

ISOTHERM = str(Path(sys.executable).with_name("isotherm"))
LOOK_S = 0.1
LIMIT_S = 600.0
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}")
_ADDRESS = re.compile(r"\b\d+\.\d+\.\d+\.\d+\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z?")
# Heat uses the newest API of Nova, which generates no keys.
_PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmPVa60YDV1PPN7x/1XxowvQAtEKMtE5CA6CUdPIyxR bench"
# The attributes of the everyday stack that do not depend on the moment at which they are read.
_COMPARED = {
    "key": "public_key private_key",
    "net": "name admin_state_up status tenant_id port_security_enabled mtu qos_policy_id l2_adjacency",
    "subnet": "name cidr gateway_ip ip_version enable_dhcp dns_nameservers allocation_pools host_routes network_id",
    "router": "name admin_state_up status tenant_id external_gateway_info",
    "port": "name admin_state_up tenant_id fixed_ips security_groups mac_address network_id allowed_address_pairs subnets",
    "address": "floating_ip_address fixed_ip_address port_id floating_network_id router_id tenant_id",
    "volume": "size availability_zone volume_type bootable encrypted display_name display_description metadata "
              "metadata_values snapshot_id source_volid created_at",
    "server": "name first_address accessIPv4 accessIPv6 instance_name tags",
}


def everyday() -> dict[str, Any]:
    """Return a stack as most people have one: a server with all that it needs."""
    resources: dict[str, Any] = {
        "key": ("OS::Nova::KeyPair", {"name": {"list_join": ["-", [{"get_param": "OS::stack_name"}, "key"]]},
                                      "public_key": _PUBLIC_KEY}),
        "net": ("OS::Neutron::Net", {}),
        "subnet": ("OS::Neutron::Subnet", {"network": {"get_resource": "net"}, "cidr": "10.31.0.0/24"}),
        "router": ("OS::Neutron::Router", {"external_gateway_info": {"network": "public"}}),
        "interface": ("OS::Neutron::RouterInterface", {"router": {"get_resource": "router"},
                                                       "subnet": {"get_resource": "subnet"}}),
        "port": ("OS::Neutron::Port", {"network": {"get_resource": "net"},
                                       "fixed_ips": [{"subnet": {"get_resource": "subnet"}}]}),
        "address": ("OS::Neutron::FloatingIP", {"floating_network": "public", "port_id": {"get_resource": "port"}}),
        "volume": ("OS::Cinder::Volume", {"size": 1}),
        "server": ("OS::Nova::Server", {"image": "cirros", "flavor": "m1.nano", "key_name": {"get_resource": "key"},
                                        "networks": [{"port": {"get_resource": "port"}}]}),
        "attachment": ("OS::Cinder::VolumeAttachment", {"instance_uuid": {"get_resource": "server"},
                                                        "volume_id": {"get_resource": "volume"}}),
    }
    outputs = {f"{name}.{attribute}": {"value": {"get_attr": [name, attribute]}}
               for name, attributes in _COMPARED.items() for attribute in attributes.split()}
    return {"heat_template_version": "2021-04-16",
            "resources": {name: {"type": type_, "properties": given} for name, (type_, given) in resources.items()},
            "outputs": outputs}


def many(size: int) -> dict[str, Any]:
    """Return a stack of servers, each with a port of its own."""
    resources: dict[str, Any] = {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {"type": "OS::Neutron::Subnet", "properties": {
            "network": {"get_resource": "net"}, "cidr": "10.32.0.0/22"}}}
    for number in range(size):
        resources[f"port{number}"] = {"type": "OS::Neutron::Port", "properties": {
            "network": {"get_resource": "net"}, "fixed_ips": [{"subnet": {"get_resource": "subnet"}}]}}
        resources[f"server{number}"] = {"type": "OS::Nova::Server", "properties": {
            "image": "cirros", "flavor": "m1.nano", "networks": [{"port": {"get_resource": f"port{number}"}}]}}
    return {"heat_template_version": "2021-04-16", "resources": resources}


class Ours:
    """The command line with its embedded engine."""

    def __init__(self, cloud: Path, home: Path) -> None:
        self._home = home
        self._environment = os.environ | {"ISOTHERM_HOME": str(home), "OS_CLOUD": "demo",
                                          "OS_CLIENT_CONFIG_FILE": str(cloud / "clouds.yaml")}

    def create(self, name: str, template: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        file = self._home / "template.yaml"
        file.write_text(yaml.safe_dump(template), encoding="utf-8")
        ended = json.loads(self._run("deploy", name, "-t", str(file), "--json").splitlines()[-1])
        return ended["seconds"], {one["output_key"]: one["output_value"] for one in ended["outputs"]}

    def delete(self, name: str) -> float:
        return float(json.loads(self._run("delete", name, "--yes", "--json").splitlines()[-1])["seconds"])

    def _run(self, *arguments: str) -> str:
        ended = subprocess.run([ISOTHERM, *arguments], env=self._environment, capture_output=True, text=True, check=False)
        if ended.returncode:
            sys.exit(f"isotherm {' '.join(arguments)}: exit code {ended.returncode}\n{ended.stdout[-2000:]}{ended.stderr}")
        return ended.stdout


class Heat:
    """The Heat of the cloud's catalogue."""

    def __init__(self, cloud: openstack.connection.Connection) -> None:
        self._session, self._url = cloud.session, cloud.session.get_endpoint(service_type="orchestration")

    def create(self, name: str, template: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        began = time.perf_counter()
        asked = {"stack_name": name, "template": template, "timeout_mins": 30}
        ended = self._wait(self._session.post(f"{self._url}/stacks", json=asked).json()["stack"]["id"], "CREATE")
        took = time.perf_counter() - began
        return took, {one["output_key"]: one["output_value"] for one in ended["outputs"]}

    def delete(self, name: str) -> float:
        began = time.perf_counter()
        found = self._show(name)
        self._session.delete(f"{self._url}/stacks/{name}/{found['id']}")
        self._wait(found["id"], "DELETE")
        return time.perf_counter() - began

    def _show(self, stack: str) -> dict[str, Any]:
        return dict(self._session.get(f"{self._url}/stacks/{stack}").json()["stack"])

    def _wait(self, stack_id: str, action: str) -> dict[str, Any]:
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            stack = self._show(f"{stack_id}?resolve_outputs=False")
            if stack["stack_status"] == f"{action}_COMPLETE":
                return self._show(stack_id) if action == "CREATE" else stack
            if stack["stack_status"].endswith("_FAILED"):
                sys.exit(f"Heat: {stack['stack_status']}: {stack['stack_status_reason']}")
            time.sleep(LOOK_S)
        sys.exit(f"Heat: no end of {action} within {LIMIT_S:g} s")


def chain(cloud: openstack.connection.Connection) -> float:
    """Return the time of the longest chain of the everyday stack: network, subnet, port, server, attachment."""
    made: list[Any] = []
    image: Any = cloud.image.find_image("cirros")
    flavor: Any = cloud.compute.find_flavor("m1.nano")
    volume: Any = cloud.block_storage.create_volume(size=1)
    cloud.block_storage.wait_for_status(volume, "available", interval=LOOK_S)
    try:
        began = time.perf_counter()
        net = cloud.network.create_network(name="chain")
        made.append(lambda: cloud.network.delete_network(net))
        subnet = cloud.network.create_subnet(network_id=net.id, ip_version=4, cidr="10.33.0.0/24")
        port = cloud.network.create_port(network_id=net.id, fixed_ips=[{"subnet_id": subnet.id}])
        made.append(lambda: cloud.network.delete_port(port))
        server = cloud.compute.create_server(name="chain", image_id=image.id, flavor_id=flavor.id,
                                             networks=[{"port": port.id}])
        made.append(lambda: _without(cloud, server))
        cloud.compute.wait_for_server(server, interval=LOOK_S)
        cloud.compute.create_volume_attachment(server, volume_id=volume.id)
        cloud.block_storage.wait_for_status(volume, "in-use", interval=LOOK_S)
        return time.perf_counter() - began
    finally:
        for undo in reversed(made):
            undo()
        cloud.block_storage.wait_for_status(volume, "available", interval=LOOK_S)
        cloud.block_storage.delete_volume(volume)


def _without(cloud: openstack.connection.Connection, server: Any) -> None:
    cloud.compute.delete_server(server)
    cloud.compute.wait_for_delete(server, interval=LOOK_S)


class ByHand:
    """The everyday stack, made with a plain client: each object as soon as those are there that it needs."""

    def __init__(self, cloud: Any) -> None:
        self._cloud = cloud
        self._names: dict[str, Any] = {
            "image": cloud.image.find_image("cirros").id, "flavor": cloud.compute.find_flavor("m1.nano").id,
            "public": cloud.network.find_network("public").id}
        self._made: dict[str, Future[Any]] = {}

    def create(self) -> float:
        """Return the time until all objects are ready."""
        steps = (self._key, self._net, self._subnet, self._router, self._interface, self._port, self._address,
                 self._volume, self._server, self._attachment)
        began = time.perf_counter()
        with ThreadPoolExecutor(len(steps)) as pool:
            self._made = {step.__name__.lstrip("_"): Future() for step in steps}
            list(pool.map(self._make, steps))
        return time.perf_counter() - began

    def _make(self, step: Callable[[], Any]) -> None:
        self._made[step.__name__.lstrip("_")].set_result(step())

    def _of(self, name: str) -> Any:
        return self._made[name].result(LIMIT_S)

    def _key(self) -> Any:
        return self._cloud.compute.create_keypair(name="by-hand", public_key=_PUBLIC_KEY)

    def _net(self) -> Any:
        return self._cloud.network.create_network(name="by-hand")

    def _subnet(self) -> Any:
        return self._cloud.network.create_subnet(network_id=self._of("net").id, ip_version=4, cidr="10.31.0.0/24")

    def _router(self) -> Any:
        return self._cloud.network.create_router(
            name="by-hand", external_gateway_info={"network_id": self._names["public"]})

    def _interface(self) -> Any:
        return self._cloud.network.add_interface_to_router(self._of("router"), subnet_id=self._of("subnet").id)

    def _port(self) -> Any:
        subnet = self._of("subnet")
        return self._cloud.network.create_port(network_id=subnet.network_id, fixed_ips=[{"subnet_id": subnet.id}])

    def _address(self) -> Any:
        port, _ = self._of("port"), self._of("interface")
        return self._cloud.network.create_ip(floating_network_id=self._names["public"], port_id=port.id)

    def _volume(self) -> Any:
        made = self._cloud.block_storage.create_volume(size=1)
        return self._cloud.block_storage.wait_for_status(made, "available", interval=LOOK_S)

    def _server(self) -> Any:
        made = self._cloud.compute.create_server(
            name="by-hand", image_id=self._names["image"], flavor_id=self._names["flavor"],
            key_name=self._of("key").name, networks=[{"port": self._of("port").id}])
        return self._cloud.compute.wait_for_server(made, interval=LOOK_S)

    def _attachment(self) -> None:
        volume = self._of("volume")
        self._cloud.compute.create_volume_attachment(self._of("server"), volume_id=volume.id)
        self._cloud.block_storage.wait_for_status(volume, "in-use", interval=LOOK_S)

    def delete(self) -> None:
        """Delete all objects."""
        network, made = self._cloud.network, {name: one.result() for name, one in self._made.items()}
        _without(self._cloud, made["server"])
        self._cloud.compute.delete_keypair("by-hand")
        self._cloud.block_storage.wait_for_status(made["volume"], "available", interval=LOOK_S)
        self._cloud.block_storage.delete_volume(made["volume"])
        network.delete_ip(made["address"])
        network.delete_port(made["port"])
        network.remove_interface_from_router(made["router"], subnet_id=made["subnet"].id)
        network.delete_router(made["router"])
        network.delete_network(made["net"])


def differences(ours: dict[str, Any], heats: dict[str, Any]) -> list[str]:
    """Return the outputs that differ by more than ids, addresses and times."""
    return [f"{name}: {_alike(ours.get(name))} here, {_alike(heats.get(name))} with Heat" for name in sorted(heats)
            if _alike(ours.get(name)) != _alike(heats.get(name))]


def _alike(value: Any) -> str:
    # Heat tells some values that there are none of as the text "None".
    text = json.dumps(None if value == "None" else value, sort_keys=True)
    for pattern, word in ((_UUID, "ID"), (_MAC, "MAC"), (_ADDRESS, "ADDRESS"), (_TIME, "TIME")):
        text = pattern.sub(word, text)
    return re.sub(r"bench-(?:ours|heat)-(\w+)-\w{12}", r"bench-NAME-\1", text).replace("bench-ours", "bench").replace(
        "bench-heat", "bench")


def main() -> int:
    def more(parser: ArgumentParser) -> None:
        parser.add_argument("--cloud", type=Path, help="the folder of a cloud that has a Heat")
        parser.add_argument("--without-heat", action="store_true", help="the cloud has none: leave Heat out")

    options = harness.arguments("How long stacks take here and with Heat.", more)
    if options.cloud is None:
        print("bench heat: not measured, because --cloud names no cloud that has a Heat", file=sys.stderr)
        return 0
    report = harness.Report("heat", options.runs)
    os.environ["OS_CLIENT_CONFIG_FILE"] = str(options.cloud / "clouds.yaml")
    cloud = openstack.connect(cloud="demo")
    with tempfile.TemporaryDirectory() as home:
        ours, heat = Ours(options.cloud, Path(home)), None if options.without_heat else Heat(cloud)
        size = 5 if options.small else 50
        for title, template in (("everyday", everyday()), (f"{size} servers with ports", many(size))):
            _compare(report, title, template, ours, heat, cloud)
    return report.close()


def _compare(
    report: harness.Report, title: str, template: dict[str, Any], ours: Ours, heat: Heat | None, cloud: Any
) -> None:
    times: dict[str, list[float]] = {}

    def note(name: str, seconds: float) -> None:
        times.setdefault(name, []).append(seconds)

    for _ in range(report.runs):
        seconds, our_outputs = ours.create("bench-ours", template)
        note("ours", seconds)
        if heat is not None:
            seconds, heats_outputs = heat.create("bench-heat", template)
            note("heat", seconds)
            if template.get("outputs"):
                found = differences(our_outputs, heats_outputs)
                print("\n".join(found), file=sys.stderr)
                report.figure(f"{title}: outputs that differ", len(found), "outputs", limit=0)
            note("heat, delete", heat.delete("bench-heat"))
        note("ours, delete", ours.delete("bench-ours"))
        if template.get("outputs"):
            by_hand = ByHand(cloud)
            note("by hand", by_hand.create())
            by_hand.delete()
            note("chain", chain(cloud))
    middle = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
    for name, value in middle.items():
        report.figure(f"{title}: {name}", value, "s")
    for name, limit in (("heat", 1.0), ("by hand", 1.1), ("chain", 1.1)):
        if name in middle:
            report.figure(f"{title}: ours / {name}", middle["ours"] / middle[name], "x", limit=limit)
    if heat is not None:
        report.figure(f"{title}: ours / heat, delete", middle["ours, delete"] / middle["heat, delete"], "x", limit=1.0)


if __name__ == "__main__":
    sys.exit(main())
