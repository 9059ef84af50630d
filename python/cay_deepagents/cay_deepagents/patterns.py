"""The patterns of deepagents' glob and grep, in terms of Cay's."""

import posixpath
import re
from collections.abc import Iterable

MOST_ALTERNATIVES = 100  # each is a request
NOT_FILES = ("/proc", "/sys", "/dev")  # the kernel's own file systems


class PatternError(Exception):
    """The pattern is refused. The text is deepagents' word for the reason."""


def _group(pattern: str) -> tuple[int, int, list[str]] | None:
    """Returns the place and the alternatives of the first group in braces that has a comma."""
    for begin in (found.start() for found in re.finditer(r"\{", pattern)):
        depth, part = 0, ""
        parts: list[str] = []
        for at in range(begin, len(pattern)):
            char = pattern[at]
            depth += {"{": 1, "}": -1}.get(char, 0)
            if depth == 0:
                if parts:
                    return begin, at + 1, [*parts, part]
                break
            if char == "," and depth == 1:
                parts.append(part)
                part = ""
            elif at > begin:
                part += char
    return None


def alternatives(pattern: str) -> list[str]:
    """Returns the patterns without braces that a pattern stands for."""
    if ".." in pattern.replace("\\", "/").split("/"):
        raise PatternError("invalid_pattern")
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        if len(done) + len(waiting) > MOST_ALTERNATIVES:
            raise PatternError("pattern_too_broad")
        one = waiting.pop()
        group = _group(one)
        if group is None:
            done.append(one)
            continue
        begin, end, parts = group
        waiting += [one[:begin] + part + one[end:] for part in reversed(parts)]
    return list(dict.fromkeys(done))


def relative(pattern: str) -> str | None:
    """Returns a pattern with a slash as Cay's glob takes it, relative to the root of the search.
    None: it is for directories alone, which are never a result."""
    segments = [part for part in pattern.split("/") if part]
    if not segments or (pattern.endswith("/") and segments[-1] != "**"):
        return None
    if segments[-1] == "**":  # what is below, and not the thing itself
        segments.append("*")
    return "/".join(segments)


def at_depth(pattern: str, hidden: int) -> str:
    """Returns the pattern for files of that name in `hidden` directories with a dot, one below
    the other, and in any number of others. Cay's `**` does not walk into those with a dot."""
    return "**/" + ".*/**/" * hidden + pattern


def inside(path: str, root: str) -> bool:
    return root == "/" or path == root or path.startswith(root.rstrip("/") + "/")


def resolved(link: str, target: str) -> str:
    """Returns the path that a link's text leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(link), target))


def is_made_by_kernel(path: str) -> bool:
    return any(inside(path, root) for root in NOT_FILES)


def without(paths_below: str, root: str, names: Iterable[str]) -> bool:
    """Whether no directory between the root and the file has one of the names."""
    parts = paths_below.removeprefix(root.rstrip("/")).split("/")[:-1]
    return not set(parts) & set(names)
