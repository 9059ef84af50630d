"""Sandboxes that are made ahead, and clean for each session."""

from .config import ExhaustionStrategy, PoolConfig
from .exceptions import PoolClosedError, PoolExhaustedError, PoolHealthCheckError
from .manager import ContainerPoolManager, ContainerState, PooledContainer, create_pool_manager
from .session import DuplicateClientError, PooledSandboxSession

__all__ = [
    "ContainerPoolManager",
    "ContainerState",
    "DuplicateClientError",
    "ExhaustionStrategy",
    "PoolClosedError",
    "PoolConfig",
    "PoolExhaustedError",
    "PoolHealthCheckError",
    "PooledContainer",
    "PooledSandboxSession",
    "create_pool_manager",
]
