"""The life of a sandbox: made from an image, a Dockerfile or a snapshot, kept, and removed."""

import io
import json
import math
import os
import pathlib
import tarfile
import uuid
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .api import Api, box_path
from .core.config import SessionConfig
from .exceptions import ContainerError, SandboxError, ValidationError
from .runtime_configs import sandbox_members

LONGEST_PULL_S = 600
LONGEST_BUILD_S = 3600
# The sandbox of a program that was killed stops after 10 minutes, and is removed a day later.
DELETE_AFTER_STOP_S = 86_400


@dataclass(frozen=True)
class Container:
    """A sandbox, under the word of llm-sandbox."""

    id: str
    name: str

    @property
    def short_id(self) -> str:
        return self.id[:12]

    def __str__(self) -> str:
        return self.id


def snapshot_path(ref: str, *parts: str) -> str:
    return "/".join(["/snapshots", quote(ref, safe=""), *parts])


def _source(api: Api, config: SessionConfig) -> dict[str, Any]:
    """Returns what the sandbox boots from. CAY_SANDBOX_IMAGE_PYTHON (and the like) or
    CAY_SANDBOX_IMAGE name it for sessions without an image. Without them it is Cay's default."""
    wanted = (
        config.image
        or os.environ.get(f"CAY_SANDBOX_IMAGE_{config.lang.name}")
        or os.environ.get("CAY_SANDBOX_IMAGE")
    )
    if not wanted:
        return {}
    try:
        if api.json("GET", snapshot_path(wanted))["status"] == "ready":
            return {"snapshot": wanted}
    except SandboxError as error:
        if error.reason != "snapshot_not_found":
            raise
    return {"image": wanted, "timeout_s": LONGEST_PULL_S}  # also after a pull that failed


def create(
    api: Api, config: SessionConfig, source: dict[str, Any] | None, **more: Any
) -> Container:
    """Makes a sandbox. `more` are members of the request in Cay's own words."""
    body = {
        "workdir": config.workdir,
        "delete_after_stop_s": DELETE_AFTER_STOP_S,
        **sandbox_members(config.runtime_configs),
        **(_source(api, config) if source is None else source),
        **more,
    }
    if config.session_timeout:
        # The daemon removes it, too, if this process does not.
        body["lifetime_s"] = math.ceil(config.session_timeout) + 1
    labels = {"made-by": "cay-sandbox", "language": config.lang.value}
    body["labels"] = {**labels, **body.get("labels", {})}
    made = api.json("POST", "/sandboxes", json=body, wait_s=body.get("timeout_s", 0.0))
    return Container(made["id"], made["name"])


def find(api: Api, ref: str) -> Container:
    """Returns a sandbox that is there. Raises ContainerError for one that is not."""
    try:
        found = api.json("GET", box_path(ref))
    except SandboxError as error:
        raise ContainerError(f"Container {ref} cannot be used: {error}") from error
    return Container(found["id"], found["name"])


def remove(api: Api, ref: str) -> None:
    """Removes a sandbox. One that is gone is as good as removed."""
    try:
        api.request("DELETE", box_path(ref))
    except SandboxError as error:
        if error.reason != "sandbox_not_found":
            raise


def _ready(snapshot: dict[str, Any], what: str) -> str:
    if snapshot["status"] != "ready":
        raise ContainerError(f"{what} failed: {snapshot.get('status_message')}")
    return snapshot["id"]


def capture(api: Api, ref: str, name: str) -> str:
    """Keeps a sandbox's disk as a snapshot NAME or NAME:TAG, and returns its id."""
    base, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "")
    body = {"name": base, **({"tag": tag} if tag else {})}
    params = {"wait": LONGEST_PULL_S}
    path = box_path(ref, "snapshot")
    made = api.json("POST", path, json=body, params=params, wait_s=LONGEST_PULL_S)
    return _ready(made, "the capture")


def remove_snapshot(api: Api, ref: str) -> None:
    api.request("DELETE", snapshot_path(ref))


def build(api: Api, dockerfile: str) -> str:
    """Builds a Dockerfile, with its directory as the context, and returns the snapshot's id."""
    path = pathlib.Path(dockerfile)
    if not path.is_file():
        raise ValidationError(f"there is no Dockerfile {dockerfile}")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for one in sorted(path.parent.rglob("*")):
            tar.add(one, str(one.relative_to(path.parent)), recursive=False)
    ask = {"name": f"llm-sandbox-{uuid.uuid4().hex[:12]}", "dockerfile": path.read_text()}
    files = {
        "build": (None, json.dumps(ask), "application/json"),
        "context": ("context.tar.gz", packed.getvalue(), "application/gzip"),
    }
    made = api.json(
        "POST",
        "/snapshots/build",
        files=files,
        params={"wait": LONGEST_BUILD_S},
        wait_s=LONGEST_BUILD_S,
    )
    return _ready(made, "the build")
