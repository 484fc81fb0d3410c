"""Runs one operation on one resource, a step at a time.

Both architectures run an operation with a TaskRunner (ledger S0.1, S0.2). It calls `handle_*`, then `check_*` until
that is done. Between two steps there is only a Task, which is data. A step does not wait for the resource: it returns
how long to wait, and the next step may run in another process (S0.4).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.gate import change
from isotherm.states import Action

__all__ = ["DONE", "Done", "Failed", "NestedFailure", "Outcome", "Task", "TaskRunner", "Waiting", "describe"]

# A reason is shown to people and stored in a row; what a cloud says may be of any size.
REASON_LIMIT = 1000


@dataclass(slots=True)
class Task:
    """An operation that was decided on: the data with which any worker can continue it."""

    action: Action
    # For updates: the applied properties, and the new values of those that change.
    before: Mapping[str, Any] = field(default_factory=dict)
    changed: Mapping[str, Any] = field(default_factory=dict)
    handled: bool = False
    progress: object = None
    # Number of pauses of the type's Poll since the last call of `handle_*` that returned.
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """The operation is complete."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The operation continues in `seconds`; the task holds the progress."""

    seconds: float
    reason: str = ""
    # The operation on another stack whose end is waited for, or the inbox with the number of signals seen.
    awaits: str = ""
    seen: int | None = None
    # Whether no call to the service was sent yet.
    not_begun: bool = False
    # Whether the created object has failed and was deleted, so that it is to be created again.
    create_again: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The operation failed; `reason` is for the user."""

    reason: str


Outcome = Done | Waiting | Failed
DONE = Done()


class NestedFailure(errors.Permanent):
    """A nested stack of this resource failed. The reason has the path to the resource that caused it."""

    def seen_from(self, name: str) -> str:
        """`Resource CREATE failed: ValueError: resources.a: no` becomes `ValueError: resources.NAME.resources.a: no`."""
        cause = re.fullmatch(r"Resource [A-Z]+ failed: (.*?): (resources[.\[].*)", str(self), re.DOTALL)
        return f"{cause[1]}: {step(name)}.{cause[2]}" if cause else f"StackFailed: {step(name)}: {self}"


_HANDLERS = {action: f"handle_{action.name.lower()}" for action in Action}
_CHECKERS = {action: f"check_{action.name.lower()}_complete" for action in Action}


class TaskRunner:
    """Steps one task on one resource."""

    __slots__ = ("resource", "task")

    def __init__(self, resource: contract.Resource, task: Task) -> None:
        self.resource = resource
        self.task = task

    async def step(self) -> Outcome:
        """Go as far as possible without waiting. Never raises, except to be cancelled or superseded."""
        try:
            if not self.task.handled:
                await self._handle()
            return await self._check()
        except errors.CreateAgain as error:
            return self._again(error) if self.task.action is Action.CREATE else self.postponed(error)
        except errors.Temporary as error:
            return self.postponed(error)
        except errors.Superseded:
            raise
        except Exception as error:  # noqa: BLE001 - any error of a plug-in is the failure of its resource
            context = self.resource.context
            context.lookups.forget(context.cloud, str(error))
            return Failed(describe(self.resource.name, error) + self._advice(error))

    def _advice(self, error: Exception) -> str:
        """Return what the user can do about a creation whose object exists already."""
        if self.task.action is not Action.CREATE or not getattr(error, "object_exists", False):
            return ""
        return f" To take it in: isotherm import {self.resource.stack_name} {self.resource.name}=ID"

    def postponed(self, error: errors.Temporary) -> Waiting:
        """Return the wait that an error asks for: as long as it says, or as long as the type's Poll says."""
        not_begun = isinstance(error, errors.NotBegun) and not self.task.handled
        seconds = error.retry_after_s if error.says_when else self._pause_s()
        return Waiting(seconds, _bounded(str(error)), not_begun=not_begun)

    def _again(self, error: errors.CreateAgain) -> Outcome:
        """Return the wait before the object is created again. Fails if the type still has an object."""
        if self.resource.physical_id is not None:
            left = errors.Permanent(f"{self.resource.physical_id} is to be created again, and was not given up: {error}")
            return Failed(describe(self.resource.name, left))
        waiting = self.postponed(error)
        self.task.handled, self.task.progress = False, None
        return dataclasses.replace(waiting, create_again=True)

    def _pause_s(self) -> float:
        pause_s = self.resource.traits.poll.pause_s(self.task.attempts, self.resource.context.random)
        self.task.attempts += 1
        return pause_s

    async def _handle(self) -> None:
        task, resource = self.task, self.resource
        handler = getattr(resource, _HANDLERS[task.action])
        arguments = (task.before, task.changed) if task.action is Action.UPDATE else ()
        task.progress = await change(resource, handler, *arguments)
        task.handled, task.attempts = True, 0

    async def _check(self) -> Outcome:
        checker = getattr(self.resource, _CHECKERS[self.task.action])
        # A check may change something, such as confirm a resize: so the lease is checked before it too (I5).
        answer = await change(self.resource, checker, self.task.progress)
        if answer is True:
            return DONE
        if not isinstance(answer, contract.Wait):
            return Waiting(self._pause_s())
        if answer.progress is not None:
            self.task.progress = answer.progress
        seconds = self._pause_s() if answer.seconds is None else answer.seconds
        return Waiting(seconds, _bounded(answer.reason), answer.awaits, answer.seen)


def describe(name: str, error: BaseException) -> str:
    """Return the text of a failure in the form that Heat's users know: `ValueError: resources.web: no such image`."""
    if isinstance(error, NestedFailure):
        return _bounded(error.seen_from(name))
    return _bounded(f"{type(error).__name__}: {step(name)}: {error}")


def step(name: str) -> str:
    """Return a resource as a step of a path. As in Heat, a name that is a number is an index."""
    return f"resources[{name}]" if name.isdigit() else f"resources.{name}"


def _bounded(text: str) -> str:
    clean = text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    return clean if len(clean) <= REASON_LIMIT else clean[: REASON_LIMIT - 3] + "..."
