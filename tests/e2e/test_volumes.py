"""Volumes: directories that sandboxes mount, and that outlive them."""
import json

import pytest

MIB = 1 << 20


@pytest.fixture
def volume(http):
    name = "e2e-volume"
    made = http.post("/api/v1/volumes", json={"name": name, "disk_bytes": 32 * MIB})
    assert made.status_code == 201, made.text
    yield name
    for box in http.get(f"/api/v1/volumes/{name}").json()["sandboxes"]:
        assert http.delete(f"/api/v1/sandboxes/{box}").status_code == 204
    assert http.delete(f"/api/v1/volumes/{name}").status_code == 204


def make(daemon, name, mount):
    return daemon.cli("create", "--name", name, "--volume", mount)


def reason(answer):
    return answer.json()["error"]["reason"]


def test_files_outlive_the_sandbox_that_wrote_them(daemon, http, volume):
    line = "echo kept >/data/note; chown 1000:1000 /data/note; stat -c %a /data"
    wrote = daemon.cli("run", "--rm", "--volume", f"{volume}:/data", "--", "sh", "-c", line)
    assert wrote.text == "755\n", wrote
    read = "cat /data/note; stat -c %u /data/note; touch /data/new"
    got = daemon.cli("run", "--rm", "--volume", f"{volume}:/data:ro", "--", "sh", "-c", read)
    assert got.text == "kept\n1000\n" and b"Read-only" in got.err, got
    # It is at its place after a stop, too.
    assert make(daemon, "vol-one", f"{volume}:/srv/data").code == 0
    assert daemon.cli("stop", "vol-one").code == 0
    assert daemon.cli("exec", "vol-one", "--", "cat", "/srv/data/note").text == "kept\n"
    row = http.get("/api/v1/sandboxes/vol-one").json()
    mount = {"volume": volume, "path": "/srv/data", "read_only": False, "shared": False}
    assert row["volumes"] == [mount]


def test_one_writes_and_the_others_wait(daemon, http, volume):
    assert make(daemon, "vol-one", f"{volume}:/data").code == 0
    refused = make(daemon, "vol-two", f"{volume}:/data")
    assert refused.code == 125 and b"'vol-one'" in refused.err, refused
    assert make(daemon, "vol-reader", f"{volume}:/data:ro").code == 0
    assert daemon.cli("exec", "vol-one", "--", "sh", "-c", "echo 1 >/data/n").code == 0
    assert daemon.cli("exec", "vol-reader", "--", "cat", "/data/n").text == "1\n"
    assert reason(http.delete(f"/api/v1/volumes/{volume}")) == "volume_in_use"
    assert reason(http.post("/api/v1/sandboxes/vol-one/fork", json={})) == "volume_in_use"
    assert daemon.cli("stop", "vol-one").code == 0
    assert make(daemon, "vol-two", f"{volume}:/data").code == 0
    # Neither a start nor a command wakes it, and it is as good as before.
    assert reason(http.post("/api/v1/sandboxes/vol-one/start")) == "volume_in_use"
    command = {"argv": ["true"]}
    assert reason(http.post("/api/v1/sandboxes/vol-one/commands", json=command)) == "volume_in_use"
    assert http.get("/api/v1/sandboxes/vol-one").json()["state"] == "stopped"


def test_sharers_write_side_by_side_and_so_do_their_forks(daemon, http, volume):
    for name in ("vol-left", "vol-right"):
        assert make(daemon, name, f"{volume}:/data:shared").code == 0
        assert daemon.cli("exec", name, "--", "sh", "-c", f"echo {name} >>/data/log").code == 0
    fork = http.post("/api/v1/sandboxes/vol-left/fork", json={}).json()["items"][0]
    got = daemon.cli("exec", fork["id"], "--", "cat", "/data/log")
    assert got.text == "vol-left\nvol-right\n", got


def test_its_own_limit_holds_against_root(daemon, http, volume):
    line = "head -c 64M /dev/zero >/data/big; echo $?; head -c 40M /dev/zero >/root/beside; echo $?"
    got = daemon.cli("run", "--rm", "--volume", f"{volume}:/data", "--", "sh", "-c", line)
    assert got.text == "1\n0\n" and b"quota" in got.err.lower(), got
    said = json.loads(daemon.cli("volume", "inspect", volume, "--json").out)
    assert 16 * MIB < said["used_bytes"] <= 32 * MIB, said
    assert daemon.cli("volume", "resize", volume, "--disk", "128MiB").code == 0
    line = "head -c 64M /dev/zero >/data/big"
    got = daemon.cli("run", "--rm", "--volume", f"{volume}:/data", "--", "sh", "-c", line)
    assert got.code == 0, got


def test_a_capture_does_not_hold_what_a_volume_has(daemon, http, volume):
    assert make(daemon, "vol-one", f"{volume}:/data").code == 0
    line = "echo v >/data/n; echo d >/root/n; sync"
    assert daemon.cli("exec", "vol-one", "--", "sh", "-c", line).code == 0
    assert daemon.cli("snapshot", "capture", "vol-one", "--name", "vol-capture").code == 0
    try:
        line = "cat /root/n; ls /data | wc -l"
        got = daemon.cli("run", "--rm", "--snapshot", "vol-capture", "--", "sh", "-c", line)
        assert got.text == "d\n0\n", got
    finally:
        assert daemon.cli("snapshot", "rm", "vol-capture").code == 0


def test_places_and_names_that_take_none(daemon, http, volume):
    for path in ("/", "/proc/x", "/tmp/x", "/run", "data", "/a/../b"):
        mounts = [{"volume": volume, "path": path}]
        got = http.post("/api/v1/sandboxes", json={"volumes": mounts})
        assert (got.status_code, reason(got)) == (400, "invalid_volumes"), (path, got.text)
    # A place that is a link leads nowhere.
    got = http.post("/api/v1/sandboxes", json={"volumes": [{"volume": volume, "path": "/bin/x"}]})
    assert (got.status_code, reason(got)) == (400, "invalid_mount"), got.text
    got = http.post("/api/v1/sandboxes", json={"volumes": [{"volume": "none", "path": "/data"}]})
    assert (got.status_code, reason(got)) == (404, "volume_not_found"), got.text
    got = http.post("/api/v1/volumes", json={"name": ".cay-cache"})
    assert (got.status_code, reason(got)) == (400, "invalid_name"), got.text


def test_volumes_by_command_line(daemon):
    made = daemon.cli("volume", "create", "cli-volume", "--disk", "64MiB")
    assert made.text == "cli-volume\n", made
    listed = daemon.cli("volume", "ls").text
    assert "cli-volume" in listed and "64" in listed, listed
    assert daemon.cli("volume", "ls", "-q").text.splitlines().count("cli-volume") == 1
    assert daemon.cli("volume", "rm", "cli-volume", "none").code == 125
    assert "cli-volume" not in daemon.cli("volume", "ls", "-q").text.splitlines()
