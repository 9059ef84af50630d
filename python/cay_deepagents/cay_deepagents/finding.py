"""ls(), glob() and grep()."""

import posixpath
from collections.abc import Iterable
from typing import Any

from cay_client import CayError, Sandbox
from deepagents.backends.protocol import (
    FileInfo,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
)

from .codes import code_of
from .patterns import (
    PatternError,
    alternatives,
    at_depth,
    inside,
    is_made_by_kernel,
    relative,
    resolved,
    without,
)

MOST_MATCHES = 10_000
MOST_ASKED = 100_000  # the daemon's limit of one answer
MOST_HIDDEN = 4  # directories with a dot, one below the other
MOST_LINKS = 200  # each is a request


def _info(item: dict[str, Any]) -> FileInfo:
    return FileInfo(
        path=item["path"],
        is_dir=item["kind"] == "directory",
        size=item["size"],
        modified_at=item["mtime"],
    )


def _reason(error: CayError) -> str:
    code = code_of(error)
    words = {"file_not_found": "path_not_found", "not_a_directory": "not_a_directory"}
    return words.get(error.reason, words.get(code, code))


def ls(box: Sandbox, path: str) -> LsResult:
    try:
        return LsResult(entries=[_info(item) for item in box.entries(path)])
    except CayError as error:
        return LsResult(error=f"Path '{path}': {_reason(error)}")


class _Search:
    """A glob below one root."""

    def __init__(self, box: Sandbox, root: str) -> None:
        self.box, self.root = box, root
        self.found: dict[str, FileInfo] = {}
        self.truncated = False
        self.links = 0

    def add(self, pattern: str) -> None:
        items, truncated = self.box.glob(pattern, self.root, MOST_ASKED)
        self.truncated = self.truncated or truncated
        for item in items:
            if self.root == "/" and is_made_by_kernel(item["path"]):
                continue
            if item["kind"] == "file" or (item["kind"] == "symlink" and self._leads_to_file(item)):
                self.found[item["path"]] = FileInfo(path=item["path"], is_dir=False)

    def add_by_name(self, name: str) -> None:
        """As deepagents has it: also below directories with a dot."""
        for hidden in range(MOST_HIDDEN + 1):
            if hidden and not self._has(at_depth(".*", hidden - 1)):
                return
            self.add(at_depth(name, hidden))

    def _has(self, pattern: str) -> bool:
        items, _ = self.box.glob(pattern, self.root, MOST_ASKED)
        return any(item["kind"] == "directory" for item in items)

    def _leads_to_file(self, item: dict[str, Any]) -> bool:
        path = resolved(item["path"], item.get("target", ""))
        if not inside(path, self.root):
            return False
        self.links += 1
        if self.links > MOST_LINKS:
            self.truncated = True
            return False
        try:
            return bool(self.box.stat(path, follow=False)["kind"] == "file")
        except CayError as error:
            code_of(error)
            return False

    def result(self) -> GlobResult:
        paths = sorted(self.found)
        kept = [self.found[path] for path in paths[:MOST_MATCHES]]
        return GlobResult(matches=kept, truncated=self.truncated or len(paths) > len(kept))


def glob(box: Sandbox, pattern: str, path: str | None) -> GlobResult:
    root = posixpath.normpath("/" + (path or "/").lstrip("/"))
    search = _Search(box, root)
    try:
        candidates = alternatives(pattern)
        for one in candidates:
            if "/" not in pattern:
                search.add_by_name(one)
            elif asked := relative(one):
                search.add(asked)
    except PatternError as error:
        return GlobResult(error=f"Path '{root}': {error}")
    except CayError as error:
        return GlobResult(error=f"Path '{root}': {_reason(error)}")
    return search.result()


def _matches(
    box: Sandbox, text: str, root: str, globs: list[str | None], most: int
) -> tuple[list[GrepMatch], bool]:
    """Returns the lines in the order of their files, and whether more were left out."""
    found: dict[tuple[str, int], GrepMatch] = {}
    left_out = False
    for one in globs:
        items, truncated = box.grep(text, root, one, most)
        left_out = left_out or truncated
        for item in items:
            match = GrepMatch(path=item["path"], line=item["line"], text=item["text"])
            found[(match["path"], match["line"])] = match
    return [found[place] for place in sorted(found)], left_out


def grep(
    box: Sandbox,
    text: str,
    path: str | None,
    glob: str | None,
    max_count: int | None,
    leave_out: Iterable[str],
) -> GrepResult:
    root = posixpath.normpath(posixpath.join(box.home, path or "."))
    names = set(leave_out) - {posixpath.basename(root)}
    most = MOST_ASKED if max_count is None else min(max_count, MOST_ASKED)
    try:
        globs = [one.lstrip("/") if "/" in one else one for one in alternatives(glob or "")]
        asked = most
        while True:
            found, left_out = _matches(box, text, root, [one or None for one in globs], asked)
            kept = [one for one in found if without(one["path"], root, names)]
            if len(kept) >= most or not left_out or asked == MOST_ASKED:
                break
            asked = min(4 * asked, MOST_ASKED)  # what was left out took the place of others
    except PatternError as error:
        return GrepResult(error=f"Path '{root}': {error}")
    except CayError as error:
        return GrepResult(error=f"Path '{root}': {_reason(error)}")
    return GrepResult(matches=kept[:most], truncated=left_out or len(kept) > most)
