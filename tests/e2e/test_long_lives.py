"""Launchers, hosts and whole cgroups die; what is told afterwards is the truth, and nothing of
others is touched."""
import contextlib
import itertools
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import harness
from census import disks, launchers_of
from harness import ROOT, keeper_of, slow, wait_until
from host_restart import guardian, tops, turn_off, turn_on
from measured import head, machine
from service_group import ServiceGroup

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0,
    reason="kills the launcher and keepers, which are root's and their own users'",
)
LINES = "for i in $(seq 1 {0}); do echo line $i; sleep 0.02; done; exit 9"


def lines(count):
    return "".join(f"line {i}\n" for i in range(1, count + 1))


def start(http, ref, command):
    answer = http.post(
        f"/api/v1/sandboxes/{ref}/commands",
        json={"command": command, "wait": False, "timeout_s": 0},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def whole(http, ref, command_id, count):
    """Its output and end, waited for."""
    out = http.get(
        f"/api/v1/sandboxes/{ref}/commands/{command_id}/output", params={"follow": "true"}
    )
    assert out.text == lines(count)
    got = http.get(f"/api/v1/sandboxes/{ref}/commands/{command_id}").json()
    assert (got["state"], got["exit_code"]) == ("exited", 9), got


def processes(daemon, word):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if word in pathlib.Path(f"/proc/{pid}/cgroup").read_text():
                found.append(int(pid))
        except OSError:
            pass
    return found


def test_a_killed_launcher_is_started_again(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "before"}).status_code == 201
        command = start(http, "before", LINES.format(100))
        first = guardian(daemon)
        os.kill(first, signal.SIGKILL)
        made = http.post("/api/v1/sandboxes", json={"name": "after"})  # waits for the new one
        assert made.status_code == 201, made.text
        other_guardian(daemon, first)
        whole(http, "before", command, 100)
        assert http.get("/api/v1/sandboxes/before").json()["state"] == "ready"
        # The new launcher knows what the old one made.
        assert http.delete("/api/v1/sandboxes/before").status_code == 204
        assert http.delete("/api/v1/sandboxes/after").status_code == 204


def other_guardian(daemon, than):
    """A killed launcher's worker lives on for a moment, and may even have made what was asked for
    then."""

    def other():
        with contextlib.suppress(OSError):
            return guardian(daemon) != than

    wait_until(other, "another launcher")


