"""Limits of one request, by the settings: sizes of its texts, and size of its stack tree."""

from __future__ import annotations

from isotherm import errors
from isotherm.config import Settings
from isotherm.planning import documents, masking
from isotherm.planning.desired import Asked
from isotherm.resources.validation.validate import MAX_TOTAL, Bounds
from isotherm.store import limits


def bounds(settings: Settings) -> Bounds:
    most = settings.max_resources_per_stack
    return Bounds(settings.max_nested_stack_depth, MAX_TOTAL if most < 0 else min(most, MAX_TOTAL))


def check(asked: Asked, settings: Settings) -> None:
    """Refuse texts that are too large, before they are parsed."""
    most = settings.max_template_size
    _check_text("Template", asked.template, most)
    if len(asked.files) > settings.max_files:
        raise limits.exceeded(f"Number of files ({len(asked.files)}) exceeds maximum allowed number "
                              f"({settings.max_files}).", "The option is max_files.")
    total = 0
    for name, text in asked.files.items():
        total += _check_text(f"File {name[:255]}", text, most)
    _check_size("Size of all files", total, settings.max_files_size, "max_files_size")
    if asked.environment:
        _check_text("Environment", documents.encode(asked.environment), most)


def check_hidden(asked: Asked, settings: Settings) -> None:
    """Refuse hidden values that are too big. Before a redactor is made of them: they are looked for in all that is told."""
    size, most = masking.size(asked), settings.max_hidden_size
    if size > most:
        raise limits.exceeded(f"Hidden parameters have {size} characters together, at most {most} are allowed.",
                              "Hide only what is secret, or raise the option max_hidden_size.")


def _check_text(what: str, text: str, most: int) -> int:
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        raise errors.UserError(f"{what} is not text: it has half a character at {error.start}.") from error
    _check_size(f"{what} size", size, most, "max_template_size")
    return size


def _check_size(what: str, size: int, most: int, option: str) -> None:
    if size > most:
        raise limits.exceeded(f"{what} ({size} bytes) exceeds maximum allowed size ({most} bytes).",
                              f"The option is {option}.")
