"""The exit codes: what a script may rely on."""

from __future__ import annotations

OK, WRONG, USAGE, NOT_FOUND, CONFLICT, FAILED, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 5, 70, 130

#: The end of `isotherm --help`.
HELP = f"""\b
Exit codes:
  {OK}    done
  {WRONG}    what was asked for is wrong: a template, an environment, a parameter
  {USAGE}    the command line is wrong
  {NOT_FOUND}    something that was named does not exist
  {CONFLICT}    it clashes with what is there, or lost a race
  {FAILED}    the operation was accepted, and failed, was rolled back or overtaken
  {BUG}   a defect of Isotherm itself
  {INTERRUPTED}  interrupted"""
