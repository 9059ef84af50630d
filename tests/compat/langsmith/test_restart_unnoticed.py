"""The clients' users do not notice that the daemon was killed in the middle of their command."""
import json
import os
import pathlib
import subprocess
import threading

import pytest

HERE = pathlib.Path(__file__).resolve().parent
NODE = HERE.parents[2] / "build" / "node"
VERSIONS = (HERE / "versions.txt").read_text().split()
LINE = "for i in $(seq 1 150); do echo line $i; sleep 0.02; done; echo end >&2; exit 7"
WANT = "".join(f"line {i}\n" for i in range(1, 151))


@pytest.fixture(scope="module")
def mortal():
    from harness import new_daemon
    daemon = new_daemon().start()
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "box"}).status_code == 201
    yield daemon
    daemon.close()


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_python(mortal, how):
    from langsmith.sandbox import SandboxClient
    begun = threading.Event()
    shown = []

    def on_stdout(text):
        shown.append(text)
        begun.set()

    def restart():
        begun.wait(30)
        mortal.restart(how)

    restarter = threading.Thread(target=restart)
    restarter.start()
    with SandboxClient(api_endpoint=f"{mortal.url}/v2/sandboxes", api_key=mortal.key) as client:
        got = client.get_sandbox("box").run(LINE, timeout=120, on_stdout=on_stdout)
    restarter.join()
    assert (got.stdout, got.stderr, got.exit_code) == (WANT, "end\n", 7)
    assert "".join(shown) == WANT


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_javascript(mortal, how):
    version = VERSIONS[-1]
    folder = NODE / f"{version}-with"
    if not folder.exists():
        pytest.skip(f"{folder} is not there: tools/testenv.sh makes it")
    node = subprocess.Popen(["node", HERE / "restart.cjs", folder, version, "box", LINE], stdout=subprocess.PIPE,
                            env={**os.environ, **mortal.env, "LANGSMITH_TRACING": "false"})
    assert node.stdout.readline() == b"begun\n"
    mortal.restart(how)
    got = json.loads(node.communicate(timeout=90)[0])
    assert got == {"stdout": WANT, "code": 7}
