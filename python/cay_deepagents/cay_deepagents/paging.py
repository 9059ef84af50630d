"""Pages of lines from a file that comes in pieces. No more of a file is held than a page has."""

import codecs
import dataclasses
import io
import itertools
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

MOST_BYTES = 500 * 1024  # of a page, and of a binary file
MOST_COUNTED = 1024 * 1024  # a larger file is not read to its end for its number of lines
SNIFFED = 8192
CUT = (
    "\n\n[Output was truncated due to size limits. "
    "This paginated read result exceeded the sandbox stdout limit. "
    "Continue reading with a larger offset or smaller limit to inspect the rest of the file.]"
)
# Files that a model sees as blocks of their own kind.
BINARY = frozenset(
    "png jpeg jpg webp gif heic heif mp4 mpeg mov avi flv mpg webm wmv 3gpp mkv "
    "wav mp3 aiff aac ogg flac pdf ppt pptx".split()
)


@dataclasses.dataclass(frozen=True)
class Page:
    """Lines of a file. Line numbers count from 1, and `next_offset` from 0."""

    text: str
    start_line: int
    end_line: int
    total_lines: int | None
    next_offset: int | None


class BeyondEnd(Exception):
    """The file has no line at the offset. `lines` is how many it has."""

    def __init__(self, lines: int) -> None:
        super().__init__(lines)
        self.lines = lines


def binary_by_name(path: str) -> bool:
    return PurePosixPath(path).suffix.lower().removeprefix(".") in BINARY


def is_text(prefix: bytes) -> bool:
    """Whether a file that begins like this is UTF-8. Its last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(prefix[:SNIFFED])
    except UnicodeDecodeError:
        return False
    return True


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yields the lines. Of a line that no page can hold, only the beginning is kept."""
    utf8 = codecs.getincrementaldecoder("utf-8")("replace")
    decoder = io.IncrementalNewlineDecoder(utf8, translate=True)
    line = ""
    for piece in itertools.chain(pieces, [None]):
        text = decoder.decode(b"", final=True) if piece is None else decoder.decode(piece)
        first, *more = text.split("\n")
        if len(line) <= MOST_BYTES:
            line += first
        for after in more:
            yield line
            line = after
    if line:
        yield line


def page_of(pieces: Iterable[bytes], size: int | None, offset: int, limit: int) -> Page:
    """Returns `limit` lines from `offset` on. `size` is the file's, if it is known.

    Raises BeyondEnd if the file has no such line. Stops to read once the page is full, unless the
    rest is small.
    """
    lines = _lines(pieces)
    for skipped in range(offset):
        if next(lines, None) is None:
            raise BeyondEnd(skipped)
    room = MOST_BYTES - len(CUT.encode())
    kept: list[str] = []
    cut: str | None = None
    for line in lines:
        shown = f"\n{line}" if kept else line
        coded = shown.encode()
        if len(coded) > room:
            cut = coded[:room].decode("utf-8", "ignore") + CUT
            break
        kept.append(shown)
        room -= len(coded)
        if len(kept) == limit:
            break
    if not kept and cut is None:
        raise BeyondEnd(offset)
    seen = offset + len(kept) + (cut is not None)
    total: int | None = None
    if size is not None and size <= MOST_COUNTED:
        total = seen + sum(1 for _ in lines)
    elif cut is None and next(lines, None) is None:
        total = seen
    # A first line that is too long counts as read, or the reader would never get past it.
    end = offset + max(len(kept), 1)
    following = end if total is None or end < total else None
    return Page("".join(kept) + (cut or ""), offset + 1, end, total, following)
