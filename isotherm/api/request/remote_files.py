"""Fetches files that a template or an environment names by URL and the client did not send.

They become part of the request, under their URLs, so an accepted operation is complete and fetches nothing later. Files
that a fetched template names by URL are fetched too. Nothing is cached between requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from isotherm import errors
from isotherm.config import Settings
from isotherm.fetch import Fetcher
from isotherm.planning import off_loop
from isotherm.template.text import document

# Maximum number of fetches per request.
MOST = 100
_SCHEMES = ("http://", "https://")
_TEMPLATES = (".yaml", ".template")


async def gathered(
    settings: Settings, template: str | None, files: Mapping[str, str], environment: Mapping[str, Any]
) -> dict[str, str]:
    """Return the given files and those fetched. Raise UserError as the fetcher does."""
    found = dict(files)
    waiting = [url for url in _registered(environment.get("resource_registry")) if url not in found]
    texts = [text for text in (template or "", *files.values()) if _may_name(text)]
    named = await off_loop.beside(sum(map(len, texts)), lambda: [url for text in texts for url in _named(text)])
    waiting += [url for url in named if url not in found]
    if not waiting:
        return found
    try:
        async with asyncio.timeout(settings.template_fetch_timeout):
            await _fetch(Fetcher(settings), waiting, found, settings.max_files_size)
    except TimeoutError:
        raise errors.UserError(f"Could not retrieve template: it took longer than {settings.template_fetch_timeout:g} "
                               "seconds.", kind="HTTPBadRequest") from None
    return found


async def _fetch(fetcher: Fetcher, waiting: list[str], found: dict[str, str], most: int) -> None:
    left, number = most - sum(map(len, found.values())), 0
    while waiting:
        url = waiting.pop(0)
        if url in found:
            continue
        number += 1
        if number > MOST:
            raise _too_much(f"the request names more than {MOST} files by URL")
        text = found[url] = await fetcher.text(url)
        left -= len(text)
        if left < 0:
            raise _too_much(f"Size of all files exceeds maximum allowed size ({most} bytes)")
        waiting += [one for one in _named(text) if one not in found]


def _too_much(what: str) -> errors.UserError:
    return errors.UserError(f"Request limit exceeded: {what}.", kind="RequestLimitExceeded")


def _may_name(text: str) -> bool:
    return any(scheme in text for scheme in _SCHEMES) and "resources" in text.lower()


def _named(text: str) -> list[str]:
    """Return the URLs that a text names, if it is a template."""
    if not _may_name(text):
        return []
    try:
        data = document.load(text).data
    except errors.UserError:
        return []  # validation reports it if it is used as a template
    return list(dict.fromkeys(_walked(data)))


def _walked(data: Any) -> Iterator[str]:
    stack = [data]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            yield from (value for key, value in one.items() if _is_url(value) and _is_file(key, value))
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)


def _is_file(key: object, value: str) -> bool:
    return key == "get_file" or (key in ("type", "Type") and value.endswith(_TEMPLATES))


def _registered(registry: Any) -> Iterator[str]:
    """Return the template URLs that an environment maps types to."""
    stack = [registry]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack.extend(one.values())
        elif _is_url(one) and one.endswith(_TEMPLATES):
            yield one


def _is_url(value: object) -> bool:
    return isinstance(value, str) and value.startswith(_SCHEMES)
