"""Input that a command does not read: it holds up nothing else, and none of it is lost without a
word."""
import base64
import json
import pathlib
import subprocess
import threading

import pytest
from websockets.sync.client import connect

from harness import CAY, slow, wait_until
from module_daemon import daemon, http  # noqa: F401 (fixtures)

MIB = 1 << 20
WAITS = "until [ -e {go} ]; do sleep 0.05; done; wc -c"


def session(daemon, ref, **start):
    """A native session whose command has begun; returns it and the command's id."""
    ws = connect(
        f"ws://127.0.0.1:{daemon.port}/api/v1/sandboxes/{ref}/commands/ws",
        additional_headers={"X-Api-Key": daemon.key},
        max_size=4 * MIB,
        compression=None,
        close_timeout=0.2,
        ping_interval=None,
    )
    ws.send(json.dumps({"type": "start", "timeout_s": 0, **start}))
    return ws, json.loads(ws.recv(timeout=slow(30)))["command"]["id"]


def flood(ws, size):
    for _ in range(size // 65536):
        ws.send(b"\0" + b"x" * 65536)


def frames_to_end(ws):
    out = b""
    while True:
        got = ws.recv(timeout=slow(60))
        if isinstance(got, bytes):
            out += got[10:]
        elif json.loads(got)["type"] in ("end", "error"):
            return out, json.loads(got)


def drop(ws):
    """As when the network fails: no close frame."""
    ws.socket.shutdown(2)
    ws.socket.close()


@pytest.fixture
def state_of(http, box):
    return lambda command: http.get(f"/api/v1/sandboxes/{box['id']}/commands/{command}").json()[
        "state"
    ]


def test_a_kill_is_obeyed_while_input_waits(daemon, box):
    ws, _ = session(daemon, box["id"], argv=["sleep", "1000"])
    flood(ws, 6 * MIB)
    ws.send(json.dumps({"type": "kill"}))
    _, end = frames_to_end(ws)
    assert end["command"]["state"] == "killed", end


def test_a_ping_is_answered_while_input_waits(daemon, box):
    ws, _ = session(daemon, box["id"], argv=["sleep", "1000"])
    flood(ws, 6 * MIB)
    assert ws.ping().wait(slow(30))
    drop(ws)


@pytest.mark.parametrize(
    "how, state", [({"kill_on_disconnect": True}, "killed"), ({"idle_timeout_s": 1}, "idle_killed")]
)
def test_a_client_that_goes_is_noticed_while_its_input_waits(daemon, box, state_of, how, state):
    ws, command = session(daemon, box["id"], argv=["sleep", "1000"], **how)
    flood(ws, 6 * MIB)
    drop(ws)
    wait_until(lambda: state_of(command) == state, f"the command is {state}")


def test_input_waits_for_a_slow_command_and_arrives_whole(daemon, box, run):
    ws, _ = session(daemon, box["id"], command=WAITS.format(go="/tmp/go"))
    flood(ws, 6 * MIB)
    ws.send(json.dumps({"type": "stdin_close"}))
    run("touch /tmp/go")
    out, end = frames_to_end(ws)
    assert (out, end["command"]["exit_code"]) == (b"%d\n" % (6 * MIB), 0)


def test_input_of_a_client_that_went_arrives_whole(daemon, http, box, run, state_of):
    ws, command = session(daemon, box["id"], command=WAITS.format(go="/tmp/go"))
    flood(ws, 6 * MIB)
    ws.send(json.dumps({"type": "stdin_close"}))
    assert ws.ping().wait(slow(30))  # all of it was read
    drop(ws)
    run("touch /tmp/go")
    wait_until(lambda: state_of(command) == "exited", "the command has read its input")
    assert (
        http.get(f"/api/v1/sandboxes/{box['id']}/commands/{command}/output").text == f"{6 * MIB}\n"
    )


def test_beyond_the_bound_of_a_session_the_client_waits_and_nothing_is_lost(daemon, box, run):
    ws, _ = session(daemon, box["id"], command=WAITS.format(go="/tmp/go"))
    # The session's own 64 MiB, the sandbox's 24 for a command, and what the kernel keeps in the two
    # sockets: all that it may.
    kernel = sum(
        int(pathlib.Path(f"/proc/sys/net/ipv4/{name}").read_text().split()[2])
        for name in ("tcp_rmem", "tcp_wmem")
    )
    size = (96 * MIB + kernel) // 65536 * 65536
    sent = threading.Event()

    def all_of_it():
        flood(ws, size)
        ws.send(json.dumps({"type": "stdin_close"}))
        sent.set()

    threading.Thread(target=all_of_it, daemon=True).start()
    assert not sent.wait(3), "the daemon holds more than it may"
    run("touch /tmp/go")
    out, _ = frames_to_end(ws)
    assert sent.is_set() and out == b"%d\n" % size


@pytest.fixture
def used_up(daemon, http, box):
    """The sandbox's commands hold all the input that they may together; called: they end, and it is
    free."""
    held = [session(daemon, box["id"], argv=["sleep", "1000"])[0] for _ in range(24)]
    for ws in held:
        flood(ws, 3 * MIB // 2)
    for ws in held:
        assert ws.ping().wait(slow(30))

    def free():
        while held:
            ws = held.pop()
            ws.send(json.dumps({"type": "kill"}))
            frames_to_end(ws)

    yield free
    free()


def running(http, box, command):
    got = http.get(f"/api/v1/sandboxes/{box['id']}/commands").json()["items"]
    return any(one["state"] == "running" and command in " ".join(one["argv"]) for one in got)


def test_the_stdin_of_a_plain_request_is_never_dropped(daemon, http, box, used_up):
    told = {}

    def ask():
        with daemon.http() as mine:
            told["answer"] = mine.post(
                f"/api/v1/sandboxes/{box['id']}/commands",
                json={
                    "command": "wc -c; : victim",
                    "stdin": base64.b64encode(b"v" * MIB).decode(),
                    "timeout_s": slow(50),
                },
            ).json()

    asking = threading.Thread(target=ask)
    asking.start()
    wait_until(lambda: running(http, box, "victim") or "answer" in told, "the command runs")
    asking.join(1)
    assert asking.is_alive(), told  # it waits for the budget
    used_up()
    asking.join(slow(60))
    assert told["answer"]["stdout"] == f"{MIB}\n", told


def test_the_stdin_of_the_command_line_is_never_dropped(daemon, http, box, used_up):
    done = subprocess.Popen(
        [
            CAY,
            "exec",
            "-i",
            "--timeout",
            str(int(slow(50))),
            box["id"],
            "--",
            "sh",
            "-c",
            "wc -c; : victim",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", **daemon.env},
    )
    writing = threading.Thread(target=lambda: (done.stdin.write(b"v" * MIB), done.stdin.close()))
    writing.start()
    wait_until(lambda: running(http, box, "victim"), "the command runs")
    writing.join(1)
    assert writing.is_alive()  # it waits for the budget
    used_up()
    writing.join(slow(60))
    done.stdin = None
    out, err = done.communicate(timeout=slow(60))
    assert (done.returncode, out) == (0, b"%d\n" % MIB), err


def test_a_session_keeps_to_its_sandbox_when_the_name_is_given_to_another(daemon, http, box):
    name = f"mine-{box['id'][-8:].lower()}"
    assert http.patch(f"/api/v1/sandboxes/{box['id']}", json={"name": name}).status_code == 200
    ws, _ = session(daemon, name, id="c1", command="read line; exit 7")
    assert (
        http.patch(f"/api/v1/sandboxes/{box['id']}", json={"name": name + "-old"}).status_code
        == 200
    )
    other = http.post("/api/v1/sandboxes", json={"name": name}).json()["id"]
    try:
        theirs = http.post(
            f"/api/v1/sandboxes/{other}/commands",
            json={"id": "c1", "argv": ["sleep", "1000"], "wait": False, "timeout_s": 0},
        )
        assert theirs.status_code == 201
        ws.send(json.dumps({"type": "kill"}))
        _, end = frames_to_end(ws)
        assert end["command"]["state"] == "killed"
        assert http.get(f"/api/v1/sandboxes/{other}/commands/c1").json()["state"] == "running"
    finally:
        http.delete(f"/api/v1/sandboxes/{other}")
