"""ArtifactSandboxSession: programs that draw plots."""

import base64
import importlib.resources
import uuid
from pathlib import PurePosixPath
from typing import Any

from .api import box_path
from .const import SandboxBackend, SupportedLanguage
from .data import ExecutionResult, FileType, PlotOutput, StreamCallback
from .exceptions import LanguageNotSupportPlotError, SandboxError
from .session import Session, create_session

MODULE = importlib.resources.files("cay_sandbox.inside") / "plots_of_python.py"
FORMATS = {"." + one.value: one for one in FileType} | {".jpg": FileType.JPEG}
# R's plots are artifacts of the run, which Cay returns.
PROFILE_OF_R = """local({
  directory <- Sys.getenv("SANDBOX_PLOTS")
  dir.create(directory, showWarnings = FALSE, recursive = TRUE)
  first <- length(list.files(directory)) + 1
  path <- file.path(directory, paste0(sprintf("%06d", first), "-%03d.png"))
  options(bitmapType = "cairo", device = function(...) grDevices::png(path, 800, 600))
})
"""


class ArtifactSandboxSession:
    """A session whose results have the plots of all its runs, until they are cleared."""

    def __init__(
        self,
        backend: SandboxBackend | str = SandboxBackend.CAY,
        image: str | None = None,
        dockerfile: str | None = None,
        lang: str = SupportedLanguage.PYTHON,
        *,
        pool: Any = None,
        enable_plotting: bool = True,
        **arguments: Any,
    ) -> None:
        given = {"image": image, "dockerfile": dockerfile, **arguments}
        if pool is None:
            given["lang"] = lang
        self._session: Session = create_session(backend, pool, **given)
        self.enable_plotting = enable_plotting
        self._home = f"/tmp/cay-sandbox-{uuid.uuid4().hex[:12]}"
        self._plots = f"{self._home}/plots"

    def open(self) -> None:
        self._session.open()
        if not (self.enable_plotting and self._session.language.draws):
            return
        files = {"sitecustomize.py": MODULE.read_text(), "profile.R": PROFILE_OF_R}
        try:
            for name, text in files.items():
                self._request("PUT", "files", f"{self._home}/{name}", data=text.encode())
            self._request("POST", "files/mkdir", json={"path": self._plots})
            self._session.execute_command(f"chmod 755 {self._home} && chmod 777 {self._plots}")
        except BaseException:
            self._session.close()
            raise

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> "ArtifactSandboxSession":
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_session"], name)

    def _request(self, method: str, route: str, path: str = "", **more: Any) -> Any:
        session = self._session
        params = {"params": {"path": path}} if path else {}
        return session.api.request(method, box_path(session._box(), route), **params, **more)

    def run(
        self,
        code: str,
        libraries: list[str] | None = None,
        timeout: float | None = None,
        clear_plots: bool = False,
        on_stdout: StreamCallback | None = None,
        on_stderr: StreamCallback | None = None,
    ) -> ExecutionResult:
        """Runs a program as SandboxSession.run() does, and returns the plots that there are."""
        session = self._session
        if self.enable_plotting and not session.language.draws:
            raise LanguageNotSupportPlotError(session.language.name)
        if clear_plots:
            self.clear_plots()
        env = {}
        if self.enable_plotting:
            env = {
                "SANDBOX_PLOTS": self._plots,
                "MPLBACKEND": "Agg",
                "PYTHONPATH": self._home,
                "R_PROFILE_USER": f"{self._home}/profile.R",
            }
        session.env_of_runs = env
        done = session.run(code, libraries, timeout, on_stdout, on_stderr)
        plots = self._drawn() if self.enable_plotting else []
        return ExecutionResult(done.exit_code, done.stderr, done.stdout, plots)

    def _drawn(self) -> list[PlotOutput]:
        found = self._request("POST", "files/glob", json={"path": self._plots, "pattern": "*"})
        plots = []
        for path in sorted(one["path"] for one in found.json()["items"]):
            kind = FORMATS.get(PurePosixPath(path).suffix.lower())
            if kind is None:
                continue
            content = self._request("GET", "files", path, wait_s=None).content
            plots.append(PlotOutput(kind, base64.b64encode(content).decode()))
        return plots

    def clear_plots(self) -> None:
        """Forgets the plots of earlier runs."""
        if not self.enable_plotting:
            return
        done = self._session.execute_command(f"rm -rf {self._plots}/*")
        if done.exit_code:
            raise SandboxError(f"the plots could not be removed: {done.stderr}")
