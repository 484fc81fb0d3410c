"""Output to streams whose encoding has few characters: symbols get a plain form, other characters are escaped."""

from __future__ import annotations

import codecs
import io
import sys

_NAME = "isotherm.plain"
#: Symbol -> plain form.
PLAIN = str.maketrans({
    "\N{CHECK MARK}": "+", "\N{BALLOT X}": "x", "\N{BLACK CIRCLE}": "*", "\N{WHITE CIRCLE}": "o",
    "\N{FULL BLOCK}": "#", "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-", "\N{BOX DRAWINGS LIGHT VERTICAL}": "|",
    "\N{BOX DRAWINGS LIGHT UP AND RIGHT}": "`", "\N{BOX DRAWINGS LIGHT VERTICAL AND RIGHT}": "|",
    "\N{RIGHTWARDS ARROW}": ">", "\N{DOWNWARDS ARROW WITH TIP RIGHTWARDS}": ">", "\N{NOT EQUAL TO}": "!",
    "\N{PLUS-MINUS SIGN}": "~", "\N{MIDDLE DOT}": ".", "\N{HORIZONTAL ELLIPSIS}": ".",
})


def tolerate() -> None:
    """Let stdout and stderr write every text, whatever their encoding."""
    codecs.register_error(_NAME, _replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors=_NAME)


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start:error.end].translate(PLAIN)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end
