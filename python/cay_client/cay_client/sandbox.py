"""Commands and files of one sandbox."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import functools
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .errors import CayError
from .files import Files

if TYPE_CHECKING:
    from .connection import Cay

# The most of one stream in a result. The daemon writes a note where bytes are missing.
MOST_OUTPUT = 10 << 20
# Ends that are no end of the command itself.
LOST = ("sandbox stop", "sandbox removal")


@dataclasses.dataclass(frozen=True)
class CommandResult:
    """A command that ended. `exit_code` is the one that a shell would show: 124 after the time
    limit, 128 and the signal's number after a signal."""

    state: str
    exit_code: int
    output: str
    stderr: str
    truncated: bool


def _text(answer: dict[str, Any], stream: str) -> str:
    coded = answer.get(f"{stream}_base64")
    if coded is None:
        text: str = answer[stream]
        return text
    return base64.b64decode(coded).decode("utf-8", "replace")


class Sandbox(Files):
    """One sandbox. `facts` is what the daemon reported of it last."""

    def __init__(self, cay: Cay, facts: dict[str, Any]) -> None:
        self.cay = cay
        self.facts = facts
        self.id: str = facts["id"]
        self._path = f"/sandboxes/{quote(self.id, safe='')}"
        # File operations are those of the user who runs the commands.
        user: str | None = facts.get("user")
        self._as: dict[str, str] = {"user": user} if user else {}

    def as_user(self, user: str | None) -> Sandbox:
        """Returns the same sandbox, whose files and commands are those of that user."""
        return Sandbox(self.cay, {**self.facts, "user": user}) if user else self

    @property
    def home(self) -> str:
        """The directory in which commands start, as far as it is known."""
        return self.facts.get("workdir") or "/root"

    def delete(self) -> None:
        self.cay.delete(self.id)

    def change(self, **members: Any) -> None:
        """Changes the sandbox. `members` are those of PATCH /sandboxes/{ref}: policy, labels, …"""
        self.facts = self.cay.json("PATCH", self._path, json=members)

    def refresh(self) -> dict[str, Any]:
        """Returns the sandbox's facts as they are now."""
        self.facts = self.cay.json("GET", self._path, repeat=True)
        return self.facts

    @functools.cached_property
    def shell(self) -> str:
        """/bin/bash where the sandbox has it, else /bin/sh."""
        try:
            self.cay.request(
                "GET", f"{self._path}/files/stat", params={"path": "/bin/bash"}, repeat=True
            )
        except CayError as error:
            if error.reason not in ("file_not_found", "not_a_directory"):
                raise
            return "/bin/sh"
        return "/bin/bash"

    def run(
        self,
        command: str | list[str],
        *,
        timeout_s: float = 0,
        merged: bool = False,
        command_id: str | None = None,
        max_output_bytes: int = MOST_OUTPUT,
        stdin: bytes | None = None,
        **more: Any,
    ) -> CommandResult:
        """Runs a line of shell, or a program with its arguments, and waits for its end. A
        `timeout_s` of 0 is no limit.

        `merged` puts standard error of a line into `output`, in the order in which it was written.
        `more` are other members of POST …/commands: env, cwd, user.
        """
        body: dict[str, Any] = {
            "id": command_id or uuid.uuid4().hex,
            "timeout_s": timeout_s,
            **self._as,
            "max_output_bytes": max_output_bytes,
            **{name: value for name, value in more.items() if value is not None},
        }
        if isinstance(command, str):
            body["command"] = f"exec 2>&1; {command}" if merged else command
            body["shell"] = self.shell
        else:
            body["argv"] = command
        if stdin is not None:
            body["stdin"] = base64.b64encode(stdin).decode()
        answer = self.cay.json(
            "POST",
            f"{self._path}/commands",
            json=body,
            wait_s=timeout_s if timeout_s > 0 else None,
            repeat=True,  # the id makes a second request attach to the first run
        )
        if answer["state"] == "lost" or answer["by"] in LOST:
            reason = answer["by"] or answer["reason"]
            raise CayError("lost", "command_lost", f"the command did not end by itself: {reason}")
        output, stderr = _text(answer, "stdout"), _text(answer, "stderr")
        # A line that the shell cannot read is an error before it joins the two.
        return CommandResult(
            state=answer["state"],
            exit_code=answer["shell_exit_code"],
            output=output + stderr if merged else output,
            stderr="" if merged else stderr,
            truncated=answer["truncated"],
        )

    def output(self, command_id: str, most: int) -> tuple[bytes, bool]:
        """Returns what a command wrote to standard output, and whether there is more of it."""
        path = f"{self._path}/commands/{command_id}/output"
        kept = bytearray()
        with self.cay.stream(path, {"stream": "stdout"}) as response:
            for piece in response.iter_bytes():
                kept += piece
                if len(kept) > most:
                    return bytes(kept[:most]), True
        return bytes(kept), False

    def kill(self, command_id: str) -> None:
        """Kills a command and all that it started. It may have ended already."""
        with contextlib.suppress(CayError):
            self.cay.request("POST", f"{self._path}/commands/{command_id}/kill", json={})
