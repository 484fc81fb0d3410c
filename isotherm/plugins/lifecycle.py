"""Hooks around the operations of stacks: the interface of the entry-point group `isotherm.stack_lifecycle`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StackOperation:
    """An operation that is about to be accepted, or that has ended. `failure` is empty unless it has failed."""

    project: str
    stack_id: str
    stack_name: str
    # CREATE, UPDATE, DELETE, ...
    action: str
    failure: str = ""


class Lifecycle(Protocol):
    """The object that a plug-in of the group provides, or its class. Each method is optional."""

    def before(self, operation: StackOperation) -> None:
        """Called before an operation is accepted; raising ValueError refuses the request with that text."""

    def after(self, operation: StackOperation) -> None:
        """Called after an operation has ended, by the process that saw the end. A crash in between skips the call."""


def before(hooks: Sequence[Lifecycle], operation: StackOperation) -> None:
    """Call all hooks in the order of their names. Raises the first refusal."""
    for hook in hooks:
        if (method := getattr(hook, "before", None)) is not None:
            method(operation)


def after(hooks: Sequence[Lifecycle], operation: StackOperation) -> None:
    """Call all hooks. An error of a hook is logged: the operation has ended whatever it says."""
    for hook in hooks:
        if (method := getattr(hook, "after", None)) is None:
            continue
        try:
            method(operation)
        except Exception:
            log.exception("a lifecycle plug-in failed", extra={"plugin": type(hook).__name__, "stack": operation.stack_id})
