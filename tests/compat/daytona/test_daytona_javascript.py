"""Daytona's npm client, unmodified."""
import json
import os
import pathlib
import subprocess

from harness import slow

HERE = pathlib.Path(__file__).resolve().parent
NODE = HERE.parents[2] / "build/node/daytona"


def test_the_npm_client(daemon):
    done = subprocess.run(
        ["node", HERE / "client.mjs", NODE],
        capture_output=True,
        text=True,
        timeout=slow(180),
        env={**os.environ, **daemon.env},
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failed = "\n\n".join(f"{one['name']}\n{one['error']}" for one in rows if one["error"])
    assert done.returncode == 0 and not failed, failed + done.stderr[-3000:]
    assert len(rows) == 11
