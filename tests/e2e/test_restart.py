"""The daemon and the keepers may be killed: nothing lies about it."""
import contextlib
import json
import os
import pathlib
import signal
import threading
import time

import httpx
import pytest

from harness import keeper_of, kill_keeper, needs_root, processes_of, slow, wait_until


def test_commands_go_on_while_the_daemon_is_dead(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "survivor"}).json()
        command = http.post(
            "/api/v1/sandboxes/survivor/commands",
            json={
                "command": "for i in $(seq 1 200); do echo line $i; sleep 0.01; done; exit 9",
                "wait": False,
                "timeout_s": 0,
                "idle_timeout_s": -1,
            },
        ).json()
    daemon.restart("kill")
    with daemon.http() as http:
        assert http.get("/api/v1/sandboxes/survivor").json()["id"] == box["id"]
        out = http.get(
            f"/api/v1/sandboxes/survivor/commands/{command['id']}/output",
            params={"stream": "stdout", "follow": "true"},
        )
        assert out.text == "".join(f"line {i}\n" for i in range(1, 201))
        got = http.get(f"/api/v1/sandboxes/survivor/commands/{command['id']}").json()
        assert (got["state"], got["exit_code"]) == ("exited", 9), got


def runs(box_id, program):
    found = set()
    for pid in processes_of(box_id):
        with contextlib.suppress(OSError):
            found.add(pathlib.Path(f"/proc/{pid}/comm").read_text().strip())
    return program in found


@pytest.mark.parametrize("ttl", [0, 1])
def test_a_repeated_request_finds_what_ended_meanwhile(own_daemon, ttl):
    """The client waits, the daemon is killed, the command ends, the client asks again: it ran once,
    and has its own end."""
    daemon = own_daemon()
    body = {
        "id": "once",
        "command": "echo ran >> /root/ran; sleep 2; exit 4",
        "ttl_s": ttl,
        "wait": True,
        "user": "root",
    }

    def ask():
        with contextlib.suppress(httpx.TransportError), daemon.http() as own:
            own.post("/api/v1/sandboxes/box/commands", json=body)

    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "box"}).json()["id"]
    waiting = threading.Thread(target=ask)
    waiting.start()
    wait_until(lambda: runs(box, "sleep"), "it runs")
    daemon.kill()
    waiting.join()
    wait_until(lambda: not runs(box, "sleep"), "it has ended")
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    with daemon.http() as http:
        got = http.post("/api/v1/sandboxes/box/commands", json=body).json()
        assert (got["state"], got["exit_code"]) == ("exited", 4), got
        assert http.get("/api/v1/sandboxes/box/files", params={"path": "/root/ran"}).text == "ran\n"

        def ends():
            events = http.get("/api/v1/events", params={"limit": 100}).json()["items"]
            return [
                event["state"]
                for event in events
                if event.get("command_id") == "once" and event["type"] == "command.ended"
            ]

        wait_until(ends, "its end is in the journal, which is written every 10 ms")
        assert ends() == ["exited"]


def test_a_killed_keeper_is_said_and_start_revives(daemon, http, box):
    http.put(f"/api/v1/sandboxes/{box['id']}/files", params={"path": "/root/kept"}, content=b"kept")
    command = http.post(
        f"/api/v1/sandboxes/{box['id']}/commands",
        json={"command": "sleep 1000", "wait": False, "timeout_s": 0},
    ).json()
    kill_keeper(daemon, box["id"])
    wait_until(
        lambda: http.get(f"/api/v1/sandboxes/{box['id']}").json()["state"] == "failed",
        "failed after the keeper's death",
    )
    got = http.get(f"/api/v1/sandboxes/{box['id']}/commands/{command['id']}")
    assert got.status_code == 200 and got.json()["state"] == "lost", got.text
    assert http.post(f"/api/v1/sandboxes/{box['id']}/start").status_code in (200, 202)
    wait_until(
        lambda: http.get(f"/api/v1/sandboxes/{box['id']}").json()["state"] == "ready", "revived"
    )
    assert (
        http.get(f"/api/v1/sandboxes/{box['id']}/files", params={"path": "/root/kept"}).text
        == "kept"
    )


@needs_root
def test_a_keeper_that_does_not_answer_is_left_alone(own_daemon):
    """As on a host that swaps: a start of the daemon ends no sandbox whose keeper lives."""
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "box"}).json()["id"]
        command = http.post(
            "/api/v1/sandboxes/box/commands",
            json={"command": "sleep 1000", "wait": False, "timeout_s": 0},
        ).json()["id"]
        for name in ("other", "third"):
            assert http.post("/api/v1/sandboxes", json={"name": name}).status_code == 201
        third = http.get("/api/v1/sandboxes/third").json()["id"]
    keeper, another = keeper_of(daemon, box), keeper_of(daemon, third)
    os.kill(keeper, signal.SIGSTOP)
    os.kill(another, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        daemon.restart("kill")
        with daemon.http() as http:  # nobody waits for the silent ones but who asks for them
            assert (
                http.post("/api/v1/sandboxes/other/commands", json={"command": "exit 3"}).json()[
                    "exit_code"
                ]
                == 3
            )
        assert time.monotonic() - begun < slow(5)
        begun = time.monotonic()
        counted = json.loads(daemon.cli("drain", "--json", "--timeout", "0").out)
        assert counted["silent_sandboxes"] == 2 and time.monotonic() - begun < slow(5), counted
        assert daemon.cli("drain", "--undo").code == 0
    finally:
        os.kill(another, signal.SIGCONT)
        os.kill(keeper, signal.SIGCONT)
    with daemon.http() as http:

        def answer():
            got = http.get(f"/api/v1/sandboxes/box/commands/{command}")
            return got.status_code == 200 and got.json()["state"]

        assert wait_until(answer, "the keeper answers again", limit=60) == "running"
        assert http.get("/api/v1/sandboxes/box").json()["state"] == "ready"
        assert (
            http.post("/api/v1/sandboxes/box/commands", json={"command": "exit 3"}).json()[
                "exit_code"
            ]
            == 3
        )
