"""Whose fault it is: a requested end is no error of Cay's, a create refuses what cannot work, and
an error names its remedy once."""
import contextlib
import json
import subprocess
import threading

import pytest
from websockets.sync.client import connect

from harness import CAY, slow, wait_until
from test_tunnels import dial, tunnel

SLEEPS = "echo began; exec sleep 600"


def native_wait(daemon, box, command):
    with daemon.http() as http:
        path = f"/api/v1/sandboxes/{box}/commands"
        body = {"command": SLEEPS, "id": command, "wait": True, "timeout_s": 0}
        return http.post(path, json=body, timeout=slow(60)).json()


def native_stream(daemon, box, command):
    url = f"ws://127.0.0.1:{daemon.port}/api/v1/sandboxes/{box}/commands/ws"
    with connect(url, additional_headers={"X-Api-Key": daemon.key}) as ws:
        ws.send(json.dumps({"type": "start", "id": command, "command": SLEEPS, "timeout_s": 0}))
        while True:
            got = ws.recv(timeout=slow(60))
            if isinstance(got, str) and json.loads(got)["type"] != "started":
                return json.loads(got)["command"]


def langsmith_ws(daemon, box, command):
    url = f"ws://127.0.0.1:{daemon.port}/v2/sandboxes/dp/{box}/execute/ws"
    with connect(url, additional_headers={"X-Api-Key": daemon.key}) as ws:
        first = {"type": "execute", "command": SLEEPS, "command_id": command, "timeout_seconds": 0}
        ws.send(json.dumps(first))
        while (got := json.loads(ws.recv(timeout=slow(60))))["type"] in ("started", "stdout"):
            pass
        return got


def langsmith_sse(daemon, box, command):
    with daemon.http() as http:
        body = {"command": SLEEPS, "command_id": command, "timeout_seconds": 0}
        path = f"/v2/sandboxes/dp/{box}/execute/stream/start"
        got = http.post(path, json=body, timeout=slow(60))
        return json.loads(got.text.rsplit("data: ", 1)[1].splitlines()[0])


def langsmith_post(daemon, box, command):
    with daemon.http() as http:
        body = {"command": SLEEPS, "timeout": 0}
        path = f"/v2/sandboxes/dp/{box}/execute"
        return http.post(path, json=body, timeout=slow(60)).json()


def by_cli(*words):
    def begin(daemon, box, command):
        if words[0] in ("attach", "logs"):
            with daemon.http() as http:
                path = f"/api/v1/sandboxes/{box}/commands"
                body = {"command": SLEEPS, "id": command, "wait": False, "timeout_s": 0}
                assert http.post(path, json=body).status_code == 201
        args = [word.format(box=box, command=command) for word in words]
        ran = subprocess.Popen(
            [CAY, *args],
            env=daemon.env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        first = ran.stdout.readline()
        READS.add(words[0])
        out, err = ran.communicate(timeout=slow(60))
        return ran.returncode, first + out, err

    return begin


READS = set()  # of by_cli: those that have read the command's output
KILLED = (137, "began\n", "cay: killed by sandbox removal\n")


def is_killed(got, **more):
    """An end as the native API has it."""
    right = {"state": "killed", "signal": 9, "by": "sandbox removal", **more}
    return {name: got.get(name) for name in right} == right


# By route: how to begin a command and wait for its end, and whether the end is right.
ROUTES = {
    "native wait": (native_wait, lambda got: is_killed(got, stdout="began\n")),
    "native stream": (native_stream, is_killed),
    "langsmith ws": (langsmith_ws, lambda got: got == {"type": "exit", "exit_code": 137}),
    "langsmith sse": (langsmith_sse, lambda got: got.get("exit_code") == 137),
    "langsmith post": (
        langsmith_post,
        lambda got: (got["exit_code"], got["stdout"]) == (137, "began\n"),
    ),
    "cli exec": (by_cli("exec", "{box}", "--", "sh", "-c", SLEEPS), lambda got: got == KILLED),
    "cli attach": (by_cli("attach", "{box}", "{command}"), lambda got: got == KILLED),
    "cli logs": (
        by_cli("logs", "--follow", "{box}", "{command}"),
        lambda got: got == (0, "began\n", ""),
    ),
}


def test_a_command_whose_sandbox_is_deleted_was_killed_by_that_over_every_route(own_daemon):
    """Its caller gets a normal end with its reason, and the daemon's log gets no error."""
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "box"}).json()["id"]
        got = {}

        def follow(name, begin, command):
            got[name] = begin(daemon, box, command)

        threads = []
        for number, (name, (begin, _)) in enumerate(ROUTES.items()):
            threads.append(threading.Thread(target=follow, args=(name, begin, f"c{number}")))
            threads[-1].start()

        def all_have_begun():
            listed = http.get(f"/api/v1/sandboxes/{box}/commands").json()["items"]
            written = [one for one in listed if one["stdout"]["bytes"] == len("began\n")]
            return len(written) == len(ROUTES) and READS == {"exec", "attach", "logs"}

        wait_until(all_have_begun, "every command has begun")
        assert http.delete(f"/api/v1/sandboxes/{box}").status_code == 204
        for thread in threads:
            thread.join(slow(60))
    for name, (_, is_right) in ROUTES.items():
        assert name in got and is_right(got[name]), (name, got.get(name))
    assert "[error]" not in daemon.log.read_text(), daemon.log.read_text()


