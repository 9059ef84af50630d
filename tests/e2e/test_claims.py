"""Claims: one sandbox for each claim of a tenant, whoever asks at the same time and whatever dies
meanwhile."""
import contextlib
import json
import os
import sqlite3
import subprocess

import pytest
from harness import CAY, kill_keeper, slow, wait_until

ENSURE = "/api/v1/sandboxes/ensure"
# As a client does that outlives its daemon.
PATIENT = 'until "$0" create --claim "$1" --json 2>/dev/null; do sleep 0.05; done'


def holders(daemon, claim):
    """The states of the rows that have the claim, read past the daemon."""
    db = sqlite3.connect(f"file:{daemon.data}/state.db?mode=ro", uri=True, timeout=10)
    with contextlib.closing(db):
        return [
            state for (state,) in db.execute("SELECT state FROM sandbox WHERE claim = ?", (claim,))
        ]


@pytest.mark.parametrize("moment", ["before any row", "in the boot", "when it is ready"])
def test_ten_processes_get_one_sandbox_though_the_daemon_is_killed(own_daemon, moment):
    daemon = own_daemon()
    env = {**os.environ, **daemon.env}
    words = ["sh", "-c", PATIENT, CAY, "thread:1"]
    processes = [
        subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) for _ in range(10)
    ]
    try:
        if moment == "in the boot":
            wait_until(lambda: holders(daemon, "thread:1"), "a row", interval=0.0005)
        if moment == "when it is ready":
            wait_until(lambda: holders(daemon, "thread:1") == ["ready"], "it is ready")
        daemon.restart("kill")
        # The last line: a try that failed has printed its error before it.
        told = [
            json.loads(one.communicate(timeout=slow(60))[0].splitlines()[-1]) for one in processes
        ]
    finally:
        for one in processes:
            one.kill()
    assert len({box["id"] for box in told}) == 1, told
    assert {box["state"] for box in told} == {"ready"}, told
    with daemon.http() as http:
        every = http.get("/api/v1/sandboxes").json()["items"]
        assert [box["claim"] for box in every] == ["thread:1"], every
        assert every[0]["id"] == told[0]["id"]
        ran = http.post(
            f"/api/v1/sandboxes/{every[0]['id']}/commands", json={"argv": ["echo", "works"]}
        )
        assert ran.json()["stdout"] == "works\n", ran.text


def test_a_claim_is_found_stopped_and_is_free_after_a_failure(daemon, http):
    made = http.post(ENSURE, json={"claim": "life", "labels": {"a": "1"}})
    assert made.status_code == 201 and made.json()["created"] is True, made.text
    ref = f"/api/v1/sandboxes/{made.json()['id']}"
    http.put(f"{ref}/files", params={"path": "/root/kept"}, content=b"kept")
    assert http.post(f"{ref}/stop").status_code == 200
    found = http.post(ENSURE, json={"claim": "life", "labels": {"a": "2"}})
    assert (found.status_code, found.json()["state"]) == (200, "ready"), found.text
    assert found.json()["created"] is False and found.json()["labels"] == {"a": "1"}
    assert http.get(f"{ref}/files", params={"path": "/root/kept"}).text == "kept"
    fork = http.post(f"{ref}/fork", json={}).json()["items"][0]
    assert fork["claim"] == ""
    listed = http.get("/api/v1/sandboxes", params={"claim": "life"}).json()["items"]
    assert [box["id"] for box in listed] == [made.json()["id"]]
    kill_keeper(daemon, made.json()["id"])
    wait_until(lambda: http.get(ref).json()["state"] == "failed", "failed")
    assert http.get(ref).json()["claim"] == ""
    other = http.post(ENSURE, json={"claim": "life"})
    assert other.status_code == 201 and other.json()["id"] != made.json()["id"], other.text
    for box in (made.json(), fork, other.json()):
        assert http.delete(f"/api/v1/sandboxes/{box['id']}").status_code == 204
    assert http.get("/api/v1/sandboxes", params={"claim": "life"}).json()["items"] == []


def test_the_command_line_prints_the_sandbox_that_has_the_claim(daemon):
    made = daemon.cli("create", "--claim", "shell", "--name", "claimed")
    assert (made.code, made.text) == (0, "claimed\n"), made
    try:
        found = daemon.cli("create", "--claim", "shell", "--name", "other")
        assert (found.code, found.text) == (0, "claimed\n"), found
        assert daemon.cli("ls", "-q", "--claim", "shell").text == "claimed\n"
        assert daemon.cli("ls", "-q", "--claim", "none").text == ""
        assert daemon.cli("create", "--claim", "").code == 125
    finally:
        daemon.cli("rm", "claimed")
