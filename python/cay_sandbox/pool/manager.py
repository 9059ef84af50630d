"""ContainerPoolManager: makes sandboxes ahead, lends them, and cleans them after each use.

A sandbox that comes back is rolled back to what it was when it was made. So its disk and its
processes are new, and the next user finds nothing of the one before."""

import logging
import threading
import time
import uuid
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

from .. import boxes
from ..api import Api, box_path
from ..const import SandboxBackend, SupportedLanguage
from ..exceptions import SandboxError, UnsupportedBackendError
from ..session import Session
from .config import ExhaustionStrategy, PoolConfig
from .exceptions import PoolClosedError, PoolExhaustedError

logger = logging.getLogger("cay_sandbox.pool")

PREWARMING_INTERVAL_S = 10.0
USABLE = ("ready", "stopped")  # a stopped one wakes at its next use


class ContainerState(str, Enum):
    INITIALIZING = "initializing"
    IDLE = "idle"
    BUSY = "busy"
    UNHEALTHY = "unhealthy"
    REMOVING = "removing"


@dataclass
class PooledContainer:
    """A sandbox of a pool."""

    container_id: str
    container: boxes.Container
    state: ContainerState = ContainerState.INITIALIZING
    created_at: float = field(default_factory=time.time)
    last_used_at: float = field(default_factory=time.time)
    use_count: int = 0
    temporary: bool = False

    def mark_busy(self) -> None:
        self.state = ContainerState.BUSY
        self.last_used_at = time.time()
        self.use_count += 1

    def mark_idle(self) -> None:
        self.state = ContainerState.IDLE
        self.last_used_at = time.time()

    def is_available(self) -> bool:
        return self.state is ContainerState.IDLE

    def is_expired(self, max_lifetime: float | None, max_uses: int | None) -> bool:
        old = max_lifetime is not None and time.time() - self.created_at > max_lifetime
        return old or (max_uses is not None and self.use_count >= max_uses)

    def get_idle_time(self) -> float:
        return time.time() - self.last_used_at if self.is_available() else 0.0


