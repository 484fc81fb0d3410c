"""Serves the files of the built page from memory.

Only names that were found in the folder are served, so no path leads out of it. A file whose name has a hash never changes
and may be kept; `index.html` is asked for again each time.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from isotherm.web import headers

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
ASSETS = "assets/"
_HASHED = re.compile(r"[-.][A-Za-z0-9_]{8,}\.[a-z0-9.]+$")
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
_SCRIPT = "text/javascript; charset=utf-8"
_TYPES = {
    ".js": _SCRIPT, ".mjs": _SCRIPT, ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml", ".json": "application/json", ".map": "application/json",
    ".webmanifest": "application/manifest+json",
}
_SMALL = 1024
UNBUILT = (
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Isotherm</title></head><body>"
    "<h1>The page is not built</h1><p>The API works without it. To build the page, run <code>make setup</code> in the "
    "source folder, with npm or a registry of Python packages at hand; it prints what was missing.</p></body></html>"
)


@dataclass
class PageFile:
    """One file of the page."""

    name: str
    content: bytes

    @cached_property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, 9, mtime=0)

    @property
    def kind(self) -> str:
        suffix = Path(self.name).suffix
        return _TYPES.get(suffix) or mimetypes.guess_type(self.name)[0] or "application/octet-stream"

    @property
    def is_constant(self) -> bool:
        return self.name != INDEX and _HASHED.search(self.name) is not None


class BuiltPage:
    """The files of the page, read again when the page was built again."""

    def __init__(self) -> None:
        self._files: dict[str, PageFile] = {}
        self._built: tuple[str, int, int] | None = None

    def response(self, path: str, request: Request) -> Response:
        """Answer a request for a path below `/ui/`. Paths that are no files are the page's own addresses."""
        files = self._current()
        index = files.get(INDEX)
        if index is None:
            return HTMLResponse(UNBUILT, 503, headers.SAFE)
        found = files.get(path)
        if found is None and path.startswith(ASSETS):
            return Response(b"There is no such file.\n", 404, headers.SAFE, "text/plain")
        return _sent(found or index, request)

    def _current(self) -> dict[str, PageFile]:
        try:
            found = (FOLDER / INDEX).stat()
        except OSError:
            self._files, self._built = {}, None
            return self._files
        stamp = (str(FOLDER), found.st_mtime_ns, found.st_size)
        if stamp != self._built:
            self._files = {one.name: one for one in _read(FOLDER)}
            self._built = stamp
        return self._files


def _read(folder: Path) -> list[PageFile]:
    inside = (one for one in sorted(folder.rglob("*")) if one.is_file() and not one.is_symlink())
    return [PageFile(one.relative_to(folder).as_posix(), one.read_bytes()) for one in inside]


def _sent(file: PageFile, request: Request) -> Response:
    known = {**headers.SAFE, **(_FOREVER if file.is_constant else {}), "ETag": file.etag, "Vary": "Accept-Encoding"}
    if file.etag in request.headers.get("if-none-match", ""):
        return Response(b"", 304, known)
    content = file.content
    if len(content) > _SMALL and "gzip" in request.headers.get("accept-encoding", "") and _is_text(file.kind):
        content = file.compressed
        known["Content-Encoding"] = "gzip"
    return Response(content, 200, known, file.kind)


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind.partition(";")[0] in ("application/json", "image/svg+xml")
