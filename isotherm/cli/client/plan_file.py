"""Saved plans: files that `isotherm plan --out` writes and `isotherm apply` takes.

A file holds the whole request and the id of the plan, sealed with a key of the home: without that key it can be neither
read nor changed. The id covers the generation of the stack, every change and known drift, so an outdated plan is recognised
when the request is planned again.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from isotherm import errors
from isotherm.engine.operations.accept import Request
from isotherm.engine.operations.patch import Patch
from isotherm.engine.overview.plan_marks import PlanMark
from isotherm.secrets.ring import KeyRing
from isotherm.secrets.sealed import SEALED

_FIRST_LINE = b"isotherm plan 1\n"
_PLACE = "plan file"


class SavedPlan(msgspec.Struct, frozen=True):
    """A request, and the mark of the plan that was shown for it. `stack_id` is empty if the stack is to be created."""

    name: str
    stack_id: str
    mark: PlanMark
    request: Request | None = None
    patch: Patch | None = None

    @property
    def change(self) -> Request | Patch:
        change = self.patch or self.request
        assert change is not None
        return change


def save(file: Path, plan: SavedPlan, ring: KeyRing) -> None:
    """Write a plan to a file that only the user can read."""
    sealed = ring.seal(msgspec.json.encode(plan).decode(), _PLACE)
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
            opened.write(_FIRST_LINE + sealed.encode() + b"\n")
    except OSError as error:
        raise errors.UserError(f"{file}: {error.strerror or error}", kind="NotFound",
                               hint="Name a file in a folder that you may write to.") from error


def is_saved(file: Path) -> bool:
    """Return whether a path is a saved plan."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(_FIRST_LINE)) == _FIRST_LINE
    except OSError:
        return False


def load(file: Path, ring: KeyRing) -> SavedPlan:
    """Return the plan of a file. Raises UserError if it was changed, or sealed in another home."""
    sealed = file.read_bytes().removeprefix(_FIRST_LINE).decode("ascii", "replace").strip()
    try:
        if not sealed.startswith(SEALED):
            raise errors.Unreadable("The text is not sealed.")
        return msgspec.json.decode(ring.open(sealed, _PLACE), type=SavedPlan)
    except (errors.Unreadable, msgspec.MsgspecError) as error:
        raise errors.UserError(f"{file}: the plan was changed, or it was made in another home.", kind="InvalidPlan",
                               hint="Make it again: isotherm plan NAME -t TEMPLATE --out FILE.") from error
