"""The life of a session: its settings, its sandbox, and the connection to the daemon."""

import time
import types
from typing import Any, Self

from . import boxes
from .api import Api
from .const import EncodingErrorsType, SupportedLanguage
from .core.config import USUAL_TIMEOUT_S, SessionConfig
from .exceptions import (
    ExtraArgumentsError,
    NotOpenSessionError,
    SandboxTimeoutError,
    ValidationError,
)
from .languages import LANGUAGES
from .runtime_configs import of_pod
from .security import SecurityPolicy

# Arguments that only choose or configure an engine of containers.
OF_OTHER_BACKENDS = {
    "client",
    "env_vars",
    "environment",
    "in_cluster",
    "kube_namespace",
    "namespace",
}


class Lifecycle:
    """open() makes the sandbox, and close() removes it, unless container_id names one."""

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
        """Makes an opened sandbox ready for programs."""
        raise NotImplementedError

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
