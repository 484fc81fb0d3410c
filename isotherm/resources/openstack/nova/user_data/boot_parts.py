"""The parts of user data that prepare a guest: they run or are stored on the server, by cloud-init.

The agents heat-cfntools and os-collect-config look for their files in one folder of the guest.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from isotherm.resources.openstack.nova.user_data.message import Part

FOLDER = "/var/lib/heat-cfntools"
# The type of a part that is stored in the folder under its name.
STORED = "x-cfninitdata"

_CLOUD_CONFIG = """\
#cloud-config
# Keep what cloud-init and the scripts of the user data print.
output: {all: '| tee -a /var/log/cloud-init-output.log'}
"""

_BOOTHOOK = f"""\
#!/bin/sh
# Runs at each boot, before all other parts: the folder must be there when they are stored.
umask 077
mkdir -p {FOLDER}
"""

_PART_HANDLER = f'''\
#part-handler
"""Stores parts of the user data, each under its name, for heat-cfntools and os-collect-config."""

import os

FOLDER = {FOLDER!r}


def list_types():
    return ["text/{STORED}"]


def handle_part(data, ctype, filename, payload):
    if ctype in ("__begin__", "__end__"):
        return
    if not os.path.isdir(FOLDER):
        os.makedirs(FOLDER, 0o700)
    content = payload if isinstance(payload, bytes) else payload.encode("utf-8")
    path = os.path.join(FOLDER, os.path.basename(filename))
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
'''

_RUN_USER_DATA = f'''\
#!/usr/bin/env python3
"""Runs the user data of the template once, and keeps a log of it."""

import datetime
import os
import subprocess
import sys

SCRIPT = "{FOLDER}/cfn-userdata"
LOG = "/var/log/heat-provision.log"
DONE = "{FOLDER}/provision-finished"


def note(log, text):
    log.write("{{}} {{}}\\n".format(datetime.datetime.now().isoformat(), text).encode())
    log.flush()


def main():
    if not os.path.exists(SCRIPT) or os.path.getsize(SCRIPT) == 0:
        return 0
    os.chmod(SCRIPT, 0o700)
    with os.fdopen(os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
        note(log, "the user data begins")
        try:
            code = subprocess.call([SCRIPT], stdout=log, stderr=log)
        except OSError as error:
            # Without a first line that names an interpreter, the shell runs it.
            note(log, "it is no program: {{}}".format(error))
            code = subprocess.call(["/bin/sh", SCRIPT], stdout=log, stderr=log)
        note(log, "the user data ended with status {{}}".format(code))
    with open(DONE, "w") as done:
        done.write("{{}}\\n".format(datetime.datetime.now().isoformat()))
    return code


sys.exit(main())
'''


def preparation() -> list[Part]:
    """Return the parts that both wrapped formats begin with."""
    return [Part(_CLOUD_CONFIG, "cloud-config", "cloud-config"), Part(_BOOTHOOK, "cloud-boothook", "boothook.sh"),
            Part(_PART_HANDLER, "part-handler", "part-handler.py")]


def stored(name: str, content: str) -> Part:
    """Return a part that the guest stores in the folder."""
    return Part(content, STORED, name)


def runner() -> Part:
    """Return the part that runs the stored user data."""
    return Part(_RUN_USER_DATA, "x-shellscript", "loguserdata.py")


def boto_config(cfn_url: str, *, verify: bool) -> str:
    """Return the configuration with which heat-cfntools call the CloudFormation API."""
    parts = urlsplit(cfn_url)
    return "\n".join([
        "[Boto]", "debug = 0", f"is_secure = {int(parts.scheme == 'https')}",
        f"https_validate_certificates = {int(verify)}", "cfn_region_name = heat",
        f"cfn_region_endpoint = {parts.hostname or ''}", ""])
