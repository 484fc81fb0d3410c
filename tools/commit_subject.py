"""Refuses a commit whose subject does not read `area: change` within 72 characters. A hook of .pre-commit-config.yaml."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72
# Subjects that git writes itself.
_OF_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")


def problem(subject: str) -> str | None:
    """Return what is wrong with a subject, or None."""
    if subject.startswith(_OF_GIT):
        return None
    if len(subject) > LONGEST:
        return f"the subject has {len(subject)} characters; {LONGEST} are allowed"
    if not re.match(r"[a-z][\w/., -]*: \S", subject):
        return "the subject is not `area: change`, such as `store: index resources by physical id`"
    if subject.endswith("."):
        return "the subject ends with a full stop"
    return None


def main() -> int:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    found = problem(next((line for line in lines if not line.startswith("#")), ""))
    if found:
        print(f"commit message: {found}", file=sys.stderr)
    return int(found is not None)


if __name__ == "__main__":
    sys.exit(main())
