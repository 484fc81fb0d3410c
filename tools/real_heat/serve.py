"""Runs Heat's API on a given socket, or Heat's engine, until its starter ends.

    serve.py api heat.conf SOCKET | serve.py engine heat.conf MORE.conf

It runs in Heat's own environment. Standard input is a pipe whose other end the starter holds: this process ends when it
closes.
"""

import os
import signal
import socket
import sys
import threading

kind, *rest = sys.argv[1:]
descriptor = int(rest.pop()) if kind == "api" else 0
# Heat parses the arguments of whatever process imports it.
sys.argv[1:] = [word for path in rest for word in ("--config-file", path)]


def end_with_starter() -> None:
    # Not through sys.stdin: its lock would be held for ever in the processes that the engine forks.
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


threading.Thread(target=end_with_starter, daemon=True).start()
if kind == "api":
    import waitress
    from heat.wsgi.api import application

    waitress.serve(application, sockets=[socket.socket(fileno=descriptor)], threads=8, _quiet=True)
else:
    from heat.cmd import engine

    sys.argv[0] = "heat-engine"
    engine.main()
