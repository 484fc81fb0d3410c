"""Checks that this tree can be released: builds wheel and sdist, installs the wheel elsewhere, and runs the tour and the
page from it.

Called by `make release-check`. Nothing of the repository is on the path of the installed program: the environment, the
working directory and the examples (share/isotherm/examples, which the wheel brings along) are in a scratch folder.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = "isotherm/web/static/index.html"
IN_SDIST = {"isotherm/__init__.py", "examples/tour.py", "CHANGELOG.md", "LICENSE", "README.md", "constraints.txt"}


def problems_of_text(root: Path = ROOT) -> list[str]:
    """Return what is wrong in the files: versions that differ, a changelog that is not written."""
    version = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    init = (root / "isotherm" / "__init__.py").read_text(encoding="utf-8")
    own = re.search(r'^__version__ = "(.+)"$', init, re.MULTILINE)
    first = re.search(r"^## (.+)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    found = []
    if own is None or own[1] != version:
        found.append(f"isotherm/__init__.py does not have version {version} of pyproject.toml")
    if first is None or not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", first[1]):
        found.append(f"the first section of CHANGELOG.md is not '{version} (YYYY-MM-DD)'")
    left = sorted(path.name for path in (root / "changelog.d").glob("*.md") if path.name != "README.md")
    if left:
        found.append(f"changelog.d still has fragments that belong into CHANGELOG.md: {', '.join(left)}")
    return found


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> None:
    print(f"$ {' '.join(str(part) for part in command)}", flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, env=env, check=True, stdin=subprocess.DEVNULL)


def build(folder: Path) -> tuple[Path, Path]:
    """Build both archives from the tree as git has it, and return their paths: the wheel and the sdist."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := IN_SDIST - names:
        raise SystemExit(f"release-check: the sdist lacks {', '.join(sorted(missing))}")


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel into an empty environment, and return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    uv = Path(sys.executable).with_name("uv")
    installer: list[str | Path] = [python, "-m", "pip", "install"]
    if uv.exists():
        installer = [uv, "pip", "install", "--python", python]
    run(*installer, "--quiet", "--constraint", ROOT / "constraints.txt", wheel, cwd=folder)
    return python


def check_wheel(wheel: Path) -> None:
    """Fail if the wheel lacks the page, or a file that the page names."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        index = archive.read(INDEX).decode() if INDEX in names else ""
    missing = [INDEX] if not index else sorted(
        path for path in assets(index) if INDEX.replace("index.html", path.removeprefix("/ui/")) not in names)
    if missing:
        raise SystemExit(f"release-check: the wheel lacks {', '.join(missing)}: `make setup` builds the page")


def assets(index: str) -> list[str]:
    """Return the paths of the files that the front of the page names."""
    found = re.findall(r'(?:src|href)="(/ui/assets/[^"]+)"', index)
    if not found:
        raise SystemExit("release-check: the front of the page names no script and no style")
    return found


def environment(python: Path, scratch: Path) -> dict[str, str]:
    """Return the variables of the installed program: nothing of the repository is within reach."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ISOTHERM", "VIRTUAL_ENV"))}
    return {**env, "PATH": f"{python.parent}:{os.environ['PATH']}", "ISOTHERM_HOME": str(scratch / "home")}


def serve_page(python: Path, scratch: Path) -> None:
    """Run the installed service without Node.js, and read every file of the page that its front names."""
    env = {**environment(python, scratch), "PATH": str(python.parent)}
    command = [str(python.with_name("isotherm")), "up", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=scratch, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
            for path in ["/ui/", *assets(_read(f"{told['url']}/ui/").decode())]:
                print(f"{path}: {len(_read(told['url'] + path)):,} bytes", flush=True)
        finally:
            process.terminate()


def _read(address: str) -> bytes:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, timeout=60) as answer:
        found: bytes = answer.read()
    return found


def tour(python: Path, scratch: Path) -> None:
    """Run the installed program and the tour."""
    env = environment(python, scratch)
    inside = "import isotherm, pathlib, sys; sys.exit(not pathlib.Path(isotherm.__file__).is_relative_to(sys.prefix))"
    run(python, "-c", inside, cwd=scratch, env=env)
    run(python.with_name("isotherm"), "--version", cwd=scratch, env=env)
    run(python.with_name("heat-manage"), "--help", cwd=scratch, env=env)
    run(python, python.parent.parent / "share" / "isotherm" / "examples" / "tour.py", cwd=scratch, env=env)


def main() -> None:
    if found := problems_of_text():
        raise SystemExit("\n".join(f"release-check: {problem}" for problem in found))
    with tempfile.TemporaryDirectory(prefix="isotherm-release-") as name:
        scratch = Path(name)
        (scratch / "dist").mkdir()
        try:
            wheel, sdist = build(scratch / "dist")
            check_sdist(sdist)
            check_wheel(wheel)
            python = install(wheel, scratch / "empty")
            tour(python, scratch)
            serve_page(python, scratch)
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"release-check: FAILED with exit code {error.returncode}") from None
        print(f"release-check: passed ({wheel.name}, {sdist.name})")


if __name__ == "__main__":
    main()
