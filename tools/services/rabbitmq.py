"""A private RabbitMQ, with a port mapper (epmd) of its own: the usual one may belong to another Erlang."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tools.services import processes
from tools.services.packages import need, rabbitmq_server
from tools.services.processes import LOOPBACK, Running

STOP = signal.SIGTERM
_NAME = "rabbitmq"
_CONFIG = """\
listeners.tcp.1 = {address}:{port}
default_user = isotherm
default_pass = {password}
loopback_users = none
vm_memory_high_watermark.absolute = 1GB
disk_free_limit.absolute = 50MB
log.console = true
log.console.level = warning
log.file = false
"""


def start(folder: Path, password: str, *, sync: bool) -> Running:
    """Start the broker. It always flushes to disk; `sync` is for the other services."""
    place = folder / _NAME
    place.mkdir(mode=0o700, exist_ok=True)
    place = place.resolve()
    log = place / "log"
    port, between, mapper = processes.free_ports(3)
    (place / "rabbitmq.conf").write_text(_CONFIG.format(address=LOOPBACK, port=port, password=password))
    (place / "rabbitmq.conf").chmod(0o600)
    (place / "plugins").write_text("[].\n")
    (place / "env").write_text("")
    environ = {**os.environ, "HOME": str(place), "ERL_EPMD_PORT": str(mapper), "ERL_EPMD_ADDRESS": LOOPBACK}
    epmd = processes.start([need("epmd"), "-address", LOOPBACK, "-port", str(mapper)], log, environ=environ)
    broker = epmd
    try:
        processes.wait_until(lambda: processes.listens(mapper), [epmd], log)
        broker = processes.start([rabbitmq_server()], log, environ=environ | _environ(place, port, between))
        processes.wait_until(lambda: processes.listens(port), [broker, epmd], log)
    except BaseException:
        processes.end([broker, epmd], STOP)
        raise
    return Running(_NAME, f"amqp://isotherm:{password}@{LOOPBACK}:{port}/", port, str(place), str(log), (broker, epmd))


def _environ(place: Path, port: int, between: int) -> dict[str, str]:
    """Return the environment that keeps its files under one folder. They contain the node name, so it never changes."""
    return {
        "RABBITMQ_CONF_ENV_FILE": str(place / "env"), "RABBITMQ_NODENAME": "isotherm@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK, "RABBITMQ_NODE_PORT": str(port), "RABBITMQ_DIST_PORT": str(between),
        "RABBITMQ_MNESIA_BASE": str(place / "mnesia"), "RABBITMQ_LOG_BASE": str(place),
        "RABBITMQ_CONFIG_FILE": str(place / "rabbitmq.conf"), "RABBITMQ_ENABLED_PLUGINS_FILE": str(place / "plugins"),
        "RABBITMQ_PID_FILE": str(place / "pid"), "RABBITMQ_SCHEMA_DIR": str(place / "schema"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(place / "config"),
        "RABBITMQ_FEATURE_FLAGS_FILE": str(place / "feature_flags"),
        "ERL_CRASH_DUMP": str(place / "crash"),
        # Makes the broker the started process itself, not a child of a shell that would outlive a kill.
        "RUNNING_UNDER_SYSTEMD": "yes",
        # Loopback only, and no busy waiting: the tests need the processors.
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none",
    }