class ContainerPoolManager:
    """Threads may share it. `arguments` are those of SandboxSession. It begins with the minimum
    of sandboxes, and raises what stands against that."""

    def __init__(
        self,
        config: PoolConfig | None = None,
        lang: str = SupportedLanguage.PYTHON,
        **arguments: Any,
    ) -> None:
        self.config = config or PoolConfig()
        self.lang = lang
        self.api: Api = arguments.pop("api", None) or Api()
        self.arguments = arguments
        self._condition = threading.Condition()
        self._pool: list[PooledContainer] = []
        self._making = 0
        self._closed = False
        self._over = threading.Event()
        self._template = ""
        self._template_lock = threading.Lock()
        self._thread = threading.Thread(target=self._maintain, daemon=True, name="cay-pool")
        try:
            self._prewarm()
        except BaseException:
            self.close()
            raise
        self._thread.start()

    # --- lending ---

    def acquire(self) -> PooledContainer:
        """Lends a clean sandbox. Raises PoolExhaustedError, or PoolClosedError."""
        limit = self.config.acquisition_timeout
        deadline = None if limit is None else time.monotonic() + limit
        temporary = False
        with self._condition:
            while True:
                if self._closed:
                    raise PoolClosedError
                idle = next((one for one in self._pool if one.is_available()), None)
                if idle is not None:
                    idle.mark_busy()
                    return idle
                if len(self._pool) + self._making < self.config.max_pool_size:
                    break
                temporary = self._when_exhausted(deadline)
                if temporary:
                    break
            self._making += 1
        return self._add(ContainerState.BUSY, temporary)

    def _when_exhausted(self, deadline: float | None) -> bool:
        """Waits for a change. Returns whether to make one more sandbox."""
        strategy = self.config.exhaustion_strategy
        if strategy is ExhaustionStrategy.TEMPORARY:
            return True
        if strategy is ExhaustionStrategy.FAIL_FAST:
            raise PoolExhaustedError(self.config.max_pool_size)
        left = None if deadline is None else deadline - time.monotonic()
        if (left is not None and left <= 0) or not self._condition.wait(left):
            raise PoolExhaustedError(self.config.max_pool_size, self.config.acquisition_timeout)
        return False

    def release(self, container: PooledContainer) -> None:
        """Takes a sandbox back, and cleans it. One that cannot be cleaned is removed."""
        worn = container.is_expired(
            self.config.max_container_lifetime, self.config.max_container_uses
        )
        if worn or container.temporary or self._closed or not self._clean(container):
            self._drop(container)
            if worn:
                self._prewarm()
            return
        with self._condition:
            if not self._closed:
                container.mark_idle()
                self._condition.notify()
                return
        self._drop(container)

    def _clean(self, container: PooledContainer) -> bool:
        try:
            self.api.request("POST", box_path(container.container_id, "rollback"), json={})
        except SandboxError as error:
            logger.warning("sandbox %s could not be cleaned: %s", container.container_id, error)
            return False
        return True

    # --- making and removing ---

    def _session(self, **more: Any) -> Session:
        return Session(lang=self.lang, api=self.api, **{**self.arguments, **more})

    def _source(self) -> dict[str, Any] | None:
        """Returns the snapshot with the libraries, which the first call makes."""
        if not self.arguments.get("libraries"):
            return None
        with self._template_lock:
            if not self._template:
                with self._session() as session:
                    name = f"cay-sandbox-pool-{uuid.uuid4().hex[:12]}"
                    self._template = boxes.capture(self.api, session.container.id, name)
            return {"snapshot": self._template}

    def _add(self, state: ContainerState, temporary: bool = False) -> PooledContainer:
        """Makes a sandbox, in the place that `_making` reserves."""
        made = None
        try:
            session = self._session(libraries=None)
            made = boxes.create(self.api, session.config, self._source())
            container = PooledContainer(made.id, made, temporary=temporary)
        except BaseException:
            if made is not None:
                boxes.remove(self.api, made.id)
            raise
        finally:
            with self._condition:
                self._making -= 1
        with self._condition:
            if not self._closed:
                container.mark_busy() if state is ContainerState.BUSY else container.mark_idle()
                self._pool.append(container)
                self._condition.notify()
                return container
        boxes.remove(self.api, made.id)
        raise PoolClosedError

    def _drop(self, container: PooledContainer) -> None:
        with self._condition:
            container.state = ContainerState.REMOVING
        try:
            boxes.remove(self.api, container.container_id)
        except SandboxError as error:
            logger.warning("sandbox %s could not be removed: %s", container.container_id, error)
        with self._condition:
            if container in self._pool:
                self._pool.remove(container)
            self._condition.notify()

    # --- upkeep ---

    def _maintain(self) -> None:
        interval = min(self.config.health_check_interval, PREWARMING_INTERVAL_S)
        while not self._over.is_set():
            try:
                self._prewarm()
                self._check_health()
            except (SandboxError, PoolClosedError) as error:
                logger.warning("upkeep of the pool: %s", error)
            self._over.wait(interval)

    def _prewarm(self) -> None:
        while self.config.enable_prewarming:
            with self._condition:
                if self._closed or len(self._pool) + self._making >= self.config.min_pool_size:
                    return
                self._making += 1
            self._add(ContainerState.IDLE)

    def _check_health(self) -> None:
        with self._condition:
            idle = [one for one in self._pool if one.is_available()]
        for one in idle:
            if self._is_good(one):
                continue
            with self._condition:
                if not one.is_available():
                    continue
                one.state = ContainerState.UNHEALTHY
            self._drop(one)
        self._prewarm()

    def _is_good(self, container: PooledContainer) -> bool:
        limit = self.config.idle_timeout
        if limit is not None and container.get_idle_time() > limit:
            return False
        try:
            found = self.api.json("GET", box_path(container.container_id))
        except SandboxError:
            return False
        return found["state"] in USABLE

    def get_stats(self) -> dict[str, Any]:
        """Returns the size, the limits, and how many sandboxes are in each state."""
        with self._condition:
            counts = {state.value: 0 for state in ContainerState}
            counts[ContainerState.INITIALIZING.value] = self._making
            for one in self._pool:
                counts[one.state.value] += 1
            return {
                "total_size": len(self._pool) + self._making,
                "max_size": self.config.max_pool_size,
                "min_size": self.config.min_pool_size,
                "state_counts": counts,
                "closed": self._closed,
            }

    def close(self) -> None:
        """Removes every sandbox, those in use included, and the snapshot with the libraries."""
        with self._condition:
            if self._closed:
                return
            self._closed = True
            self._condition.notify_all()
            left = list(self._pool)
        self._over.set()
        for one in left:
            self._drop(one)
        if self._thread.is_alive():
            self._thread.join()
        with self._template_lock:
            if self._template:
                boxes.remove_snapshot(self.api, self._template)
                self._template = ""
        self.api.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create_pool_manager(
    backend: SandboxBackend | str = SandboxBackend.CAY,
    config: PoolConfig | None = None,
    lang: str = SupportedLanguage.PYTHON,
    client: Any = None,
    **arguments: Any,
) -> ContainerPoolManager:
    """Returns a pool. `backend` and `client` are accepted, and have no effect."""
    try:
        SandboxBackend(str(backend))
    except ValueError:
        raise UnsupportedBackendError(str(backend)) from None
    return ContainerPoolManager(config, lang, **arguments)