SIZE = 64 << 20


@contextlib.contextmanager
def slow_reader(daemon, box, command):
    """A stream whose client has read its first frame and no more."""
    url = f"ws://127.0.0.1:{daemon.port}/api/v1/sandboxes/{box}/commands/ws"
    headers = {"X-Api-Key": daemon.key}
    with connect(url, additional_headers=headers, max_queue=1, compression=None) as ws:
        ws.send(json.dumps({"type": "start", "id": "c", "command": command, "timeout_s": 0}))
        ws.recv(timeout=slow(30))
        yield ws


def test_a_client_that_reads_slowly_gets_the_true_end_and_a_gap(own_daemon):
    """The command ended by itself before the deletion of its sandbox."""
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        command = f"/api/v1/sandboxes/{box}/commands/c"
        with slow_reader(daemon, box, f"head -c {SIZE} /dev/zero; exit 3") as ws:
            wait_until(lambda: http.get(command).json()["state"] == "exited", "it has ended")
            assert http.delete(f"/api/v1/sandboxes/{box}").status_code == 204
            read = missing = 0
            while True:
                got = ws.recv(timeout=slow(60))
                if isinstance(got, bytes):
                    read += len(got) - 10
                    continue
                frame = json.loads(got)
                if frame["type"] == "end":
                    break
                assert frame["type"] == "gap", frame
                missing += frame["length"]
        assert (frame["command"]["state"], frame["command"]["exit_code"]) == ("exited", 3), frame
        assert read + missing == SIZE and missing > 0, (read, missing)
    assert "[error]" not in daemon.log.read_text(), daemon.log.read_text()


