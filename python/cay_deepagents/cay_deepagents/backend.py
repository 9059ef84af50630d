"""A sandbox of Cay's as a backend of deepagents."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any, Self, TypeVar

from cay_client import Cay, CayError, Sandbox, in_thread
from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    ExecuteOffloadResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)

from . import editing, finding, reading, running
from .codes import code_of
from .coroutines import Coroutines
from .running import CommandLine

DEFAULT_TIMEOUT_S = 30 * 60
MOST_CAPTURED = 10 << 20

Result = TypeVar("Result", ExecuteResponse, ExecuteOffloadResult)


class CaySandbox(Coroutines):
    """One sandbox. Whatever a model can cause is a value: a wrong path, a command that fails.
    Failures of the daemon or of the sandbox raise CayError.

    Without arguments it creates a sandbox, which `close()` and the end of a `with` delete. With
    an id or a name it uses that one, and leaves it as it is. With a `claim`, such as
    "thread:" + thread_id, it uses the sandbox of that claim, creates it if there is none, and
    leaves it for the next turn. `created` reports which: a lost sandbox is no secret.

    `options` are the members of POST /sandboxes: image, policy, limits, labels, …
    """

    grep_exclude_dirs = (".git",)
    enable_capture_offload = True  # by the daemon: the image needs nothing for it

    def __init__(
        self,
        sandbox: str | Sandbox | None = None,
        *,
        claim: str | None = None,
        cay: Cay | None = None,
        timeout: int = DEFAULT_TIMEOUT_S,
        **options: Any,
    ) -> None:
        self._cay = cay or Cay()
        self._closes_cay = cay is None
        self._deletes = sandbox is None and claim is None
        if sandbox is None:
            self._box = self._cay.ensure(claim, **options) if claim else self._cay.create(**options)
        elif claim or options:
            raise ValueError("a sandbox that exists takes no claim and no options")
        else:
            self._box = sandbox if isinstance(sandbox, Sandbox) else self._cay.get(sandbox)
        self._timeout = timeout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Deletes the sandbox if this object created it."""
        if self._deletes:
            self._box.delete()
        if self._closes_cay:
            self._cay.close()

    @property
    def id(self) -> str:
        return self._box.id

    @property
    def created(self) -> bool:
        """Whether the sandbox is new: nothing of an earlier turn is in it."""
        return self._deletes or bool(self._box.facts.get("created"))

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Runs a line of shell. A timeout of 0 is no limit. After it the exit code is 124, and the
        output is what there was until then."""
        return self._run(command, timeout, uuid.uuid4().hex, self._plain)

    async def aexecute(
        self, command: str, *, timeout: int | None = None  # noqa: ASYNC109
    ) -> ExecuteResponse:
        return await self._arun(command, timeout, self._plain)

    def _plain(self, line: CommandLine) -> ExecuteResponse:
        return running.run(self._box, line)

    def execute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        max_capture_bytes: int | None = None,
        timeout: int | None = None,
    ) -> ExecuteOffloadResult:
        """Runs a line of shell. Larger output becomes the file `capture_path` in the sandbox, and
        the result has its beginning and its end."""
        call = self._offloaded(capture_path, max_inline_bytes, max_capture_bytes)
        return self._run(command, timeout, uuid.uuid4().hex, call)

    async def aexecute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        max_capture_bytes: int | None = None,
        timeout: int | None = None,  # noqa: ASYNC109
    ) -> ExecuteOffloadResult:
        call = self._offloaded(capture_path, max_inline_bytes, max_capture_bytes)
        return await self._arun(command, timeout, call)

    def _offloaded(
        self, path: str, inline: int, most: int | None
    ) -> Callable[[CommandLine], ExecuteOffloadResult]:
        most = MOST_CAPTURED if most is None else most
        return lambda line: running.run_with_offload(self._box, line, path, inline, most)

    def _run(
        self,
        command: str,
        timeout: int | None,
        command_id: str,
        call: Callable[[CommandLine], Result],
    ) -> Result:
        limit = self._timeout if timeout is None else timeout
        return call(CommandLine(command, limit, command_id))

    async def _arun(
        self, command: str, timeout: int | None, call: Callable[[CommandLine], Result]
    ) -> Result:
        """A coroutine that is cancelled kills its command."""
        command_id = uuid.uuid4().hex
        try:
            return await in_thread(self._run, command, timeout, command_id, call)
        except asyncio.CancelledError:
            await asyncio.shield(in_thread(self._box.kill, command_id))
            raise

    def ls(self, path: str) -> LsResult:
        return finding.ls(self._box, path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return reading.read(self._box, file_path, offset, limit)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        return finding.glob(self._box, pattern, path)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        return finding.grep(self._box, pattern, path, glob, max_count, self.grep_exclude_dirs)

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        return editing.edit(self._box, file_path, old_string, new_string, replace_all)

    def write(self, file_path: str, content: str) -> WriteResult:
        error = self._write(file_path, content.encode("utf-8", "surrogateescape"))
        if error:
            return WriteResult(error=f"Failed to write file '{file_path}': {error}")
        return WriteResult(path=file_path)

    def delete(self, file_path: str) -> DeleteResult:
        try:
            self._box.remove(file_path)
        except CayError as error:
            code = code_of(error)
            if code == "file_not_found":
                return DeleteResult(error=f"Error: '{file_path}' not found")
            return DeleteResult(error=f"Error deleting file '{file_path}': {code}")
        return DeleteResult(path=file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [
            FileUploadResponse(path=path, error=self._write(path, content))
            for path, content in files
        ]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _write(self, path: str, content: bytes) -> str | None:
        try:
            self._box.write(path, content)
        except CayError as error:
            return code_of(error)
        return None

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            return FileDownloadResponse(path=path, content=self._box.read(path))
        except CayError as error:
            return FileDownloadResponse(path=path, error=code_of(error))
