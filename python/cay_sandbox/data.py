"""Results of runs and commands."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

# Called with each piece of output as text, in a thread of its own.
StreamCallback = Callable[[str], None]


class FileType(Enum):
    """The format of a plot."""

    PNG = "png"
    JPEG = "jpeg"
    PDF = "pdf"
    SVG = "svg"
    CSV = "csv"
    JSON = "json"
    TXT = "txt"
    HTML = "html"


@dataclass(frozen=True)
class PlotOutput:
    """A file that a program drew."""

    format: FileType
    content_base64: str
    width: int | None = None
    height: int | None = None
    dpi: int | None = None


@dataclass(frozen=True)
class ConsoleOutput:
    """How a program or a command ended, and what it wrote."""

    exit_code: int = 0
    stderr: str = ""
    stdout: str = ""

    def text(self) -> str:
        """Returns stdout."""
        return self.stdout

    def success(self) -> bool:
        """Returns whether the exit code is 0."""
        return self.exit_code == 0

    def to_json(self, include_plots: bool = False) -> str:
        """Returns the members as JSON. Plots are left out unless they are wanted."""
        members = dataclasses.asdict(self)
        plots = members.pop("plots", None)
        if include_plots and plots is not None:
            members["plots"] = [{**one, "format": one["format"].value} for one in plots]
        return json.dumps(members, indent=2)


@dataclass(frozen=True)
class ExecutionResult(ConsoleOutput):
    """A result with the plots of the session so far."""

    plots: list[PlotOutput] = field(default_factory=list)
