"""InteractiveSandboxSession: Python whose variables live between calls, by Cay's contexts."""

import base64
import re
import uuid
from dataclasses import dataclass
from typing import Any

from .api import box_path
from .const import SandboxBackend, SupportedLanguage, _Name
from .data import ConsoleOutput, StreamCallback
from .exceptions import (
    ContainerError,
    LanguageNotSupportedError,
    NotOpenSessionError,
    SandboxTimeoutError,
    UnsupportedBackendError,
)
from .session import Session

# Installed libraries are in an environment of Cay's. pip itself would refuse Debian's Python.
ENV = {"PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_ROOT_USER_ACTION": "ignore"}
FIND_LIBRARIES = """
def _find():
    import glob, importlib, os, site
    for base in (os.path.expanduser("~/.cache/cay-code"), "/tmp/cay-code-%d" % os.getuid()):
        for path in glob.glob(base + "/python/lib/python3*/site-packages"):
            site.addsitedir(path)
    importlib.invalidate_caches()
_find()
del _find
"""
HAS_IPYTHON = '_ = __import__("IPython")\ndel _'
# IPython works on the same variables, and is there only once a cell has a line of its own syntax.
SHELL = """
def _run(cell, count):
    import base64
    from IPython.core.interactiveshell import InteractiveShell
    import __main__
    shell = InteractiveShell.instance(user_module=__main__, user_ns=__main__.__dict__)
    shell.execution_count = count
    shell.run_cell(base64.b64decode(cell).decode(), store_history=True).raise_error()
try:
    _run("%s", %d)
finally:
    del _run
"""
MAGIC = re.compile(r"^\s*[%!]", re.MULTILINE)
LONGEST_WAIT_S = 86_400.0


class KernelType(_Name):
    IPYTHON = "ipython"


@dataclass
class InteractiveSettings:
    """`history_size` and `poll_interval` have no effect: Cay keeps results, and nothing polls."""

    kernel_type: KernelType = KernelType.IPYTHON
    max_memory: str | None = None
    history_size: int = 1000
    timeout: float | None = 300.0
    poll_interval: float = 0.1

    def __post_init__(self) -> None:
        if self.history_size < 0:
            raise ValueError("history_size must be non-negative")
        if self.poll_interval <= 0:
            raise ValueError("poll_interval must be positive")


class InteractiveSandboxSession(Session):
    """A sandbox with one interpreter."""

    def __init__(
        self,
        *,
        backend: SandboxBackend | str = SandboxBackend.CAY,
        lang: str = SupportedLanguage.PYTHON,
        kernel_type: KernelType | str = KernelType.IPYTHON,
        max_memory: str | None = "1GB",
        history_size: int = 1000,
        timeout: float | None = 300.0,
        interactive_settings: InteractiveSettings | None = None,
        runtime_configs: dict[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        if str(lang).lower() != SupportedLanguage.PYTHON:
            raise LanguageNotSupportedError(str(lang))
        if str(backend).lower() not in list(SandboxBackend):
            raise UnsupportedBackendError(str(backend))
        self.settings = interactive_settings or InteractiveSettings(
            KernelType(kernel_type), max_memory, history_size, timeout
        )
        configs = dict(runtime_configs or {})
        if self.settings.max_memory:
            configs.setdefault("mem_limit", self.settings.max_memory)
        super().__init__(lang=lang, runtime_configs=configs, **arguments)
        self._context = ""
        self._cells = 0
        self._has_ipython = False

    def _prepare(self) -> None:
        super()._prepare()
        body = {
            "language": "python",
            "cwd": self.config.workdir,
            "env": ENV,
            **({"user": self.user} if self.user else {}),
        }
        made = self.api.json("POST", box_path(self._box(), "contexts"), json=body)
        self._context = made["id"]
        self._evaluate(FIND_LIBRARIES, None)

    def install(self, libraries: list[str] | None = None) -> None:
        super().install(libraries)
        if libraries and self._context:
            self._evaluate(FIND_LIBRARIES, None)

    def run(
        self,
        code: str,
        libraries: list[str] | None = None,
        timeout: float | None = None,
        on_stdout: StreamCallback | None = None,
        on_stderr: StreamCallback | None = None,
    ) -> ConsoleOutput:
        """Evaluates a cell. After the time limit it is interrupted, and the variables stay."""
        if not self._context:
            raise NotOpenSessionError
        self.install(libraries)
        self._cells += 1
        if MAGIC.search(code):
            self._bring_ipython()
            code = SHELL % (base64.b64encode(code.encode()).decode(), self._cells)
        limit = timeout or self.settings.timeout or self.config.get_execution_timeout()
        done = self._evaluate(code, limit)
        for text, call in ((done.stdout, on_stdout), (done.stderr, on_stderr)):
            if call is not None and text:
                call(text)
        return done

    def _bring_ipython(self) -> None:
        if self._has_ipython:
            return
        if self._evaluate(HAS_IPYTHON, None).exit_code:
            self.install(["ipython"])
        if self._evaluate(HAS_IPYTHON, None).exit_code:
            raise ContainerError("IPython is not installed, which a line with % or ! needs")
        self._has_ipython = True

    def _evaluate(self, code: str, limit: float | None) -> ConsoleOutput:
        run = uuid.uuid4().hex
        wait = min(limit or LONGEST_WAIT_S, LONGEST_WAIT_S)
        base = box_path(self._box(), "contexts", self._context)
        body = {"id": run, "code": code, "wait_s": wait}
        answer = self.api.json("POST", f"{base}/run", json=body, wait_s=wait)
        if answer["state"] == "running":
            self.api.request("POST", f"{base}/interrupt")
            raise SandboxTimeoutError(
                f"Interactive execution timed out after {limit} seconds", limit
            )
        events = list(answer["events"])
        while answer.get("more"):
            params = {"from": answer["next"]}
            answer = self.api.json("GET", f"{base}/runs/{run}", params=params)
            events += answer["events"]
        if answer["state"] == "lost":
            raise ContainerError(f"the interpreter ended: {answer.get('interpreter')}")
        return self._output(answer["state"], events)

    def _output(self, state: str, events: list[dict[str, Any]]) -> ConsoleOutput:
        out, err = [], []
        for event in events:
            kind = event["type"]
            if kind == "stdout":
                out.append(event["text"])
            elif kind == "stderr":
                err.append(event["text"])
            elif kind == "error":
                err.append(event["traceback"])
            elif kind == "result":
                out.append(f"Out[{self._cells}]: {event['data'].get('text/plain', '')}\n")
            elif kind == "gap":
                err.append(f"[cay: {event['bytes']} bytes of output are left out here]\n")
        return ConsoleOutput(0 if state == "ok" else 1, "".join(err), "".join(out))
