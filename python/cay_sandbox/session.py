"""SandboxSession: a sandbox, and the programs and commands that run in it."""

import logging
import shlex
import uuid
import warnings
from typing import Any

from . import transfer
from .api import box_path
from .const import SandboxBackend
from .data import ConsoleOutput, StreamCallback
from .exceptions import (
    CommandEmptyError,
    CommandFailedError,
    ContainerError,
    LibraryInstallationNotSupportedError,
    LibraryWarning,
    SecurityViolationError,
    UnsupportedBackendError,
    ValidationError,
)
from .execution import LONGEST_S, MOST_OUTPUT, console_output, following
from .lifecycle import Lifecycle
from .security import SecurityPattern, scan

logger = logging.getLogger("cay_sandbox")

# Debian has no `python`, and llm-sandbox's images have it.
PYTHON_LINK = (
    "command -v python >/dev/null || "
    'ln -s "$(command -v python3)" /usr/local/bin/python 2>/dev/null'
)


class Session(Lifecycle):
    """One sandbox. open() makes it, and close() removes it, unless container_id names one."""

    def _prepare(self) -> None:
        line = f"mkdir -p {shlex.quote(self.config.workdir)}"
        if self.language.name == "python":
            line += f"; {PYTHON_LINK}; true"
        self.execute_command(line, workdir="/")
        if not self._libraries:
            return
        if self.config.container_id or self.config.skip_environment_setup:
            logger.warning("libraries %s were not installed", self._libraries)
            return
        self.install(self._libraries)

    # --- programs ---

    def run(
        self,
        code: str,
        libraries: list[str] | None = None,
        timeout: float | None = None,
        on_stdout: StreamCallback | None = None,
        on_stderr: StreamCallback | None = None,
    ) -> ConsoleOutput:
        """Runs a program. A library that cannot be installed is a LibraryWarning, and the program
        runs without it. Raises SandboxTimeoutError after the limit, which is the program's alone.
        """
        self._box()
        try:
            self.install(libraries)
        except CommandFailedError as error:
            warnings.warn(str(error), LibraryWarning, stacklevel=2)
        return self._run(code, timeout, on_stdout, on_stderr)

    def _run(
        self,
        code: str,
        timeout: float | None,
        on_stdout: StreamCallback | None = None,
        on_stderr: StreamCallback | None = None,
    ) -> ConsoleOutput:
        limit = timeout or self.config.get_execution_timeout()
        command_id = uuid.uuid4().hex
        ask = {
            "code": code or "\n",
            "timeout_s": min(limit or LONGEST_S, LONGEST_S),
            "command_id": command_id,
            "env": self.env_of_runs,
        }
        errors = self.config.encoding_errors
        try:
            with following(self.api, self._box(), command_id, on_stdout, on_stderr, errors):
                answer = self._code(ask)
            for note in answer["notes"] if self.verbose else ():
                logger.info("%s", note)
            return console_output(answer, errors, limit)
        except ContainerError:
            self._box()  # raises SandboxTimeoutError if the session's own time is over
            raise

    def _code(self, ask: dict[str, Any]) -> dict[str, Any]:
        body = {
            "language": self.language.name,
            "cwd": self.config.workdir,
            "max_output_bytes": MOST_OUTPUT,
            **({"user": self.user} if self.user else {}),
            **ask,
        }
        return self.api.json("POST", box_path(self._box(), "code"), json=body, wait_s=None)

    def install(self, libraries: list[str] | None = None) -> None:
        """Installs libraries by the language's own manager, those of C++ by apt-get. Raises
        CommandFailedError for those that could not be installed. The others are."""
        if not libraries:
            return
        if self.config.skip_environment_setup or not self.language.installs:
            raise LibraryInstallationNotSupportedError(self.language.name)
        policy = self.config.security_policy
        restricted = {one.name for one in (policy and policy.restricted_modules) or []}
        for library in libraries:
            if library in restricted:
                raise SecurityViolationError(f"Library {library} is not allowed to be installed")
        install = self._install_packages if self.language.name == "cpp" else self._install
        failed = install(libraries)
        if failed is not None and len(libraries) > 1:
            each = [install([library]) for library in libraries]
            failed = next((one for one in each if one is not None), None)
        if failed is not None:
            raise failed

    def _install(self, libraries: list[str]) -> CommandFailedError | None:
        try:
            answer = self._code({"code": self.language.nothing, "libraries": libraries})
        except ValidationError as error:
            return CommandFailedError(f"install {' '.join(libraries)}", 1, str(error))
        if answer["phase"] != "install":
            return None
        told = "".join(answer.get(name, "") for name in ("stdout", "stderr"))
        code = answer["shell_exit_code"]
        return CommandFailedError(f"install {' '.join(libraries)}", code, told)

    def _install_packages(self, libraries: list[str]) -> CommandFailedError | None:
        if not self._has_package_lists:
            self.execute_command("apt-get update -q")
            self._has_package_lists = True
        words = " ".join(shlex.quote(one) for one in libraries)
        line = f"apt-get install -y -q --no-install-recommends -- {words}"
        done = self.execute_command(line)
        if done.exit_code == 0:
            return None
        return CommandFailedError(line, done.exit_code, done.stdout + done.stderr)

    def is_safe(self, code: str) -> tuple[bool, list[SecurityPattern]]:
        """Returns what the security policy finds. run() does not ask it."""
        return scan(self.config.security_policy, self.language, code)

    # --- commands and files ---

    def execute_command(
        self,
        command: str,
        workdir: str | None = None,
        on_stdout: StreamCallback | None = None,
        on_stderr: StreamCallback | None = None,
    ) -> ConsoleOutput:
        """Runs a line of the shell, without a time limit."""
        if not command:
            raise CommandEmptyError
        if self.verbose:
            logger.info("Executing command: %s", command)
        command_id = uuid.uuid4().hex
        body = {
            "id": command_id,
            "command": command,
            "timeout_s": 0,
            "kill_on_disconnect": True,
            "max_output_bytes": MOST_OUTPUT,
            **({"cwd": workdir} if workdir else {}),
            **({"user": self.user} if self.user else {}),
        }
        box, errors = self._box(), self.config.encoding_errors
        with following(self.api, box, command_id, on_stdout, on_stderr, errors):
            answer = self.api.json("POST", box_path(box, "commands"), json=body, wait_s=None)
        return console_output(answer, errors, None)

    def execute_commands(
        self,
        commands: list[Any],
        workdir: str | None = None,
        on_stdout: StreamCallback | None = None,
        on_stderr: StreamCallback | None = None,
    ) -> ConsoleOutput:
        """Runs commands up to the first that fails, and returns the last one's result. Each is a
        line, or a line and its directory."""
        output = ConsoleOutput()
        for one in commands:
            line, where = (one, workdir) if isinstance(one, str) else one
            output = self.execute_command(line, where, on_stdout, on_stderr)
            if output.exit_code:
                break
        return output

    def copy_to_runtime(self, src: str, dest: str) -> None:
        """Copies a file, or a directory with all below it. `dest` is its name in the sandbox."""
        transfer.send(self.api, self._box(), str(src), str(dest), self.user)

    def copy_from_runtime(self, src: str, dest: str) -> None:
        """Copies a file to `dest`, or a directory below it."""
        transfer.receive(self.api, self._box(), str(src), str(dest), self.user)

    def get_archive(self, path: str) -> tuple[bytes, dict[str, Any]]:
        """Returns a path as a tar, and facts of it."""
        return transfer.archive(self.api, self._box(), path, self.user)


def create_session(
    backend: SandboxBackend | str = SandboxBackend.CAY, pool: Any = None, **arguments: Any
) -> Session:
    """Returns a session in a sandbox of its own, or in one of the pool. The backend is checked,
    and has no effect."""
    try:
        SandboxBackend(str(backend))
    except ValueError:
        raise UnsupportedBackendError(str(backend)) from None
    if pool is None:
        return Session(**arguments)
    from .pool.session import PooledSandboxSession

    return PooledSandboxSession(pool, **arguments)


SandboxSession = create_session

__all__ = ["SandboxSession", "Session", "create_session"]
