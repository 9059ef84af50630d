"""Errors. A program that fails is a result with an exit code, and never one of these."""


class SandboxError(Exception):
    """The base of all. `reason` is Cay's stable word for it, where the daemon sent one."""

    reason = ""


class ContainerError(SandboxError):
    """The sandbox cannot be made, found or used, or the daemon is not reached."""


class SecurityError(SandboxError):
    """A path leads out of where it should."""


class ResourceError(SandboxError):
    """A limit or a quota is reached."""


class ValidationError(SandboxError):
    """An argument has a value that Cay cannot honour."""


class ExtraArgumentsError(SandboxError):
    """An argument is unknown."""


class LanguageNotSupportedError(SandboxError):
    def __init__(self, lang: str) -> None:
        super().__init__(f"Language {lang} is not supported")


class ImageNotFoundError(SandboxError):
    def __init__(self, image: str) -> None:
        super().__init__(f"Image {image} not found")


class ImagePullError(SandboxError):
    def __init__(self, image: str, error: str) -> None:
        super().__init__(f"Failed to pull image {image}: {error}")


class NotOpenSessionError(SandboxError):
    def __init__(self) -> None:
        super().__init__("Session is not open. Please call open() method before running code.")


class LibraryInstallationNotSupportedError(SandboxError):
    def __init__(self, lang: str) -> None:
        super().__init__(f"Library installation is not supported for {lang}")


class CommandEmptyError(SandboxError):
    def __init__(self) -> None:
        super().__init__("Command cannot be empty")


class CommandFailedError(SandboxError):
    def __init__(self, command: str, exit_code: int, output: str) -> None:
        super().__init__(f"Command {command} failed with exit code {exit_code}:\n{output}")


class PackageManagerError(SandboxError):
    def __init__(self, package_manager: str) -> None:
        super().__init__(f"Package manager {package_manager} not found")


class UnsupportedBackendError(SandboxError):
    def __init__(self, backend: str) -> None:
        super().__init__(f"Unsupported backend: {backend}")


class MissingDependencyError(SandboxError):
    """Kept for programs that catch it. Cay raises it never."""


class LanguageNotSupportPlotError(SandboxError):
    def __init__(self, lang: str) -> None:
        super().__init__(f"Language {lang} does not support plot detection")


class InvalidRegexPatternError(SandboxError):
    def __init__(self, pattern: str) -> None:
        super().__init__(f"Invalid regex pattern: {pattern}")


class LanguageHandlerNotInitializedError(SandboxError):
    def __init__(self, language: str) -> None:
        super().__init__(f"Language handler for {language} is not initialized.")


class SecurityViolationError(SandboxError):
    """A library is a restricted module of the policy."""


class SandboxTimeoutError(SandboxError):
    """A time limit ended the program, or the session."""

    def __init__(self, message: str, timeout_duration: float | None = None) -> None:
        super().__init__(message)
        self.timeout_duration = timeout_duration


class LibraryWarning(UserWarning):
    """A library of run() could not be installed. The program ran without it."""
