"""What an operator does: drain, back up, restore, and end up with nothing left behind."""
import contextlib
import functools
import glob
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import CAY, Daemon, slow, wait_until


def test_drain_waits_for_what_runs_and_begins_nothing_new(own_daemon):
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    command = daemon.cli(
        "exec", "-d", "box", "--", "sh", "-c", "until [ -e /root/stop ]; do sleep 0.05; done"
    ).text.strip()
    late = daemon.cli("drain", "--timeout", "0.3")
    assert late.code == 124 and b"1 command still running" in late.err, late
    refused = daemon.cli("create", "--json")
    assert refused.code == 125 and json.loads(refused.out)["error"]["reason"] == "draining", refused
    assert (
        json.loads(daemon.cli("exec", "--json", "box", "--", "true").out)["error"]["reason"]
        == "draining"
    )
    assert daemon.cli("logs", "box", command).code == 0  # what runs can be looked at
    with daemon.http() as http:
        ready = http.get("/readyz")
        check = next(c for c in ready.json()["checks"] if c["name"] == "admitting")
        assert (
            ready.status_code == 503 and not check["ok"] and "draining" in check["detail"]
        ), ready.text
        assert http.get("/healthz").status_code == 200
    assert re.search(
        r"^MISSING +admitting +no: this host is drained", daemon.cli("doctor").text, re.M
    )
    assert "admitting: cay drain --undo" in daemon.cli("doctor").text
    waiting = subprocess.Popen(
        [CAY, "drain", "--timeout", "60", "--stop"],
        env={**os.environ, **daemon.env},
        stdout=subprocess.PIPE,
    )
    with daemon.http() as http:
        assert (
            http.put(
                "/api/v1/sandboxes/box/files", params={"path": "/root/stop"}, content=b""
            ).status_code
            < 300
        )
        out, _ = waiting.communicate(timeout=60)
        assert waiting.returncode == 0, out
        assert http.get("/api/v1/sandboxes/box").json()["state"] == "stopped"
        assert http.post("/api/v1/sandboxes/box/start").json()["error"]["reason"] == "draining"
    assert daemon.cli("drain", "--undo").code == 0
    with daemon.http() as http:
        assert http.get("/readyz").status_code == 200
    assert daemon.cli("exec", "box", "--", "true").code == 0


