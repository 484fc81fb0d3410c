"""Writes `clouds.yaml`, from which OpenStack's clients read the address and the token of a standalone service."""

from __future__ import annotations

import os
from pathlib import Path

from isotherm.api.auth.standalone import PROJECT

# The endpoint is in `auth` only. With an endpoint override, openstacksdk expects a version document below `/v1`,
# where Heat has none; without, it finds the one at the root.
_FORM = """\
clouds:
  isotherm:
    auth_type: admin_token
    auth:
      endpoint: {root}/v1/{project}
      token: {token}
    orchestration_api_version: '1'
"""


def write(folder: Path, root: str, token: str) -> Path:
    """Write the file into the folder, atomically and readable by the user only; return its path."""
    path = folder / "clouds.yaml"
    half = folder / f".clouds.yaml.{os.getpid()}"
    handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(_FORM.format(root=root, project=PROJECT, token=token))
    half.replace(path)
    return path
