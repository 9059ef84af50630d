"""What a daemon that ends takes with it: nobody's wish to have a command killed, and input that it
held, which is told."""
import json

import pytest

from harness import slow, wait_until
from test_input import MIB, drop, flood, session

LOST = "input lost"


def command_of(daemon, box, command):
    with daemon.http() as http:
        return http.get(f"/api/v1/sandboxes/{box}/commands/{command}").json()


def make(daemon, name):
    with daemon.http() as http:
        return http.post("/api/v1/sandboxes", json={"name": name, "idle_ttl_s": 0}).json()["id"]


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_daemon_that_ends_is_no_client_that_goes(own_daemon, how):
    daemon = own_daemon()
    box = make(daemon, f"spared-{how}")
    ws, command = session(daemon, box, argv=["sleep", "1000"], kill_on_disconnect=True)
    daemon.restart(how)
    assert command_of(daemon, box, command)["state"] == "running"
    # The control: a client that comes back, and goes, is one that goes.
    ws, _ = session(daemon, box, argv=["true"])
    ws.close()
    with daemon.http() as http:
        assert (
            http.post(f"/api/v1/sandboxes/{box}/commands/{command}/kill", json={}).status_code
            == 204
        )
    ws, gone = session(daemon, box, argv=["sleep", "1000"], kill_on_disconnect=True)
    drop(ws)
    wait_until(
        lambda: command_of(daemon, box, gone)["state"] == "killed", "killed at the disconnect"
    )


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_input_that_a_daemon_took_with_it_is_told(own_daemon, how):
    daemon = own_daemon()
    box = make(daemon, f"input-{how}")
    held, command = session(daemon, box, argv=["sh", "-c", "echo begun; exec sleep 1000"])
    flood(held, 6 * MIB)
    assert held.ping().wait(slow(30))  # the daemon has read all of it
    behind, other = session(daemon, box, argv=["sleep", "1000"])
    flood(
        behind, MIB + 2 * 65536
    )  # a keeper takes all but the last, which waits there; only the end is left to the daemon
    behind.send(json.dumps({"type": "stdin_close"}))
    assert behind.ping().wait(slow(30))
    with daemon.http() as http:  # answered once it is handed over
        path = f"/api/v1/sandboxes/{box}/commands"
        third = http.post(
            path, json={"command": "sleep 3; wc -c", "wait": False, "timeout_s": 0}
        ).json()["id"]
        assert http.post(f"{path}/{third}/stdin", content=b"x" * 65536).status_code == 204
        assert http.post(f"{path}/{third}/stdin/close").status_code == 204
    daemon.restart(how)
    for one in (command, other):
        wait_until(
            lambda: command_of(daemon, box, one)["state"] != "running", "it does not wait for ever"
        )
        got = command_of(daemon, box, one)
        assert got["state"] == "lost" and got["reason"].startswith(LOST), got
    wait_until(
        lambda: command_of(daemon, box, third)["state"] == "exited",
        "what was handed over arrives whole",
    )
    with daemon.http() as http:
        assert http.get(f"/api/v1/sandboxes/{box}/commands/{third}/output").text == "65536\n"
    # Its end was seen, so `--since` goes by it.
    wait_until(
        lambda: b"begun" not in daemon.cli("logs", "--since", "1", box).out,
        "a second after its end",
        limit=30,
    )
    assert b"begun" in daemon.cli("logs", "--since", "1h", box).out


@pytest.mark.parametrize("closes", [True, False])
def test_input_that_was_sent_before_a_polite_end_arrives(own_daemon, closes):
    daemon = own_daemon()
    box = make(daemon, f"sent-{closes}")
    for _ in range(3):
        ws, command = session(daemon, box, argv=["wc", "-c"])
        for _ in range(50):
            ws.send(b"\0" + b"x" * 10_000)
        if closes:
            ws.send(json.dumps({"type": "stdin_close"}))
        daemon.restart("terminate")
        if not closes:
            assert command_of(daemon, box, command)["state"] == "running"
            with daemon.http() as http:
                assert (
                    http.post(f"/api/v1/sandboxes/{box}/commands/{command}/stdin/close").status_code
                    == 204
                )
        wait_until(
            lambda: command_of(daemon, box, command)["state"] == "exited", "its input is whole"
        )
        with daemon.http() as http:
            assert http.get(f"/api/v1/sandboxes/{box}/commands/{command}/output").text == "500000\n"