def test_a_drain_is_one_over_a_killed_daemon_too(own_daemon):
    """A daemon that starts again admits; whoever waits for the drain must not take that for its
    end."""
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "box").code == 0
    command = daemon.cli("exec", "-d", "box", "--", "sleep", "1000").text.strip()

    def draining():
        with daemon.http() as http:
            return http.get("/api/v1/drain").json()["draining"]

    assert not draining()
    waiting = subprocess.Popen(
        [CAY, "drain", "--timeout", str(slow(120))],
        env={**os.environ, **daemon.env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(draining, "it drains")
    daemon.restart("kill")
    wait_until(draining, "it drains again")
    with daemon.http() as http:
        assert (
            http.post(f"/api/v1/sandboxes/box/commands/{command}/kill", json={}).status_code == 204
        )
    out, err = waiting.communicate(timeout=slow(60))
    assert waiting.returncode == 0 and out.startswith("Drained") and "drained again" in err, (
        out,
        err,
    )
    assert (
        json.loads(daemon.cli("exec", "--json", "box", "--", "true").out)["error"]["reason"]
        == "draining"
    )


def test_drain_is_the_operators(own_daemon):
    daemon = own_daemon()
    other = subprocess.run(
        [CAY, "key", "--data", daemon.data, "create", "ci", "--tenant", "ci"],
        capture_output=True,
        check=True,
        text=True,
    )
    daemon.restart("terminate")
    refused = daemon.cli("drain", "--json", env={"CAY_API_KEY": other.stdout.strip()})
    assert (
        refused.code == 125 and json.loads(refused.out)["error"]["reason"] == "scope_too_small"
    ), refused
    assert daemon.cli("drain", "--timeout", "0").code == 0  # positive control


def test_backup_and_restore(own_daemon, directory):
    daemon = own_daemon()
    assert daemon.cli("create", "--name", "still", "--label", "a=b").code == 0
    assert daemon.cli("create", "--name", "busy").code == 0
    # Owners, modes, links, holes, attributes, names that are no text, and what is gone from the
    # layers below.
    made = daemon.cli(
        "exec",
        "still",
        "--",
        "sh",
        "-ec",
        "cd /srv; echo kept >one; ln one two; ln -s /etc/passwd link; chown 1000:1000 one; mkdir "
        "-m 0700 d; "
        "printf x >\"$(printf 'd/\\377name')\"; truncate -s 64M hole; chmod 4755 /srv/hole; rm "
        "/etc/os-release; mkfifo pipe",
    )
    assert made.code == 0, made
    finished = daemon.cli("exec", "-d", "still", "--", "echo", "said before").text.strip()
    wait_until(lambda: b"exited" in daemon.cli("ps", "still").out, "the command's end")
    assert daemon.cli("stop", "still").code == 0
    running = daemon.cli(
        "exec", "-d", "busy", "--", "sh", "-c", "echo begun >/srv/begun; sync; exec sleep 1000"
    ).text.strip()
    wait_until(
        lambda: daemon.cli("exec", "busy", "--", "test", "-e", "/srv/begun").code == 0,
        "the command's file",
    )

    file = directory / "backup.tar.zst"
    done = subprocess.run(
        [CAY, "backup", "--data", daemon.data, "--without-snapshots", file],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done
    assert "crash-consistent" in next(
        line for line in done.stdout.splitlines() if line.startswith("busy")
    )
    assert "crash" not in next(
        line for line in done.stdout.splitlines() if line.startswith("still")
    )
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert sorted(os.listdir(directory)) == ["backup.tar.zst"], "nothing else is left beside it"
    assert daemon.cli("exec", "busy", "--", "true").code == 0
    again = subprocess.run(
        [CAY, "backup", "--data", daemon.data, file], capture_output=True, text=True
    )
    assert again.returncode == 125 and "exists" in again.stderr

    copy = Daemon(directory / "copy")
    done = subprocess.run(
        [CAY, "restore", "--data", copy.data, "--snapshots-of", daemon.data, file],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done
    copy.start()
    try:
        assert copy.key != daemon.key, "a backup opens nothing: test_backup.py"
        with copy.http() as http:
            boxes = {box["name"]: box for box in http.get("/api/v1/sandboxes").json()["items"]}
            assert {name: box["state"] for name, box in boxes.items()} == {
                "still": "stopped",
                "busy": "stopped",
            }
            assert boxes["still"]["labels"] == {"a": "b"}
            # Read without waking: the output of then.
            said = copy.cli("logs", "still", finished)
            assert said.text == "said before\n", said
            lost = http.get(f"/api/v1/sandboxes/busy/commands/{running}").json()
            assert lost["state"] == "lost", lost
        found = copy.cli(
            "exec",
            "still",
            "--",
            "sh",
            "-ec",
            "cd /srv; stat -c '%h %u %g' one; cat two; readlink link; stat -c %a d hole; stat -c "
            "'%s' hole; "
            "test $(stat -c %b hole) -lt 100; ls d | od -An -tx1; test ! -e /etc/os-release; test "
            "-p pipe; echo whole",
        )
        assert found.text.split("\n") == [
            "2 1000 1000",
            "kept",
            "/etc/passwd",
            "700",
            "4755",
            "67108864",
            " ff 6e 61 6d 65 0a",
            "whole",
            "",
        ], found
        assert copy.cli("exec", "busy", "--", "cat", "/srv/begun").text == "begun\n"
        refused = subprocess.run(
            [CAY, "restore", "--data", copy.data, file], capture_output=True, text=True
        )
        assert refused.returncode == 125 and "holds state already" in refused.stderr
    finally:
        copy.close()


def test_what_is_no_backup_leaves_nothing(directory):
    for name, content in (("empty", b""), ("text", b"not a backup\n" * 100)):
        (directory / name).write_bytes(content)
        done = subprocess.run(
            [CAY, "restore", "--data", directory / "new", directory / name],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 125, done
        assert not (directory / "new").exists()


def test_state_of_another_time_is_refused_with_words(own_daemon):
    import sqlite3

    daemon = own_daemon()
    daemon.terminate()
    db = sqlite3.connect(daemon.data / "state.db")
    version = db.execute("pragma user_version").fetchone()[0]
    db.execute("pragma user_version = 9999")
    db.commit()
    refused = subprocess.run(
        [CAY, "serve", "--listen", "127.0.0.1:0", "--data", daemon.data],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 125 and "newer Cay" in refused.stderr, refused
    db.execute(f"pragma user_version = {version}")
    db.commit()
    db.close()
    daemon.start()


def test_what_belongs_to_somebody_else_is_not_taken(directory):
    """A start by root gives nothing away that is neither root's nor the daemon's."""
    run = directory / "data" / "run"
    run.mkdir(parents=True, mode=0o755)
    os.chown(run, 12345, 12345)
    daemon = Daemon(directory / "data")
    with pytest.raises(RuntimeError, match="belongs to another user"):
        daemon.start()
    daemon.process.wait(timeout=60)
    assert (run.stat().st_uid, run.stat().st_mode & 0o777) == (12345, 0o755)


def on_the_machine(data, instance):
    """Everything that there is of a data directory."""

    def read_all(pattern):
        for path in glob.glob(pattern):
            try:
                yield pathlib.Path(path).read_text()
            except OSError:
                pass

    loops = subprocess.run(
        ["losetup", "-n", "-O", "BACK-FILE"], capture_output=True, text=True
    ).stdout
    return {
        "processes": sum(instance in text for text in read_all("/proc/[0-9]*/cgroup")),
        "cgroups": sum(
            instance in root + name
            for root, names, _ in os.walk("/sys/fs/cgroup")
            for name in names
        ),
        "loops": loops.count(str(data)),
        "mounts": sum(str(data) in text for text in read_all("/proc/[0-9]*/mountinfo")),
        "files": data.exists(),
    }


def test_purge_leaves_nothing(directory):
    """Running sandboxes, a launcher, a pool: one command, and the machine is as before."""
    daemon = Daemon(directory / "data").start()
    instance = (daemon.data / "instance").read_text().strip()
    machine = functools.partial(on_the_machine, daemon.data, instance)
    assert daemon.cli("create", "--name", "one").code == 0
    assert daemon.cli("exec", "-d", "one", "--", "sleep", "1000").code == 0
    refused = subprocess.run(
        [CAY, "uninstall", "--purge", "--data", daemon.data], capture_output=True, text=True
    )
    assert refused.returncode == 125 and "end it first" in refused.stderr, refused
    daemon.terminate()
    before = machine()
    assert all(before.values()), f"positive control: {before}"
    done = subprocess.run(
        [CAY, "uninstall", "--purge", "--data", daemon.data], capture_output=True, text=True
    )
    assert done.returncode == 0, done
    # The kernel frees namespaces and loop devices a moment after their last holder.
    wait_until(lambda: not any(machine().values()), "nothing left", limit=30)
    assert (
        subprocess.run([CAY, "uninstall", "--purge", "--data", daemon.data]).returncode == 0
    ), "idempotent"


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:  # it ended
        return None


def worker_of(data):
    """The launcher's process that makes and removes sandboxes."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            name = pathlib.Path(f"/proc/{pid}/comm").read_text()
            if name.startswith("cay-launcher-w") and str(data) in pathlib.Path(
                f"/proc/{pid}/cmdline"
            ).read_text().split("\0"):
                return int(pid)
    raise AssertionError("the launcher has no worker")


def holds(pid, directory):
    with contextlib.suppress(OSError):
        return any(
            os.readlink(f"/proc/{pid}/fd/{fd}").startswith(str(directory))
            for fd in os.listdir(f"/proc/{pid}/fd")
        )
    return False


def stopped_remover(worker, spool):
    """The worker's child that is removing the sandbox's spool, stopped amid it; None if there is
    none now. The worker has other children too, and none of them has a name of its own: each is
    looked at while it stands still.
    """
    for pid in [
        int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == worker
    ]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            if holds(pid, spool):
                return pid
            os.kill(pid, signal.SIGCONT)
    assert spool.exists(), "the removal was over before it was found: more copies are needed"
    return None


def test_purge_amid_a_removal_leaves_nothing(directory):
    """A sandbox with very many kept commands is being deleted when the daemon ends: what removes it
    must not outlive the launcher, hold the pool's mount, and keep the groups from going."""
    daemon = Daemon(directory / "data").start()
    instance = (daemon.data / "instance").read_text().strip()
    box = json.loads(daemon.cli("create", "--name", "box", "--json").out)["id"]
    assert daemon.cli("create", "--name", "another").code == 0
    assert daemon.cli("exec", "box", "--", "echo", "kept").code == 0
    assert daemon.cli("stop", "box").code == 0
    spool = daemon.data / "spool" / box
    kept = next(one for one in spool.iterdir() if (one / "record").exists())
    files = list(kept.iterdir())
    for number in range(16_000):
        (spool / f"copy-{number}").mkdir()
        for file in files:
            os.link(file, spool / f"copy-{number}" / file.name)
    worker = worker_of(daemon.data)
    deleting = subprocess.Popen(
        [CAY, "rm", "box"],
        env={**os.environ, **daemon.env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    remover = wait_until(
        lambda: stopped_remover(worker, spool), "the removal has a process of its own"
    )  # a disk that takes very long
    assert spool.exists(), "positive control: it was not over"
    daemon.kill()
    deleting.kill()
    deleting.wait()
    assert parent_of(remover) == worker, "positive control: it lives, stopped"
    done = subprocess.run(
        [CAY, "uninstall", "--purge", "--data", daemon.data], capture_output=True, text=True
    )
    assert done.returncode == 0, done
    wait_until(
        lambda: not any(on_the_machine(daemon.data, instance).values()), "nothing left", limit=30
    )


def test_purge_removes_run_cay_with_the_last_instance(directory):
    """On a machine of its own, as to /run and the processes that it sees: this one's /run/cay
    belongs to others."""
    script = r"""
        set -e
        mount -t tmpfs none /run
        for data in one two; do "$0" launcher --data "$1/$data" --daemon-uid 0 --detach; done
        echo "before: $(ls /run)"
        "$0" uninstall --purge --data "$1/one"
        echo "another lives: $(ls /run) $(ls "$1")"
        "$0" uninstall --purge --data "$1/two"
        echo "none lives: $(ls -A /run "$1")"
    """
    done = subprocess.run(
        [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            "sh",
            "-c",
            script,
            CAY,
            directory,
        ],
        capture_output=True,
        text=True,
        timeout=slow(120),
    )
    told = done.stdout.splitlines()
    assert done.returncode == 0, done
    assert told[:2] == ["before: cay", "another lives: cay two"], done
    assert "\n".join(told[2:]).split() == ["none", "lives:", "/run:", f"{directory}:"], done


def test_purge_touches_nothing_that_is_not_ours(directory):
    (directory / "precious").mkdir()
    (directory / "precious" / "file").write_text("kept")
    refused = subprocess.run(
        [CAY, "uninstall", "--purge", "--data", directory / "precious"],
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 125 and "no data directory" in refused.stderr
    assert (directory / "precious" / "file").read_text() == "kept"


def test_install_into_a_tree_and_out_again(directory):
    root = directory / "root"
    (root / "etc/logrotate.d").mkdir(parents=True)  # somebody's, and empty
    before = sorted(root.rglob("*"))
    assert subprocess.run([CAY, "install", "--root", root], capture_output=True).returncode == 0
    unit = (root / "etc/systemd/system/cay.service").read_text()
    assert "ExecStart=/usr/local/bin/cay serve" in unit and "/usr/bin/cay" not in unit
    assert (
        subprocess.run(
            [root / "usr/local/bin/cay", "serve", "--help"], capture_output=True
        ).returncode
        == 0
    )
    assert "complete" in (root / "usr/local/share/bash-completion/completions/cay").read_text()
    settings = root / "etc/cay/cay.toml"
    settings.write_text("# mine\n")
    assert subprocess.run([CAY, "install", "--root", root], capture_output=True).returncode == 0
    assert settings.read_text() == "# mine\n"
    refused = subprocess.run(
        [CAY, "uninstall", "--root", root, "--data", directory / "mine"],
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 125 and "--purge" in refused.stderr, refused
    assert (root / "usr/local/bin/cay").exists()
    rotated = (root / "etc/logrotate.d/cay").read_text()
    assert "/var/lib/cay/launcher.log" in rotated and "/var/lib/cay/gate.log" in rotated
    assert subprocess.run([CAY, "uninstall", "--root", root]).returncode == 0
    # The list for the later purge lies beside the settings, which stay.
    assert sorted(root.rglob("*")) == sorted(
        [*before, root / "etc/cay", root / "etc/cay/made-directories", settings]
    )
    assert subprocess.run([CAY, "uninstall", "--purge", "--root", root]).returncode == 0
    assert sorted(root.rglob("*")) == before


def test_install_into_an_empty_tree_leaves_it_empty(directory):
    root = directory / "root"
    for words in (["--purge"], []):
        assert subprocess.run([CAY, "install", "--root", root], capture_output=True).returncode == 0
        assert subprocess.run([CAY, "uninstall", *words, "--root", root]).returncode == 0
    (root / "etc/cay/cay.toml").unlink()
    assert subprocess.run([CAY, "uninstall", "--purge", "--root", root]).returncode == 0
    assert not list(root.rglob("*"))


def on_a_machine_of_its_own(directory, script):
    """`script` as root of a machine where `cay install` may do what it likes; systemd's programs
    only note what they are asked."""
    tools = directory / "tools"
    tools.mkdir()
    for name in (
        "systemctl",
        "systemd-sysusers",
        "systemd-tmpfiles",
        "modprobe",
        "useradd",
        "userdel",
    ):
        (tools / name).write_text(
            f'#!/bin/sh\necho {name} "$@" >> {directory}/asked\n[ "$1" != is-active ]\n'
        )
        (tools / name).chmod(0o755)
    begin = r"""
        set -e
        cp -a /etc "$2/etc"; rm -rf "$2/etc/cay"; mount --bind "$2/etc" /etc
        for place in /run /var/lib /usr/local; do mount -t tmpfs none $place; done
        mkdir -p /run/systemd/system /usr/local/bin
        everything() { find /etc /usr/local /var/lib /run | sort; }
        everything > "$2/before"
        "$1" install
        test -e /etc/systemd/system/cay.service -a -x /usr/local/bin/cay
    """
    return subprocess.run(
        [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            "sh",
            "-c",
            begin + script,
            "sh",
            CAY,
            directory,
        ],
        capture_output=True,
        text=True,
        timeout=slow(120),
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
    )


def test_purge_of_an_install_that_never_came_up(directory):
    """The data directory is there, as systemd-tmpfiles makes it, and nothing in it: no launcher
    ever began."""
    done = on_a_machine_of_its_own(
        directory,
        r"""
        mkdir -p /var/lib/cay/run
        /usr/local/bin/cay uninstall --purge
        everything > "$2/after"
        diff "$2/before" "$2/after"
    """,
    )
    assert done.returncode == 0, done
    asked = (directory / "asked").read_text()
    assert (
        "systemctl enable" in asked
        and "systemctl disable" in asked
        and "systemctl stop cay.service" in asked
    ), asked


def test_purge_leaves_what_is_not_ours_and_removes_the_rest(directory):
    done = on_a_machine_of_its_own(
        directory,
        r"""
        mkdir -p /var/lib/cay; echo kept > /var/lib/cay/file
        /usr/local/bin/cay uninstall --purge || echo "code $?"
        cat /var/lib/cay/file; rm -r /var/lib/cay
        everything > "$2/after"
        diff "$2/before" "$2/after"
    """,
    )
    assert done.returncode == 0 and done.stdout.splitlines()[-2:] == ["code 125", "kept"], done
    assert "no data directory of Cay's. It stays" in done.stderr, done


def test_settings_that_are_turned_back_count_for_new_sandboxes(own_daemon, tmp_path):
    """Of `[mirrors]`, apt's too: from A to B and back to A, each time with a restart between."""
    config = tmp_path / "cay.toml"
    plain, own = (
        "[mirrors]\nof_host = false\n",
        "[mirrors]\n"
        "of_host = false\n"
        'pip = "https://mirror.test/pip"\n'
        'apt = "http://archive.test/v2/debian"\n',
    )
    config.write_text(plain)
    daemon = own_daemon("--config", str(config))
    made = {}
    for turn, words in enumerate((plain, own, plain)):
        config.write_text(words)
        if turn:
            daemon.restart()
        with daemon.http() as http:
            box = http.post("/api/v1/sandboxes", json={}).json()
            told = http.post(
                f"/api/v1/sandboxes/{box['id']}/commands",
                json={
                    "argv": ["sh", "-c", "cat /etc/pip.conf /etc/apt/sources.list.d/*.sources"],
                    "wait": True,
                },
            ).json()["stdout"]
            found = next(
                one["found"]
                for one in http.get("/api/v1/doctor").json()["features"]
                if one["name"] == "package sources"
            )
        for url in ("https://mirror.test/pip", "http://archive.test/v2/debian"):
            assert (url in told) == (words is own), told
        assert (found == "mirrors.apt of the settings") == (words is own), found
        made[turn] = box["snapshot_id"]
    assert made[0] == made[2] != made[1]


def test_mirrors_are_told_to_the_tools(own_daemon, tmp_path):
    """Of an operator's settings: where cargo and Go look, whoever runs them and wherever."""
    config = tmp_path / "cay.toml"
    config.write_text(
        '[mirrors]\npip = "https://mirror.test/pip"\nnpm = "https://mirror.test/npm"\n'
        'cargo = "https://mirror.test/crates/"\ngo = "https://mirror.test/go"\n'
    )
    daemon = own_daemon("--config", str(config))
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]

        def run(shell, **more):
            done = http.post(
                f"/api/v1/sandboxes/{box}/commands",
                json={"argv": ["sh", "-c", shell], "wait": True, **more},
            ).json()
            return done["stdout"]

        assert 'registry = "sparse+https://mirror.test/crates/"' in run("cat /.cargo/config.toml")
        for user in ("root", "user"):
            assert (
                run("cat ~/.config/go/env", user=user) == "GOPROXY=https://mirror.test/go,direct\n"
            ), user
        assert "https://mirror.test/pip" in run(
            "cat /etc/pip.conf"
        ) and "https://mirror.test/npm" in run("cat /usr/etc/npmrc")
    config.write_text(
        '[mirrors]\ncargo = "sparse+https://mirror.test/index"\n'
    )  # as cargo itself writes it
    daemon.restart()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        assert 'registry = "sparse+https://mirror.test/index/"' in run("cat /.cargo/config.toml")
