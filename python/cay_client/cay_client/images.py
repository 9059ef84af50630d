"""Snapshots of Dockerfiles."""

import io
import json
import pathlib
import tarfile
import time
from typing import Any
from urllib.parse import quote

from .connection import Cay
from .errors import CayError

WAIT_S = 30


def _packed(directory: pathlib.Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.add(directory, ".")
    return packed.getvalue()


def build(
    cay: Cay,
    name: str,
    directory: pathlib.Path,
    *,
    dockerfile: str = "Dockerfile",
    timeout_s: float = 3600,
    **more: Any,
) -> dict[str, Any]:
    """Builds a snapshot of that name from a directory's Dockerfile, and returns it when it is
    ready. `more` are other members of POST /snapshots/build: arguments, policy, no_cache, …"""
    text = (directory / dockerfile).read_text()
    begun = cay.json(
        "POST",
        "/snapshots/build",
        files={
            "build": (None, json.dumps({"name": name, "dockerfile": text, **more})),
            "context": ("context.tar", _packed(directory), "application/x-tar"),
        },
        wait_s=None,
    )
    path = f"/snapshots/{quote(begun['id'], safe='')}"
    until = time.monotonic() + timeout_s
    while True:
        got = cay.json("GET", path, params={"wait": WAIT_S}, wait_s=WAIT_S, repeat=True)
        if got["status"] == "ready":
            return got
        if got["status"] != "building":
            raise CayError("invalid_argument", "build_failed", got["status_message"])
        if time.monotonic() > until:
            cay.request("DELETE", path)
            text = f"the build took longer than {timeout_s:g} s: {got['status_message']}"
            raise CayError("deadline_exceeded", "build_timeout", text)
