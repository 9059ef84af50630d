"""npm/cay-deepagents, built and installed from the tree, and the example in TypeScript."""
import json
import os
import pathlib
import subprocess

import pytest
from harness import slow
from model_server import model_server
from scripted_model import hello
from test_deep_agent import CALLS, script
from typescript import transpiled

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
NODE = ROOT / "build/node/deepagents"

pytestmark = pytest.mark.skipif(
    not (NODE / "node_modules/cay-deepagents").exists(),
    reason="tools/testenv.sh has not installed the package",
)


def node(daemon, model, *args, cwd=None):
    env = {**os.environ, **daemon.env, **model.env, "LANGSMITH_TRACING": "false"}
    return subprocess.run(
        ["node", *args],
        env={**env, "MODEL": "openai:scripted"},
        capture_output=True,
        text=True,
        timeout=slow(120),
        cwd=cwd,
    )


def test_each_method_and_an_agent_with_all_tools(daemon):
    with model_server(script) as model:
        done = node(daemon, model, HERE / "backend.mjs", NODE)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failed = "\n\n".join(f"{row['name']}\n{row['error']}" for row in rows if row.get("error"))
    assert done.returncode == 0 and not failed, failed + done.stderr[-3000:]
    assert sum("name" in row for row in rows) == 8
    [agent] = [row for row in rows if "agent" in row]
    names, texts = zip(*agent["agent"])
    assert list(names) == [one.name for one in CALLS], agent
    assert texts[2].startswith("55\n") and "exit code 0" in texts[2]
    assert "print(sum(range(11)))" in texts[3].splitlines(), "no gutter of the backend's own"
    for at in (0, 1, 4, 5, 6, 9):
        assert "sum.py" in texts[at], texts[at]
    assert texts[7] == "it has 1 line" and len(texts[8]) < 20_000
    assert texts[10].startswith("0\n") and agent["last"] == "done"
    assert not model.rejected


def test_the_example_runs(daemon, tmp_path):
    program = transpiled(ROOT / "examples/typescript/deep_agent.ts", tmp_path, NODE)
    with model_server(hello) as model:
        done = node(daemon, model, program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("It printed: Hello, world!"), done.stdout
