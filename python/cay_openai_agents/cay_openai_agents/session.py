"""One sandbox of Cay's as a session of the SDK."""

import asyncio
import io
import uuid
from pathlib import Path
from typing import Any, Literal

from agents.sandbox.errors import (
    ExecTimeoutError,
    ExecTransportError,
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
    WorkspaceWriteTypeError,
)
from agents.sandbox.session import SandboxSessionState
from agents.sandbox.session.base_sandbox_session import BaseSandboxSession
from agents.sandbox.session.runtime_helpers import (
    RESOLVE_WORKSPACE_PATH_HELPER,
    RuntimeHelperScript,
)
from agents.sandbox.types import ExecResult, User
from cay_client import CayError, Sandbox, in_thread

NOT_FOUND = ("file_not_found", "not_a_directory")


class CaySandboxSessionState(SandboxSessionState):
    """What a later process needs to find the sandbox again."""

    type: Literal["cay"] = "cay"
    sandbox_id: str


def _name(user: str | User | None) -> str | None:
    return user.name if isinstance(user, User) else user


def _bytes_of(data: io.IOBase, path: Path) -> bytes:
    content = data.read()
    if isinstance(content, str):
        return content.encode()
    if not isinstance(content, bytes | bytearray):
        raise WorkspaceWriteTypeError(path=path, actual_type=type(content).__name__)
    return bytes(content)


class CaySandboxSession(BaseSandboxSession):
    """Commands, files and the workspace are the daemon's own work. Users need no sudo inside."""

    state: CaySandboxSessionState

    def __init__(self, state: CaySandboxSessionState, box: Sandbox) -> None:
        self.state = state
        self.box = box

    async def exec(
        self,
        *command: str | Path,
        timeout: float | None = None,
        shell: bool | list[str] = True,
        user: str | User | None = None,
    ) -> ExecResult:
        argv = self._prepare_exec_command(*command, shell=shell, user=None)
        return await self._run(argv, timeout, _name(user))

    async def _exec_internal(
        self, *command: str | Path, timeout: float | None = None
    ) -> ExecResult:
        return await self._run([str(part) for part in command], timeout, None)

    async def _run(self, argv: list[str], timeout: float | None, user: str | None) -> ExecResult:
        """A coroutine that is cancelled kills its command."""
        command_id = uuid.uuid4().hex
        env = await self.state.manifest.environment.resolve()
        try:
            got = await in_thread(
                self.box.as_user(user).run,
                argv,
                timeout_s=timeout or 0,
                command_id=command_id,
                cwd=str(self.state.manifest.root),
                env=dict(env),
            )
        except asyncio.CancelledError:
            await asyncio.shield(in_thread(self.box.kill, command_id))
            raise
        except CayError as error:
            raise ExecTransportError(
                command=argv,
                message=error.message,
                context={"backend": "cay", "reason": error.reason},
                cause=error,
                retryable=error.code == "unavailable",
            ) from error
        if got.state == "timed_out":
            raise ExecTimeoutError(command=argv, timeout_s=timeout)
        return ExecResult(
            stdout=got.output.encode(), stderr=got.stderr.encode(), exit_code=got.exit_code
        )

    async def _prepare_backend_workspace(self) -> None:
        await in_thread(self.box.make_directory, str(self.state.manifest.root))

    def _runtime_helpers(self) -> tuple[RuntimeHelperScript, ...]:
        return (RESOLVE_WORKSPACE_PATH_HELPER,)

    async def _validate_path_access(self, path: Path | str, *, for_write: bool = False) -> Path:
        return await self._validate_remote_path_access(path, for_write=for_write)

    async def read(self, path: Path, *, user: str | User | None = None) -> io.IOBase:
        where = await self._validate_path_access(path)
        try:
            content = await in_thread(self.box.as_user(_name(user)).read, where.as_posix())
        except CayError as error:
            if error.reason in NOT_FOUND:
                raise WorkspaceReadNotFoundError(path=Path(path), cause=error) from error
            raise self._read_failed(Path(path), error) from error
        return io.BytesIO(content)

    async def write(self, path: Path, data: io.IOBase, *, user: str | User | None = None) -> None:
        content = _bytes_of(data, Path(path))
        where = await self._validate_path_access(path, for_write=True)
        try:
            await in_thread(self.box.as_user(_name(user)).write, where.as_posix(), content)
        except CayError as error:
            raise self._write_failed(where, error) from error

    async def running(self) -> bool:
        try:
            facts = await in_thread(self.box.refresh)
        except CayError:
            return False
        return bool(facts["state"] == "ready")

    async def persist_workspace(self) -> io.IOBase:
        root = self._workspace_root_path()
        try:
            return io.BytesIO(await in_thread(self.box.read_tree, root.as_posix()))
        except CayError as error:
            raise self._read_failed(root, error) from error

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        root = self._workspace_root_path()
        try:
            await in_thread(self.box.write_tree, root.as_posix(), _bytes_of(data, root))
        except CayError as error:
            raise self._write_failed(root, error) from error

    def _read_failed(self, path: Path, error: CayError) -> Exception:
        return WorkspaceArchiveReadError(path=path, cause=error, **self._about(error))

    def _write_failed(self, path: Path, error: CayError) -> Exception:
        return WorkspaceArchiveWriteError(path=path, cause=error, **self._about(error))

    @staticmethod
    def _about(error: CayError) -> dict[str, Any]:
        return {
            "context": {"backend": "cay", "reason": error.reason, "message": error.message},
            "retryable": error.code == "unavailable",
        }
