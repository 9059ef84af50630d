"""PooledSandboxSession: a session in a sandbox of a pool."""

from typing import Any

from .. import boxes
from ..session import Session
from .exceptions import SessionNotOpenError
from .manager import ContainerPoolManager, PooledContainer

# The pool decides these for all its sandboxes.
OF_THE_POOL = ("image", "dockerfile", "libraries", "policy", "runtime_configs")


class DuplicateClientError(ValueError):
    def __init__(self) -> None:
        super().__init__("Cannot specify 'client' parameter when using pooling mode.")


class PooledSandboxSession(Session):
    """open() acquires a sandbox, and close() releases it."""

    def __init__(self, pool_manager: ContainerPoolManager, **arguments: Any) -> None:
        if arguments.pop("client", None) is not None:
            raise DuplicateClientError
        for name in OF_THE_POOL:
            arguments.pop(name, None)
        configs = pool_manager.arguments.get("runtime_configs")
        given = {"lang": pool_manager.lang, "runtime_configs": configs, **arguments}
        super().__init__(api=pool_manager.api, **given)
        self._manager = pool_manager
        self._lent: PooledContainer | None = None

    def _made(self) -> boxes.Container:
        self._lent = self._manager.acquire()
        return self._lent.container

    def _remove(self, container: boxes.Container) -> None:
        lent, self._lent = self._lent, None
        if lent is not None:
            self._manager.release(lent)

    def _box(self) -> str:
        if self.container is None:
            raise SessionNotOpenError
        return super()._box()
