"""execute(), and what becomes of large output."""

import dataclasses

from cay_client import CayError, CommandResult, Sandbox
from deepagents.backends.protocol import ExecuteOffloadResult, ExecuteResponse

from .codes import code_of
from .members import known

SHOWN_LINES, SHOWN_BYTES = 5, 2000  # of the beginning and of the end of large output


@dataclasses.dataclass(frozen=True)
class CommandLine:
    """A line of shell. `id` names its run, so that it can be killed."""

    text: str
    timeout_s: float
    id: str


def _note(result: CommandResult, timeout_s: float) -> str:
    """Returns what a model has to know of the end, where the exit code does not have it."""
    if result.state == "timed_out":
        return f"Error: Command timed out after {timeout_s:g} seconds."
    if result.state == "oom_killed":
        return "Error: Command was killed: the sandbox's memory limit was reached."
    return ""


def _with_note(output: str, note: str) -> str:
    return output + note if not note or not output or output.endswith("\n") else f"{output}\n{note}"


def run(box: Sandbox, line: CommandLine) -> ExecuteResponse:
    got = box.run(line.text, timeout_s=line.timeout_s, merged=True, command_id=line.id)
    output = _with_note(got.output, _note(got, line.timeout_s))
    return ExecuteResponse(output=output, exit_code=got.exit_code, truncated=got.truncated)


def _preview(content: bytes) -> tuple[str, bool]:
    """Returns the beginning and the end, and whether lines between them are left out."""
    left_out = content.count(b"\n") - 2 * SHOWN_LINES
    first = content[:SHOWN_BYTES].decode("utf-8", "ignore")
    if left_out <= 0:
        return f"{first}\n... [output clipped here; {len(content)} bytes total] ...\n", False
    last = content[-SHOWN_BYTES:].decode("utf-8", "ignore")
    head = "".join(first.splitlines(keepends=True)[:SHOWN_LINES])
    tail = "".join(last.splitlines(keepends=True)[-SHOWN_LINES:])
    gap = "" if head.endswith("\n") else "\n"
    return f"{head}{gap}... [{left_out} lines truncated] ...\n{tail}", True


def run_with_offload(
    box: Sandbox, line: CommandLine, path: str, inline: int, most: int
) -> ExecuteOffloadResult:
    """Runs the line. Output of more than `inline` bytes becomes the file `path`, up to `most`."""
    got = box.run(
        line.text,
        timeout_s=line.timeout_s,
        merged=True,
        command_id=line.id,
        max_output_bytes=inline,
    )
    note = _note(got, line.timeout_s)
    whole = ExecuteResponse(
        output=_with_note(got.output, note), exit_code=got.exit_code, truncated=got.truncated
    )
    if not got.truncated:
        return ExecuteOffloadResult(offloaded=False, response=whole)
    content, more = box.output(line.id, most)
    try:
        box.write(path, content)
    except CayError as error:
        code_of(error)  # no such place in this sandbox: the shortened output is all there is
        return ExecuteOffloadResult(offloaded=False, response=whole)
    preview, marked = _preview(content)
    response = ExecuteResponse(
        output=_with_note(preview, note), exit_code=got.exit_code, truncated=more
    )
    extra = known(ExecuteOffloadResult, preview_has_truncation_marker=marked)
    return ExecuteOffloadResult(offloaded=True, response=response, **extra)
