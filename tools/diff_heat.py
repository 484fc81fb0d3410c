"""Evaluates the cases of tests/compat with the real Heat and with Isotherm, and reports the differences.

`make diff-heat` calls it. Heat is in `.venv-heat`, made here when missing (or in the environment that HEAT_VENV names);
Isotherm does not import it. With --record, Heat's answers are written beside the cases, for the tests without Heat. The
exit code is 1 for a difference that is not listed, with its reason, in tests/compat/differences.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# Importable because of the path above.
from tests.compat import compare, corpus, heat_side, isotherm_side  # noqa: E402
from tools import side_environment  # noqa: E402

REQUIREMENTS = ROOT / "tools" / "heat_peer" / "requirements.txt"


def heat_python() -> Path:
    """Return the interpreter of an environment with Heat."""
    if given := os.environ.get("HEAT_VENV"):
        return Path(given) / "bin" / "python"
    return side_environment.python_of("heat", REQUIREMENTS)


def heat_answers(python: Path, family: str) -> dict[str, dict[str, corpus.Answer]]:
    runs = [run for case in corpus.cases(family) for run in corpus.runs(family, case)]
    found: dict[str, dict[str, corpus.Answer]] = {}
    for run, answer in zip(runs, heat_side.answers(python, runs), strict=True):
        found.setdefault(run.case, {})[run.variant] = answer
    return found


def report(family: str, answers: dict[str, dict[str, corpus.Answer]]) -> tuple[int, int]:
    """Print the differences; return the number of compared runs, and of those with an unlisted difference."""
    asked = differing = 0
    for case in corpus.cases(family):
        for run in corpus.runs(family, case):
            asked += 1
            found = compare.unexplained(run, answers[case][run.variant], isotherm_side.answer(run))
            differing += bool(found)
            for line in found:
                print(f"{run.id}: {line}")
    return asked, differing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--record", action="store_true", help="write Heat's answers beside the questions")
    parser.add_argument("family", nargs="*", help="only these families of cases")
    options = parser.parse_args()
    python = heat_python()
    total = differing = cases = 0
    for family in options.family or corpus.families():
        answers = heat_answers(python, family)
        if options.record:
            corpus.record(family, answers)
        asked, wrong = report(family, answers)
        cases, total, differing = cases + len(answers), total + asked, differing + wrong
        print(f"diff-heat: {family}: {len(answers)} cases, {asked} runs, {wrong} differ", flush=True)
    print(f"diff-heat: {cases} cases, {total} runs on both sides, {differing} differ without a listed reason")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
