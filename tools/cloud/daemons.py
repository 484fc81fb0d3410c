"""The daemons of a cloud, recorded in a file of its folder by pid and start time, so that no other process is ended."""

from __future__ import annotations

import dataclasses
import json
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.services import processes
from tools.services.processes import Process

_PATIENCE_S = 15.0


@dataclasses.dataclass(frozen=True, slots=True)
class Started:
    """A daemon that was started, and the digest of everything that it was started with."""

    process: Process
    digest: str
    log: str

    def is_alive(self) -> bool:
        return self.process.is_alive()


class Daemons:
    """The daemons of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "daemons.json"
        # Keystone is started while other services are prepared.
        self._lock = threading.Lock()

    def known(self) -> dict[str, Started]:
        """Return the daemons that were started and not ended; `is_alive` says whether one still runs."""
        if not self._file.exists():
            return {}
        return {name: Started(Process(**one["process"]), one["digest"], one["log"])
                for name, one in json.loads(self._file.read_text()).items()}

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str], digest: str) -> bool:
        """Start a daemon, unless it runs with the same digest; return whether it was started."""
        with self._lock:
            known = self.known()
            if name in known and known[name].is_alive() and known[name].digest == digest:
                return False
            if name in known:
                processes.end([known[name].process], signal.SIGTERM, _PATIENCE_S)
            log = self._folder / "log" / f"{name}.log"
            process = processes.start(command, log, environ=environment, folder=self._folder)
            self._write({**known, name: Started(process, digest, str(log))})
            return True

    def end(self) -> list[str]:
        """End all daemons; return the names of those that ran."""
        with self._lock:
            known = self.known()
            ran = [name for name, one in known.items() if one.is_alive()]
            processes.end([one.process for one in known.values()], signal.SIGTERM, _PATIENCE_S)
            self._write({})
        return ran

    def _write(self, known: Mapping[str, Started]) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(json.dumps({name: dataclasses.asdict(one) for name, one in known.items()}, indent=2))
        draft.rename(self._file)
