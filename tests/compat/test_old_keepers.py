"""Keepers and launchers of earlier releases (keepers/*.zst) under today's daemon, and replaced
under a running command."""
import json
import os
import signal
import subprocess

import pytest

from harness import CAY, keeper_of, new_daemon, wait_until
from stored import LAUNCHERS, unpacked

DAEMON_UID = (
    0x70000001  # of a daemon that root starts where there is no user 'cay' (apps/cay/data_dir.cc)
)


def daemon_ids():
    import pwd

    try:
        entry = pwd.getpwnam("cay")
        return entry.pw_uid, entry.pw_gid
    except KeyError:
        return DAEMON_UID, DAEMON_UID


@pytest.fixture(params=LAUNCHERS, ids=lambda path: path.stem)
def old(request, tmp_path):
    """A daemon of today's over the stored launcher."""
    program = unpacked(request.param, tmp_path)
    daemon = new_daemon()
    uid, gid = daemon_ids()
    # Today's program makes the directory and its instance id; the launcher is the old one.
    subprocess.run(
        [
            CAY,
            "launcher",
            "--data",
            daemon.data,
            "--daemon-uid",
            str(uid),
            "--daemon-gid",
            str(gid),
            "--detach",
        ],
        check=True,
    )
    subprocess.run([CAY, "launcher", "--data", daemon.data, "--stop"], check=True)
    instance = (daemon.data / "instance").read_text().strip()
    launcher = subprocess.Popen(
        [
            program,
            "--data",
            daemon.data,
            "--daemon-uid",
            str(uid),
            "--daemon-gid",
            str(gid),
            "--instance",
            instance,
            "--build",
            request.param.stem,
        ],
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: (daemon.data / "run" / "launcher.sock").exists(), "the stored launcher")
    daemon.start()
    daemon.old_launcher = launcher
    yield daemon
    daemon.close()
    launcher.kill()
    launcher.wait()


def test_a_launcher_that_knows_no_way_out_is_no_failure(old):
    with old.http() as http:
        made = http.post("/api/v1/sandboxes", json={"name": "box"})
        assert made.status_code == 201 and made.json()["policy"] == "packages", made.text
        assert (
            made.json()["network"]["state"] == "unavailable"
            and "launcher" in made.json()["network"]["reason"]
        ), made.text
        off = http.post("/api/v1/sandboxes", json={"policy": "off"}).json()
        assert off["network"] == {"state": "off", "reason": ""}
        named = http.post("/api/v1/sandboxes", json={"name": "named", "policy": "packages"})
        assert (named.status_code, named.json()["error"]["reason"]) == (
            501,
            "network_unsupported",
        ), named.text
        assert http.get("/api/v1/sandboxes/named").status_code == 404
    told = old.cli("create", "--name", "told")
    assert told.code == 0 and b"no way out" in told.err, told
    doctor = {
        feature["name"]: feature
        for feature in json.loads(old.cli("doctor", "--json").text)["features"]
    }
    assert not doctor["network"]["ok"] and "--stop" in doctor["network"]["remedy"], doctor[
        "network"
    ]
    assert doctor["gate"]["ok"], doctor["gate"]


def test_a_launcher_that_knows_no_profiles_gives_no_weaker_one(old):
    with old.http() as http:
        refused = http.post("/api/v1/sandboxes", json={"name": "held", "profile": "strict"})
        assert (refused.status_code, refused.json()["error"]["reason"]) == (
            501,
            "profile_unsupported",
        ), refused.text
        assert "launcher is older" in refused.json()["error"]["message"], refused.text
        assert http.get("/api/v1/sandboxes/held").status_code == 404
        made = http.post(
            "/api/v1/sandboxes", json={"name": "held"}
        )  # the control: what it gives is profile default
        assert made.status_code == 201 and made.json()["profile"] == "default", made.text


