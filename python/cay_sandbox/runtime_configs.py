"""Settings of a container of Docker, as members of a request for a sandbox."""

import re
from typing import Any

from .exceptions import ExtraArgumentsError, ValidationError

UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
PERIOD_US = 100_000
# A sandbox is so anyway, or the setting has no meaning without Docker.
WITHOUT_EFFECT = {
    "auto_remove",
    "cap_add",
    "cap_drop",
    "detach",
    "entrypoint",
    "init",
    "ipc_mode",
    "memswap_limit",
    "oom_kill_disable",
    "remove",
    "restart_policy",
    "security_opt",
    "stdin_open",
    "tty",
}


def bytes_of(size: int | str) -> int:
    """Returns a size as Docker writes it: 512m, 1GB, 1073741824."""
    found = re.fullmatch(r"\s*([\d.]+)\s*([bkmgt]?)i?b?\s*", str(size).lower())
    if found is None:
        raise ValidationError(f"'{size}' is no size: write it as 512m or 1g")
    return int(float(found[1]) * UNITS[found[2]])


def _policy(mode: str) -> dict[str, Any]:
    if mode == "none":
        return {"policy": "off"}
    if mode in ("bridge", "default", ""):
        return {}
    raise ValidationError(
        f"network_mode '{mode}': a sandbox has no network of the host. Use none or bridge, and "
        "a policy of Cay (`policy=`) for more"
    )


def _tmpfs(value: dict[str, str] | list[str]) -> dict[str, int]:
    pairs = value.items() if isinstance(value, dict) else ((one, "") for one in value)
    sizes = {}
    for path, options in pairs:
        found = re.search(r"size=(\w+)", options or "")
        sizes[path] = bytes_of(found[1]) if found else 0
    return sizes


def _environment(value: dict[str, str] | list[str]) -> dict[str, str]:
    if isinstance(value, dict):
        return {name: str(one) for name, one in value.items()}
    return dict(one.partition("=")[::2] for one in value)


def _millicores(value: str) -> int:
    return int(value[:-1]) if value.endswith("m") else int(float(value) * 1000)


def of_pod(manifest: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Returns the image of a pod's first container, and its settings in Docker's words: user,
    limits and environment. Nothing else of a manifest has an effect."""
    spec = manifest.get("spec") or {}
    first = (spec.get("containers") or [{}])[0]
    context = {**(spec.get("securityContext") or {}), **(first.get("securityContext") or {})}
    out: dict[str, Any] = {"privileged": context.get("privileged")}
    if context.get("runAsUser") is not None:
        group = context.get("runAsGroup")
        out["user"] = str(context["runAsUser"]) + ("" if group is None else f":{group}")
    limits = (first.get("resources") or {}).get("limits") or {}
    if "memory" in limits:
        out["mem_limit"] = limits["memory"]
    if "cpu" in limits:
        out["cpus"] = _millicores(str(limits["cpu"])) / 1000
    if first.get("env"):
        out["environment"] = {one["name"]: str(one.get("value", "")) for one in first["env"]}
    return first.get("image"), out


def sandbox_members(configs: dict[str, Any]) -> dict[str, Any]:
    """Returns the members of POST /sandboxes. Raises ValidationError for what a sandbox cannot be,
    and ExtraArgumentsError for a setting that this package does not know."""
    out: dict[str, Any] = {}
    limits: dict[str, int] = {}
    quota, period = None, PERIOD_US
    for name, value in configs.items():
        if name in WITHOUT_EFFECT or value is None:
            continue
        if name == "mem_limit":
            limits["memory_bytes"] = bytes_of(value)
        elif name in ("cpu_count", "cpus"):
            limits["cpu_millicores"] = int(float(value) * 1000)
        elif name == "nano_cpus":
            limits["cpu_millicores"] = int(value) // 1_000_000
        elif name == "cpu_quota":
            quota = int(value)
        elif name == "cpu_period":
            period = int(value)
        elif name == "pids_limit":
            limits["pids"] = int(value)
        elif name == "user":
            out["user"] = str(value)
        elif name == "environment":
            out["env"] = _environment(value)
        elif name == "network_mode":
            out.update(_policy(str(value)))
        elif name == "network_disabled":
            out.update({"policy": "off"} if value else {})
        elif name == "tmpfs":
            out["tmpfs"] = _tmpfs(value)
        elif name == "name":
            out["name"] = str(value)
        elif name == "labels":
            out["labels"] = dict(value)
        elif name == "working_dir":
            out["workdir"] = str(value)
        elif name == "privileged":
            if value:
                raise ValidationError("privileged: no sandbox has rights on the host")
        elif name == "read_only":
            if value:
                raise ValidationError("read_only: a sandbox has a disk of its own to write on")
        elif name in ("mounts", "volumes"):
            raise ValidationError(
                f"{name}: a sandbox sees no directory of the host. Use copy_to_runtime(), or a "
                "volume of Cay"
            )
        else:
            raise ExtraArgumentsError(f"runtime_configs: '{name}' is unknown to Cay")
    if quota is not None and quota > 0:
        limits["cpu_millicores"] = quota * 1000 // period
    if limits:
        out["limits"] = limits
    return out
