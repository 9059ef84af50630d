"""SandboxSession: a sandbox, and the programs and commands that run in it."""

import logging
import shlex
import time
import types
import uuid
import warnings
from typing import Any, Self

from . import boxes, transfer
from .api import Api, box_path
from .const import EncodingErrorsType, SandboxBackend, SupportedLanguage
from .core.config import USUAL_TIMEOUT_S, SessionConfig
from .data import ConsoleOutput, StreamCallback
from .exceptions import (
    CommandEmptyError,
    CommandFailedError,
    ExtraArgumentsError,
    LibraryInstallationNotSupportedError,
    LibraryWarning,
    NotOpenSessionError,
    SandboxError,
    SandboxTimeoutError,
    SecurityViolationError,
    UnsupportedBackendError,
    ValidationError,
)
from .execution import LONGEST_S, MOST_OUTPUT, console_output, following
from .languages import LANGUAGES
from .runtime_configs import of_pod
from .security import SecurityPattern, SecurityPolicy, scan

logger = logging.getLogger("cay_sandbox")

# Arguments that only choose or configure an engine of containers.
OF_OTHER_BACKENDS = {
    "client",
    "env_vars",
    "environment",
    "in_cluster",
    "kube_namespace",
    "namespace",
}
# Debian has no `python`, and llm-sandbox's images have it.
PYTHON_LINK = (
    "command -v python >/dev/null || "
    'ln -s "$(command -v python3)" /usr/local/bin/python 2>/dev/null'
)


class Session:
    """One sandbox. open() makes it, and close() removes it, unless container_id names one."""

    def __init__(
        self,
        image: str | None = None,
        dockerfile: str | None = None,
        lang: str = SupportedLanguage.PYTHON,
        *,
        keep_template: bool = False,
        commit_container: bool = False,
        commit_image_tag: str | None = None,
        verbose: bool = False,
        stream: bool = False,
        runtime_configs: dict[str, Any] | None = None,
        workdir: str | None = "/sandbox",
        security_policy: SecurityPolicy | None = None,
        default_timeout: float | None = USUAL_TIMEOUT_S,
        execution_timeout: float | None = None,
        session_timeout: float | None = None,
        container_id: Any = None,
        skip_environment_setup: bool = False,
        encoding_errors: EncodingErrorsType = "strict",
        libraries: list[str] | None = None,
        pod_manifest: dict[str, Any] | None = None,
        policy: str | None = None,
        api: Api | None = None,
        **others: Any,
    ) -> None:
        """`policy` is Cay's, of the network. `keep_template` keeps the snapshot of a Dockerfile.
        `stream` has no effect: callbacks alone decide."""
        unknown = sorted(set(others) - OF_OTHER_BACKENDS)
        if unknown:
            raise ExtraArgumentsError(f"unknown arguments: {', '.join(unknown)}")
        pod_image, of_the_pod = of_pod(pod_manifest or {})
        image = image or pod_image
        self.config = SessionConfig(
            lang=lang,
            image=image,
            dockerfile=dockerfile,
            container_id=None if container_id is None else str(container_id),
            verbose=verbose,
            workdir=workdir or "/sandbox",
            default_timeout=default_timeout,
            execution_timeout=execution_timeout,
            session_timeout=session_timeout,
            security_policy=security_policy,
            runtime_configs={**of_the_pod, **(runtime_configs or {})},
            skip_environment_setup=skip_environment_setup,
            encoding_errors=encoding_errors,
        )
        self.keep_template = keep_template
        self.commit_as = self._commit_name(commit_container, commit_image_tag)
        self.verbose = verbose
        self.language = LANGUAGES[self.config.lang.value]
        self.container: boxes.Container | None = None
        self.is_open = False
        self._libraries = list(libraries or [])
        self._env = others.get("env_vars") or others.get("environment") or {}
        self._policy = policy
        self._api = api
        self._owns_api = api is None
        self._built = ""
        self._since = 0.0
        self._has_package_lists = False
        self.env_of_runs: dict[str, str] = {}

    def _commit_name(self, commit: bool, tag: str | None) -> str:
        if not commit or self.config.dockerfile:
            return ""
        if not (tag or self.config.image):
            raise ValidationError("commit_container needs a name: give commit_image_tag or image")
        return tag or str(self.config.image)

    # --- the life of the sandbox ---

    @property
    def api(self) -> Api:
        if self._api is None:
            self._api = Api()
        return self._api

    @property
    def user(self) -> str | None:
        return self.config.runtime_configs.get("user")

    def open(self) -> None:
        """Makes the sandbox, or finds container_id. A failure leaves nothing behind."""
        self._since = time.monotonic()
        if self.config.container_id is not None:
            self.container = boxes.find(self.api, self.config.container_id)
        else:
            self.container = self._made()
        self.is_open = True
        try:
            self._prepare()
        except BaseException:
            self.commit_as = ""
            self.close()
            raise

    def _made(self) -> boxes.Container:
        source = None
        if self.config.dockerfile:
            self._built = boxes.build(self.api, self.config.dockerfile)
            source = {"snapshot": self._built}
        more: dict[str, Any] = {"policy": self._policy} if self._policy else {}
        if self._env:
            more["env"] = dict(self._env)
        return boxes.create(self.api, self.config, source, **more)

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

    def close(self) -> None:
        """Removes the sandbox, unless it was there before. A second call does nothing."""
        container, self.container, self.is_open = self.container, None, False
        self._since = 0.0
        try:
            if container is not None and self.config.container_id is None:
                self._remove(container)
        finally:
            if self._built and not self.keep_template:
                built, self._built = self._built, ""
                boxes.remove_snapshot(self.api, built)
            if self._owns_api and self._api is not None:
                self._api.close()
                self._api = None

    def _remove(self, container: boxes.Container) -> None:
        try:
            if self.commit_as:
                boxes.capture(self.api, container.id, self.commit_as)
        finally:
            boxes.remove(self.api, container.id)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.close()

    def _box(self) -> str:
        """Returns the id of the open sandbox."""
        limit = self.config.session_timeout
        if self._since and limit and time.monotonic() - self._since > limit:
            self.close()
            raise SandboxTimeoutError(
                f"Session exceeded maximum lifetime of {limit} seconds", limit
            )
        if self.container is None or not self.is_open:
            raise NotOpenSessionError
        return self.container.id

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
        with following(self.api, self._box(), command_id, on_stdout, on_stderr, errors):
            answer = self._code(ask)
        if self.verbose:
            for note in answer["notes"]:
                logger.info("%s", note)
        return console_output(answer, errors, limit)

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

__all__ = ["SandboxError", "SandboxSession", "Session", "create_session"]
