"""The rule for names of stacks."""

from __future__ import annotations

import re

from isotherm import errors

_STACK_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_.-]{0,254}")


def check_stack_name(name: str) -> None:
    if not _STACK_NAME.fullmatch(name):
        shown = name if len(name) <= 80 else name[:77] + "..."
        raise errors.UserError(
            f"Invalid stack name {shown} must contain only alphanumeric or \"_-.\" characters, must start with alpha "
            "and must be 255 characters or less.",
            hint="For example: web-1",
        )
