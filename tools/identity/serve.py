"""Serves Keystone on a socket that it is given, until whoever gave it goes away. Runs in Keystone's own environment.

The number of the listening socket is its only argument; OS_KEYSTONE_CONFIG_DIR says where keystone.conf is. Standard
input is a pipe whose other end the starter holds: when it closes, for whatever reason, nobody needs this process any more.
"""

import os
import socket
import sys
import threading

import waitress

# Keystone parses the arguments of whatever process imports it, and this one is not meant for it.
descriptor = int(sys.argv.pop())

from keystone.wsgi.api import application  # noqa: E402


def end_with_starter() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_starter, daemon=True).start()
# One after the other: Keystone reads before it writes, and on SQLite two that do so at once get "database is locked".
waitress.serve(application, sockets=[socket.socket(fileno=descriptor)], threads=1, _quiet=True)
