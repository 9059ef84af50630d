"""Input that a LangSmith client's command does not read holds up neither a kill nor anything else,
and is not lost."""
import json
import threading

import pytest
from websockets.sync.client import connect

from harness import slow, wait_until

MIB = 1 << 20


def session(daemon, box, command, **fields):
    ws = connect(
        f"ws://127.0.0.1:{daemon.port}/v2/sandboxes/dp/{box}/execute/ws",
        additional_headers={"X-Api-Key": daemon.key},
        max_size=4 * MIB,
        compression=None,
        close_timeout=0.2,
        ping_interval=None,
    )
    ws.send(
        json.dumps(
            {
                "type": "execute",
                "command": command,
                "timeout_seconds": 0,
                "shell": "/bin/bash",
                "idle_timeout_seconds": 300,
                "kill_on_disconnect": False,
                "ttl_seconds": 600,
                **fields,
            }
        )
    )
    return ws, json.loads(ws.recv(timeout=slow(30)))["command_id"]


def flood(ws, size):
    for _ in range(size // 65536):
        ws.send(json.dumps({"type": "input", "data": "x" * 65536}))


def to_end(ws):
    out = ""
    while True:
        frame = json.loads(ws.recv(timeout=slow(60)))
        if frame["type"] == "stdout":
            out += frame["data"]
        if frame["type"] in ("exit", "error"):
            return out, frame


@pytest.fixture
def state_of(http, box):
    return lambda command: http.get(f"/api/v1/sandboxes/{box['id']}/commands/{command}").json()[
        "state"
    ]


def test_a_kill_is_obeyed_while_input_waits(daemon, box):
    ws, _ = session(daemon, box["id"], "exec sleep 1000")
    flood(ws, 6 * MIB)
    ws.send(json.dumps({"type": "kill"}))
    assert to_end(ws)[1]["type"] == "exit"


@pytest.mark.parametrize(
    "how, state",
    [({"kill_on_disconnect": True}, "killed"), ({"idle_timeout_seconds": 1}, "idle_killed")],
)
def test_a_client_that_goes_is_noticed_while_its_input_waits(daemon, box, state_of, how, state):
    ws, command = session(daemon, box["id"], "exec sleep 1000", **how)
    flood(ws, 6 * MIB)
    ws.socket.shutdown(2)
    ws.socket.close()
    wait_until(lambda: state_of(command) == state, f"the command is {state}")


def test_the_python_client_kills_while_its_input_waits(daemon, client, sandbox, http):
    handle = sandbox.run("exec sleep 1000", wait=False, close_input=False, timeout=0)
    sending = threading.Thread(target=lambda: handle.send_input("x" * 3_000_000))
    sending.start()
    sending.join(slow(30))
    assert not sending.is_alive()
    handle.kill()
    where = f"/api/v1/sandboxes/{sandbox.name}/commands/{handle.command_id}"
    wait_until(lambda: http.get(where).json()["state"] == "killed", "the command is killed")


def test_input_waits_while_other_commands_use_the_budget_up(daemon, box, run):
    hogs = [session(daemon, box["id"], "exec sleep 1000")[0] for _ in range(24)]
    for ws in hogs:
        flood(ws, 3 * MIB // 2)
    for ws in hogs:
        assert ws.ping().wait(slow(30))
    ws, _ = session(daemon, box["id"], "wc -c")
    flood(ws, 2 * MIB)
    ws.send(json.dumps({"type": "close_stdin"}))
    with pytest.raises(TimeoutError):
        ws.recv(timeout=1)  # it waits
    for hog in hogs:
        hog.send(json.dumps({"type": "kill"}))
    out, end = to_end(ws)
    assert (out, end["exit_code"]) == (f"{2 * MIB}\n", 0)


def test_a_session_keeps_to_its_sandbox_when_the_name_is_given_to_another(daemon, http, box):
    name = f"ls-{box['id'][-8:].lower()}"
    assert http.patch(f"/api/v1/sandboxes/{box['id']}", json={"name": name}).status_code == 200
    ws, _ = session(daemon, name, "sleep 1000", command_id="c1")
    assert (
        http.patch(f"/api/v1/sandboxes/{box['id']}", json={"name": name + "-old"}).status_code
        == 200
    )
    other = http.post("/api/v1/sandboxes", json={"name": name}).json()["id"]
    try:
        http.post(
            f"/api/v1/sandboxes/{other}/commands",
            json={"id": "c1", "argv": ["sleep", "1000"], "wait": False, "timeout_s": 0},
        )
        ws.send(json.dumps({"type": "kill"}))
        assert to_end(ws)[1]["type"] == "exit"
        assert http.get(f"/api/v1/sandboxes/{other}/commands/c1").json()["state"] == "running"
    finally:
        http.delete(f"/api/v1/sandboxes/{other}")
