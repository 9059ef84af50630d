"""Replaces a piece of C++ source, whatever its layout.

The escape suite takes protections out of a copy of the sources, and the fuzz runner puts bugs into
one. Both name the code that they replace. White space between its tokens does not count, so that a
new column limit or a reflowed call leaves them alone.
"""
import re

TOKEN = re.compile(r"\w+|[^\w\s]")


def pattern_of(piece):
    """Returns a regular expression for `piece` with any white space between its tokens."""
    body = r"\s*".join(re.escape(token) for token in TOKEN.findall(piece))
    line_end = r"[ \t]*\n" if piece.endswith("\n") else ""
    return re.compile(body + line_end)


def count_of(text, piece):
    """Returns how often `piece` occurs in `text`."""
    return len(pattern_of(piece).findall(text))


def replaced(text, piece, by):
    """Returns `text` with `piece`, which occurs once, replaced by `by` as it is written."""
    return pattern_of(piece).sub(lambda _: by, text)
