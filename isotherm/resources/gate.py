"""The gate through which the engine calls resource types: an async method runs on the loop, a plain one on a thread.

`call`, `change` and `call_type` are the only ways in which the engine calls a method of a type. `change` checks the step's
lease right before the method runs (I5). The port `Threads` takes plain methods off the loop: `service_threads` implements
it for processes, the simulator has a deterministic one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Check = Callable[[], None]

TIMEOUT_S = 60.0


def _unchecked() -> None:
    return


@dataclass(frozen=True, slots=True)
class BlockingCall:
    """One call of a plain method, with the service whose threads it may use and its time limit."""

    method: Callable[..., Any]
    arguments: tuple[object, ...] = ()
    service: str = ""
    timeout_s: float = TIMEOUT_S
    # Called on the thread, right before the method.
    check: Check = _unchecked

    def run(self) -> Any:
        self.check()
        return self.method(*self.arguments)


class Threads(Protocol):
    """Runs plain methods away from the loop, and lets them use the async ports of their context."""

    async def run(self, call: BlockingCall) -> Any:
        """Return the answer of the method.

        Raises NotBegun if no thread of the service was free in time, so that the method was not called, and Temporary if
        the method did not return in time.
        """
        ...

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the coroutine. Called by a plain method: `self.context.threads.wait(...)`."""
        ...


class _Lease(Protocol):
    def check(self) -> None: ...


class _Context(Protocol):
    @property
    def threads(self) -> Threads: ...
    @property
    def lease(self) -> _Lease: ...


class _Traits(Protocol):
    @property
    def service(self) -> str: ...
    @property
    def call_timeout_s(self) -> float: ...


class _Type(Protocol):
    @property
    def TYPE(self) -> str: ...  # noqa: N802 - the name that types have
    @property
    def traits(self) -> _Traits: ...


class _Resource(_Type, Protocol):
    @property
    def context(self) -> _Context: ...


async def call(resource: _Resource, method: Callable[..., Any], *arguments: object) -> Any:
    """Call a method of a resource that only reads, and return its answer."""
    if is_async(method):
        return await method(*arguments)
    return await _blocking(resource.context, resource, method, arguments, _unchecked)


async def change(resource: _Resource, method: Callable[..., Any], *arguments: object) -> Any:
    """Call a method of a resource that may change something; raise Superseded, and call nothing, if the lease is lost."""
    check = resource.context.lease.check
    check()
    if is_async(method):
        return await method(*arguments)
    # A call may have to wait for a thread: so the lease is checked again on the thread.
    return await _blocking(resource.context, resource, method, arguments, check)


async def call_type(context: _Context, type_: _Type, method: Callable[..., Any], *arguments: object) -> Any:
    """Call a class method of a type, or a function of its module, that only reads."""
    if is_async(method):
        return await method(*arguments)
    return await _blocking(context, type_, method, arguments, _unchecked)


async def _blocking(
    context: _Context, type_: _Type, method: Callable[..., Any], arguments: tuple[object, ...], check: Check
) -> Any:
    service = type_.traits.service or service_of(type_.TYPE)
    answer = await context.threads.run(BlockingCall(method, arguments, service, type_.traits.call_timeout_s, check))
    # A plain function around an async one, as a decorator makes it.
    return await answer if inspect.isawaitable(answer) else answer


def service_of(type_name: str) -> str:
    """Return the service of a type that does not name one: `OS::Nova` for `OS::Nova::Server`."""
    return type_name.rpartition("::")[0] or type_name


def is_async(method: Callable[..., Any]) -> bool:
    """Return whether a method is a coroutine function."""
    return _is_async(getattr(method, "__func__", method))


@functools.cache
def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function)
