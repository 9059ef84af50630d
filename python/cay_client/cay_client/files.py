"""Files of one sandbox."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .errors import CayError

if TYPE_CHECKING:
    import httpx

    from .connection import Cay


class Files:
    """The files of a sandbox, as the user who runs its commands sees them. Paths are absolute."""

    cay: Cay
    _path: str
    _as: dict[str, str]

    def read(self, path: str) -> bytes:
        """Returns a file's content."""
        params = self._at(path)
        return self.cay.request("GET", f"{self._path}/files", params=params, repeat=True).content

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[httpx.Response]:
        """Opens a file to read it piece by piece."""
        with self.cay.stream(f"{self._path}/files", self._at(path)) as response:
            yield response

    def write(self, path: str, content: bytes, *, mode: int | None = None) -> None:
        """Writes a file whole. Its parents are made. Without `mode` a file keeps the one it has."""
        given = {} if mode is None else {"mode": format(mode, "o")}
        self.cay.request(
            "PUT",
            f"{self._path}/files",
            params={**self._at(path), **given},
            content=content,
            wait_s=None,
            repeat=True,
        )

    def make_directory(self, path: str) -> None:
        """Makes a directory and its parents. It may be there already."""
        body = self._at(path)
        self.cay.request("POST", f"{self._path}/files/mkdir", json=body, repeat=True)

    def read_tree(self, path: str) -> bytes:
        """Returns a directory as a tar with names relative to it, or a file as its only entry."""
        params = self._at(path)
        return self.cay.request(
            "GET", f"{self._path}/files/tree", params=params, wait_s=None, repeat=True
        ).content

    def write_tree(self, path: str, tar: bytes) -> None:
        """Unpacks a tar of files, directories and symbolic links below a directory."""
        self.cay.request(
            "PUT",
            f"{self._path}/files/tree",
            params=self._at(path),
            content=tar,
            headers={"Content-Type": "application/x-tar"},
            wait_s=None,
        )

    def remove(self, path: str) -> None:
        """Removes a file, or a directory with all that is in it."""
        params = {"recursive": "true", **self._at(path)}
        self.cay.request("DELETE", f"{self._path}/files", params=params)

    def stat(self, path: str, *, follow: bool = True) -> dict[str, Any]:
        """Returns the facts of whatever has that path."""
        params = {"follow": str(follow).lower(), **self._at(path)}
        return self.cay.json("GET", f"{self._path}/files/stat", params=params, repeat=True)

    def entries(self, path: str) -> list[dict[str, Any]]:
        """Returns the entries of a directory."""
        params = self._at(path)
        items: list[dict[str, Any]] = self.cay.json(
            "GET", f"{self._path}/files/list", params=params, repeat=True
        )["items"]
        return items

    def glob(self, pattern: str, path: str, limit: int) -> tuple[list[dict[str, Any]], bool]:
        """Returns what matches below `path`, and whether something is left out."""
        return self._found("glob", {"pattern": pattern, "path": path, "limit": limit})

    def grep(
        self, text: str, path: str, glob: str | None, limit: int
    ) -> tuple[list[dict[str, Any]], bool]:
        """Returns the lines that contain `text`, and whether something is left out."""
        body: dict[str, Any] = {"text": text, "path": path, "limit": limit}
        if glob:
            body["glob"] = glob
        return self._found("grep", body)

    def replace(self, path: str, text: str, replacement: str) -> int:
        """Replaces each `text` in one file, and returns how many there were."""
        body = {"text": text, "replacement": replacement, **self._at(path)}
        items = self.cay.json("POST", f"{self._path}/files/replace", json=body)["items"]
        for item in items:
            if error := item.get("error"):
                raise CayError(error["code"], error["reason"], error["message"])
        return sum(item["count"] for item in items)

    def _at(self, path: str) -> dict[str, str]:
        """Returns where a file operation is done, and as whom."""
        if not path.startswith("/"):
            raise CayError("invalid_argument", "invalid_path", f"{path!r} is not absolute")
        return {"path": path, **self._as}

    def _found(self, verb: str, body: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
        answer = self.cay.json(
            "POST", f"{self._path}/files/{verb}", json={**body, **self._as}, repeat=True
        )
        return answer["items"], answer["truncated"]
