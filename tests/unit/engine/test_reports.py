"""The log lines of an exception."""

from __future__ import annotations

import logging

import pytest

from isotherm import errors
from isotherm.planning import masking


def logged(error: Exception, cause: Exception, caplog: pytest.LogCaptureFixture) -> str:
    try:
        raise error from cause
    except Exception as caught:
        logging.getLogger("isotherm").error("a turn failed", exc_info=masking.loggable(caught))
    return caplog.text


def test_a_database_that_does_not_answer_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    text = logged(errors.Unavailable("the database does not answer: refused"), OSError("refused"), caplog)
    assert "Unavailable: the database does not answer: refused" in text
    assert "Traceback" not in text and "OSError" not in text


def test_of_anything_else_it_is_told_where_and_not_what(caplog: pytest.LogCaptureFixture) -> None:
    text = logged(ValueError("MARKER"), OSError("MARKER"), caplog)
    assert "Traceback" in text and "ValueError" in text and __file__ in text
    assert "MARKER" not in text
