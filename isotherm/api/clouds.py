"""A `clouds.yaml` for OpenStack's clients, so that they find us without anybody typing an address or a token."""

from __future__ import annotations

import os
from pathlib import Path

from isotherm.api.auth.standalone import PROJECT

# The endpoint stands in `auth` alone. With an override beside it, openstacksdk would look for a version document below
# `/v1`, where Heat has none either, and give up; without, it looks at the root, and finds one.
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
    """Write it into the folder, readable for the user alone; the whole file appears at once."""
    path = folder / "clouds.yaml"
    half = folder / f".clouds.yaml.{os.getpid()}"
    handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(_FORM.format(root=root, project=PROJECT, token=token))
    half.replace(path)
    return path