def named(daemon, comm):
    """pid -> that of its parent, of this daemon's processes that are called so."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        proc = pathlib.Path("/proc") / pid
        try:
            if (proc / "comm").read_text() == f"{comm}\n" and str(daemon.data).encode() in (
                proc / "cmdline"
            ).read_bytes():
                found[int(pid)] = int((proc / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    return found


def watchers(daemon, comm="cay-watch"):
    """The pair that starts the launcher, or another, again: the parent first."""
    found = named(daemon, comm)
    return sorted(found, key=lambda pid: found[pid] in found)


def test_watcher_and_launcher_are_killed_in_each_order(own_daemon):
    """Whoever starts the launcher again is killed before it, after it, at a stroke with it; what
    runs notices nothing."""
    daemon = own_daemon()
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "before"}).status_code == 201
        command = start(http, "before", LINES.format(300))
        for number, victims in enumerate(
            ((0, "launcher"), (1, "launcher"), ("launcher", 0), ("launcher", 1))
        ):
            pair = wait_until(
                lambda: len(watchers(daemon)) == 2 and watchers(daemon), "a pair of watchers"
            )
            launcher = guardian(daemon)
            for victim in victims:
                os.kill(launcher if victim == "launcher" else pair[victim], signal.SIGKILL)
            made = http.post("/api/v1/sandboxes", json={"name": f"after-{number}"})
            assert made.status_code == 201, (victims, made.text)
            other_guardian(daemon, launcher)
        # All of them: no process is left that could. The daemon logs that and serves on.
        pair = wait_until(
            lambda: len(watchers(daemon)) == 2 and watchers(daemon), "a pair of watchers"
        )
        for pid in (*reversed(pair), guardian(daemon)):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: "cay-watch was killed" in daemon.log.read_text(), "it is said")
        ready = wait_until(
            lambda: (got := http.get("/readyz")).status_code == 503 and got, "not ready"
        )
        assert "launcher" in ready.text
        whole(http, "before", command, 300)
        assert watchers(daemon) == []
    daemon.restart("kill")
    with daemon.http() as http:
        assert (
            len(
                wait_until(
                    lambda: len(watchers(daemon)) == 2 and watchers(daemon), "a pair of watchers"
                )
            )
            == 2
        )
        for name in ("before", *(f"after-{number}" for number in range(4))):
            assert http.get(f"/api/v1/sandboxes/{name}").json()["state"] == "ready"
            assert http.delete(f"/api/v1/sandboxes/{name}").status_code == 204
    daemon.terminate()
    wait_until(lambda: not watchers(daemon), "they end with the daemon")


@pytest.mark.parametrize(
    "role,pair,up",
    [
        ("cay-gate", "cay-watch-gate", "cay_gate_up"),
        ("cay-broker", "cay-watch-brok", "cay_vault_up"),
    ],
)
def test_gate_and_broker_come_back_whoever_is_killed_before_them(own_daemon, role, pair, up):
    daemon = own_daemon()

    def serves():
        with daemon.http() as http:
            return f"{up} 1" in http.get("/metrics").text.splitlines()

    def all_there():
        """The pair, the guardian and who serves, when each of them is there."""
        two, guardians, workers = (
            watchers(daemon, pair),
            named(daemon, role),
            named(daemon, f"{role}-w"),
        )
        whole = (
            len(two) == 2
            and len(guardians) == 1
            and len(workers) == 1
            and next(iter(workers.values())) in guardians
        )
        return (
            {
                "first": two[0],
                "second": two[1],
                "guardian": next(iter(guardians)),
                "worker": next(iter(workers)),
            }
            if whole and serves()
            else None
        )

    def kill(*victims):
        now = wait_until(all_there, "all are there", slow(30))
        for victim in victims:
            with contextlib.suppress(ProcessLookupError):  # who serves ends with its guardian
                os.kill(now[victim], signal.SIGKILL)
        there = wait_until(
            lambda: (got := all_there()) and all(got[one] != now[one] for one in victims) and got,
            f"all are there after {victims}",
            slow(30),
        )
        return now, there

    for watcher in ("first", "second"):
        for victims in itertools.permutations((watcher, "guardian", "worker")):
            kill(*victims)
        kill(watcher)
    kill("guardian", "worker")  # after both watchers were killed, one after the other
    # All at a stroke: no process is left that could start another. The daemon logs that, and the
    # next one does.
    now = wait_until(all_there, "all are there")
    for victim in ("second", "first", "guardian", "worker"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(now[victim], signal.SIGKILL)
    wait_until(lambda: f"{pair} was killed" in daemon.log.read_text(), "it is said")
    wait_until(lambda: not serves(), "nobody serves")
    daemon.restart("kill")
    wait_until(all_there, "all are there again")
    daemon.terminate()
    wait_until(lambda: not watchers(daemon, pair), "they end with the daemon")


def has_stopped(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def test_what_a_signal_has_stopped_goes_on(own_daemon):
    """The launcher's guardian and each watcher: neither dead nor alive, and so replaced by
    nobody."""
    daemon = own_daemon()
    pair = wait_until(lambda: len(watchers(daemon)) == 2 and watchers(daemon), "a pair of watchers")

    def told(what):
        return daemon.log.read_text().count(f"{what} was stopped by a signal: it goes on")

    for pid, what in (
        (guardian(daemon), "the launcher"),
        (pair[0], "cay-watch"),
        (pair[1], "cay-watch"),
    ):
        before = told(what)
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda of=what, than=before: told(of) > than, "it is seen")
        wait_until(lambda of=pid: not has_stopped(of), "it goes on")
    assert watchers(daemon) == pair


def test_a_guardian_that_is_stopped_ends_when_told(own_daemon):
    daemon = own_daemon()
    daemon.kill()
    wait_until(lambda: not watchers(daemon), "nobody watches")
    launcher = guardian(daemon)
    os.kill(launcher, signal.SIGSTOP)
    wait_until(lambda: has_stopped(launcher), "it has stopped")
    assert daemon.cli("launcher", "--data", daemon.data, "--stop").code == 0
    # Ended; whoever has adopted it may not have seen to that yet.
    stat = pathlib.Path(f"/proc/{launcher}/stat")
    assert not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"
    assert not (daemon.data / "run/launcher.sock").exists()
    daemon.start()


def test_a_daemon_finds_a_stopped_launcher_whose_worker_is_gone(own_daemon):
    """It accepts connections, for its guardian holds the socket, and greets nobody."""
    daemon = own_daemon()
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "before"}).status_code == 201
    daemon.kill()
    wait_until(lambda: not watchers(daemon), "nobody watches")
    launcher = guardian(daemon)
    instance = (daemon.data / "instance").read_text().strip()
    worker = next(int(proc.name) for proc in launchers_of(instance) if int(proc.name) != launcher)
    os.kill(launcher, signal.SIGSTOP)
    wait_until(lambda: has_stopped(launcher), "it has stopped")
    os.kill(worker, signal.SIGKILL)
    begun = time.monotonic()
    daemon.start()
    assert time.monotonic() - begun < slow(20)
    assert guardian(daemon) == launcher
    with daemon.http() as http:
        assert http.get("/api/v1/sandboxes/before").json()["state"] == "ready"
        assert http.post("/api/v1/sandboxes", json={"name": "after"}).status_code == 201


@pytest.mark.skipif("CAY_LONG" not in os.environ, reason="waits for 65 s: a step of the long form")
def test_a_launcher_that_greets_nobody_is_replaced(own_daemon):
    """What holds the socket answers no signal either: a tracer's, here a program that ignores what
    it is told."""
    daemon = own_daemon()
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "before"}).status_code == 201
    daemon.kill()
    wait_until(lambda: not watchers(daemon), "nobody watches")
    assert daemon.cli("launcher", "--data", daemon.data, "--stop").code == 0
    mute = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import signal, socket, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
            "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); "
            "print(flush=True); time.sleep(1000)",
            str(daemon.data / "run/launcher.sock"),
        ],
        stdout=subprocess.PIPE,
    )
    try:
        mute.stdout.readline()
        harness_limit, harness.START_LIMIT = harness.START_LIMIT, 150
        daemon.start()
        harness.START_LIMIT = harness_limit
        assert mute.wait(10) == -signal.SIGKILL
    finally:
        mute.kill()
        mute.wait()
    with daemon.http() as http:
        assert http.get("/api/v1/sandboxes/before").json()["state"] == "ready"
    assert "does not greet" in daemon.log.read_text()


def test_a_host_restart_stops_sandboxes_and_loses_what_ran(own_daemon, tmp_path):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "box"}).json()
        http.put("/api/v1/sandboxes/box/files", params={"path": "/root/kept"}, content=b"kept")
        done = http.post(
            "/api/v1/sandboxes/box/commands", json={"id": "done", "command": "echo out; exit 4"}
        ).json()
        assert done["exit_code"] == 4
        ran = start(http, "box", "echo begun; sleep 1000")
        wait_until(
            lambda: http.get(f"/api/v1/sandboxes/box/commands/{ran}").json()["stdout"]["bytes"]
            == 6,
            "output",
        )
    turn_off(daemon, {box["id"]: keeper_of(daemon, box["id"])})
    turn_on(daemon, tmp_path)
    with daemon.http() as http:
        got = http.get("/api/v1/sandboxes/box").json()
        assert (got["state"], got["reason"]) == ("stopped", "host restarted"), got
        lost = http.get(f"/api/v1/sandboxes/box/commands/{ran}").json()
        assert lost["state"] == "lost" and lost["reason"].startswith("host restarted"), lost
        assert lost["stdout"]["bytes"] == 6 and lost["ended_at"] is None
        assert (
            http.get("/api/v1/sandboxes/box/files", params={"path": "/root/kept"}).text == "kept"
        )  # wakes it
        listed = {c["id"]: c for c in http.get("/api/v1/sandboxes/box/commands").json()["items"]}
        assert (listed["done"]["state"], listed["done"]["exit_code"]) == ("exited", 4)
        assert (listed[ran]["state"], listed[ran]["reason"]) == (lost["state"], lost["reason"])


def test_the_end_of_a_container_is_a_restart_of_the_host(own_daemon):
    """A container is a PID namespace whose first process takes everything along; the host goes on,
    and its boot id stays."""
    daemon = own_daemon()
    port, instance = daemon.port, (daemon.data / "instance").read_text().strip()
    # A first process that only waits. The kernel does not signal a parent's death to a child that
    # becomes another user.
    container = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "sh",
        "-c",
        '"$@"; exit $?',
        "sh",
    ]
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "box"}).json()["id"]
        http.put("/api/v1/sandboxes/box/files", params={"path": "/root/kept"}, content=b"kept")
    turn_off(daemon, {box: keeper_of(daemon, box)})
    wait_until(lambda: not launchers_of(instance), "the launcher is gone")
    for prefix in (container, []):
        daemon.prefix = prefix
        daemon.start(listen=f"127.0.0.1:{port}")
        with daemon.http() as http:
            got = http.get("/api/v1/sandboxes/box").json()
            assert (got["state"], got["reason"]) == ("stopped", "host restarted"), got
            assert (
                http.get("/api/v1/sandboxes/box/files", params={"path": "/root/kept"}).text
                == "kept"
            )  # wakes it
            assert http.get("/api/v1/sandboxes/box").json()["state"] == "ready"
        if prefix:
            daemon.kill()
            wait_until(
                lambda: not processes(daemon, box) and not launchers_of(instance),
                "all of the container is gone",
            )
    # One that is lost alone has failed.
    daemon.kill()
    os.kill(keeper_of(daemon, box), signal.SIGKILL)
    wait_until(lambda: not processes(daemon, box), "the sandbox's processes are gone")
    daemon.start(listen=f"127.0.0.1:{port}")
    with daemon.http() as http:
        assert http.get("/api/v1/sandboxes/box").json()["state"] == "failed"


def test_what_nobody_owns_is_removed_at_the_start(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        orphan = http.post("/api/v1/sandboxes", json={"name": "orphan"}).json()["id"]
        kept = http.post("/api/v1/sandboxes", json={"name": "kept"}).json()["id"]
        start(http, orphan, "sleep 1000")
    instance = (daemon.data / "instance").read_text().strip()

    def left(box):
        """Where something of it is."""
        found = {
            folder
            for folder in ("spool", "sandboxes", "run")
            if (daemon.data / folder).exists()
            and any(box in name for name in os.listdir(daemon.data / folder))
        }
        disk = (
            {"disks"}
            if any(box in name for name in disks(daemon.data, launchers_of(instance)))
            else set()
        )
        return found | disk | ({"processes"} if processes(daemon, box) else set())

    before = left(orphan)
    assert {
        "disks",
        "spool",
        "processes",
    } <= before, before  # positive control: each would be found
    daemon.kill()
    with sqlite3.connect(daemon.data / "state.db") as db:
        db.execute("delete from sandbox where id = ?", (orphan,))
    db.close()
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    wait_until(lambda: not left(orphan), "nothing of the orphan is left", limit=slow(20))
    assert left(kept) == before


def test_sigterm_says_1001_and_commands_go_on(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        http.post("/api/v1/sandboxes", json={"name": "box"})
        command = start(http, "box", LINES.format(100))
    with connect(
        f"ws://127.0.0.1:{daemon.port}/api/v1/sandboxes/box/commands/ws",
        additional_headers={"X-Api-Key": daemon.key},
        compression=None,
    ) as ws:
        ws.send(json.dumps({"type": "attach", "id": command}))
        assert json.loads(ws.recv(timeout=20))["type"] == "started"
        daemon.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                ws.recv(timeout=20)
        assert closed.value.rcvd.code == 1001
    assert daemon.process.wait(timeout=60) == 0
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    with daemon.http() as http:
        whole(http, "box", command, 100)


def test_a_torn_record_is_a_lost_command_and_no_invented_end(daemon, http, box):
    for name in ("torn", "garbled", "whole"):
        http.post(
            f"/api/v1/sandboxes/{box['id']}/commands",
            json={"id": name, "command": "echo out; exit 4"},
        )
    http.post(f"/api/v1/sandboxes/{box['id']}/stop")
    spool = daemon.data / "spool" / box["id"]
    with open(spool / "torn" / "record", "r+b") as record:
        record.truncate(os.path.getsize(record.name) - 5)
    with open(spool / "garbled" / "record", "r+b") as record:
        record.write(os.urandom(40))

    def told():
        return {
            c["id"]: (c["state"], c["exit_code"])
            for c in http.get(f"/api/v1/sandboxes/{box['id']}/commands").json()["items"]
        }

    want = {"torn": ("lost", None), "garbled": ("lost", None), "whole": ("exited", 4)}
    assert told() == want
    assert http.post(f"/api/v1/sandboxes/{box['id']}/start").status_code in (200, 202)
    wait_until(
        lambda: http.get(f"/api/v1/sandboxes/{box['id']}").json()["state"] == "ready", "started"
    )
    assert told() == want
    again = http.post(
        f"/api/v1/sandboxes/{box['id']}/commands",
        json={"id": "torn", "command": "echo out; exit 4"},
    )
    assert again.json()["state"] == "lost", again.text  # it may have run: never a second time


def test_two_daemons_do_not_touch_each_other(daemon, http, box, own_daemon):
    """One is killed and started ten times; a stream of the other's sees nothing of it."""
    other = own_daemon()
    with other.http() as http2:
        http2.post("/api/v1/sandboxes", json={"name": "mine"})
        command2 = start(http2, "mine", LINES.format(200))
    command = start(http, box["id"], LINES.format(300))
    with connect(
        f"ws://127.0.0.1:{daemon.port}/api/v1/sandboxes/{box['id']}/commands/ws",
        additional_headers={"X-Api-Key": daemon.key},
        compression=None,
    ) as ws:
        ws.send(json.dumps({"type": "attach", "id": command}))
        for _ in range(10):
            other.restart("kill")
        seen = b""
        while True:
            frame = ws.recv(timeout=60)
            if isinstance(frame, bytes):
                seen += frame[10:]
            elif json.loads(frame)["type"] == "end":
                break
    assert seen.decode() == lines(300)
    with other.http() as http2:
        whole(http2, "mine", command2, 200)
        assert http2.get("/api/v1/sandboxes/mine").json()["state"] == "ready"


