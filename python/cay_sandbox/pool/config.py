"""The settings of a pool."""

from dataclasses import dataclass
from enum import Enum


class ExhaustionStrategy(str, Enum):
    """What acquire() does if every sandbox is in use."""

    FAIL_FAST = "fail_fast"
    WAIT = "wait"
    TEMPORARY = "temporary"  # one more, which is removed at its release


@dataclass
class PoolConfig:
    """Times are in seconds. ValueError for values that cannot work."""

    max_pool_size: int = 10
    min_pool_size: int = 0
    idle_timeout: float | None = 300.0
    acquisition_timeout: float | None = 30.0
    health_check_interval: float = 60.0
    max_container_lifetime: float | None = 3600.0
    max_container_uses: int | None = None
    exhaustion_strategy: ExhaustionStrategy = ExhaustionStrategy.WAIT
    enable_prewarming: bool = True

    def __post_init__(self) -> None:
        self.exhaustion_strategy = ExhaustionStrategy(self.exhaustion_strategy)
        if self.max_pool_size < 1 or self.min_pool_size < 0:
            raise ValueError("a pool has at least one sandbox, and no negative minimum")
        if self.min_pool_size > self.max_pool_size:
            raise ValueError(
                f"min_pool_size ({self.min_pool_size}) cannot be greater than max_pool_size "
                f"({self.max_pool_size})"
            )
        for name in ("idle_timeout", "acquisition_timeout", "max_container_lifetime"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be more than 0")
        if self.health_check_interval <= 0:
            raise ValueError("health_check_interval must be more than 0")
        if self.max_container_uses is not None and self.max_container_uses < 1:
            raise ValueError("max_container_uses must be at least 1")
