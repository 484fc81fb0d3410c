"""Supervises one command: starts it, and restarts it as its policy says. A program without imports of the package.

It runs detached from the engine, which may end and return: `<token>.json` holds what runs and how it ended. A lock for
each token prevents a second supervisor. The command comes by standard input and is not written to disk: its environment
may hold secrets.

Signals: TERM ends the command and then the supervisor; a second TERM kills the command.
"""

# Few imports, and none that could be spared: one of these runs for each command.
from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time

_SIGNALS = (signal.SIGTERM, signal.SIGCHLD)
_CALM_S, _FIRST_PAUSE_S, _LONGEST_PAUSE_S = 10.0, 0.5, 30.0
_NOT_STARTED = 127


def main() -> None:
    options = json.loads(sys.stdin.buffer.read())
    for file in options["files"].values():
        os.set_inheritable(file, False)
    os.fchdir(options["files"]["here"])
    lock = os.open(f"{options['token']}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _answer({"held": True})
        return
    # The engine waits for the first process only; the second has no parent that waits for it.
    if os.fork():
        os._exit(0)
    os.setsid()
    # Signals are waited for, and never break in.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(ignored, signal.SIG_IGN)
    CommandSupervisor(options).run()


class CommandSupervisor:
    """Supervises one command."""

    def __init__(self, options: dict) -> None:  # type: ignore[type-arg]
        self.options = options
        self.child = 0
        self.restarts = 0
        self.stopping = False

    def run(self) -> None:
        pause = _FIRST_PAUSE_S
        while True:
            began = time.monotonic()
            error = self._start()
            if not self.restarts:
                _answer({"error": error} if error else {"pid": self.child})
                _let_go()
            code = _NOT_STARTED if error else self._wait()
            if self.stopping or not self._again(code) or (error and not self.restarts):
                break
            self._write_state(code=code)
            pause = _FIRST_PAUSE_S if time.monotonic() - began > _CALM_S else min(pause * 2, _LONGEST_PAUSE_S)
            if signal.sigtimedwait((signal.SIGTERM,), pause) is not None:
                break
            self.restarts += 1
        self._write_state(code=code, ended=time.time())

    def _start(self) -> str:
        """Run the command in a session of its own; return the problem, if any."""
        reads, writes = os.pipe()  # a successful exec closes both
        self.child = os.fork()
        if not self.child:
            _become(self.options, writes)
        os.close(writes)
        with os.fdopen(reads, "rb") as opened:
            error = opened.read().decode("utf-8", "replace")
        if error:
            os.waitpid(self.child, 0)
            self.child = 0
        else:
            self._write_state()
        return error

    def _wait(self) -> int:
        """Wait until the command has ended, and return its exit status."""
        # The child is reaped after its group was killed: until then no other process can get its pid.
        while os.waitid(os.P_PID, self.child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if signal.sigwaitinfo(_SIGNALS).si_signo == signal.SIGTERM:
                self._kill(signal.SIGKILL if self.stopping else signal.SIGTERM)
                self.stopping = True
        if self.stopping:
            self._kill(signal.SIGKILL)  # its remaining children
        _, status = os.waitpid(self.child, 0)
        self.child = 0
        return os.waitstatus_to_exitcode(status)

    def _again(self, code: int) -> bool:
        policy = self.options["restart_policy"]
        return bool(policy == "always" or (policy == "on-failure" and code != 0))

    def _kill(self, number: int) -> None:
        try:  # noqa: SIM105 - see above
            os.killpg(self.child, number)
        except ProcessLookupError:
            pass

    def _write_state(self, **more: object) -> None:
        """Write the state file atomically."""
        options = self.options
        state = {
            "command": options["command"], "cwd": options["cwd"], "log": options["log"],
            "restart_policy": options["restart_policy"], "restarts": self.restarts, "boot": options["boot"],
            "keeper": _identity(os.getpid()), "child": _identity(self.child) if self.child else None, **more,
        }
        with open(f"{options['token']}.new", "w", encoding="utf-8", opener=_private) as file:
            json.dump(state, file)
        os.replace(f"{options['token']}.new", f"{options['token']}.json")  # noqa: PTH105 - see above


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _become(options: dict, writes: int) -> None:  # type: ignore[type-arg]
    """Become the command, in the child process. Never returns."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(options["files"]["log"], 1)
        os.dup2(options["files"]["log"], 2)
        os.fchdir(options["files"]["cwd"])
        os.execvpe(options["command"][0], options["command"], options["environment"])
    except BaseException as error:  # noqa: BLE001 - every error is reported to the engine
        os.write(writes, str(error).encode("utf-8", "replace"))
    os._exit(_NOT_STARTED)


def _identity(pid: int) -> list:  # type: ignore[type-arg]
    """Return the number and the start time of a process; a zombie has both."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - see above
        return [pid, int(file.read().rpartition(b")")[2].split()[19])]


def _answer(data: dict) -> None:  # type: ignore[type-arg]
    os.write(1, json.dumps(data).encode())


def _let_go() -> None:
    """Close the descriptors inherited from the engine, which waits for that."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


if __name__ == "__main__":
    main()