def test_every_verb_of_an_old_keeper(old):
    with old.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "box"}).json()
        ran = http.post(
            "/api/v1/sandboxes/box/commands",
            json={"command": "echo out; echo err >&2; exit 3", "wait": True},
        ).json()
        assert (ran["state"], ran["exit_code"], ran["stdout"], ran["stderr"]) == (
            "exited",
            3,
            "out\n",
            "err\n",
        ), ran
        late = http.post(
            "/api/v1/sandboxes/box/commands",
            json={"command": "sleep 100", "wait": True, "timeout_s": 0.5},
        ).json()
        assert late["state"] == "timed_out", late
        files = "/api/v1/sandboxes/box/files"
        assert http.put(files, params={"path": "/root/d/f"}, content=b"kept").status_code < 300
        assert http.get(files, params={"path": "/root/d/f"}).content == b"kept"
        assert [
            item["path"]
            for item in http.get(f"{files}/list", params={"path": "/root/d"}).json()["items"]
        ] == ["/root/d/f"]
        assert http.get(f"{files}/tree", params={"path": "/root/d"}).status_code == 200
        # It would ignore the new members, so the daemon sends it none.
        lacks = (
            http.put(files, params={"path": "/root/d/f", "exclusive": "true"}, content=b"lost"),
            http.get(f"{files}/list", params={"path": "/root", "depth": 2}),
            http.post(f"{files}/chmod", json={"path": "/root/d/f", "mode": "0600"}),
            http.post("/api/v1/sandboxes/box/watches", json={"path": "/root"}),
        )
        assert [one.json()["error"]["reason"] for one in lacks] == ["keeper_too_old"] * 4
        assert http.get(files, params={"path": "/root/d/f"}).content == b"kept"
        typed = http.post(
            "/api/v1/sandboxes/box/commands", json={"argv": ["cat"], "wait": False}
        ).json()
        one = f"/api/v1/sandboxes/box/commands/{typed['id']}"
        assert http.post(f"{one}/stdin", content=b"typed").status_code < 300
        assert http.post(f"{one}/stdin/close").status_code < 300
        assert (
            http.get(f"{one}/output", params={"stream": "stdout", "follow": "true"}).content
            == b"typed"
        )
        assert http.get("/api/v1/sandboxes/box/stats").json()["pids"] >= 0
        assert http.post("/api/v1/sandboxes/box/stop").status_code < 300
        assert (
            http.get(f"{one}/output", params={"stream": "stdout"}).content == b"typed"
        )  # its spool, read by today's daemon
        assert http.get(files, params={"path": "/root/d/f"}).content == b"kept"
        assert http.get(f"/api/v1/sandboxes/{box['id']}").json()["state"] == "ready"
        assert http.delete("/api/v1/sandboxes/box").status_code < 300


def test_daemon_and_launcher_are_replaced_under_an_old_keeper(old):
    with old.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "box"}).json()
        command = http.post(
            "/api/v1/sandboxes/box/commands",
            json={
                "command": "i=0; while [ ! -e /root/stop ]; do echo $i; i=$((i+1)); sleep 0.02; "
                "done; "
                "exit 7",
                "wait": False,
                "timeout_s": 0,
                "idle_timeout_s": -1,
            },
        ).json()
    keeper = keeper_of(old, box["id"])
    old.kill()
    old.old_launcher.send_signal(signal.SIGTERM)
    old.old_launcher.wait(timeout=30)
    old.start()  # as root it starts today's launcher
    assert keeper_of(old, box["id"]) == keeper
    with old.http() as http:
        assert (
            http.put(
                "/api/v1/sandboxes/box/files", params={"path": "/root/stop"}, content=b""
            ).status_code
            < 300
        )
        one = f"/api/v1/sandboxes/box/commands/{command['id']}"
        out = http.get(f"{one}/output", params={"stream": "stdout", "follow": "true"}).text
        count = len(out.splitlines())
        assert out == "".join(f"{i}\n" for i in range(count)) and count > 0
        got = http.get(one).json()
        assert (got["state"], got["exit_code"]) == ("exited", 7), got
        # A new sandbox is today's; the old one is ended by today's launcher.
        new = http.post("/api/v1/sandboxes", json={"name": "new"})
        assert new.status_code == 201
        can = {
            feature["name"]: feature
            for feature in json.loads(old.cli("doctor", "--json").text)["features"]
        }["network"]["ok"]
        assert new.json()["network"]["state"] == ("on" if can else "unavailable"), new.text
        assert http.delete("/api/v1/sandboxes/box").status_code < 300
    wait_until(lambda: not os.path.exists(f"/proc/{keeper}"), "the old keeper's end")
