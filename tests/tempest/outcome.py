"""What became of each test of a run of stestr, as JSON: [name, status, details]. Runs in tempest's own environment.

It reads the run from standard input, in subunit's format.
"""

import json
import sys

from subunit import ByteStreamToStreamResult
from testtools import StreamToDict

found: list[list[str]] = []


def remember(test: dict) -> None:  # type: ignore[type-arg]
    # Logs come first, the reason last.
    details = {name: content.as_text() for name, content in test["details"].items() if content.content_type.type == "text"}
    found.append([test["id"], test["status"], details.get("traceback") or "\n".join(details.values())])


result = StreamToDict(remember)
result.startTestRun()
ByteStreamToStreamResult(sys.stdin.buffer).run(result)
result.stopTestRun()
json.dump(found, sys.stdout)
