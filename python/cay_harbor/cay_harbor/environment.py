"""A sandbox of Cay's as the environment of a trial."""

import asyncio
import functools
import io
import tarfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, override

from cay_client import Cay, CayError, Sandbox, build, in_thread
from harbor.environments.base import (
    BaseEnvironment,
    ExecResult,
    SandboxBuildFailedError,
    transfer_tar_filter,
)
from harbor.environments.capabilities import (
    EnvironmentCapabilities,
    EnvironmentResourceCapabilities,
)
from harbor.environments.definition import (
    SNAPSHOT_HASH_LEN,
    environment_content_hash,
    should_use_prebuilt_docker_image,
)
from harbor.models.task.config import NetworkMode, NetworkPolicy
from harbor.models.trial.paths import EnvironmentPaths
from harbor.utils.env import resolve_env_vars

MIB = 1 << 20
MILLICORES = 1000
IDLE_TTL_S = 3600  # a trial that nobody ends is stopped, and deleted later


def policy_of(network: NetworkPolicy) -> dict[str, Any]:
    """Returns the members of a sandbox for a task's network."""
    if network.network_mode == NetworkMode.ALLOWLIST:
        return (
            {"rules": list(network.allowed_hosts)} if network.allowed_hosts else {"policy": "off"}
        )
    return {"policy": "off" if network.network_mode == NetworkMode.NO_NETWORK else "open"}


def _tar_of(directory: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(directory.rglob("*")):
            if path.is_dir() or path.is_file() or path.is_symlink():
                tar.add(path, str(path.relative_to(directory)), recursive=False)
    return packed.getvalue()


class CayEnvironment(BaseEnvironment):
    """`harbor run --env cay_harbor:CayEnvironment`"""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._snapshot: str | None = kwargs.pop("snapshot", None)
        super().__init__(*args, **kwargs)
        self._found: Sandbox | None = None

    @classmethod
    @override
    def preflight(cls, kwargs: dict[str, Any] | None = None) -> None:
        try:
            with Cay() as cay:
                cay.json("GET", "/version", repeat=False)
        except CayError as error:
            raise SystemExit(f"Cay: {error.message}") from error

    @staticmethod
    @override
    def type() -> str:
        return "cay"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(
            disable_internet=True,
            network_allowlist=True,
            network_allowlist_hostnames=True,
            network_allowlist_wildcard_hostnames=True,
            network_allowlist_ipv4_addresses=True,
            network_allowlist_ipv4_cidrs=True,
            dynamic_network_policy=True,
        )

    @classmethod
    @override
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(
            cpu_limit=True, memory_limit=True, fractional_cpus=True
        )

    @override
    def _validate_definition(self) -> None:
        dockerfile = self.environment_dir / "Dockerfile"
        if not (self._snapshot or self.task_env_config.docker_image or dockerfile.exists()):
            raise FileNotFoundError(
                f"Cay needs [environment].docker_image, the option snapshot, or {dockerfile}"
            )

    @functools.cached_property
    def _cay(self) -> Cay:
        return Cay()

    @property
    def _box(self) -> Sandbox:
        if self._found is None:
            raise RuntimeError("the environment has not been started")
        return self._found

    @override
    async def start(self, force_build: bool) -> None:
        origin = await in_thread(self._origin, force_build)
        limits = {
            "cpu_millicores": int((self._effective_cpus or 0) * MILLICORES),
            "memory_bytes": (self._effective_memory_mb or 0) * MIB,
            "disk_bytes": (self._effective_storage_mb or 0) * MIB,
        }
        env = resolve_env_vars(self.task_env_config.env) if self.task_env_config.env else {}
        self._found = await in_thread(
            self._cay.create,
            **origin,
            **policy_of(self._network_policy),
            limits=limits,
            env=env,
            labels={"made-by": "harbor", "session": self.session_id},
            idle_ttl_s=IDLE_TTL_S,
            commands_keep_awake=True,
            timeout_s=3600,
        )
        paths = EnvironmentPaths.for_os(self.os)
        needed = [paths.agent_dir, paths.verifier_dir, paths.artifacts_dir]
        await self.ensure_dirs([str(path) for path in needed])
        if self.task_env_config.workdir:
            await in_thread(self._box.make_directory, self.task_env_config.workdir)
        await self._upload_environment_dir_after_start()

    def _origin(self, force_build: bool) -> dict[str, str]:
        """Returns what the sandbox starts from. A Dockerfile is built if it is new."""
        image = self.task_env_config.docker_image
        if self._snapshot:
            return {"snapshot": self._snapshot}
        if image and should_use_prebuilt_docker_image(
            self.environment_dir, docker_image=image, force_build=force_build
        ):
            return {"snapshot": image} if self._ready(image) else {"image": image}
        digest = environment_content_hash(self.environment_dir, truncate=SNAPSHOT_HASH_LEN)
        name = f"harbor-{digest}"
        if force_build or not self._ready(name):
            try:
                build(self._cay, name, self.environment_dir)
            except CayError as error:
                if error.reason not in ("build_failed", "invalid_dockerfile"):
                    raise
                raise SandboxBuildFailedError(error.message) from error
        return {"snapshot": name}

    def _ready(self, name: str) -> bool:
        items = self._cay.json("GET", "/snapshots", repeat=True)["items"]
        return any(
            one["status"] == "ready"
            and name in (one["name"], *(f"{one['name']}:{tag}" for tag in one["tags"]))
            for one in items
        )

    @override
    async def stop(self, delete: bool) -> None:
        if self._found is None:
            return
        if delete:
            await in_thread(self._box.delete)
        else:
            self.logger.info(f"the sandbox {self._box.id} is left as it is")
        self._found = None

    @override
    async def _apply_network_policy(self, network_policy: NetworkPolicy) -> None:
        await in_thread(self._box.change, **policy_of(network_policy))

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Runs a line of shell. A coroutine that is cancelled kills it."""
        who = self._resolve_user(user)
        box = self._box.as_user(None if who is None else str(who))
        command_id = uuid.uuid4().hex
        try:
            got = await in_thread(
                box.run,
                command,
                timeout_s=timeout_sec or 0,
                command_id=command_id,
                cwd=cwd or self.task_env_config.workdir,
                env=self._merge_env(env),
            )
        except asyncio.CancelledError:
            await asyncio.shield(in_thread(box.kill, command_id))
            raise
        return ExecResult(stdout=got.output, stderr=got.stderr, return_code=got.exit_code)

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        source = Path(source_path)
        mode = source.stat().st_mode & 0o777
        await in_thread(self._box.write, target_path, source.read_bytes(), mode=mode)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        packed = await in_thread(_tar_of, Path(source_dir))
        await in_thread(self._box.make_directory, target_dir)
        await in_thread(self._box.write_tree, target_dir, packed)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await self._downloaded(self._download_file, source_path, Path(target_path))

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self._downloaded(self._download_dir, source_dir, Path(target_dir))

    async def _downloaded(
        self, call: Callable[[str, Path], None], source: str, target: Path
    ) -> None:
        try:
            await in_thread(call, source, target)
        except CayError as error:
            if error.reason != "file_not_found":
                raise
            raise FileNotFoundError(f"{source} is not in the environment") from error

    def _download_file(self, source: str, target: Path) -> None:
        content = self._box.read(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def _download_dir(self, source: str, target: Path) -> None:
        packed = io.BytesIO(self._box.read_tree(source))
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=packed) as tar:
            tar.extractall(target, filter=transfer_tar_filter)
