"""Limits of one request, by the settings: sizes of its texts, and size of its stack tree."""

from __future__ import annotations

from isotherm import errors
from isotherm.config import Settings
from isotherm.planning import documents, masking
from isotherm.planning.desired import StackInput
from isotherm.resources.registry import Registry
from isotherm.resources.validation.validate import MAX_TOTAL, Bounds
from isotherm.store import limits


def bounds(settings: Settings) -> Bounds:
    most = settings.max_resources_per_stack
    return Bounds(settings.max_nested_stack_depth, MAX_TOTAL if most < 0 else min(most, MAX_TOTAL))


def check(input_: StackInput, settings: Settings) -> None:
    """Refuse texts that are too large, before they are parsed."""
    most = settings.max_template_size
    _check_text("Template", input_.template, most)
    if len(input_.files) > settings.max_files:
        raise limits.exceeded(f"Number of files ({len(input_.files)}) exceeds maximum allowed number "
                              f"({settings.max_files}).", "The option is max_files.")
    total = 0
    for name, text in input_.files.items():
        total += _check_text(f"File {name[:255]}", text, most)
    _check_size("Size of all files", total, settings.max_files_size, "max_files_size")
    if input_.environment:
        _check_text("Environment", documents.encode(input_.environment), most)


def check_hidden(input_: StackInput, settings: Settings, types: Registry) -> None:
    """Refuse hidden values that are too big, before a redactor is built that searches for them in every text.

    Parses the template: it may take long. Values of write-only properties count too.
    """
    size, most = masking.size(input_), settings.max_hidden_size
    if len(input_.template) > most:
        size += masking.written_size(input_.template, types)
    if size > most:
        raise limits.exceeded(f"Hidden values have {size} characters together, at most {most} are allowed.",
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
