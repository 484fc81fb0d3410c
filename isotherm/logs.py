"""The log of a service: one line per event, with the id of the request that caused it.

Messages are constant; facts are keys (`extra`), so that a log can be searched like a table. A line is a JSON object or
text. The caller of a logger must keep secrets out of the keys.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from logging import handlers
from pathlib import Path
from typing import Any

from isotherm.config import Settings

#: The id of the current request.
REQUEST: ContextVar[str] = ContextVar("request", default="")

# The attributes that every record has; all others are facts of the caller.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
# The loggers that are written: Isotherm's, and the errors of the HTTP server.
_OURS = ("isotherm", "uvicorn.error")
# Size at which the default log file is rotated.
_BIGGEST = 16 * 1024 * 1024


class Json(logging.Formatter):
    """Formats a record as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _time(record), "level": record.levelname, "logger": record.name, "message": record.getMessage(),
                **_said(record)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class Text(logging.Formatter):
    """Formats a record as one line of text; only a traceback adds lines."""

    def format(self, record: logging.LogRecord) -> str:
        said = " ".join(f"{name}={value!r}" for name, value in _said(record).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {_printable(record.getMessage())} {said}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


@contextmanager
def configured(settings: Settings, usual: Path | None = None) -> Iterator[None]:
    """Set logging up by the settings inside the block. `usual` is the log file if the settings name none."""
    handler = _handler(settings, usual)
    handler.setFormatter(Json() if settings.use_json else Text())
    level = logging.DEBUG if settings.debug else logging.INFO
    for name in _OURS:
        log = logging.getLogger(name)
        log.handlers[:], log.propagate = [handler], False
        log.setLevel(level if name == "isotherm" else logging.INFO)
    try:
        yield
    finally:
        for name in _OURS:
            logging.getLogger(name).handlers.clear()
        handler.close()


def _handler(settings: Settings, usual: Path | None) -> logging.Handler:
    if settings.log_file:
        # Opens the file again when log rotation has moved it away.
        return handlers.WatchedFileHandler(settings.log_file, encoding="utf-8")
    if usual is not None:
        return handlers.RotatingFileHandler(usual, maxBytes=_BIGGEST, backupCount=2, encoding="utf-8", delay=True)
    return logging.StreamHandler(sys.stderr)


def _said(record: logging.LogRecord) -> Mapping[str, Any]:
    said = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    request = REQUEST.get()
    return {"request_id": request, **said} if request else said


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
