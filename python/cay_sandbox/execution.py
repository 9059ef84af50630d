"""Answers about commands and programs, as results of this package."""

import base64
import codecs
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from .api import Api, box_path
from .data import ConsoleOutput, StreamCallback
from .exceptions import ContainerError, SandboxError, SandboxTimeoutError

# The most of one stream in a result. Cay writes a note into a longer one where bytes are missing.
MOST_OUTPUT = 16 << 20
LONGEST_S = 86_400.0
# A command that is followed may begin only after its libraries and its compiler.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.2


def _text(answer: dict[str, Any], stream: str, errors: str) -> str:
    coded = answer.get(f"{stream}_base64")
    if coded is None:
        return answer[stream]
    return base64.b64decode(coded).decode("utf-8", errors)


def console_output(answer: dict[str, Any], errors: str, limit_s: float | None) -> ConsoleOutput:
    """Returns the result of a command that ended by itself or by a signal. Raises
    SandboxTimeoutError after its time limit, and ContainerError if the sandbox ended it, or if Cay
    cannot know its end."""
    state, reason = answer["state"], answer["reason"]
    if state == "timed_out":
        raise SandboxTimeoutError(f"Operation timed out after {limit_s} seconds", limit_s)
    if state in ("lost", "idle_killed") or answer["by"] in ("sandbox stop", "sandbox removal"):
        raise ContainerError(f"the command did not end by itself: {answer['by'] or reason}")
    return ConsoleOutput(
        exit_code=answer["shell_exit_code"],
        stdout=_text(answer, "stdout", errors),
        stderr=_text(answer, "stderr", errors),
    )


class _Follower(threading.Thread):
    """Calls back with one stream of a command, from its beginning to its end."""

    def __init__(self, api: Api, path: str, stream: str, call: StreamCallback, errors: str) -> None:
        super().__init__(daemon=True)
        self.api, self.path, self.stream, self.call = api, path, stream, call
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self.over = threading.Event()  # the command has ended, or never begins
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self._follow()
        except BaseException as error:  # raised again by following()
            self.failure = error

    def _follow(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            last = self.over.is_set()
            try:
                for piece in self.api.stream(self.path, stream=self.stream, follow="true"):
                    self._pass_on(self.decoder.decode(piece))
                break
            except SandboxError as error:
                if error.reason != "unknown_command" or last:
                    if last and error.reason == "unknown_command":
                        return
                    raise
            self.over.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
        self._pass_on(self.decoder.decode(b"", True))

    def _pass_on(self, text: str) -> None:
        if text:
            self.call(text)


@contextlib.contextmanager
def following(
    api: Api,
    sandbox: str,
    command_id: str,
    on_stdout: StreamCallback | None,
    on_stderr: StreamCallback | None,
    errors: str,
) -> Iterator[None]:
    """Passes output on while the body waits for the command's end. An exception of a callback is
    raised again."""
    path = box_path(sandbox, "commands", command_id, "output")
    followers = [
        _Follower(api, path, stream, call, errors)
        for stream, call in (("stdout", on_stdout), ("stderr", on_stderr))
        if call is not None
    ]
    for one in followers:
        one.start()
    try:
        yield
    finally:
        for one in followers:
            one.over.set()
        for one in followers:
            one.join()
    for one in followers:
        if one.failure is not None:
            raise one.failure