def test_a_stop_gives_a_slow_reader_all_that_was_written(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        command = f"/api/v1/sandboxes/{box}/commands/c"
        with slow_reader(daemon, box, f"head -c {SIZE} /dev/zero; exec sleep 600") as ws:
            wait_until(lambda: http.get(command).json()["stdout"]["bytes"] == SIZE, "its output")
            assert http.post(f"/api/v1/sandboxes/{box}/stop").status_code == 200
            read = 0
            while isinstance(got := ws.recv(timeout=slow(60)), bytes):
                read += len(got) - 10
        end = json.loads(got)
        assert end["type"] == "end" and is_killed(end["command"], by="sandbox stop"), end
        assert read == SIZE
    assert "[error]" not in daemon.log.read_text(), daemon.log.read_text()


SERVES = """
import socket
listener = socket.create_server(("127.0.0.1", 9))
print("up", flush=True)
connection, _ = listener.accept()
connection.sendall(b"hi")
connection.recv(1)
"""


def test_a_deletion_is_no_error_of_open_downloads_and_tunnels(own_daemon):
    """A download goes on, and a connection through a tunnel is open, when the sandbox goes."""
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        commands = f"/api/v1/sandboxes/{box}/commands"
        body = {"id": "c", "argv": ["python3", "-c", SERVES], "wait": False}
        assert http.post(commands, json=body).status_code == 201
        assert shell(http, box, "truncate -s 2G /root/large")["exit_code"] == 0
        wait_until(lambda: http.get(f"{commands}/c").json()["stdout"]["bytes"], "it listens")
        download = f"/api/v1/sandboxes/{box}/files?path=/root/large"
        with (
            tunnel(daemon, box, 9) as ((port,), _),
            dial(port) as inside,
            http.stream("GET", download) as answer,
        ):
            assert inside.recv(2) == b"hi" and answer.status_code == 200
            assert http.delete(f"/api/v1/sandboxes/{box}").status_code == 204
            with contextlib.suppress(ConnectionResetError):
                assert inside.recv(1) == b""
    assert "[error]" not in daemon.log.read_text(), daemon.log.read_text()


@pytest.fixture
def made(daemon, http):
    boxes = []

    def make(**fields):
        answer = http.post("/api/v1/sandboxes", json=fields)
        if answer.status_code == 201:
            boxes.append(answer.json()["id"])
        return answer

    yield make
    for box in boxes:
        http.delete(f"/api/v1/sandboxes/{box}")


def shell(http, box, command, **fields):
    body = {"command": command, "wait": True, "timeout_s": slow(30), **fields}
    return http.post(f"/api/v1/sandboxes/{box}/commands", json=body).json()


def test_a_working_directory_that_is_not_there_is_made_as_docker_makes_it(daemon, http, made):
    box = made(workdir="/srv/app/code").json()["id"]
    for _ in range(2):
        got = shell(http, box, "pwd; stat -c %U:%a .")
        assert (got["exit_code"], got["stdout"]) == (0, "/srv/app/code\nroot:755\n"), got
    # The sandbox's user owns it, also below a directory of root's.
    box = made(workdir="/srv/his/code/", user="user").json()["id"]
    got = shell(http, box, "pwd; stat -c %U:%a .; touch x && ls -A ..; id -un")
    assert (got["exit_code"], got["stdout"]) == (0, "/srv/his/code\nuser:755\ncode\nuser\n"), got
    # One that is there stays as it is.
    box = made(workdir="/tmp").json()["id"]
    assert shell(http, box, "stat -c %a .")["stdout"] == "1777\n"
    # One that is given later.
    patch = {"run_config": {"work_dir": "/srv/later"}}
    assert http.patch(f"/v2/sandboxes/boxes/{box}", json=patch).status_code == 200
    assert shell(http, box, "pwd")["stdout"] == "/srv/later\n"
    # As `docker run -w`; `exec -w` names one that is there.
    ran = daemon.cli("run", "--rm", "-w", "/srv/by/run", "--", "pwd")
    assert (ran.code, ran.text) == (0, "/srv/by/run\n"), ran
    assert shell(http, box, "pwd", cwd="/nowhere")["error"]["reason"] == "bad_cwd"


IMPOSSIBLE = [
    ("/etc/passwd", "no directory"),
    ("/etc/passwd/x", "not a directory"),
    ("/proc/x", "/proc/x"),
]


@pytest.mark.parametrize("workdir, says", IMPOSSIBLE)
def test_a_create_with_an_impossible_working_directory_is_refused(http, made, workdir, says):
    before = len(http.get("/api/v1/sandboxes").json()["items"])
    answer = made(workdir=workdir)
    assert answer.status_code in (400, 403, 404), answer.text
    assert says in answer.json()["error"]["message"], answer.text
    assert len(http.get("/api/v1/sandboxes").json()["items"]) == before, "nothing is left"


def test_an_error_names_its_remedy_once_with_the_command_that_applies_it(daemon, http, made):
    name = made(name="held").json()["name"]
    assert http.post(f"/api/v1/sandboxes/{name}/pause").status_code == 200
    said = daemon.cli("exec", name, "--", "true")
    paused = "cay: sandbox 'held' is paused: resume it (cay resume held)\n"
    assert (said.code, said.err.decode()) == (125, paused), said
    commands = f"/api/v1/sandboxes/{name}/commands"
    error = http.post(commands, json={"argv": ["true"]}).json()["error"]
    assert error["remedy"] == "cay resume held" and error["remedy"] in error["message"]
    assert daemon.cli("resume", "held").code == 0
    assert daemon.cli("exec", name, "--", "true").code == 0
    assert http.post(f"/api/v1/sandboxes/{name}/stop").status_code == 200
    said = daemon.cli("resume", name)
    stopped = "sandbox 'held' is not ready: it is stopped: start it (cay start held)\n"
    assert said.err.decode() == "cay: held: " + stopped, said
    assert daemon.cli("start", name).code == 0
