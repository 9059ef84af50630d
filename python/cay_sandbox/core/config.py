"""The settings of a session, as it keeps them."""

from dataclasses import dataclass, field
from typing import Any

from ..const import EncodingErrorsType, SupportedLanguage
from ..exceptions import LanguageNotSupportedError
from ..security import SecurityPolicy

USUAL_TIMEOUT_S = 60.0


@dataclass
class SessionConfig:
    """Checked at once: ValueError for an image beside a Dockerfile."""

    lang: SupportedLanguage = SupportedLanguage.PYTHON
    image: str | None = None
    dockerfile: str | None = None
    container_id: str | None = None
    verbose: bool = False
    workdir: str = "/sandbox"
    default_timeout: float | None = USUAL_TIMEOUT_S
    execution_timeout: float | None = None
    session_timeout: float | None = None
    security_policy: SecurityPolicy | None = None
    runtime_configs: dict[str, Any] = field(default_factory=dict)
    skip_environment_setup: bool = False
    encoding_errors: EncodingErrorsType = "strict"

    def __post_init__(self) -> None:
        try:
            self.lang = SupportedLanguage(str(self.lang))
        except ValueError:
            raise LanguageNotSupportedError(str(self.lang)) from None
        if self.image is not None and self.dockerfile is not None:
            raise ValueError("Only one of 'image' or 'dockerfile' can be provided, not both")
        if self.container_id is not None and self.dockerfile is not None:
            raise ValueError("Cannot use 'dockerfile' with existing 'container_id'")

    def get_execution_timeout(self) -> float | None:
        """Returns the limit of a run that names none. None: a day, Cay's longest."""
        return self.execution_timeout or self.default_timeout

    def is_using_existing_container(self) -> bool:
        return self.container_id is not None
