"""Isotherm::Local::Process: a command that keeps running on the machine of the engine.

It is detached: the engine may end, and finds the process again by its token. An update ends the old process before the
new one starts: both would want the same port.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.local import confinement, supervisor_client
from isotherm.resources.local.path_resource import TOKEN, LocalResource, local_port
from isotherm.resources.schema import CACHE_NONE, INTEGER, LIST, MAP, NUMBER, STRING, AttributeSchema, Schema
from isotherm.template.parameters import constraints

COMMAND, ENV, CWD, LOG, RESTART, STOP, SETTLE = (
    "command", "env", "cwd", "log", "restart_policy", "stop_timeout_secs", "settle_secs")
_POLL_S = 0.1
_KEY = re.compile(r"[A-Za-z0-9_-]{1,100}")
# Properties that can change without a restart of the process.
_WORDS_ONLY = frozenset({STOP, SETTLE})


class Process(LocalResource):
    """A command with a supervisor. The physical id is the token; for an imported process, its number."""

    TYPE = "Isotherm::Local::Process"
    DESCRIPTION = "A command that keeps running, detached, on the machine that the engine runs on."
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        COMMAND: Schema(LIST, "The program and its arguments. No shell is involved.", required=True,
                        constraints=(constraints.Length(minimum=1),), schema=Schema(STRING), update_allowed=True),
        ENV: Schema(MAP, "Variables of its environment. Of the engine's own it has PATH, HOME, LANG, LC_ALL and TZ.",
                    default={}, schema=Schema(STRING), update_allowed=True, observable=False),
        CWD: Schema(STRING, "The folder that it starts in, inside the base folder; the base folder if it is not given.",
                    default="", update_allowed=True),
        LOG: Schema(STRING, "The file inside the base folder that its output is appended to. Not given: one that is "
                    "deleted with it.", default="", update_allowed=True),
        RESTART: Schema(STRING, "When it is started again after it has ended, with growing pauses. With on-failure, one "
                        "that ends well has done its work, and is not missed.", default="never",
                        constraints=(constraints.AllowedValues(allowed=("never", "on-failure", "always")),),
                        update_allowed=True),
        STOP: Schema(NUMBER, "How long it may take to end after it was asked to (TERM), before it is killed, in seconds.",
                     default=10, constraints=(constraints.Range(minimum=0, maximum=600),), update_allowed=True,
                     observable=False),
        SETTLE: Schema(NUMBER, "How long it has to stay alive before it counts as running, in seconds.", default=0.5,
                       constraints=(constraints.Range(minimum=0, maximum=600),), update_allowed=True, observable=False),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "pid": AttributeSchema("The number of the process that runs now; none if it does not.", INTEGER, CACHE_NONE),
        "log": AttributeSchema("The absolute path of its log.", STRING),
        "restarts": AttributeSchema("How often it was started again.", INTEGER, CACHE_NONE),
    }

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        for name in (CWD, LOG):
            wrong = confinement.wrong_with(properties[name]) if properties[name] else None
            if wrong:
                yield wrong
        texts = [*(properties[COMMAND] or ()), *(properties[ENV] or {}), *(properties[ENV] or {}).values()]
        if any("\0" in text for text in texts) or any("=" in name or not name for name in properties[ENV] or {}):
            yield "a command or an environment cannot have NUL in it, nor the name of a variable ="

    # Its life.

    async def handle_create(self) -> object:
        await self._start()
        self.physical_id = self.token
        return self._settling()

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        await super().check_create_complete(progress)
        return self._settled(progress)

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if changed.keys() <= _WORDS_ONLY and not isinstance(await self.handle_get_reality(), contract.Gone):
            return None
        return self._ending()

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        if progress is None:
            return True
        if "until" in progress:
            return self._settled(progress)
        if not self._ended(progress):
            return contract.Wait(_POLL_S, "ending what runs")
        # The new process may already run: the engine may have been killed before it could record that.
        if progress["old"] is None or self._state_changed(progress["old"]) is None:
            await self._start()
        return contract.Wait(_POLL_S, "starting", self._settling())

    async def handle_delete(self) -> object:
        return self._ending() if self.physical_id is not None else None

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        if progress is None:
            return True
        if not self._ended(progress):
            return contract.Wait(_POLL_S, "ending")
        supervisor_client.forget(self.confined, self._key)
        return True

    async def find_by_token(self) -> contract.Search:
        if self.context.local is None:
            return contract.CannotTell(f"a process of {self.stack_name} that runs {self.properties[COMMAND]}")
        found = self._state()
        known = found is not None and (found.is_kept or found.is_running)
        return contract.Found(self.token) if known else contract.Absent()

    # Reality.

    async def handle_check(self) -> object:
        if isinstance(await self.handle_get_reality(), contract.Gone):
            raise errors.Permanent(f"it does not run{self._last_words()}")
        return None

    async def handle_get_reality(self) -> contract.LiveState:
        if self._is_imported():
            return contract.Gone() if self._outsider() is None else contract.Seen({})
        with confinement.translated_errors(self.name):
            found = self._state()
            if found is None or not (found.is_kept or found.is_running or found.has_done_its_work):
                return contract.Gone()
            # A process without its supervisor runs on, but is not restarted.
            policy = found.restart_policy if found.is_kept or found.has_done_its_work else "never"
            return contract.Seen({COMMAND: found.command, CWD: found.cwd, LOG: found.log, RESTART: policy})

    async def attribute(self, name: str) -> object:
        if self._is_imported():
            found_one = self._outsider()
            return found_one.pid if found_one is not None and name == "pid" else None
        found = self._state()
        if name == "log":
            return self.confined.absolute(supervisor_client.log_parts(self.confined, self._key, self.properties[LOG]))
        if found is None:
            return None
        if name == "pid":
            return found.child[0] if found.is_running and found.child else None
        return found.restarts

    # Steps.

    @property
    def _key(self) -> str:
        """Return the key of the supervisor's files: the token of the resource that started it."""
        found = str(self.data.get(TOKEN, self.token))
        if not _KEY.fullmatch(found):
            raise errors.Permanent("the token of the process is none")
        return found

    def _state(self) -> supervisor_client.State | None:
        return supervisor_client.state(self.confined, self._key)

    def _state_changed(self, old: Any) -> supervisor_client.State | None:
        """Return the state if another process runs now than before."""
        found = self._state()
        return found if found is not None and list(found.keeper) != list(old["keeper"]) and found.is_kept else None

    async def _start(self) -> None:
        local = local_port(self)
        local.check()
        with confinement.translated_errors(self.name):
            await asyncio.to_thread(supervisor_client.start, self.confined, self._key, self.properties, local.environment)

    def _settling(self) -> dict[str, Any]:
        return {"until": self.context.clock.now() + self.properties[SETTLE]}

    def _settled(self, progress: Any) -> bool | contract.Wait:
        found = self._state()
        if found is not None and found.has_done_its_work:
            return True
        if found is None or not (found.is_kept or found.is_running):
            raise errors.Permanent(f"it ended at once{self._last_words()}")
        left = 0.0 if progress is None else progress["until"] - self.context.clock.now()
        return contract.Wait(left, "settling") if left > 0 else True

    def _ending(self) -> dict[str, Any]:
        """Ask the process to end; the progress has the process and its time limit."""
        local_port(self).check()
        with confinement.translated_errors(self.name):
            found = self._state()
            if found is not None:
                supervisor_client.ask_to_end(found)
        old = None if found is None else msgspec.to_builtins(found)
        return {"old": old, "kill_at": self.context.clock.now() + self.properties.get(STOP, 0)}

    def _ended(self, progress: Any) -> bool:
        if progress["old"] is None:
            return True
        local_port(self).check()
        old = msgspec.convert(progress["old"], supervisor_client.State)
        found = self._state()
        if found is not None and found.keeper == old.keeper:
            old = found  # it may have started the command once more in the meantime
        return supervisor_client.has_ended(old, self.context.clock.now() - progress["kill_at"])

    def _last_words(self) -> str:
        found = self._state() if self.context.local is not None else None
        code = "" if found is None or found.code is None else f", with code {found.code}"
        words = supervisor_client.tail(
            self.confined, supervisor_client.log_parts(self.confined, self._key, self.properties.get(LOG))
        )
        return f"{code}. Its last words: {words}" if words else code

    def _is_imported(self) -> bool:
        return self.physical_id is not None and self.physical_id not in self.tokens

    def _outsider(self) -> Any:
        base = str(local_port(self).base)
        is_number = re.fullmatch("[0-9]{1,9}", self.physical_id or "")
        return supervisor_client.outsider(str(self.physical_id), base) if is_number else None
