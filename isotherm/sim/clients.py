"""Clients: each makes one request at its time, and its answer is checked (I3, I14, I17)."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any

from isotherm import errors
from isotherm.engine import orchestrator
from isotherm.engine.ownership import export
from isotherm.sim.checks import operation_log
from isotherm.sim.checks.observers import policies
from isotherm.sim.checks.witness import Witness
from isotherm.sim.histories import shapes
from isotherm.sim.histories.history import STACK, Request, Verb
from isotherm.sim.world import processes
from isotherm.sim.world.chance import Chance
from isotherm.sim.world.cloud import Cloud
from isotherm.sim.world.loop import SimLoop
from isotherm.sim.world.store import DatabaseGone


class Clients:
    """Sends requests to the Orchestrator, and compares its answers with what the witness has recorded."""

    def __init__(
        self, loop: SimLoop, api: orchestrator.Orchestrator, witness: Witness, cloud: Cloud, chance: Chance,
        note: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._api = api
        self._witness = witness
        self._cloud = cloud
        self._chance = chance
        self._note = note
        self._count = 0
        self._epoch = loop.time()
        # By stack: its last export document, and its shape before it was abandoned.
        self._exports: dict[str, tuple[Any, shapes.Shape]] = {}

    def send(self, request: Request) -> asyncio.Task[Any]:
        """Start a client that makes the request at its time."""
        self._count += 1
        process = processes.Process(f"client{self._count}")
        context = contextvars.copy_context()
        context.run(processes.OWNER.set, process)
        self._witness.requests.requests[process.name] = request
        self._witness.requests.moved[process.name] = request.moved
        task: asyncio.Task[Any] = context.run(
            lambda: self._loop.create_task(self._make(process.name, request), context=context)
        )
        return task

    async def _make(self, name: str, request: Request) -> Any:
        wait = self._epoch + request.at - self._loop.time()
        if wait > 0:
            await asyncio.sleep(wait)
        self._note(f"{name}: {request}{_shown(request.shape)}")
        answer: Any = None
        try:
            answer = await self._ask(name, request)
        except DatabaseGone:
            self._note(f"{name}: heard nothing")
            return None
        except errors.UserError as error:
            self._note(f"{name}: was refused: {error}")
            answer = error
        except Exception as error:  # noqa: BLE001 - clients get no other errors
            self._witness.broken("I14", f"{name} got {type(error).__name__}: {error}")
            return None
        self._judge(name, request, answer)
        return answer

    def _judge(self, name: str, request: Request, answer: Any) -> None:
        """I3: a request was accepted exactly where its answer says so."""
        made = self._witness.requests.operations.get(name)
        if isinstance(answer, errors.UserError):
            if made is not None:
                self._witness.broken("I3", f"{name} was refused, and its request was accepted")
            # The export document of an unfinished stack is not complete, and its adoption is refused.
            known = answer.kind in ("NotSupported", "Protected") or bool(request.moved)
            expected_refusal = known or request.verb in (Verb.ADOPT, Verb.MOVE)
            if not isinstance(answer, errors.NotFound | errors.Conflict) and not expected_refusal:
                self._witness.broken("I14", f"{name} was refused: {answer}")
            return
        if isinstance(answer, export.Abandoned):
            answer = answer.accepted
        expected = isinstance(answer, orchestrator.Accepted) and operation_log.expects_operation(request.verb)
        if expected and (made is None or (made.id, made.generation) != (answer.operation_id, answer.generation)):
            self._witness.broken("I3", f"{name} was answered {answer}, and {made} was accepted")

    async def _ask(self, name: str, request: Request) -> Any:  # noqa: C901 - one line for each verb
        api, stack = self._api, request.stack
        wanted = _api_request(request)
        match request.verb:
            case Verb.CREATE:
                return await api.stacks.create(stack, wanted)
            case Verb.UPDATE:
                return await api.stacks.update(stack, wanted)
            case Verb.RETRY:
                return await api.stacks.retry(stack, request.target)
            case Verb.DELETE:
                return await api.stacks.delete(stack)
            case Verb.ROLLBACK:
                return await api.stacks.rollback(stack)
            case Verb.CANCEL:
                return await api.stacks.cancel(stack)
            case Verb.CANCEL_STAY:
                return await api.stacks.cancel(stack, rollback=False)
            case Verb.CHECK:
                return await api.stacks.check(stack)
            case Verb.SUSPEND:
                return await api.stacks.suspend(stack)
            case Verb.RESUME:
                return await api.stacks.resume(stack)
            case Verb.SNAPSHOT:
                return await api.snapshots.take(stack)
            case Verb.RESTORE | Verb.DELETE_SNAPSHOT:
                return await self._snapshot(name, request)
            case Verb.SIGNAL:
                return await self._signal(name, stack)
            case Verb.ABANDON:
                return await self._abandon(stack)
            case Verb.ADOPT:
                return await self._adopt(name, stack)
            case Verb.VANISH:
                return self._vanish(stack)
            case Verb.DRIFT:
                return None if self._chance.faultless else self._cloud.drift(stack, used_too=True)
            case Verb.CONVERGE_ONE:
                return await api.drift.converge_one(stack, request.resource)
            case Verb.HINT:
                return await api.drift.hint(stack, [request.resource] if request.resource else None)
            case Verb.OBSERVE:
                return await api.drift.observe(stack)
            case Verb.WATCH | Verb.OVERRIDE | Verb.PROJECT:
                return await self._watch(name, request)
            case Verb.PROTECT | Verb.UNPROTECT:
                return await self._protect(name, request)
            case Verb.MOVE:
                to, _, new_name = request.word.partition("/")
                answer = await api.moves.move(stack, request.resource, to, new_name)
                self._note(f"{name}: moved {answer['physical_resource_id']}")
                return answer
            case _:
                return await self._read(stack)

    async def _watch(self, name: str, request: Request) -> None:
        """Set a watch policy or mode of the stack that has the name now."""
        stack = (await self._api.stacks.show(request.stack))["id"]
        self._witness.requests.watched_stacks[name] = stack
        if request.verb is Verb.PROJECT:
            await self._api.drift.set_project_mode(request.word)
        elif request.verb is Verb.OVERRIDE:
            await self._api.drift.set_resource_policy(stack, request.resource, request.word)
        elif request.word in policies.MODES:
            await self._api.drift.set_watch(stack, mode=request.word)
        else:
            await self._api.drift.set_watch(stack, policy=request.word)

    async def _protect(self, name: str, request: Request) -> None:
        """Protect or unprotect a stack, one nested in it, or a resource of them."""
        api, protects = self._api.protection, request.verb is Verb.PROTECT
        around = (await self._api.stacks.show(request.stack))["id"]
        # A stack is given by its id where only one is meant.
        tree = [around] if around == request.stack else [
            one.id for one in self._witness.living_stacks() if f"{one.name}-".startswith(f"{request.stack}-")]
        if not tree:
            return
        stack = self._chance.world.choice(sorted(tree))
        resource = "" if request.word == STACK else request.resource or await self._any_resource(stack)
        self._witness.requests.protected[name] = stack, resource
        if not resource:
            await (api.protect_stack if protects else api.unprotect_stack)(stack)
        elif protects:
            await api.protect_resource(stack, resource, [request.word])
        else:
            await api.unprotect_resource(stack, resource)

    async def _any_resource(self, stack: str) -> str:
        found = sorted({one["resource_name"] for one in await self._api.resources.list(stack)})
        return self._chance.world.choice(found) if found else "nothing"

    async def _snapshot(self, name: str, request: Request) -> Any:
        """Restore a snapshot of the stack, or delete it."""
        found = [one["id"] for one in await self._api.snapshots.list(request.stack)]
        if not found:
            return None
        chosen = self._chance.world.choice(found)
        if request.verb is Verb.DELETE_SNAPSHOT:
            return await self._api.snapshots.delete(request.stack, chosen)
        taken = self._witness.operations.operations[chosen]
        self._witness.requests.shapes[name], self._witness.requests.taken[name] = taken.shape, taken
        return await self._api.snapshots.restore(request.stack, chosen)

    async def _signal(self, name: str, stack: str) -> None:
        """Signal every handle of the stack, and some twice, as a client does that got no answer."""
        for one in await self._api.resources.list(stack):
            if one["resource_type"] == "OS::Heat::WaitConditionHandle":
                for _ in range(self._chance.world.choice((1, 1, 2))):
                    await self._api.signals.send(stack, one["resource_name"], {"id": name}, signal_id=name)

    def signal_soon(self, stack: str, handle: str) -> None:
        """Signal a handle soon, at times: before its wait condition waits, or at the same moment."""
        if not self._chance.faultless and self._chance.world.random() < 0.4:
            delay = self._chance.delay(0.5)
            self._start("quick", self._signal_after(stack, handle, delay))

    async def _signal_after(self, stack: str, handle: str, delay: float) -> None:
        await asyncio.sleep(delay)
        with contextlib.suppress(errors.UserError, DatabaseGone):
            await self._api.signals.send(stack, handle)

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        context = contextvars.copy_context()
        context.run(processes.OWNER.set, processes.Process(name))
        context.run(lambda: self._loop.create_task(work, context=context))

    def keep_signalling(self, waiting: Callable[[], list[tuple[str, str]]]) -> None:
        """Signal from now on every handle (stack, name) that `waiting` returns."""

        async def signal() -> None:
            while True:
                await asyncio.sleep(5.0)
                for stack, handle in waiting():
                    with contextlib.suppress(errors.UserError):
                        await self._api.signals.send(stack, handle)

        self._start("signaller", signal())

    async def _abandon(self, stack: str) -> Any:
        answer = await self._api.exports.abandon(stack, hidden=True)
        before = self._witness.operations.before_abandoning[answer.accepted.operation_id]
        self._exports[stack] = answer.document, before
        return answer

    async def _adopt(self, name: str, stack: str) -> Any:
        if stack not in self._exports:
            return None
        document, self._witness.requests.shapes[name] = self._exports[stack]
        if (document["action"], document["status"]) == ("UPDATE", "IN_PROGRESS"):
            self._witness.adopt_unfinished(stack)
        return await self._api.exports.adopt(stack, document)

    async def _read(self, stack: str) -> None:
        """I14: reads work at any moment. I17: they show no secrets."""
        api = self._api
        answers = [await api.stacks.show(stack), await api.resources.list(stack), await api.events.list(stack),
                   await api.stacks.list(), await api.resources.edges(stack), await api.outputs.list(stack)]
        if self._witness.observer_checks is not None:
            answers.append(await api.drift.show(stack, whole=True))
        if shapes.SECRET in str(answers):
            self._witness.broken("I17", f"a read of {stack} shows a secret")

    def _vanish(self, stack: str) -> None:
        used = {one for thing in self._cloud.things.values() for one in thing.uses}
        found = [
            thing.id for thing in self._cloud.things.values()
            if thing.stack == stack and thing.id not in used and self._cloud.status(thing) == "READY"
        ]
        if found:
            self._cloud.vanish(self._chance.world.choice(sorted(found)))


def _api_request(request: Request) -> orchestrator.Request:
    template, environment, files = shapes.render(request.shape)
    return orchestrator.Request(
        template, files, environment, disable_rollback=not request.rollback, timeout_s=request.timeout_s,
        converge=request.converge, moved=request.moved, target=request.target, exclude=request.exclude,
    )


def _shown(shape: shapes.Shape, indent: str = "\n      ") -> str:
    lines = [f"{indent}{name}: {_part(part)}{_shown(part.inner or {}, indent + '  ')}" for name, part in shape.items()]
    return "".join(lines)


def _part(part: shapes.Part) -> str:
    facts = [f"{key}={value}" for key in part.__slots__
             if key != "inner" and (value := getattr(part, key)) and value != "Sim::Thing"]
    return " ".join(facts) or "-"
