"""Run a management command several times: import it once, and fork for each list of arguments.

    python -m loopback.manage MODULE ARGUMENTS... -- ARGUMENTS...

It stops at the first failure. A list that begins with `?` may fail.
"""

import importlib
import itertools
import os
import sys

module = importlib.import_module(sys.argv[1])
for is_separator, group in itertools.groupby(sys.argv[2:], lambda word: word == "--"):
    if is_separator:
        continue
    words = list(group)
    may_fail = words[0] == "?"
    pid = os.fork()
    if not pid:
        sys.argv = ["manage", *words[may_fail:]]
        print("+", *sys.argv, flush=True)
        sys.exit(module.main())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code and not may_fail:
        sys.exit(code)
