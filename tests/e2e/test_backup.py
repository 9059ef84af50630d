"""Backups and restores when things go wrong, and what may never be lost by an operator's own
commands."""
import datetime
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from harness import CAY, Daemon, needs_root, new_daemon, processes_of, wait_until

pytestmark = needs_root


def cay(*words, **kwargs):
    return subprocess.run([CAY, *words], capture_output=True, text=True, timeout=120, **kwargs)


def backup(daemon, file):
    return cay("backup", "--data", daemon.data, "--without-snapshots", file)


def restored(daemon, file, data):
    """A daemon (not started) on what the backup holds."""
    copy = Daemon(data)
    done = cay("restore", "--data", data, "--snapshots-of", daemon.data, file)
    assert done.returncode == 0, done
    return copy, done.stdout


def test_a_backup_without_snapshots_takes_them_from_where_they_are(own_daemon, directory):
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box", "--claim", "kept").code == 0
    assert daemon.cli("exec", "box", "--", "sh", "-c", "echo mine >/root/mine").code == 0
    file, old, data = directory / "file", directory / "old", daemon.data
    assert backup(daemon, file).returncode == 0
    assert daemon.cli("stop", "box").code == 0
    daemon.terminate()
    for helper in ("launcher", "gate", "broker"):
        assert cay(helper, "--data", data, "--stop").returncode == 0
    data.rename(old)
    try:
        refused = cay("restore", "--data", data, file)
        assert (
            refused.returncode == 125 and "--snapshots-of" in refused.stderr and not data.exists()
        ), refused
        empty = directory / "empty"
        (empty / "layers").mkdir(parents=True)
        said = cay("restore", "--data", directory / "lame", "--snapshots-of", empty, file)
        assert said.returncode == 0 and "box cannot start" in said.stdout, said
        done = cay("restore", "--data", data, "--snapshots-of", old, file)
        assert done.returncode == 0 and "cannot start" not in done.stdout, done
        assert cay("uninstall", "--purge", "--data", old).returncode == 0  # they do not lean on it
        daemon.start()
        got = daemon.cli("exec", "box", "--", "sh", "-c", "cat /root/mine; ls /usr/bin | wc -l")
        assert (
            got.code == 0 and got.out.startswith(b"mine\n") and int(got.out.split()[1]) > 100
        ), got
        assert daemon.cli("create", "--claim", "kept").text == "box\n"
    finally:
        shutil.rmtree(old, ignore_errors=True)


def states(http):
    return {box["name"]: box["state"] for box in http.get("/api/v1/sandboxes").json()["items"]}


