"""Traits: the facts about a resource type that the engine has to know before it calls a method of it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from isotherm.resources import gate
from isotherm.states import Action

_EXPONENT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """The pauses, in seconds, before a step is tried again that does not say itself when.

    The first pause is `first`; each one after it is `factor` times as long as the one before, up to `most`. Each is made
    longer or shorter by up to `jitter` of itself at random, so that many resources do not ask at the same moment.
    """

    first: float = 1.0
    factor: float = 1.5
    most: float = 15.0
    jitter: float = 0.1

    def pause_s(self, attempts: int, random: Random) -> float:
        """Return the pause after so many earlier ones."""
        # The exponent is bounded: a float overflows, and the pause is as long as it gets long before.
        pause = min(self.first * self.factor ** min(attempts, _EXPONENT), self.most)
        return pause * random.uniform(1 - self.jitter, 1 + self.jitter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The traits of one type. A subclass that differs in one of them uses `dataclasses.replace`."""

    # Plain methods of one service share a bounded pool of threads; empty: all of the type's name but its last part.
    service: str = ""
    # The time limit of one call of a plain method. The client that the method uses should give up earlier.
    call_timeout_s: float = gate.TIMEOUT_S
    poll: Poll = Poll()
    # Any property and any attribute is accepted, and none is checked.
    accepts_anything: bool = False
    # The type may have attributes that its schema does not list, such as those of a group's members.
    has_more_attributes: bool = False
    # The deletion policy `snapshot` is supported.
    supports_snapshot_delete: bool = False
    # After a failure the object decides: an update observes it first, updates it in place if it is there and not broken,
    # and replaces it otherwise. An object that cannot be observed is left to `needs_replace_failed`.
    failed_is_observed: bool = False
    # The data of a resource that replaces another one has the physical id of that one, under `contract.REPLACED`.
    knows_replaced: bool = False
    # Every update of the stack replaces the resource, changed or not.
    replaced_by_each_update: bool = False
    # An operation under way does nothing but wait, so that a new definition need not wait for its end.
    only_waits: bool = False
    # While one of these is under way, or was the last to be done, signals are refused.
    no_signal_actions: tuple[Action, ...] = (Action.SUSPEND, Action.DELETE)
    # The types that wait for the signals; once a resource of them is complete, a signed URL takes no more signals.
    signals_awaited_by: tuple[str, ...] = ()
    # The metadata shows the software that is to be deployed to the resource.
    shows_deployments: bool = False
