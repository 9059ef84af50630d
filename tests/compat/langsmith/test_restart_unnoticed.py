"""The clients' users do not notice that the daemon was killed or ended in the middle of their
command, or before it began."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading

import pytest

from harness import keeper_of, new_daemon, wait_until

HERE = pathlib.Path(__file__).resolve().parent
NODE = HERE.parents[2] / "build" / "node"
VERSIONS = (HERE / "versions.txt").read_text().split()
LINE = "for i in $(seq 1 150); do echo line $i; sleep 0.02; done; echo end >&2; exit 7"
WANT = "".join(f"line {i}\n" for i in range(1, 151))


@pytest.fixture(scope="module")
def mortal():
    daemon = new_daemon().start()
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "box"}).status_code == 201
    yield daemon
    daemon.close()


@pytest.fixture
def javascript(mortal):
    """Starts JavaScript's client with a command."""
    version = VERSIONS[-1]
    folder = NODE / f"{version}-with"
    if not folder.exists():
        pytest.skip(f"{folder} is not there: tools/testenv.sh makes it")
    return lambda line: subprocess.Popen(
        ["node", HERE / "restart.cjs", folder, version, "box", line],
        stdout=subprocess.PIPE,
        env={**os.environ, **mortal.env, "LANGSMITH_TRACING": "false"},
    )


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
def test_javascript(mortal, javascript, how):
    node = javascript(LINE)
    assert node.stdout.readline() == b"begun\n"
    mortal.restart(how)
    got = json.loads(node.communicate(timeout=90)[0])
    assert got == {"stdout": WANT, "code": 7}


def before_it_begins(daemon):
    """A polite end of the daemon after a client has sent its command, and before anybody could say
    that it runs: its keeper stands still meanwhile."""
    with daemon.http() as http:
        keeper = keeper_of(daemon, http.get("/api/v1/sandboxes/box").json()["id"])

    def connections():
        port = f":{daemon.port:04X}"
        rows = [row.split() for row in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[1].endswith(port) and row[3] == "01" for row in rows)

    def closed():
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", daemon.port)) != 0

    os.kill(keeper, signal.SIGSTOP)
    try:
        before = connections()
        yield
        wait_until(lambda: connections() > before, "the client's connection")
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(
            closed, "the end of listening"
        )  # by then the client's own connection is closed as well, or about to be
    finally:
        os.kill(keeper, signal.SIGCONT)
    daemon.process.wait(timeout=60)
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    yield


SOON = "echo ran >> /root/runs; echo hi; exit 3"


def runs(daemon):
    with daemon.http() as http:
        return http.get("/api/v1/sandboxes/box/files", params={"path": "/root/runs"}).text.split()


def test_python_before_it_begins(mortal):
    from langsmith.sandbox import SandboxClient

    got = []
    with SandboxClient(api_endpoint=f"{mortal.url}/v2/sandboxes", api_key=mortal.key) as client:
        box = client.get_sandbox("box")
        box.run("rm -f /root/runs", timeout=60)
        interruption = before_it_begins(mortal)
        next(interruption)
        runner = threading.Thread(target=lambda: got.append(box.run(SOON, timeout=60)))
        runner.start()
        next(interruption)
        runner.join(90)
    assert [(one.stdout, one.exit_code) for one in got] == [("hi\n", 3)]
    assert runs(mortal) == ["ran"]


def test_javascript_before_it_begins(mortal, javascript):
    with mortal.http() as http:
        http.post("/api/v1/sandboxes/box/commands", json={"command": "rm -f /root/runs"})
    interruption = before_it_begins(mortal)
    next(interruption)
    node = javascript(SOON)
    next(interruption)
    told = node.communicate(timeout=90)[0].splitlines()
    assert json.loads(told[-1]) == {"stdout": "hi\n", "code": 3}
    assert runs(mortal) == ["ran"]
