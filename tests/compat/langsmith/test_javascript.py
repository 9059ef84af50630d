"""Four versions of the npm client of LangSmith, unmodified: with `ws` and without (HTTP fallback)."""
import json
import os
import pathlib
import subprocess

import pytest

from cutting_proxy import CuttingProxy, random_cuts

HERE = pathlib.Path(__file__).resolve().parent
NODE = HERE.parents[2] / "build" / "node"
VERSIONS = (HERE / "versions.txt").read_text().split()


@pytest.mark.parametrize("transport", ["ws", "http"])
@pytest.mark.parametrize("version", VERSIONS)
def test_client(daemon, version, transport):
    folder = NODE / f"{version}-{'with' if transport == 'ws' else 'without'}"
    proxy = CuttingProxy(daemon.port, random_cuts(seed=11, low=20_000, high=90_000))
    try:
        done = subprocess.run(
            ["node", HERE / "client.cjs", folder, version, transport, proxy.url], capture_output=True, text=True,
            timeout=180, env={**os.environ, **daemon.env, "LANGSMITH_TRACING": "false"})
    finally:
        proxy.close()
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failed = {row["name"]: row["error"] for row in rows if row["error"]}
    assert done.returncode == 0 and not failed, "\n\n".join(f"{k}\n{v}" for k, v in failed.items()) + done.stderr[-3000:]
    assert len(rows) >= (16 if transport == "ws" else 7)
    if transport == "ws":
        assert proxy.cuts >= 2
