"""deepagents' terminal program finds Cay by the package's entry point: `dcode --sandbox cay`."""
import pathlib
import subprocess

import pytest
from harness import slow
from model_server import Call, Turn, model_server

DCODE = pathlib.Path(__file__).resolve().parents[3] / "build/packages/dcode/bin/dcode"

pytestmark = [
    pytest.mark.depth,
    pytest.mark.skipif(not DCODE.exists(), reason="tests/compat/environments has not run"),
]


def test_a_task_runs_in_a_sandbox_without_an_image_build(daemon, http, tmp_path):
    def script(request):
        if "Run it" not in request.task:
            return Turn("a title")
        if not request.results:
            return Turn(
                calls=[Call("execute", {"command": "pwd; cat /etc/hostname >here; id -un"})]
            )
        return Turn("The sandbox printed: " + " ".join(request.results[0].text.split()[:2]))

    before = {
        name: http.get(f"/api/v1/{name}").json()["items"] for name in ("sandboxes", "snapshots")
    }
    with model_server(script) as model:
        done = subprocess.run(
            [DCODE, "-n", "Run it", "--sandbox", "cay", "--shell-allow-list", "all", "-q"]
            + ["-M", "openai:scripted"],
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
                **daemon.env,
                **model.env,
                "LANGSMITH_TRACING": "false",
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=slow(240),
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "The sandbox printed: /workspace root" in done.stdout, done.stdout[-3000:]
    assert http.get("/api/v1/snapshots").json()["items"] == before["snapshots"]
    # dcode may end its server before that deletes the sandbox. Then its timers do.
    for one in http.get("/api/v1/sandboxes").json()["items"]:
        if one not in before["sandboxes"]:
            assert one["labels"] == {"made-by": "dcode"}
            assert (one["idle_ttl_s"], one["delete_after_stop_s"]) == (600, 3600)
            http.delete(f"/api/v1/sandboxes/{one['id']}")
