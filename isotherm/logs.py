"""What a service writes down: one line for each thing that happens, with the id of the request that it happens for.

Messages are constant and what varies stands beside them under a key (`extra`), so that a log can be searched like a
table. A line is a JSON object, or text for people. Whoever logs sees to it that no secret is among the keys.
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

#: The id of the request that is being answered.
REQUEST: ContextVar[str] = ContextVar("request", default="")

# What every record has; the rest is what somebody said with it.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
# Whose words are worth a line: ours, and the server's that carries us.
_OURS = ("isotherm", "uvicorn.error")


# Of a file that nobody asked for, and that nobody will look after.
_BIGGEST = 16 * 1024 * 1024


class Json(logging.Formatter):
    """A line as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        told = {"time": _time(record), "level": record.levelname, "logger": record.name, "message": record.getMessage(),
                **_said(record)}
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str, ensure_ascii=False)


class Text(logging.Formatter):
    """A line for people. It is one line, whatever is in it."""

    def format(self, record: logging.LogRecord) -> str:
        said = " ".join(f"{name}={value!r}" for name, value in _said(record).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {_printable(record.getMessage())} {said}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


@contextmanager
def configured(settings: Settings, usual: Path | None = None) -> Iterator[None]:
    """Logging as the settings have it, for as long as the service runs. `usual` is the file if they name none."""
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
        # For whoever turns logs over: the file is opened anew when it was moved away.
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
