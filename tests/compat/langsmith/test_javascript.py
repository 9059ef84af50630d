"""LangSmith's oldest and newest npm client, unmodified: with `ws` and without (HTTP fallback)."""
import json
import os
import pathlib
import subprocess

import pytest

from cutting_proxy import CuttingProxy, random_cuts
from harness import kill_keeper, wait_until

HERE = pathlib.Path(__file__).resolve().parent
NODE = HERE.parents[2] / "build" / "node"
VERSIONS = (HERE / "versions.txt").read_text().split()


@pytest.fixture(scope="module")
def failed_box(daemon):
    """The name of a sandbox whose keeper was killed."""
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        kill_keeper(daemon, box["id"])
        where = f"/api/v1/sandboxes/{box['id']}"
        wait_until(
            lambda: http.get(where).json()["state"] == "failed", "the keeper's death was seen"
        )
        yield box["name"]
        http.delete(where)


@pytest.mark.parametrize("transport", ["ws", "http"])
@pytest.mark.parametrize("version", VERSIONS)
def test_client(daemon, failed_box, version, transport):
    folder = NODE / f"{version}-{'with' if transport == 'ws' else 'without'}"
    # More than the largest frame (64 KiB as JSON): the client counts losses in succession, without
    # a whole frame between them.
    proxy = CuttingProxy(daemon.port, random_cuts(seed=11, low=100_000, high=250_000))
    try:
        done = subprocess.run(
            ["node", HERE / "client.cjs", folder, version, transport, proxy.url],
            capture_output=True,
            text=True,
            timeout=180,
            env={
                **os.environ,
                **daemon.env,
                "LANGSMITH_TRACING": "false",
                "CAY_FAILED_BOX": failed_box,
            },
        )
    finally:
        proxy.close()
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failed = {row["name"]: row["error"] for row in rows if row["error"]}
    assert done.returncode == 0 and not failed, (
        "\n\n".join(f"{k}\n{v}" for k, v in failed.items()) + done.stderr[-3000:]
    )
    assert len(rows) >= (18 if transport == "ws" else 7)
    if transport == "ws":
        assert proxy.cuts >= 2
