"""Files and directories, into a sandbox and out of it."""

import io
import pathlib
import shutil
import tarfile
from pathlib import PurePosixPath

from .api import Api, box_path
from .exceptions import SandboxError, SecurityError


def checked(path: str) -> str:
    """Returns an absolute path of the sandbox without '..'."""
    pure = PurePosixPath(path)
    if ".." in pure.parts:
        raise SecurityError(f"Path traversal detected in container path: {path}")
    return str(pure)


def _user(user: str | None) -> dict[str, str]:
    return {"user": user} if user else {}


def send(api: Api, sandbox: str, src: str, dest: str, user: str | None) -> None:
    """Writes a file, or a directory as `dest` itself. Parents are made."""
    source = pathlib.Path(src)
    if not (source.is_file() or source.is_dir()):
        raise FileNotFoundError(f"Source path {src} does not exist or is not accessible")
    params = {"path": checked(dest), **_user(user)}
    if source.is_file():
        mode = format(source.stat().st_mode & 0o777, "o")
        with source.open("rb") as body:
            api.request(
                "PUT",
                box_path(sandbox, "files"),
                params={**params, "mode": mode},
                data=body,
                wait_s=None,
            )
        return
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for one in sorted(source.rglob("*")):
            if one.is_symlink() or one.is_file() or one.is_dir():
                tar.add(one, str(one.relative_to(source)), recursive=False)
    api.request(
        "PUT",
        box_path(sandbox, "files/tree"),
        params=params,
        data=packed.getvalue(),
        headers={"Content-Type": "application/x-tar"},
        wait_s=None,
    )


def archive(api: Api, sandbox: str, path: str, user: str | None) -> tuple[bytes, dict]:
    """Returns a tar of the path, whose names begin with its last part, and facts of it."""
    params = {"path": path, **_user(user)}
    try:
        stat = api.json("GET", box_path(sandbox, "files/stat"), params=params)
        body = api.request("GET", box_path(sandbox, "files/tree"), params=params, wait_s=None)
    except SandboxError as error:
        if error.reason == "file_not_found":
            raise FileNotFoundError(f"File {path} not found in container") from error
        raise
    name = PurePosixPath(path).name
    if stat["kind"] != "directory":
        return body.content, {"name": name, **stat}
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(body.content)) as given,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for member in given:
            content = given.extractfile(member) if member.isfile() else None
            member.name = str(PurePosixPath(name) / member.name)
            tar.addfile(member, content)
    return packed.getvalue(), {"name": name, **stat}


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, target: pathlib.Path) -> None:
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    content = tar.extractfile(member)
    if content is None:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        shutil.copyfileobj(content, out)
    target.chmod((member.mode & 0o755) | 0o600)


def receive(api: Api, sandbox: str, src: str, dest: str, user: str | None) -> None:
    """Writes a file to `dest`, or a directory below it under its own name. Links are skipped, so
    nothing is written outside of `dest`."""
    packed, _ = archive(api, sandbox, src, user)
    target = pathlib.Path(dest)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        members = [one for one in tar if one.isfile() or one.isdir()]
        if not members:
            raise FileNotFoundError(f"File {src} has no content to copy")
        for member in members:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts:
                raise SecurityError(f"Unsafe archive member: {member.name}")
        if len(members) == 1 and members[0].isfile():
            _unpack(tar, members[0], target)
            return
        for member in members:
            _unpack(tar, member, target / member.name)
