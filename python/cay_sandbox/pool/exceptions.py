"""Errors of pools."""


class PoolExhaustedError(Exception):
    """Every sandbox of the pool is in use."""

    def __init__(self, pool_size: int, timeout: float | None = None) -> None:
        more = "" if timeout is None else f" and timeout of {timeout}s exceeded"
        super().__init__(f"All {pool_size} containers in pool are busy{more}")
        self.pool_size = pool_size
        self.timeout = timeout


class PoolClosedError(Exception):
    def __init__(self) -> None:
        super().__init__("Container pool has been closed")


class PoolHealthCheckError(Exception):
    def __init__(self, container_id: str, reason: str) -> None:
        super().__init__(f"Health check failed for container {container_id}: {reason}")
        self.container_id = container_id
        self.reason = reason


class SessionNotOpenError(RuntimeError):
    def __init__(self) -> None:
        super().__init__("Session not open - call open() first or use context manager")
