"""Listens for notifications with oslo.messaging, as Ceilometer does, and prints each as a line of JSON.

Runs in the environment of the real Heat: Isotherm does not use oslo.messaging. The tests of notifications start it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import oslo_messaging
from oslo_config import cfg


def say(something: Any) -> None:
    sys.stdout.write(f"{json.dumps(something)}\n")
    sys.stdout.flush()


class Endpoint:
    """Prints what comes."""

    def _print(self, priority: str, publisher_id: str, event_type: str, payload: Any, metadata: Any) -> None:
        say({"priority": priority, "publisher_id": publisher_id, "event_type": event_type, "payload": payload,
             "metadata": metadata})

    def info(self, _context: Any, publisher_id: str, event_type: str, payload: Any, metadata: Any) -> None:
        self._print("info", publisher_id, event_type, payload, metadata)

    def error(self, _context: Any, publisher_id: str, event_type: str, payload: Any, metadata: Any) -> None:
        self._print("error", publisher_id, event_type, payload, metadata)


def main() -> None:
    conf = cfg.ConfigOpts()
    conf([])
    oslo_messaging.set_transport_defaults("heat")
    transport = oslo_messaging.get_notification_transport(conf, url=sys.argv[1])
    listener = oslo_messaging.get_notification_listener(
        transport, [oslo_messaging.Target(topic="notifications")], [Endpoint()], executor="threading")
    listener.start()
    say("ready")
    sys.stdin.read()
    listener.stop()
    listener.wait()


if __name__ == "__main__":
    main()
