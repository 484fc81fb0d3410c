"""Run Swift's account, container, object and proxy servers in one process.

    python -m loopback.swift_servers SWIFT_FOLDER NAME:PORT...

The stock daemons read /etc/swift/swift.conf, whatever they are told.
"""

import sys

import eventlet

eventlet.monkey_patch()
from eventlet import wsgi  # noqa: E402 - after the patch
from swift.common import utils  # noqa: E402

folder = sys.argv[1]
utils.set_swift_dir(folder)
from swift.common.wsgi import SwiftHttpProtocol, loadapp  # noqa: E402 - reads the folder


class NoLog:
    """Drop the log of requests."""

    def write(self, text):
        pass


servers = []
for word in sys.argv[2:]:
    name, port = word.split(":")
    application = loadapp(f"{folder}/{name}.conf", global_conf={"log_custom_handlers": "", "test_mode": "no"})
    listening = eventlet.listen(("127.0.0.1", int(port)), backlog=512)
    servers.append(eventlet.spawn(wsgi.server, listening, application, NoLog(), protocol=SwiftHttpProtocol,
                                  custom_pool=eventlet.GreenPool(1024)))
for server in servers:
    server.wait()
