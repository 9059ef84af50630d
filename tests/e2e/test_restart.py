"""The daemon and the keepers may be killed: nothing lies about it."""
import json

from harness import kill_keeper, wait_until


def test_commands_go_on_while_the_daemon_is_dead(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "survivor"}).json()
        command = http.post("/api/v1/sandboxes/survivor/commands", json={
            "command": "for i in $(seq 1 200); do echo line $i; sleep 0.01; done; exit 9", "wait": False,
            "timeout_s": 0, "idle_timeout_s": -1}).json()
    daemon.restart("kill")
    with daemon.http() as http:
        assert http.get("/api/v1/sandboxes/survivor").json()["id"] == box["id"]
        out = http.get(f"/api/v1/sandboxes/survivor/commands/{command['id']}/output",
                       params={"stream": "stdout", "follow": "true"})
        assert out.text == "".join(f"line {i}\n" for i in range(1, 201))
        got = http.get(f"/api/v1/sandboxes/survivor/commands/{command['id']}").json()
        assert (got["state"], got["exit_code"]) == ("exited", 9), got


def test_a_killed_keeper_is_said_and_start_revives(daemon, http, box):
    http.put(f"/api/v1/sandboxes/{box['id']}/files", params={"path": "/root/kept"}, content=b"kept")
    command = http.post(f"/api/v1/sandboxes/{box['id']}/commands",
                        json={"command": "sleep 1000", "wait": False, "timeout_s": 0}).json()
    kill_keeper(daemon, box["id"])
    wait_until(lambda: http.get(f"/api/v1/sandboxes/{box['id']}").json()["state"] == "failed", "failed after the keeper's death")
    got = http.get(f"/api/v1/sandboxes/{box['id']}/commands/{command['id']}")
    assert got.status_code == 200 and got.json()["state"] == "lost", got.text
    assert http.post(f"/api/v1/sandboxes/{box['id']}/start").status_code in (200, 202)
    wait_until(lambda: http.get(f"/api/v1/sandboxes/{box['id']}").json()["state"] == "ready", "revived")
    assert http.get(f"/api/v1/sandboxes/{box['id']}/files", params={"path": "/root/kept"}).text == "kept"
