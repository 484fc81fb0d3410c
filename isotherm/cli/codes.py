"""The exit codes. Scripts may rely on them."""

from __future__ import annotations

from isotherm import errors

OK, WRONG, USAGE, NOT_FOUND, CONFLICT, FAILED, CHANGES, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 70, 130

#: The end of `isotherm --help`.
HELP = f"""\b
Exit codes:
  {OK}    success
  {WRONG}    invalid input: a template, an environment, a parameter
  {USAGE}    invalid command line
  {NOT_FOUND}    not found: a stack, a resource or a file that was named
  {CONFLICT}    conflict with what exists, or with a concurrent request
  {FAILED}    the operation was accepted, but failed, was rolled back or superseded
  {CHANGES}    `plan --detailed-exitcode`: the plan changes something
  {BUG}   a defect in Isotherm
  {INTERRUPTED}  interrupted"""


def of(error: errors.UserError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, errors.NotFound):
        return NOT_FOUND
    return CONFLICT if isinstance(error, errors.Conflict) else WRONG
