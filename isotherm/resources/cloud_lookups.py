"""Questions to a cloud about the values of properties: the id that a name stands for, and whether a value is valid.

Translation and validation are pure, and a cloud is asked asynchronously. So a pure pass runs with a `LookupBook`: the book
answers the questions that it knows and notes the others. `Lookups.answer` asks these, and the pass runs again with the
answers. At acceptance the cloud is called with the caller's credential, in the engine with the stack's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from isotherm import errors
from isotherm.template.parameters.constraints import CustomConstraints, Validator

KEEP_S = 60.0
_MOST = 10_000
# Shorter ids are words that any text may have.
_ID_CHARS = 8

# Asks a `contract.Cloud` about a value. A finder returns the id for a name or an id, or raises NotFound; a constraint
# returns the problem with the value, or None.
Ask = Callable[[Any, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Existence:
    """The custom constraint that a finder finds the value. It is the question that translation asks, and is asked once."""

    finder: Ask


# The custom constraints that need a cloud, by their names in templates. Plug-ins register theirs at start.
CONSTRAINTS: dict[str, Ask | Existence] = {}


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a cloud."""

    ask: Ask
    value: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question; `error` is raised where the answer is used."""

    value: Any = None
    error: errors.UserError | None = None


Answers = Mapping[Question, Answer]


class LookupBook:
    """The answers that are known, and the questions that a pure pass has asked beyond them (`open`).

    It is a table of custom constraints, too: those of `local`, and those of `CONSTRAINTS`.
    """

    def __init__(self, local: CustomConstraints, known: Answers | None = None) -> None:
        self._local = local
        self._known = known or {}
        # The ids that finders have answered in this pass: their constraints are asked for the ids afterwards.
        self._ids: set[Question] = set()
        self.open: dict[Question, None] = {}

    def id_of(self, ask: Ask, value: Any) -> Any:
        """Return the id for a name; the name itself as long as that is an open question."""
        answer = self._answer(ask, value)
        if answer is None:
            return value
        self._ids.add(Question(ask, answer.value))
        return answer.value

    def find(self, name: str) -> Validator | None:
        ask = CONSTRAINTS.get(name)
        return self._local.find(name) if ask is None else lambda value: self._problem(ask, value)

    def _problem(self, ask: Ask | Existence, value: object) -> str | None:
        if isinstance(ask, Existence):
            return self._missing(ask.finder, value)
        try:
            answer = self._answer(ask, value)
        except errors.UserError as error:
            return str(error)
        return None if answer is None or answer.value is None else str(answer.value)

    def _missing(self, finder: Ask, value: object) -> str | None:
        try:
            if value not in (None, "") and Question(finder, value) not in self._ids:
                self._answer(finder, value)
        except errors.UserError as error:
            return str(error)
        return None

    def _answer(self, ask: Ask, value: Any) -> Answer | None:
        question = Question(ask, value)
        answer = self._known.get(question)
        if answer is None:
            self.open[question] = None
        elif answer.error is not None:
            raise answer.error
        return answer


class _Credential(Protocol):
    @property
    def key(self) -> str: ...


class _Cloud(Protocol):
    @property
    def credential(self) -> _Credential: ...


class Lookups:
    """Asks clouds, and keeps their answers for `keep_s`, apart for each credential. One serves a whole process."""

    def __init__(self, keep_s: float = KEEP_S) -> None:
        self._keep_s = keep_s
        self._kept: dict[tuple[str, Question], tuple[float, Answer]] = {}

    async def answer(self, cloud: _Cloud | None, questions: Iterable[Question], now: float) -> dict[Question, Answer]:
        """Return the answers to all questions. Raises Temporary if the cloud does not answer."""
        asked = list(questions)
        answers = await asyncio.gather(*(self._one(cloud, question, now) for question in asked))
        return dict(zip(asked, answers, strict=True))

    async def _one(self, cloud: _Cloud | None, question: Question, now: float) -> Answer:
        if cloud is None:
            return Answer(error=errors.UserError(
                f"'{question.value}' has to be looked up in a cloud, and no cloud is configured here."))
        key = (cloud.credential.key, question)
        until, answer = self._kept.get(key, (0.0, None))
        if answer is not None and now < until:
            return answer
        try:
            answer = Answer(await question.ask(cloud, question.value))
        except errors.UserError as error:
            return Answer(error=error)  # not kept: the user may make the object and ask again
        except errors.Permanent as error:
            return Answer(error=errors.UserError(str(error)))
        self._keep(key, answer, now)
        return answer

    def learn(self, cloud: _Cloud | None, finder: Ask, id_: str, now: float) -> None:
        """Keep the answer that a finder would give for an object that was just made: the next step refers to it."""
        if cloud is not None:
            self._keep((cloud.credential.key, Question(finder, id_)), Answer(id_), now)

    def _keep(self, key: tuple[str, Question], answer: Answer, now: float) -> None:
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[key] = now + self._keep_s, answer

    def forget(self, cloud: _Cloud | None, text: str) -> None:
        """Forget answers about the objects that a service's refusal names: another may have taken the place of one.

        Services name the missing object in 404 and in 400 alike.
        """
        if cloud is None:
            return
        credential = cloud.credential.key
        for key, (_, answer) in list(self._kept.items()):
            if key[0] == credential and (_is_named(answer.value, text) or _is_named(key[1].value, text)):
                del self._kept[key]


def _is_named(value: Any, text: str) -> bool:
    return isinstance(value, str) and len(value) >= _ID_CHARS and value in text
