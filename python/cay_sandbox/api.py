"""Requests to Cay's daemon. Whatever is wrong with them, or with the daemon, is an exception."""

import os
import pathlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter

from .exceptions import (
    ContainerError,
    ImageNotFoundError,
    ImagePullError,
    LanguageNotSupportedError,
    LibraryInstallationNotSupportedError,
    ResourceError,
    SandboxError,
    SandboxTimeoutError,
    SecurityError,
    ValidationError,
)

USUAL_URL = "http://127.0.0.1:8787"
CONNECT_S = 10.0
MOST_CONNECTIONS = 100
BESIDES_S = 60.0  # that a request may take beyond the time that it gives a program

BY_REASON: dict[str, type[SandboxError]] = {
    "unsafe_path": SecurityError,
    "bad_reference": ValidationError,
    "invalid_field": ValidationError,
    "policy_not_allowed": ValidationError,
}
# By the closed set of codes of docs/errors.md.
BY_CODE: dict[str, type[SandboxError]] = {
    "exhausted": ResourceError,
    "deadline_exceeded": SandboxTimeoutError,
}


def _key() -> str:
    key = os.environ.get("CAY_API_KEY", "")
    usual = (
        [os.environ["CAY_DATA"]]
        if os.environ.get("CAY_DATA")
        else [pathlib.Path.home() / ".local/share/cay", "/var/lib/cay"]
    )
    for directory in () if key else usual:
        try:
            return (pathlib.Path(directory) / "api-key").read_text().strip()
        except OSError:
            continue
    if not key:
        raise ContainerError('there is no key for Cay: set CAY_API_KEY (`eval "$(cay env)"`)')
    return key


def error_of(response: requests.Response, asked: dict[str, Any]) -> SandboxError:
    """Returns the exception for an answer that reports an error. `asked` names what it is about."""
    try:
        told = response.json()["error"]
        code, reason, message = told["code"], told["reason"], told["message"]
    except (ValueError, KeyError, TypeError):
        code, reason, message = "", "", f"HTTP {response.status_code}: {response.text[:500]}"
    image = str(asked.get("image", ""))
    error: SandboxError
    if reason == "unknown_language":
        error = LanguageNotSupportedError(str(asked.get("language", "")))
    elif reason == "libraries_unsupported":
        error = LibraryInstallationNotSupportedError(str(asked.get("language", "")))
    elif image and reason == "image_not_found":
        error = ImageNotFoundError(image)
    elif image and ("image" in reason or "registry" in reason):
        error = ImagePullError(image, message)
    else:
        error = BY_REASON.get(reason, BY_CODE.get(code, ContainerError))(message)
    error.reason = reason
    return error


class Api:
    """One daemon, found by CAY_URL and CAY_API_KEY. Threads may share it."""

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self.url = (url or os.environ.get("CAY_URL") or USUAL_URL).rstrip("/")
        self.http = requests.Session()
        self.http.trust_env = False  # no proxy stands between this process and the daemon
        self.http.headers["X-Api-Key"] = key or _key()
        self.http.verify = os.environ.get("CAY_CA_FILE") or True
        adapter = HTTPAdapter(pool_maxsize=MOST_CONNECTIONS)
        for scheme in ("http://", "https://"):
            self.http.mount(scheme, adapter)

    def close(self) -> None:
        self.http.close()

    def request(
        self, method: str, path: str, *, wait_s: float | None = 0.0, **more: Any
    ) -> requests.Response:
        """Returns the answer of a request that succeeded. `wait_s` is how long the daemon may take
        beyond the usual. None means that there is no limit."""
        limit = None if wait_s is None else wait_s + BESIDES_S
        url = f"{self.url}/api/v1{path}"
        try:
            response = self.http.request(method, url, timeout=(CONNECT_S, limit), **more)
        except requests.RequestException as error:
            raise ContainerError(f"no answer from Cay at {self.url}: {error!r}") from error
        if not response.ok:
            raise error_of(response, more.get("json") or {})
        return response

    def json(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """Returns the answer's object."""
        return self.request(method, path, **more).json()

    def stream(self, path: str, **params: Any) -> Iterator[bytes]:
        """Yields the bytes of an answer as they come. An answer that breaks off is an error."""
        url = f"{self.url}/api/v1{path}"
        try:
            with self.http.get(
                url, params=params, timeout=(CONNECT_S, None), stream=True
            ) as response:
                if not response.ok:
                    raise error_of(response, {})
                yield from response.iter_content(chunk_size=None)
        except requests.RequestException as error:
            raise ContainerError(f"the answer of Cay broke off: {error!r}") from error


def box_path(sandbox: str, *parts: str) -> str:
    """Returns the path of a sandbox's route."""
    return "/".join(["/sandboxes", quote(sandbox, safe=""), *parts])
