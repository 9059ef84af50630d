"""The official TypeScript client of MCP by HTTP and by `cay mcp`, and the inspector."""
import json
import os
import pathlib
import subprocess

import pytest

from harness import CAY, slow

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[2] / "build" / "node" / "mcp"


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_a_client_completes(daemon, transport):
    done = subprocess.run(
        ["node", HERE / "client.mjs", TREE, transport],
        capture_output=True,
        text=True,
        timeout=slow(60),
        env={**os.environ, **daemon.env, "CAY_PROGRAM": str(CAY)},
    )
    assert done.stdout == "ok\n", done.stdout + done.stderr


def test_the_inspector_calls_a_tool(daemon, mcp_box):
    inspector = [TREE / "node_modules/.bin/mcp-inspector", "--cli", daemon.url + "/mcp"]
    call = ["--tool-name", "run", "--tool-arg", f"sandbox={mcp_box}", "command=echo seen; exit 5"]
    done = subprocess.run(
        [
            *inspector,
            *("--transport", "http", "--header", f"X-Api-Key: {daemon.key}"),
            *("--method", "tools/call", *call),
        ],
        capture_output=True,
        text=True,
        timeout=slow(60),
    )
    result = json.loads(done.stdout)
    assert (result["isError"], result["structuredContent"]["exit_code"]) == (True, 5), done
    assert result["content"][0]["text"] == "seen\n[the command exited with 5]"
