"""Requests to one daemon."""

import contextlib
import os
import pathlib
import time
from collections.abc import Iterator
from typing import Any, Self
from urllib.parse import quote

import httpx

from .errors import CayError, error_of
from .sandbox import Sandbox

USUAL_URL = "http://127.0.0.1:8787"
CONNECT_S = 10.0
BESIDES_S = 60.0  # that a request may take beyond the time that it gives a command
CREATE_S = 300.0
REPEAT_FOR_S = 30.0  # a restart of the daemon takes less
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0


def _key() -> str:
    if key := os.environ.get("CAY_API_KEY"):
        return key
    data = os.environ.get("CAY_DATA")
    usual = [pathlib.Path.home() / ".local/share/cay", pathlib.Path("/var/lib/cay")]
    for directory in [pathlib.Path(data)] if data else usual:
        with contextlib.suppress(OSError):
            return (directory / "api-key").read_text().strip()
    raise CayError(
        "unauthenticated",
        "no_key",
        'there is no key for Cay: set CAY_API_KEY (`eval "$(cay env)"`)',
    )


class Cay:
    """One daemon, found by CAY_URL and CAY_API_KEY. Threads may share it."""

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self.url = (url or os.environ.get("CAY_URL") or USUAL_URL).rstrip("/")
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers={"X-Api-Key": key or _key()},
            verify=os.environ.get("CAY_CA_FILE") or True,
            trust_env=False,  # no proxy stands between this process and the daemon
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def create(self, **options: Any) -> Sandbox:
        """Creates a sandbox. `options` are the members of POST /sandboxes: image, policy, …"""
        made = self.json("POST", "/sandboxes", json=options, wait_s=CREATE_S)
        return Sandbox(self, made)

    def ensure(self, claim: str, **options: Any) -> Sandbox:
        """Returns the tenant's sandbox with that claim, and creates it if there is none. Of any
        number of callers at once one creates it. `created` of its facts reports which."""
        body = {"claim": claim, **options}
        found = self.json("POST", "/sandboxes/ensure", json=body, wait_s=CREATE_S, repeat=True)
        return Sandbox(self, found)

    def get(self, ref: str) -> Sandbox:
        """Returns the sandbox of that id or name."""
        return Sandbox(self, self.json("GET", f"/sandboxes/{quote(ref, safe='')}", repeat=True))

    def delete(self, ref: str) -> None:
        """Deletes the sandbox of that id or name. It may be gone already."""
        try:
            self.request("DELETE", f"/sandboxes/{quote(ref, safe='')}", repeat=True)
        except CayError as error:
            if error.reason != "sandbox_not_found":
                raise

    def json(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """Returns the answer's object."""
        answer: dict[str, Any] = self.request(method, path, **more).json()
        return answer

    def request(
        self,
        method: str,
        path: str,
        *,
        wait_s: float | None = 0.0,
        repeat: bool = False,
        **more: Any,
    ) -> httpx.Response:
        """Returns the answer of a request that succeeded.

        `wait_s` is how long the daemon may take beyond the usual. None means that there is no
        limit. `repeat` sends the request again where the daemon does not answer for a while.
        """
        limit = None if wait_s is None else wait_s + BESIDES_S
        timeout = httpx.Timeout(limit, connect=CONNECT_S, pool=None)
        until = time.monotonic() + REPEAT_FOR_S
        pause = FIRST_PAUSE_S
        while True:
            begun = time.monotonic()
            try:
                response = self._http.request(method, path, timeout=timeout, **more)
                if response.is_success:
                    return response
                error = error_of(response)
                again = error.code == "unavailable" or error.reason == "too_many_requests"
            except httpx.TransportError as broken:
                error = CayError("unavailable", "no_answer", f"no answer of {self.url}: {broken!r}")
                error.__cause__ = broken
                again = not isinstance(broken, httpx.ReadTimeout)
            now = time.monotonic()
            if now - begun > REPEAT_FOR_S:  # it waited for a command before its connection broke
                until = now + REPEAT_FOR_S
            if not (repeat and again) or now + pause > until:
                raise error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    @contextlib.contextmanager
    def stream(self, path: str, params: dict[str, str]) -> Iterator[httpx.Response]:
        """Opens an answer whose body is read piece by piece. A body that breaks off is an error."""
        timeout = httpx.Timeout(BESIDES_S, connect=CONNECT_S, pool=None)
        try:
            with self._http.stream("GET", path, params=params, timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                yield response
        except httpx.TransportError as broken:
            text = f"the answer of {self.url} broke off: {broken!r}"
            raise CayError("unavailable", "no_answer", text) from broken