def rows(daemon, sql):
    db = sqlite3.connect(f"file:{daemon.data}/state.db?mode=ro", uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def test_a_restore_removes_nothing_of_others(directory):
    """A file that is no backup, or a broken one, and a directory that somebody keeps files in."""
    bad = directory / "bad"
    bad.write_text("not a backup\n" * 100)
    precious = directory / "precious"
    precious.mkdir(mode=0o750)
    os.chown(precious, 12345, 12345)
    (precious / "thesis").write_text("mine")
    refused = cay("restore", "--data", precious, bad)
    assert refused.returncode == 125 and "is not empty" in refused.stderr, refused
    assert (precious / "thesis").read_text() == "mine"
    assert (precious.stat().st_uid, precious.stat().st_mode & 0o777) == (12345, 0o750)
    empty = directory / "empty"
    empty.mkdir(mode=0o750)
    refused = cay("restore", "--data", empty, bad)
    assert refused.returncode == 125 and "no backup" in refused.stderr, refused
    assert empty.exists() and not os.listdir(empty)


def test_a_restore_that_breaks_off_leaves_what_it_found(own_daemon, directory):
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    assert (
        daemon.cli(
            "exec", "box", "--", "sh", "-c", "head -c 3000000 /dev/urandom >/root/big; sync"
        ).code
        == 0
    )
    file = directory / "whole"
    assert backup(daemon, file).returncode == 0
    half = directory / "half"
    half.write_bytes(file.read_bytes()[:-1_000_000])  # its head is good
    empty = directory / "empty"
    empty.mkdir(mode=0o750)
    restore = ("restore", "--snapshots-of", daemon.data, half, "--data")
    # A relative path, too: an extraction goes from directory to directory.
    for data, where in ((empty, None), (directory / "new", None), ("./relative", directory)):
        refused = cay(*restore, data, cwd=where)
        assert (
            refused.returncode == 125
            and "incomplete or damaged" in refused.stderr
            and "is removed again" in refused.stderr
        ), refused
    assert not os.listdir(empty) and empty.stat().st_mode & 0o777 == 0o750
    assert not (directory / "new").exists() and not (directory / "relative").exists()


MOST_MEMORY = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print(used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_backup_holds_no_database_in_memory(own_daemon, directory):
    """A state.db of any size goes into the file piece by piece, and out of it."""
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    db = sqlite3.connect(daemon.data / "state.db", timeout=10)
    db.execute("CREATE TABLE pad (bytes)")
    for _ in range(10):
        db.execute("INSERT INTO pad VALUES (randomblob(32 << 20))")
        db.commit()
    db.close()
    file = directory / "file"
    # Begun by a small process: what a child has had at most counts its parent's memory, until it
    # executes (getrusage(2)).
    measured = subprocess.run(
        [
            sys.executable,
            "-c",
            MOST_MEMORY,
            CAY,
            "backup",
            "--data",
            daemon.data,
            "--without-snapshots",
            file,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert measured.returncode == 0 and file.stat().st_size > 320 << 20
    most = int(measured.stdout.splitlines()[-1])
    assert most < 200 << 10, f"{most} KiB"
    copy, _ = restored(daemon, file, directory / "copy")
    assert rows(copy, "SELECT count(*), sum(length(bytes)) FROM pad") == [(10, 320 << 20)]
    copy.start()
    try:
        with copy.http() as http:
            assert states(http) == {"box": "stopped"}
    finally:
        copy.close()


def test_what_a_killed_restore_leaves_serves_nobody(own_daemon, directory):
    """It looks like a new directory, and its sandboxes' disks would be swept away."""
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    assert (
        daemon.cli(
            "exec", "box", "--", "sh", "-c", "head -c 3000000 /dev/urandom >/root/big; sync"
        ).code
        == 0
    )
    file, data, pipe = directory / "whole", directory / "data", directory / "pipe"
    assert backup(daemon, file).returncode == 0
    os.mkfifo(pipe)
    first = subprocess.Popen(
        [CAY, "restore", "--data", data, "--snapshots-of", daemon.data, pipe],
        stdout=subprocess.DEVNULL,
    )
    with open(pipe, "wb") as into:
        into.write(file.read_bytes()[:-1_000_000])
        into.flush()
        wait_until(lambda: (data / "state.db.incoming").exists(), "it is under way")
        first.kill()
        first.wait()
    for words in (
        ("serve", "--listen", "127.0.0.1:0"),
        ("launcher", "--detach"),
        ("restore", file),
    ):
        refused = cay(words[0], "--data", data, *words[1:])
        assert refused.returncode == 125 and "broken off" in refused.stderr, refused
    done = cay("uninstall", "--purge", "--data", data)
    assert done.returncode == 0 and not (data / "state.db.incoming").exists(), done
    copy, _ = restored(daemon, file, directory / "again")
    copy.start()
    with copy.http() as http:
        assert states(http) == {"box": "stopped"}
    copy.close()


def test_backups_while_commands_expire(own_daemon, directory):
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    ended = threading.Event()

    def work():
        with daemon.http() as http:
            while not ended.is_set():
                http.post(
                    "/api/v1/sandboxes/box/commands", json={"command": "echo x", "ttl_s": 0.2}
                )

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for number in range(8):
            done = backup(daemon, directory / f"b{number}")
            assert done.returncode == 0, done
    finally:
        ended.set()
        for worker in workers:
            worker.join()
    assert sorted(os.listdir(directory)) == [f"b{number}" for number in range(8)]


def test_a_killed_backup_is_in_nobodys_way(own_daemon, directory):
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    assert (
        daemon.cli(
            "exec",
            "box",
            "--",
            "sh",
            "-c",
            "head -c 200M /dev/urandom >/root/big; sync",
            timeout=120,
        ).code
        == 0
    )
    file = directory / "file"
    first = subprocess.Popen(
        [CAY, "backup", "--data", daemon.data, "--without-snapshots", file],
        stdout=subprocess.DEVNULL,
    )
    wait_until(
        lambda: (directory / "file.part").exists()
        and (directory / "file.part").stat().st_size > 1_000_000,
        "some of it is written",
    )
    first.send_signal(signal.SIGSTOP)
    other = backup(daemon, file)
    assert other.returncode == 125 and "another backup" in other.stderr, other
    other = backup(daemon, directory / "second")
    assert other.returncode == 125 and "another backup" in other.stderr, other
    first.kill()
    first.wait()
    assert sorted(os.listdir(directory)) == ["file.db", "file.part"], "positive control"
    done = backup(daemon, file)
    assert done.returncode == 0 and os.listdir(directory) == ["file"], done


def test_a_paused_one_and_the_timers_of_stopped_ones(own_daemon, directory):
    daemon = own_daemon()
    with daemon.http() as http:
        for name, stay in (("held", 0), ("ran", 15), ("old", 15)):
            assert (
                http.post(
                    "/api/v1/sandboxes", json={"name": name, "delete_after_stop_s": stay}
                ).status_code
                == 201
            )
        http.post(
            "/api/v1/sandboxes/held/commands",
            json={"command": "sleep 1000", "wait": False, "timeout_s": 0},
        )
        assert http.post("/api/v1/sandboxes/held/pause").status_code < 300
        assert http.post("/api/v1/sandboxes/old/stop").status_code < 300
        file = directory / "file"
        done = backup(daemon, file)
        lines = {line.split()[0]: line for line in done.stdout.splitlines()}
        assert "crash-consistent" in lines["held"] and "crash" not in lines["old"], done
        last = http.get("/api/v1/events", params={"limit": 1000}).json()["items"][-1]["seq"]
        # Longer than any of them would stay.
        wait_until(
            lambda: "old" not in states(http), "the stopped one's end in the old life", limit=60
        )
    begun = datetime.datetime.now(datetime.UTC)
    copy, _ = restored(daemon, file, directory / "copy")
    if (
        os.geteuid() == 0
    ):  # in a host's first hour no timer deletes (decision 0008): this one has been up for longer
        copy.prefix = ["unshare", "--time", "--boottime", "7200"]
    copy.start()
    try:
        with copy.http() as http:
            newer = http.get("/api/v1/events", params={"after": last}).json()["items"]
            assert all(event["seq"] > last + 1_000_000 for event in newer), newer
            wait_until(
                lambda: states(http) == {"held": "stopped"},
                "their stay after the restore",
                limit=60,
            )
            told = [
                event
                for event in http.get("/api/v1/events", params={"after": last}).json()["items"]
                if event["sandbox"] == "old"
            ]
            assert told and all(
                event["seq"] > last + 1_000_000 for event in told
            ), "no number is given twice"
            stayed = min(datetime.datetime.fromisoformat(event["at"]) for event in told) - begun
            assert stayed >= datetime.timedelta(seconds=15), "their time begins with the restore"
    finally:
        copy.close()


def test_what_was_deleted_meanwhile_is_left_out_with_words(own_daemon, directory):
    """The row is in the copy of the database, the disk is not."""
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "kept").code == 0
    assert daemon.cli("stop", "kept").code == 0
    db = sqlite3.connect(daemon.data / "state.db")
    columns = [
        name
        for _, name, *_ in db.execute("pragma table_info(sandbox)")
        if name not in ("id", "name")
    ]
    db.execute(
        f"insert into sandbox (id, name, {','.join(columns)}) select "
        "'00000000-0000-4000-8000-000000000001', 'ghost', "
        f"{','.join(columns)} from sandbox where name = 'kept'"
    )
    db.commit()
    db.close()
    file = directory / "file"
    done = backup(daemon, file)
    assert (
        done.returncode == 0 and "ghost" in done.stdout and "not in the backup" in done.stdout
    ), done
    copy, said = restored(daemon, file, directory / "copy")
    assert "ghost is left out" in said, said
    copy.start()
    try:
        with copy.http() as http:
            assert states(http) == {"kept": "stopped"}
    finally:
        copy.close()


def test_the_certificate_comes_back(directory):
    daemon = new_daemon("--tls")
    daemon.verify = False
    daemon.start()
    try:
        before = {
            name: (daemon.data / "tls" / name).read_bytes() for name in ("cert.pem", "key.pem")
        }
        file = directory / "file"
        assert backup(daemon, file).returncode == 0
        done = cay("restore", "--data", directory / "copy", "--snapshots-of", daemon.data, file)
        assert done.returncode == 0, done
        tls = directory / "copy" / "tls"
        assert {name: (tls / name).read_bytes() for name in before} == before
        owner = (directory / "copy").stat().st_uid
        assert {
            (path.stat().st_uid, path.stat().st_mode & 0o777) for path in (tls, tls / "key.pem")
        } == {(owner, 0o700), (owner, 0o600)}
    finally:
        daemon.close()


def test_the_launcher_serves_whose_directory_it_is(own_daemon, directory):
    """Started by root without words, as the backup's own advice has it: the daemon can still come
    in."""
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    daemon.terminate()
    owner = daemon.data.stat().st_uid
    assert owner != 0
    assert cay("launcher", "--data", daemon.data, "--stop").returncode == 0
    file = directory / "file"
    refused = backup(daemon, file)
    assert refused.returncode == 125 and f"--daemon-uid {owner}" in refused.stderr, refused
    assert not os.listdir(directory)
    taken = cay("launcher", "--data", daemon.data, "--daemon-uid", "0", "--detach")
    assert taken.returncode == 125 and f"uid {owner}" in taken.stderr, taken
    assert cay("launcher", "--data", daemon.data, "--detach").returncode == 0
    assert cay("key", "--data", daemon.data, "create", "other").returncode == 0
    assert {(daemon.data / name).stat().st_uid for name in (".", "run", "keys", "state.db")} == {
        owner
    }
    assert backup(daemon, file).returncode == 0
    daemon.start()
    assert daemon.cli("exec", "box", "--", "true").code == 0


def test_disks_outlive_a_lost_store(own_daemon):
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    assert daemon.cli("exec", "box", "--", "sh", "-c", "echo mine >/root/work; sync").code == 0
    assert daemon.cli("stop", "box").code == 0
    daemon.terminate()
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        if (daemon.data / name).exists():
            (daemon.data / name).rename(daemon.data.parent / name)
    for _ in range(2):  # the second time the store is there, and still none that a daemon began on
        refused = subprocess.run(
            [CAY, "serve", "--listen", "127.0.0.1:0", "--data", daemon.data],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (
            refused.returncode == 125
            and "1 sandboxes' disks" in refused.stderr
            and "--purge" in refused.stderr
        ), refused
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (daemon.data / name).unlink(missing_ok=True)
        if (daemon.data.parent / name).exists():
            (daemon.data.parent / name).rename(daemon.data / name)
    daemon.start()
    assert daemon.cli("exec", "box", "--", "cat", "/root/work").text == "mine\n"


def test_a_lost_disk_is_no_empty_one(own_daemon):
    daemon = own_daemon()
    for name in ("box", "other"):
        assert daemon.cli("create", "--name", name).code == 0
        assert daemon.cli("stop", name).code == 0
    with daemon.http() as http:
        box = http.get("/api/v1/sandboxes/box").json()["id"]
        listening = subprocess.run(
            ["pgrep", "-f", f"^cay-launcher --data {daemon.data} "], capture_output=True, text=True
        ).stdout.split()
        store = next(
            path
            for path in (pathlib.Path(f"/proc/{pid}/root{daemon.data}/store") for pid in listening)
            if (path / box).exists()
        )
        if (
            subprocess.run(
                ["btrfs", "subvolume", "delete", store / box], capture_output=True
            ).returncode
            != 0
        ):
            shutil.rmtree(store / box)
        assert not (store / box).exists()
        lost = http.post("/api/v1/sandboxes/box/commands", json={"argv": ["true"]})
        assert lost.json()["error"]["reason"] == "disk_lost", lost.text
        http.post("/api/v1/sandboxes/box/start")
        wait_until(
            lambda: "is gone" in http.get("/api/v1/sandboxes/box").json()["reason"],
            "a start that fails, too",
        )
        assert not (store / box).exists(), "nor is one made"
        assert http.delete("/api/v1/sandboxes/box").status_code < 300
    assert daemon.cli("exec", "other", "--", "true").code == 0


def test_no_restore_beside_sandboxes_that_nobody_would_end(directory):
    daemon = new_daemon().start()
    data, old = daemon.data, daemon.data.parent / "old"
    try:
        with daemon.http() as http:
            box = http.post("/api/v1/sandboxes", json={"name": "box"}).json()["id"]
        file = directory / "file"
        assert backup(daemon, file).returncode == 0
        daemon.terminate()
        assert cay("launcher", "--data", data, "--stop").returncode == 0
        (directory / "kept").mkdir()
        subprocess.run(
            ["cp", "-al", data / "layers", directory / "kept"], check=True
        )  # as many files as this host's /usr has
        data.rename(old)
        refused = cay("restore", "--data", data, "--snapshots-of", directory / "kept", file)
        assert (
            refused.returncode == 125 and "still run" in refused.stderr and not data.exists()
        ), refused
        assert processes_of(box), "positive control"
        assert cay("uninstall", "--purge", "--data", old).returncode == 0
        assert not processes_of(box)
        done = cay("restore", "--data", data, "--snapshots-of", directory / "kept", file)
        assert done.returncode == 0, done
    finally:
        shutil.rmtree(old, ignore_errors=True)
        daemon.close()


def test_no_restore_beside_units_that_serve_what_was_moved_away(own_daemon, directory):
    """They hold the old directory by descriptors, and no other gate or broker would be started for
    the new one."""
    daemon = own_daemon()
    data, file = daemon.data, directory / "file"
    assert daemon.cli("create", "--name", "box").code == 0
    assert daemon.cli("stop", "box").code == 0
    assert backup(daemon, file).returncode == 0
    daemon.terminate()
    for helper in ("launcher", "gate", "broker"):
        assert cay(helper, "--data", data, "--stop").returncode == 0
    sockets = [data / "gate" / "gate.sock", data / "vault" / "daemon.sock"]
    for left in sockets:
        left.unlink(missing_ok=True)
    # As their units start them: whether a daemon needs them or not.
    units = {
        helper: subprocess.Popen([CAY, helper, "--data", data], stderr=subprocess.DEVNULL)
        for helper in ("gate", "broker")
    }
    old, key = directory / "old", directory / "old" / "vault" / "key"
    try:
        for socket in sockets:
            wait_until(socket.exists, f"it serves: {socket}")
        data.rename(old)
        for helper, unit in units.items():
            refused = cay("restore", "--data", data, "--snapshots-of", old, file)
            assert (
                refused.returncode == 125
                and "systemctl stop cay cay-gate cay-broker cay-launcher" in refused.stderr
            ), refused
            assert any(
                f"the {one} (process {other.pid})" in refused.stderr
                for one, other in units.items()
                if other.poll() is None
            ), refused
            assert not data.exists()
            unit.terminate()
            unit.wait(timeout=60)
        done = cay("restore", "--data", data, "--vault-key", key, "--snapshots-of", old, file)
        assert done.returncode == 0, done
        daemon.start()
        with daemon.http() as http:
            assert states(http) == {"box": "stopped"}
            assert http.get("/readyz").status_code == 200
            found = {
                feature["name"]: feature
                for feature in http.get("/api/v1/doctor").json()["features"]
            }
            assert found["gate"]["ok"] and found["vault"]["ok"], found
        assert (
            daemon.cli(
                "secret",
                "set",
                "token",
                "--host",
                "api.example.com",
                stdin=b"a value that is long enough",
            ).code
            == 0
        )
    finally:
        for unit in units.values():
            unit.kill()
            unit.wait()


def test_commands_follow_the_installed_settings(own_daemon, directory):
    """/etc/cay/cay.toml says where data lie and who listens; seen in a mount namespace of its
    own."""
    daemon = own_daemon()
    etc = directory / "etc"
    subprocess.run(["cp", "-a", "/etc", etc], check=True)
    (etc / "cay").mkdir(exist_ok=True)
    (etc / "cay" / "cay.toml").write_text(
        f'[server]\ndata = "{daemon.data}"\nlisten = "0.0.0.0:{daemon.port}"\n'
    )
    free = {name: value for name, value in os.environ.items() if not name.startswith("CAY_")}

    def installed(*words, **extra):
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', etc, CAY, *words],
            capture_output=True,
            text=True,
            timeout=60,
            env={**free, **extra},
        )

    made = installed("key", "create", "named")
    assert made.returncode == 0 and "named" in (daemon.data / "keys").read_text(), made
    assert installed("ls").returncode == 0
    drained = installed("drain", "--timeout", "0")
    assert drained.returncode == 0, drained
    assert json.loads(daemon.cli("create", "--json").out)["error"]["reason"] == "draining"
    assert installed("drain", "--undo").returncode == 0
    assert (
        installed("ls", CAY_URL="http://127.0.0.1:1").returncode == 125
    ), "what the caller says wins"
    refused = installed("restore", directory / "etc" / "passwd")
    assert "holds state already" in refused.stderr, refused


def test_settings_that_fail_every_create_fail_the_start(directory):
    settings = directory / "cay.toml"
    settings.write_text("[defaults]\nidle_ttl_s = 999999999999\n")
    refused = cay(
        "serve", "--listen", "127.0.0.1:0", "--data", directory / "data", "--config", settings
    )
    assert (
        refused.returncode == 125
        and "idle_ttl_s" in refused.stderr
        and not (directory / "data").exists()
    ), refused


def members(file):
    """The names in a backup."""
    listed = subprocess.run(["tar", "--zstd", "-tf", file], capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    return set(listed.stdout.split("\n"))


def test_a_backup_alone_opens_nothing(own_daemon, directory):
    """The first API key is in it only where that is asked for; a restore without it makes a new
    one, and says so."""
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    made = cay("key", "--data", daemon.data, "create", "kept").stdout.strip()
    plain, whole = directory / "plain", directory / "whole"
    assert backup(daemon, plain).returncode == 0
    assert (
        cay(
            "backup", "--data", daemon.data, "--without-snapshots", "--with-api-key", whole
        ).returncode
        == 0
    )
    unpacked = subprocess.run(["zstd", "-dc", plain], capture_output=True).stdout
    assert (
        "keys" in members(plain)
        and "api-key" not in members(plain)
        and daemon.key.encode() not in unpacked
        and made.encode() not in unpacked
    )
    assert "api-key" in members(whole)
    for file, new in ((plain, True), (whole, False)):
        place = directory / f"copy-of-{file.name}"
        place.mkdir()  # a daemon that is closed takes along what its directory lies in
        copy, said = restored(daemon, file, place / "data")
        kept = copy.data / "api-key"
        assert ("first API key is a new one" in said) == new and (
            kept.read_text().strip() != daemon.key
        ) == new, said
        assert (
            kept.stat().st_mode & 0o777 == 0o600
            and kept.stat().st_uid == (copy.data / "state.db").stat().st_uid
        )
        copy.start()
        try:
            with copy.http() as http:
                assert states(http) == {"box": "stopped"}
                for key, status in ((daemon.key, 401 if new else 200), (made, 200)):
                    assert (
                        http.get("/api/v1/sandboxes", headers={"X-Api-Key": key}).status_code
                        == status
                    )
        finally:
            copy.close()


def test_layers_and_volumes_come_back_as_they_were(own_daemon, directory):
    """Snapshots boot after a restore, sandboxes on them go on, and volumes keep files and limit."""
    daemon = own_daemon()
    assert daemon.cli("volume", "create", "data", "--disk", "32MiB").code == 0

    def sh(at, box, line):
        got = at.cli("exec", box, "--", "sh", "-c", line)
        assert got.code == 0, got
        return got.text

    assert daemon.cli("create", "--name", "one", "--volume", "data:/data").code == 0
    # No command's record has these two texts.
    sh(daemon, "one", "printf 'mark-%s-volume' in >/data/n; rm /etc/debian_version")
    sh(daemon, "one", "echo first-layer >/root/a; echo z >/root/z")
    assert daemon.cli("snapshot", "capture", "one", "--name", "first").code == 0
    assert daemon.cli("create", "--name", "two", "--snapshot", "first").code == 0
    sh(daemon, "two", "echo second-layer >/root/b; ln /root/b /root/c; rm /root/a; mkdir /root/a")
    sh(daemon, "two", "printf 'mark-%s-layer' in >/root/e")
    assert daemon.cli("snapshot", "capture", "two", "--name", "second").code == 0
    sh(daemon, "two", "rm /root/e; echo of-the-disk >/root/d; sync")
    file = directory / "file"
    done = backup(daemon, file)
    assert done.returncode == 0 and "volume data" in done.stdout, done
    names = members(file)
    assert len({name.split("/")[1] for name in names if name.startswith("sealed/")}) == 2, names
    assert not any("/below/" in name for name in names), "a layer is there once"
    place = directory / "place"
    place.mkdir()  # a daemon that is closed takes along what its directory lies in
    copy, said = restored(daemon, file, place / "copy")
    assert "cannot start" not in said, said
    copy.start()
    try:
        assert sh(copy, "two", "cat /root/b /root/c /root/d; ls -d /root/a/") == (
            "second-layer\nsecond-layer\nof-the-disk\n/root/a/\n"
        )
        assert sh(copy, "one", "cat /data/n /root/a") == "mark-in-volumefirst-layer\n"
        # Files of different layers have different numbers (decision 0048).
        numbers = sh(copy, "two", "stat -c %i /root/z /root/b /root/d").split()
        assert numbers == sorted(numbers, key=int) and len(set(numbers)) == 3, numbers
        with copy.http() as http:
            volume = http.get("/api/v1/volumes/data").json()
            assert (volume["disk_bytes"], volume["disk_lost"]) == (32 << 20, False)
            ready = {
                row["name"]: row["status"] for row in http.get("/api/v1/snapshots").json()["items"]
            }
            assert ready["first"] == ready["second"] == "ready", ready
        line = "test ! -e /etc/debian_version && cat /root/c /root/e"
        got = copy.cli("run", "--rm", "--snapshot", "second", "--", "sh", "-c", line)
        assert got.text == "second-layer\nmark-in-layer", got
        full = copy.cli("exec", "one", "--", "sh", "-c", "head -c 64M /dev/zero >/data/big")
        assert full.code == 1 and b"quota" in full.err, full
    finally:
        copy.close()
    # A byte that changed in the file is found, and nothing of it can boot.
    plain = subprocess.run(["zstd", "-dc", file], capture_output=True).stdout
    for marked in (b"mark-in-layer", b"mark-in-volume"):
        assert plain.count(marked) == 1
        broken = directory / "broken"
        broken.write_bytes(plain.replace(marked, marked[:-1] + b"?"))
        words = ("--data", directory / "never", "--snapshots-of", daemon.data, broken)
        refused = cay("restore", *words)
        assert refused.returncode == 125 and "differs" in refused.stderr, refused
        assert not (directory / "never").exists()


def test_settings_that_hold_a_key_are_named(own_daemon, directory):
    daemon, config = own_daemon(), directory / "cay.toml"
    for text, said in (
        ('upstream_key = "in-clear"', True),
        ('upstream_key_file = "/nowhere"', False),
    ):
        config.write_text(f"[langsmith]\n{text}\n")
        done = cay(
            "backup",
            "--config",
            config,
            "--data",
            daemon.data,
            "--without-snapshots",
            directory / f"file-{said}",
        )
        assert (
            done.returncode == 0 and ("langsmith.upstream_key in clear" in done.stdout) == said
        ), done
