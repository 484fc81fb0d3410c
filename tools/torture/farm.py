"""The processes of the fault test: engines and APIs under a supervisor, the cloud, the database and the broker.

The supervisor restarts every process that ends, as systemd would. Engines and APIs share one folder on SQLite; with a
database server they are on two hosts, each with its own folder, and a killed process may restart on the other host. Every
connection from them to a service goes through a proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx2
import sqlalchemy as sa

from tools import side_environment
from tools.services import keeper
from tools.services.processes import began, free_ports, listens
from tools.torture import members
from tools.torture.members import API, ENGINE, Member
from tools.torture.proxy import Proxy

SQLITE, NONE = "sqlite", "none"
LOOPBACK = "127.0.0.1"
# The longest start of a process on a busy machine.
PATIENCE_S = 300.0
# Pause after a failed start, as systemd makes it.
AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The processes to run."""

    folder: Path
    database: str = SQLITE
    broker: str = NONE
    engines: int = 4
    apis: int = 2
    seed: int = 0


class Farm:
    """All processes of one run, from `start` to `stop`."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._dice = random.Random(f"{plan.seed} farm")
        self.services = [one for one in (plan.database, plan.broker) if one not in (SQLITE, NONE)]
        self.hosts = [plan.folder / name for name in (("home",) if plan.database == SQLITE else ("left", "right"))]
        # A killed service must keep the data that it has acknowledged: sync to disk.
        self._keeper = keeper.Keeper(plan.folder / "services", sync=True)
        self.members: list[Member] = []
        self.cloud = ""
        self.cloud_file = plan.folder / "cloud.db"
        self.token = secrets.token_urlsafe(24)
        #: Processes that ended without a fault.
        self.crashes: list[str] = []
        self.failed_starts = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._exits = contextlib.AsyncExitStack()
        self._guard: subprocess.Popen[bytes] | None = None
        self._cloud: asyncio.subprocess.Process | None = None

    @property
    def engines(self) -> list[Member]:
        return [one for one in self.members if one.kind == ENGINE]

    @property
    def apis(self) -> list[Member]:
        return [one for one in self.members if one.kind == API]

    async def start(self) -> None:
        self._watch()
        if self.services:
            self._exits.enter_context(keeper.guarded(self.plan.folder / "services"))
            await self.start_services()
        await self._start_cloud()
        for host in self.hosts:
            self._prepare(host)
        numbers = [(kind, n) for kind, count in ((API, self.plan.apis), (ENGINE, self.plan.engines)) for n in range(count)]
        ports = free_ports(self.plan.apis)
        for number, (kind, index) in enumerate(numbers):
            home = self.hosts[number % len(self.hosts)]
            member = Member(f"{kind}{index + 1}", kind, home, ports[index] if kind == API else 0)
            for service in self.services:
                member.proxies[service] = Proxy(lambda service=service: self.port(service))  # type: ignore[misc]
                await member.proxies[service].start()
            self._configure(member)
            self.members.append(member)
            self._tasks.append(asyncio.create_task(self._supervise(member)))
        await self.all_ready()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for process in [*(member.process for member in self.members), self._cloud]:
            if process is not None and process.returncode is None:
                process.kill()
                await process.wait()
        for member in self.members:
            for proxy in member.proxies.values():
                await proxy.stop()
        for name, one in self._keeper.status().items():
            with contextlib.suppress(OSError):
                shutil.copyfile(one.log, self._log(name))
        if self.services:
            await asyncio.to_thread(self._keeper.down, self.services)
        if self._guard is not None:
            await asyncio.to_thread(self._guard.communicate)
        await self._exits.aclose()

    async def all_ready(self, members: list[Member] | None = None) -> None:
        async with asyncio.timeout(PATIENCE_S):
            for member in members or self.members:
                await member.ready.wait()

    # Services.

    def port(self, service: str) -> int:
        return self._keeper.status()[service].port

    async def start_services(self, names: list[str] | None = None) -> None:
        """Start these services, or those that have died, with their data."""
        await asyncio.to_thread(self._keeper.up, names or self.services)

    def kill_service(self, name: str) -> None:
        """Kill a service and its children with SIGKILL."""
        process = self._keeper.status()[name].processes[0]
        for pid in (process.pid, *members.children(process.pid)) if process.is_alive() else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def url(self, service: str, port: int | None = None) -> str:
        """Return the URL of a service: past all proxies, unless a port is given."""
        found = sa.make_url(self._keeper.status()[service].url)
        return found.set(port=port or found.port).render_as_string(hide_password=False)

    @property
    def database_url(self) -> str:
        if self.plan.database == SQLITE:
            return f"sqlite:///{self.hosts[0] / 'isotherm.db'}"
        return self.url(self.plan.database)

    async def calm(self) -> None:
        """Stop the faults of the cloud."""
        async with httpx2.AsyncClient() as http:
            (await http.put(f"{self.cloud}/calm")).raise_for_status()

    async def _start_cloud(self) -> None:
        (port,) = free_ports(1)
        self.cloud = f"http://{LOOPBACK}:{port}"
        command = [sys.executable, "-m", "tools.torture.cloud", str(self.cloud_file), str(port), str(self.plan.seed)]
        with self._log("cloud").open("ab") as log:
            self._cloud = await asyncio.create_subprocess_exec(*command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                               cwd=side_environment.ROOT)
        self._guarded(self._cloud.pid)
        async with asyncio.timeout(PATIENCE_S):
            while not listens(port):
                await asyncio.sleep(0.05)

    # Members.

    def kill(self, member: Member, *, elsewhere: bool = False) -> None:
        """Kill a member with SIGKILL. The supervisor restarts it once it is not held; `elsewhere` on another host."""
        member.held = member.killed = True
        member.ready.clear()
        member.signal(signal.SIGKILL)
        if elsewhere:
            member.home = self._dice.choice(self.hosts)
            self._configure(member)

    async def pause(self, member: Member) -> None:
        """Stop a member with SIGSTOP; on SQLite not while it writes, since it would lock the file for all."""
        member.signal(signal.SIGSTOP)
        while self.plan.database == SQLITE and not await asyncio.to_thread(members.is_free, self.hosts[0] / "isotherm.db"):
            member.signal(signal.SIGCONT)
            await asyncio.sleep(self._dice.uniform(0.005, 0.05))
            member.signal(signal.SIGSTOP)

    def resume(self, member: Member) -> None:
        member.signal(signal.SIGCONT)

    async def _supervise(self, member: Member) -> None:
        while True:
            while member.held:
                await asyncio.sleep(0.05)
            process = member.process = await self._begin(member)
            member.lives += 1
            if await members.first_word(process):
                member.ready.set()
            code = await process.wait()
            was_ready = member.ready.is_set()
            member.ready.clear()
            if member.killed:
                member.killed = False
                continue
            if was_ready:
                self.crashes.append(f"{member.name} ended by itself with code {code}")
            self.failed_starts += not was_ready
            await asyncio.sleep(AGAIN_S)

    async def _begin(self, member: Member) -> asyncio.subprocess.Process:
        environ = {**os.environ, "ISOTHERM_HOME": str(member.home), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "isotherm.cli.main", member.kind, "--json", "--config-file",
                   str(self.plan.folder / f"{member.name}.conf")]
        more = ["--port", str(member.port)] if member.kind == API else []
        with self._log(member.name).open("ab") as log:
            log.write(f"--- life {member.lives + 1}\n".encode())
            log.flush()
            process = await asyncio.create_subprocess_exec(
                *command, *more, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                cwd=side_environment.ROOT)
        self._guarded(process.pid)
        return process

    def _configure(self, member: Member) -> None:
        """Write the configuration of this member: its own proxies to the services."""
        lines = ["[DEFAULT]", "allowed_fetch_networks = 127.0.0.0/8"]
        if self.plan.broker != NONE:
            lines.append(f"transport_url = {self.url(self.plan.broker, member.proxies[self.plan.broker].port)}")
        if self.plan.database != SQLITE:
            url = self.url(self.plan.database, member.proxies[self.plan.database].port)
            lines += ["[database]", f"connection = {url}"]
        (self.plan.folder / f"{member.name}.conf").write_text("\n".join(lines) + "\n")

    def _prepare(self, host: Path) -> None:
        """Make the folder of a host, with the files that all hosts share: the token, the key and the journal."""
        host.mkdir()
        (host / "token").touch(0o600)
        (host / "token").write_text(self.token)
        (host / "keys").touch(0o600)
        (host / "keys").write_text(self.token.encode().hex()[:64].ljust(64, "0") + "\n")
        if host != self.hosts[0]:
            (host / "reality.journal").symlink_to(self.hosts[0] / "reality.journal")

    # All processes end with this one.

    def _watch(self) -> None:
        self._guard = subprocess.Popen([sys.executable, "-m", "tools.torture.guard"], stdin=subprocess.PIPE,
                                       cwd=side_environment.ROOT, start_new_session=True)

    def _guarded(self, pid: int) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.write(f"{pid} {began(pid)}\n".encode())
            self._guard.stdin.flush()

    def _log(self, name: str) -> Path:
        return self.plan.folder / f"{name}.log"
