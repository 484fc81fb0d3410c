"""Places of templates, environments and the files that they name: paths of this machine, and URLs.

A URL is fetched under the rules for all fetching (`isotherm.fetch`), with the options of the home. Names in a file from a
URL are relative to that URL, as for other clients of Heat.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from isotherm import config, errors
from isotherm.cli.client import home
from isotherm.engine.process.home_files import CONFIG
from isotherm.fetch import Fetcher

#: A path, or a URL as text.
Place = Path | str


def is_url(name: str) -> bool:
    return "://" in name


def of(name: str) -> Place:
    return name if is_url(name) else Path(name)


def folder(place: Place) -> Place:
    """Return the place to which names in a file are relative."""
    return place.parent if isinstance(place, Path) else urljoin(place, ".")


def inside(around: Place, name: str) -> Place:
    """Return the place that a name in a file stands for."""
    if isinstance(around, Path) or is_url(name):
        return name if is_url(name) else Path(around) / name
    return urljoin(around if around.endswith("/") else f"{around}/", name)


def relative(place: Place, base: Place) -> str:
    """Return the name of a place relative to the folder of the root template, or its URL if it is elsewhere."""
    if isinstance(place, Path) and isinstance(base, Path):
        return Path(os.path.relpath(place, base)).as_posix()
    if isinstance(place, Path):
        return place.absolute().as_uri()
    if isinstance(base, Path) or urlsplit(place)[:2] != urlsplit(base)[:2] or urlsplit(place).query:
        return place
    return posixpath.relpath(urlsplit(place).path, urlsplit(base).path or "/")


def read(place: Place) -> bytes:
    """Return the content of a file or a URL. Raises OSError, or UserError for a URL."""
    if isinstance(place, Path):
        return place.read_bytes()
    try:
        return asyncio.run(Fetcher(config.load(home.location() / CONFIG, *home.files())).text(place)).encode()
    except errors.UserError as error:
        raise errors.UserError(f"{place}: {error}", kind="NotFound",
                               hint="allowed_fetch_networks of the configuration opens private networks.") from error