def test_killing_the_daemons_whole_cgroup_leaves_keepers_alive(own_daemon):
    """What a service manager does that kills a whole service: launcher and daemon die, sandboxes do
    not."""
    daemon = own_daemon()
    group = ServiceGroup(daemon)
    try:
        os.kill(guardian(daemon), signal.SIGTERM)
        wait_until(
            lambda: not (daemon.data / "run" / "launcher.sock").exists(), "the launcher ended"
        )
        daemon.restart("kill")
        with daemon.http() as http:
            http.post("/api/v1/sandboxes", json={"name": "box"})
            command = start(http, "box", LINES.format(200))
        assert len(group.processes()) >= 3  # daemon, launcher, its worker
        group.kill()
        daemon.process.wait(timeout=20)
        daemon.start(listen=f"127.0.0.1:{daemon.port}")
        with daemon.http() as http:
            assert http.get("/api/v1/sandboxes/box").json()["state"] == "ready"
            whole(http, "box", command, 200)
            # In a group that was killed once, a kernel may kill what is cloned into another:
            # src/launcher/clone_probe.h.
            assert http.post("/api/v1/sandboxes", json={"name": "after"}).status_code == 201
            assert (
                http.post("/api/v1/sandboxes/after/commands", json={"command": "exit 4"}).json()[
                    "exit_code"
                ]
                == 4
            )
    finally:
        daemon.close()
        group.remove()


