"""Programs in sandboxes of Cay, with the shape of llm-sandbox."""

from .artifacts import ArtifactSandboxSession
from .const import DefaultImage, SandboxBackend, SupportedLanguage
from .core.config import SessionConfig
from .data import ConsoleOutput, ExecutionResult, FileType, PlotOutput, StreamCallback
from .exceptions import (
    ContainerError,
    ResourceError,
    SandboxError,
    SandboxTimeoutError,
    SecurityError,
    ValidationError,
)
from .interactive import InteractiveSandboxSession, InteractiveSettings, KernelType
from .security import RestrictedModule, SecurityIssueSeverity, SecurityPattern, SecurityPolicy
from .session import SandboxSession, create_session

__all__ = [
    "ArtifactSandboxSession",
    "ConsoleOutput",
    "ContainerError",
    "DefaultImage",
    "ExecutionResult",
    "FileType",
    "InteractiveSandboxSession",
    "InteractiveSettings",
    "KernelType",
    "PlotOutput",
    "ResourceError",
    "RestrictedModule",
    "SandboxBackend",
    "SandboxError",
    "SandboxSession",
    "SandboxTimeoutError",
    "SecurityError",
    "SecurityIssueSeverity",
    "SecurityPattern",
    "SecurityPolicy",
    "SessionConfig",
    "StreamCallback",
    "SupportedLanguage",
    "ValidationError",
    "create_session",
]
