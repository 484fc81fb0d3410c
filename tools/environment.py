"""Makes `.venv` and installs the project into it. Needs only a Python and the package registries.

Called by `make setup`. It runs on the bare interpreter, so it uses the standard library only. uv installs the packages
where pip can fetch uv (three times as fast); otherwise, or where uv fails because only pip is configured for the registry,
pip does. Both install the versions of `constraints.txt`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
OLDEST, NEWEST = (3, 11), (3, 13)


def say(message: str) -> None:
    print(f"setup: {message}", flush=True)


def runs(command: list[str], *, quiet: bool = False) -> bool:
    """Run a command; return whether it succeeded. The constraints apply to build dependencies, too."""
    environ = {
        **os.environ,
        "PIP_CONSTRAINT": str(CONSTRAINTS),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    sink = subprocess.DEVNULL if quiet else None
    try:
        return subprocess.run(command, cwd=ROOT, env=environ, stdout=sink, stderr=sink, check=False).returncode == 0
    except OSError:
        return False


def make_venv(folder: Path) -> None:
    """Make the environment; replace it when its interpreter is missing or of an unsupported version."""
    check = f"import sys; sys.exit(not {OLDEST} <= sys.version_info[:2] <= {NEWEST})"
    if runs([str(folder / "bin" / "python"), "-c", check], quiet=True):
        return
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        raise SystemExit(f"setup: Python 3.11, 3.12 or 3.13 is needed; {sys.executable} is {sys.version.split()[0]}")
    say(f"making {folder.name} with Python {sys.version.split()[0]}")
    try:
        venv.create(folder, clear=True, with_pip=True)
    except subprocess.CalledProcessError:
        raise SystemExit("setup: this Python cannot make environments: install its venv package "
                         "(Debian, Ubuntu: apt install python3-venv)") from None


def requirements(groups: list[str]) -> list[str]:
    """Return the requirements of the dependency groups: older pips do not support groups."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    return [requirement for group in groups for requirement in table[group]]


def install(python: Path, wanted: list[str]) -> bool:
    uv = python.with_name("uv")
    arguments = ["--quiet", "--constraint", str(CONSTRAINTS), *wanted]
    pip = [str(python), "-m", "pip", "install"]
    if uv.exists() or runs([*pip, "--quiet", "--only-binary", ":all:", "uv"], quiet=True):
        say("installing with uv")
        # Compile now: where Python may not write beside its sources, every start would compile again.
        target = ["--python", str(python), "--build-constraint", str(CONSTRAINTS), "--compile-bytecode"]
        if runs([str(uv), "pip", "install", *target, *arguments]):
            return True
    say("installing with pip")
    return runs([*pip, *arguments])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv")
    parser.add_argument("groups", nargs="*", default=["dev"], help="dependency groups to install beside the project")
    options = parser.parse_args()
    make_venv(options.folder)
    if not install(options.folder / "bin" / "python", ["--editable", str(ROOT), *requirements(options.groups)]):
        raise SystemExit("setup: could not install; are the package registries within reach? (see the messages above)")
    say(f"done: {options.folder.name} is ready")


if __name__ == "__main__":
    main()
