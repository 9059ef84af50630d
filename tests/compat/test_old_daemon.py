"""A daemon of an earlier release (daemons/*.zst), replaced by today's over the same data
directory."""
import json
import subprocess

import pytest

from harness import CAY, new_daemon
from stored import DAEMONS, unpacked


@pytest.fixture(params=DAEMONS, ids=lambda path: path.stem)
def old(request, tmp_path):
    daemon = new_daemon()
    daemon.program = unpacked(request.param, tmp_path)
    daemon.start()
    yield daemon
    daemon.close()


def test_a_request_that_is_repeated_after_the_upgrade_is_the_same(old):
    """A client whose answer the replacement cut off asks again: its command runs once."""
    url = "/api/v1/sandboxes/box/commands"
    asked = [
        {"id": "line", "command": "echo ran >> /root/line; echo out; exit 3", "timeout_s": 30},
        {
            "id": "words",
            "argv": ["/bin/sh", "-c", "echo ran >> /root/words"],
            "env": {"A": "1", "B": "2"},
            "cwd": "/tmp",
            "user": "root",
        },
        {
            "id": "terminal",
            "argv": ["sh", "-c", "echo ran >> /root/terminal"],
            "pty": {"rows": 40, "cols": 100},
            "ttl_s": -1,
        },
    ]
    with old.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "box"}).status_code == 201
        for body in asked:
            begun = http.post(url, json=body)
            assert begun.status_code in (200, 201) and begun.json()["state"] == "exited", begun.text
    old.terminate()
    old.program = CAY
    old.start()
    with old.http() as http:
        for body in asked:
            again = http.post(url, json=body)
            assert again.status_code == 200, again.text
            assert again.json()["state"] == "exited", again.text
            other = http.post(url, json={**body, "timeout_s": 31})
            assert (other.status_code, other.json()["error"]["reason"]) == (
                409,
                "command_id_in_use",
            ), other.text
        for body in asked:
            count = http.post(
                url, json={"command": f"wc -l < /root/{body['id']}", "user": "root"}
            ).json()
            assert count["stdout"].strip() == "1", (body, count)


def test_an_upgrade_gives_no_sandbox_a_way_out_that_it_did_not_have(old):
    """Its policy was a word then, whatever it was; its owner may change it, and what runs runs
    on."""
    with old.http() as http:
        for name, asked in (("usual", {}), ("asked", {"policy": "open"}), ("resting", {})):
            assert http.post("/api/v1/sandboxes", json={"name": name, **asked}).status_code == 201
        assert (
            http.put(
                "/api/v1/sandboxes/usual/files", params={"path": "/root/kept"}, content=b"x"
            ).status_code
            < 300
        )
        running = http.post(
            "/api/v1/sandboxes/asked/commands",
            json={"command": "sleep 1000", "wait": False, "timeout_s": 0, "idle_timeout_s": -1},
        ).json()
        assert http.post("/api/v1/sandboxes/resting/stop").status_code < 300
    old.terminate()
    subprocess.run(
        [CAY, "launcher", "--data", old.data, "--stop"], check=True, timeout=60
    )  # today's comes with today's daemon
    old.program = CAY
    old.start()
    with old.http() as http:
        for name in ("usual", "asked", "resting"):
            box = http.get(f"/api/v1/sandboxes/{name}").json()
            assert (box["policy"], box["network"]["state"]) == ("off", "off"), box
        assert (
            http.get("/api/v1/sandboxes/usual/files", params={"path": "/root/kept"}).content == b"x"
        )
        assert (
            http.get(f"/api/v1/sandboxes/asked/commands/{running['id']}").json()["state"]
            == "running"
        )
        connect = "import socket; socket.create_connection(('198.18.7.1', 80), timeout=10)"
        for name in (
            "asked",
            "resting",
        ):  # one that lived through it, one that today's launcher wakes
            got = http.post(
                f"/api/v1/sandboxes/{name}/commands",
                json={"argv": ["python3", "-c", connect], "timeout_s": 30},
            ).json()
            assert got["exit_code"] == 1 and "unreachable" in got["stderr"], got
        can = {
            feature["name"]: feature
            for feature in json.loads(old.cli("doctor", "--json").text)["features"]
        }["network"]["ok"]
        assert (
            http.patch("/api/v1/sandboxes/resting", json={"policy": "packages"}).json()["network"][
                "state"
            ]
            == "off"
        )  # from the next start
        assert http.post("/api/v1/sandboxes/resting/stop").status_code < 300
        resolver = http.post(
            "/api/v1/sandboxes/resting/commands", json={"command": "cat /etc/resolv.conf"}
        ).json()["stdout"]
        assert http.get("/api/v1/sandboxes/resting").json()["network"]["state"] == (
            "on" if can else "unavailable"
        )
        if can:  # the old snapshot's named the sandbox's own loopback
            assert resolver == "nameserver 192.0.0.1\n"