def reclaimed(group):
    """Takes from the sandbox what the kernel only keeps because nobody wants it: names and inodes
    of files, their pages."""
    for name, text in (("memory.force_empty", "0"), ("memory.reclaim", str(1 << 40))):
        if (group / name).exists():
            for _ in range(3):
                with contextlib.suppress(OSError):  # less could be had than was asked for
                    (group / name).write_text(text)
            return True
    return False


def test_fifty_thousand_commands_leave_memory_and_cgroups_flat(daemon, http, box, record_property):
    """1,000 here, 50,000 in the long form (tests/long commands); each writes two files of its own,
    in /tmp and on the disk.

    All files stay until the last command has ended: a cgroup lingers as long as a file in /tmp that
    was written in it. What files cost by themselves goes with them, and what the kernel keeps to be
    fast goes when it is asked for.
    """
    count = int(os.environ.get("CAY_COMMANDS", "1000"))
    groups = [top / box["id"] for top in tops(daemon)]
    memory = next(group for group in groups if (group / "memory.stat").exists())

    def groups_of_kernel():
        rows = [line.split() for line in pathlib.Path("/proc/cgroups").read_text().splitlines()[1:]]
        return max(int(row[2]) for row in rows)  # counts those that linger, too

    def now():
        if (memory / "memory.kmem.usage_in_bytes").exists():
            kernel = int((memory / "memory.kmem.usage_in_bytes").read_text())
        else:
            kernel = int(
                dict(line.split() for line in (memory / "memory.stat").read_text().splitlines())[
                    "kernel"
                ]
            )
        return {
            "kernel memory": kernel,
            "cgroups": sum(len(dirs) for group in groups for _, dirs, _ in os.walk(group)),
            "cgroups of the kernel": groups_of_kernel(),
        }

    def command(line):
        got = http.post(
            f"/api/v1/sandboxes/{box['id']}/commands", json={"command": line, "ttl_s": 5}
        )
        assert got.json()["exit_code"] == 0, got.text
        return got.json()["stdout"]

    def run(first, last):
        for number in range(first, last):
            command(f"echo {number} > /tmp/own/{number}; echo {number} > /root/own/{number}")

    def without_files():
        command("rm -rf /tmp/own /root/own && mkdir /tmp/own /root/own")
        assert reclaimed(
            memory
        ), "this kernel gives nothing back when it is asked (memory.force_empty, memory.reclaim)"
        return now()

    without_files()
    run(0, 200)  # slots and caches are there
    before = without_files()
    begun = time.monotonic()
    run(200, count)
    pace = round((count - 200) / (time.monotonic() - begun))
    full = now()
    assert command("ls /tmp/own | wc -l; ls /root/own | wc -l").split() == [str(count - 200)] * 2
    after = without_files()
    record_property("commands per second", pace)
    figures = "".join(
        f"  {name}: {before[name]} after 200, {full[name]} with {2 * (count - 200)} files, "
        f"{after[name]} without them\n"
        for name in before
    )
    text = f"{count} commands in one sandbox, {pace} a second; {machine()}\n{figures}"
    print(text)
    if os.environ.get("CAY_FIGURES"):
        (ROOT / os.environ["CAY_FIGURES"]).write_text(head() + text)
    assert full["cgroups"] <= before["cgroups"] + 2
    assert (
        full["cgroups of the kernel"] <= before["cgroups of the kernel"] + 500
    )  # other tests may run beside
    assert full["kernel memory"] > before["kernel memory"] + 100 * (
        count - 200
    )  # positive control: files are seen
    assert after["kernel memory"] <= before["kernel memory"] + (2 << 20)
