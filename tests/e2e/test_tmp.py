"""/tmp lies on the sandbox's disk; --tmpfs is for who wants a directory in memory."""
import os

from harness import wait_until

MIB = 1 << 20


def state(http, box):
    return http.get(f"/api/v1/sandboxes/{box}").json()["state"]


def run(http, box, command):
    got = http.post(
        f"/api/v1/sandboxes/{box}/commands",
        json={"command": command, "user": "root", "timeout_s": 55},
    )
    assert got.status_code == 200, got.text
    return got.json()


def text(http, box, command):
    got = run(http, box, command)
    assert got["exit_code"] == 0, got
    return got["stdout"]


def stop(http, box):
    assert http.post(f"/api/v1/sandboxes/{box}/stop", json={}).status_code == 200


def test_tmp_is_kept_over_a_stop_and_an_idle_stop(http):
    box = http.post("/api/v1/sandboxes", json={"idle_ttl_s": 0}).json()["id"]
    try:
        assert (
            text(http, box, "stat -c %a /tmp; stat -f -c %T /tmp /dev/shm")
            == "1777\noverlayfs\ntmpfs\n"
        )
        # Everybody may write there after a start, even if its mode on the disk is another.
        text(http, box, "echo kept > /tmp/report; echo gone > /dev/shm/report; chmod 700 /tmp")
        stop(http, box)
        assert text(http, box, "cat /tmp/report; stat -c %a /tmp; ls /dev/shm") == "kept\n1777\n"
        assert http.patch(f"/api/v1/sandboxes/{box}", json={"idle_ttl_s": 1}).status_code == 200
        wait_until(lambda: state(http, box) == "stopped", "the idle stop")
        assert text(http, box, "cat /tmp/report") == "kept\n"
    finally:
        http.delete(f"/api/v1/sandboxes/{box}")


def test_a_full_disk_is_told_as_one_in_tmp(http):
    box = http.post("/api/v1/sandboxes", json={"limits": {"disk_bytes": 16 * MIB}}).json()["id"]
    try:
        full = run(http, box, "dd if=/dev/zero of=/tmp/fill bs=1M")
        assert full["exit_code"] != 0 and "Disk quota exceeded" in full["stderr"], full
        refused = http.put(
            f"/api/v1/sandboxes/{box}/files", params={"path": "/tmp/more"}, content=bytes(2 * MIB)
        )
        assert refused.json()["error"]["reason"] == "disk_full", refused.text
    finally:
        http.delete(f"/api/v1/sandboxes/{box}")


def test_tmpfs_is_in_memory_for_who_asks(daemon, http, tmp_path):
    place = f"/srv/build/cay-{os.urandom(4).hex()}"
    mounts = ("--tmpfs", "/tmp", "--tmpfs", f"{place}:size=16MiB")
    made = daemon.cli("create", "--memory", "256MiB", *mounts)
    assert made.code == 0, made
    with daemon.http() as own:
        row = max(own.get("/api/v1/sandboxes").json()["items"], key=lambda one: one["created_at"])
    box = row["id"]
    try:
        assert row["tmpfs"] == {"/tmp": 0, place: 16 * MIB}
        size = f"stat -f -c '%T %b %S' /tmp {place}; stat -c %a {place}"
        sizes = f"tmpfs {128 * MIB // 4096} 4096\ntmpfs {16 * MIB // 4096} 4096\n1777\n"
        assert text(http, box, size) == sizes
        text(http, box, f"head -c 8M /dev/zero > {place}/a; head -c 8M /dev/zero > /tmp/a")
        assert http.get(f"/api/v1/sandboxes/{box}/stats").json()["tmpfs_bytes"] >= 16 * MIB
        # A link that the guest leaves on the way leads Cay nowhere.
        text(http, box, f"mv /srv/build /srv/moved; ln -s {tmp_path} /srv/build")
        stop(http, box)
        after = f"{size}; find /tmp {place} -name a; [ -L /srv/build ] || echo replaced"
        assert text(http, box, after) == sizes + "replaced\n"
        assert list(tmp_path.iterdir()) == []
    finally:
        http.delete(f"/api/v1/sandboxes/{box}")


def test_a_tmpfs_that_cannot_be_is_refused(daemon, http):
    for mounts in (
        {"tmp": 0},
        {"/": 0},
        {"/proc/x": 0},
        {"/run": 0},
        {"/a/../b": 0},
        {"/tmp/": 0},
        {"/tmp": 1},
        {"/tmp": 1 << 40},
        {"/var/run/x": 0},
        {f"/m{n}": 0 for n in range(17)},
    ):
        got = http.post("/api/v1/sandboxes", json={"tmpfs": mounts})
        assert (got.status_code, got.json()["error"]["reason"]) == (400, "invalid_tmpfs"), (
            mounts,
            got.text,
        )
    for wrong in ("tmp", "/tmp:size=0", "/tmp:64m", "/tmp:size=many"):
        got = daemon.cli("create", "--tmpfs", wrong)
        assert got.code == 125 and b"--tmpfs" in got.err, (wrong, got)
