"""The tree of errors.

    IsothermError
      UserError           the request is wrong: what, where, and what would be right
        NotFound          the request names an object that does not exist
        Conflict          the request conflicts with what exists, or with a concurrent one
          Overtaken       a newer operation replaced what the request was reading
      CloudError          a call to the cloud failed
        Temporary         the call may succeed later
          NotBegun        the call was not sent
          Unavailable     the database or the identity service does not answer
        Permanent         the call will not succeed
      Superseded          a newer operation has taken over: stop quietly
        Overtaken         see above
      Unreadable          a stored value cannot be decrypted, or is not authentic
      Bug                 a condition that should be impossible

`kind` is the error type of Heat's API; error bodies have it in `type`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self


def meant(word: object, names: Iterable[str]) -> str:
    """Return a hint at the name that was probably meant; "" if no name is similar."""
    close = difflib.get_close_matches(str(word), [*names], 1)
    return f"did you mean {close[0]}?" if close else ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A location in a text. Line and column count from 1."""

    line: int
    column: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a request: the message, its location, and a hint at what would be right.

    `label` is the text that Heat puts before the path of some errors ("Property error", "Parameter Groups error").
    """

    message: str
    path: str = ""
    mark: Mark | None = None
    hint: str = ""
    kind: str = "StackValidationFailed"
    label: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.label, self.path, self.message) if part)


class IsothermError(Exception):
    """The base of all errors of this package."""


class UserError(IsothermError):
    """The request is wrong. Carries one or more problems; message and kind are those of the first."""

    default_kind = "StackValidationFailed"

    def __init__(self, message: str = "", *, kind: str = "", path: str = "", mark: Mark | None = None,
                 hint: str = "", problems: tuple[Problem, ...] = ()) -> None:
        self.problems = problems or (Problem(message, path, mark, hint, kind or self.default_kind),)
        super().__init__(str(self.problems[0]))

    @property
    def kind(self) -> str:
        return self.problems[0].kind

    def with_problems(self, problems: tuple[Problem, ...]) -> Self:
        """Return a copy of the error with other problems."""
        copy = type(self).__new__(type(self), str(problems[0]))
        copy.__dict__.update(self.__dict__, problems=problems)
        return copy


class NotFound(UserError):
    """The request names an object that does not exist."""

    default_kind = "EntityNotFound"


class Conflict(UserError):
    """The request conflicts with what exists, or with a concurrent request."""

    default_kind = "Conflict"


class CloudError(IsothermError):
    """A call to the cloud failed."""


class Temporary(CloudError):
    """The call may succeed later; retry it after `retry_after_s`.

    Without it, a step of a resource waits as long as the type's Poll says, and everything else for a second.
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.says_when = retry_after_s is not None
        self.retry_after_s = 1.0 if retry_after_s is None else retry_after_s


class NotBegun(Temporary):
    """The call was not sent, so it created nothing: there is no need to search by token."""


class CreateAgain(Temporary):
    """The created object has failed and was deleted: nothing is left, and it is to be created again."""


class Unavailable(Temporary):
    """The database or the identity service does not answer. The step is retried; the resource does not fail."""


class Permanent(CloudError):
    """The call will not succeed; do not retry it.

    `object_exists`: an equal object is there already, which an import can take in.
    """

    def __init__(self, message: str = "", *, object_exists: bool = False) -> None:
        super().__init__(message)
        self.object_exists = object_exists


class Superseded(IsothermError):
    """A newer operation has taken over: stop quietly."""


class Overtaken(Conflict, Superseded):
    """A newer operation replaced what was being read. Workers stop quietly; users get the error."""

    default_kind = "ActionInProgress"


class Unreadable(IsothermError):
    """A stored value is encrypted with a key that is not in the key ring, or is not authentic."""


class Bug(IsothermError):
    """A condition that should be impossible: a defect in Isotherm."""
