"""User data of Ignition: JSON, to which the metadata of the server is added as files."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from isotherm import errors

# The two places in which agents look for the metadata.
PATHS = ("/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data")
_MODE = 0o640


def parsed(text: str) -> dict[str, Any] | None:
    """Return user data of Ignition; None for any other."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    ignition = found.get("ignition") if isinstance(found, dict) else None
    return found if isinstance(ignition, dict) and "version" in ignition else None


def with_metadata(config: dict[str, Any], metadata: str) -> str:
    """Return the user data with the metadata as files."""
    storage = config.get("storage") or {}
    files = storage.get("files") or [] if isinstance(storage, dict) else None
    if not isinstance(files, list):
        raise errors.Permanent("The user data is of Ignition, and its storage.files is not a list.")
    paths = {one.get("path") for one in files if isinstance(one, dict)}
    doubled = [path for path in PATHS if path in paths]
    if doubled:
        raise errors.Permanent(f"The user data is of Ignition, and already has the file {doubled[0]}, in which the "
                               "metadata of the server is stored.")
    added = [{"path": path, "mode": _MODE, "contents": {"source": f"data:,{quote(metadata)}"}} for path in PATHS]
    return json.dumps({**config, "storage": {**storage, "files": [*files, *added]}})
