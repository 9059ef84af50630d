"""read(): a window of a file."""

import base64
import itertools
from collections.abc import Iterator

from cay_client import CayError, Sandbox
from deepagents.backends.protocol import FileData, ReadResult

from .codes import code_of
from .members import known
from .paging import MOST_BYTES, SNIFFED, BeyondEnd, binary_by_name, is_text, page_of

EMPTY = "System reminder: File exists but has empty contents"
PIECE = 65536


def _failed(path: str, reason: str) -> ReadResult:
    return ReadResult(error=f"File '{path}': {reason}")


def _binary(path: str, size: int | None, pieces: Iterator[bytes]) -> ReadResult:
    content = b""
    if size is None or size <= MOST_BYTES:
        for piece in pieces:
            content += piece
            if len(content) > MOST_BYTES:
                break
    if len(content) > MOST_BYTES or (size is not None and size > MOST_BYTES):
        return _failed(path, f"Binary file exceeds maximum preview size of {MOST_BYTES} bytes")
    coded = base64.b64encode(content).decode("ascii")
    return ReadResult(file_data=FileData(content=coded, encoding="base64"))


def read(box: Sandbox, path: str, offset: int, limit: int) -> ReadResult:
    """Returns the lines of the window as they are. Only what the window needs is transferred."""
    offset, limit = max(int(offset), 0), max(int(limit), 0)
    try:
        with box.open(path) as response:
            length = response.headers.get("Content-Length")
            size = int(length) if length is not None else None
            pieces = response.iter_bytes(PIECE)
            prefix = b""
            for piece in pieces:
                prefix += piece
                if len(prefix) >= SNIFFED:
                    break
            if not prefix:
                return ReadResult(file_data=FileData(content=EMPTY, encoding="utf-8"))
            whole = itertools.chain([prefix], pieces)
            if binary_by_name(path) or not is_text(prefix):
                return _binary(path, size, whole)
            if limit == 0:
                nothing = FileData(content="", encoding="utf-8")
                uninspected = known(ReadResult, no_lines_requested=True)
                return ReadResult(file_data=nothing, **uninspected)
            page = page_of(whole, size, offset, limit)
    except BeyondEnd as error:
        return _failed(path, f"Line offset {offset} exceeds file length ({error.lines} lines)")
    except CayError as error:
        code = code_of(error)
        return _failed(path, "not_a_file" if error.reason in NOT_FILES else code)
    return ReadResult(
        file_data=FileData(content=page.text, encoding="utf-8"),
        start_line=page.start_line,
        end_line=page.end_line,
        total_lines=page.total_lines,
        next_offset=page.next_offset,
    )


NOT_FILES = ("is_a_directory", "not_a_regular_file")
