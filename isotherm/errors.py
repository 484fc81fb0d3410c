"""The tree of errors.

    IsothermError
      UserError           what was asked for is wrong: says what, where and what would be right
        NotFound          it names something that does not exist
        Conflict          it lost a race, or clashes with what is there
      CloudError          the other side of a resource said no
        Temporary         it may say yes later
          NotBegun        and nothing was asked of it yet
        Permanent         it will not
      Superseded          a newer operation has taken over: stop quietly
      Unreadable          what is stored was sealed with a key that we do not have, or is not authentic
      Bug                 this should be impossible

`kind` is the name under which Heat's clients know a UserError; the API puts it into the `type` of an error body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a text, counted from 1."""

    line: int
    column: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, where, and what would be right.

    `label` is the word that Heat puts before the path of some errors ("Property error", "Parameter Groups error").
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
    """The root of everything we raise on purpose."""


class UserError(IsothermError):
    """What was asked for is wrong. Carries one problem or several; the first one speaks for all."""

    default_kind = "StackValidationFailed"

    def __init__(self, message: str = "", *, kind: str = "", path: str = "", mark: Mark | None = None,
                 hint: str = "", problems: tuple[Problem, ...] = ()) -> None:
        self.problems = problems or (Problem(message, path, mark, hint, kind or self.default_kind),)
        super().__init__(str(self.problems[0]))

    @property
    def kind(self) -> str:
        return self.problems[0].kind

    def with_problems(self, problems: tuple[Problem, ...]) -> Self:
        """The same error in other words."""
        told = type(self).__new__(type(self), str(problems[0]))
        told.__dict__.update(self.__dict__, problems=problems)
        return told


class NotFound(UserError):
    """It names something that does not exist."""

    default_kind = "EntityNotFound"


class Conflict(UserError):
    """It lost a race, or clashes with what is there."""

    default_kind = "Conflict"


class CloudError(IsothermError):
    """The other side of a resource said no."""


class Temporary(CloudError):
    """It may say yes later; `retry_after_s` is when to ask again."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NotBegun(Temporary):
    """Nothing was asked of the other side yet, so that nothing can have been made: there is no need to search for it."""


class Unavailable(Temporary):
    """The database or the identity service does not answer. It says nothing about the resource: the step is tried again."""


class Permanent(CloudError):
    """It will not say yes, however often it is asked."""


class Superseded(IsothermError):
    """A newer operation has taken over: stop quietly."""


class Overtaken(Conflict, Superseded):
    """What was being looked at is gone, because something newer came: workers stop quietly, users are told."""

    default_kind = "ActionInProgress"


class Unreadable(IsothermError):
    """What is stored was sealed with a key that we do not have, or is not authentic."""


class Bug(IsothermError):
    """This should be impossible."""
