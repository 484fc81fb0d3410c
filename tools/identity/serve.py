"""Serves Keystone on a given socket until its starter ends. Runs in Keystone's own environment.

The number of the listening socket is its only argument; OS_KEYSTONE_CONFIG_DIR says where keystone.conf is. Standard
input is a pipe whose other end the starter holds: this process ends when it closes.
"""

import os
import socket
import sys
import threading

import waitress

# Keystone parses the arguments of the process that imports it: take ours away first.
descriptor = int(sys.argv.pop())

from keystone.wsgi.api import application  # noqa: E402


def end_with_starter() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_starter, daemon=True).start()
# One thread: Keystone reads before it writes, and on SQLite two such transactions at once get "database is locked".
waitress.serve(application, sockets=[socket.socket(fileno=descriptor)], threads=1, _quiet=True)
