"""The methods for coroutines: each runs its blocking twin in a thread."""

from __future__ import annotations

from cay_client import in_thread
from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.sandbox import BaseSandbox


class Coroutines(BaseSandbox):
    """BaseSandbox's own builds these out of aexecute() and scripts for an interpreter."""

    async def als(self, path: str) -> LsResult:
        return await in_thread(self.ls, path)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return await in_thread(self.read, file_path, offset, limit)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        return await in_thread(self.glob, pattern, path)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        return await in_thread(self.grep, pattern, path, glob, max_count=max_count)

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        return await in_thread(self.edit, file_path, old_string, new_string, replace_all)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        return await in_thread(self.write, file_path, content)

    async def adelete(self, file_path: str) -> DeleteResult:
        return await in_thread(self.delete, file_path)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return await in_thread(self.upload_files, files)

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return await in_thread(self.download_files, paths)
