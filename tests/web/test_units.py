"""The functions of the page that need no browser: layout, grouping, formats, the timeline's scale. They run in Node.js."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import browser, page


def bundle(sources: list[Path], folder: Path) -> list[Path]:
    """Bundle modules for Node.js."""
    command = [
        page.tool("@esbuild", "esbuild"),
        *map(str, sources),
        "--bundle",
        "--platform=node",
        "--conditions=node",
        "--format=esm",
        f"--outdir={folder}",
        "--out-extension:.js=.mjs",
        "--log-level=warning",
    ]
    subprocess.run(command, cwd=page.WEB, check=True)
    return [folder / f"{source.name.removesuffix('.ts')}.mjs" for source in sources]


def test_the_pure_modules(tmp_path: Path) -> None:
    tests = sorted((page.WEB / "test").glob("*.test.ts"))
    assert len(tests) >= 4
    done = subprocess.run(
        [browser.node(), "--test", *map(str, bundle(tests, tmp_path))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]


def drawn(dice: random.Random, depth: int = 0) -> Any:
    texts = [
        "",
        " ",
        "a",
        "yes",
        "No",
        "1",
        "1.5",
        "0x1f",
        "~",
        "null",
        "a: b",
        "a #b",
        "- a",
        "{a",
        "2021-04-16",
        "12:30:45",
        "é\u202e",
        "a\nb\n",
        "\n a\n",
        "a\n\n",
        "tab\there\nx",
        "'q'",
        '"',
        "OS::Nova::Server",
        "@x",
        "%y",
        "*z",
        "&w",
        "!t",
        "|",
        ">",
        "a:",
        "=",
        "<<",
        "1_000",
        "+.inf",
        "/dev/vda",
        ".5",
        "...",
        "---",
        "trailing ",
        "a, b",
        "[x]",
    ]
    match dice.randrange(4 if depth < 4 else 2):
        case 0:
            return dice.choice(texts)
        case 1:
            return dice.choice([0, 1, -5, 2.5, True, False, None, 10**12, *texts])
        case 2:
            return [drawn(dice, depth + 1) for _ in range(dice.randrange(4))]
        case _:
            return {dice.choice(texts): drawn(dice, depth + 1) for _ in range(dice.randrange(4))}


@pytest.mark.parametrize("seed", range(3))
def test_a_template_is_written_as_yaml_that_means_the_same(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    values = [
        {"heat_template_version": "2021-04-16", "resources": drawn(dice), "outputs": {"a": drawn(dice)}} for _ in range(300)
    ]
    source = tmp_path / "write.ts"
    source.write_text(
        f'import {{ readFileSync }} from "node:fs";\nimport {{ toYaml }} from "{page.WEB}/src/view/yaml.ts";\n'
        'console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(toYaml)));\n'
    )
    [module] = bundle([source], tmp_path)
    done = subprocess.run(
        [browser.node(), str(module)], input=json.dumps(values), capture_output=True, text=True, check=True
    )
    for value, text in zip(values, json.loads(done.stdout), strict=True):
        read = yaml.load(text, Loader=_Texts)
        assert read == value, text


class _Texts(yaml.SafeLoader):
    """Reads dates as text, as the template language does."""


_Texts.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def test_the_page_is_as_small_as_promised() -> None:
    found = page.sizes()
    assert found["first"] <= page.FIRST_LOAD_BYTES
    assert found["editor"] <= page.EDITOR_BYTES


def test_no_registry_is_named_and_versions_are_exact() -> None:
    lock = json.loads((page.WEB / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert packages
    assert [name for name, one in packages.items() if "resolved" in one or "integrity" not in one] == []
    wanted = json.loads((page.WEB / "package.json").read_text())
    assert [
        version
        for part in ("dependencies", "devDependencies")
        for version in wanted[part].values()
        if not version[0].isdigit()
    ] == []


def test_sources_that_could_run_what_a_stack_says_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert page.forbidden() == []
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "bad.ts").write_text("element.innerHTML = name;\n")
    monkeypatch.setattr(page, "WEB", tmp_path)
    monkeypatch.setattr(page, "ROOT", tmp_path)
    assert page.forbidden() == ["src/bad.ts:1: element.innerHTML = name;"]
