"""Other processes: the host's cannot be seen, Cay's own inside cannot be read, stopped, limited or
killed."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

import pytest

from harness import processes_of, slow, wait_until
from inside import HERE, sandbox  # noqa: F401 (a fixture)

HAUNT = (HERE / "payloads" / "haunt.py").read_text()


def test_host_processes_cannot_be_seen_or_signalled(sandbox):
    marker = "cay-host-process-" + os.urandom(4).hex()
    host = subprocess.Popen(["sleep", "300"], env={"MARK": marker}, executable="/bin/sleep")
    try:
        # Positive control. Popen returns when exec closes its pipe, a little before the new
        # environment is in place.
        wait_until(
            lambda: marker.encode() in pathlib.Path(f"/proc/{host.pid}/environ").read_bytes(),
            "the marker is there",
        )
        seen = sandbox.sh(
            "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'"
        )
        assert marker not in seen.text and "cay serve" not in seen.text
        count = int(sandbox.sh("ls -d /proc/[0-9]* | wc -l").text)
        assert count < 12, "only PID 1 and the guest's own processes are there"
        sandbox.python(
            "import os, signal, sys\nfor pid in [%d, -1]:\n    try: os.kill(pid, signal.SIGCONT)\n"
            "    except OSError: pass" % host.pid
        )
        got = sandbox.run("kill", "-9", str(host.pid))
        assert got.code != 0 and host.poll() is None
    finally:
        host.kill()
        host.wait()


def test_at_rest_nothing_of_ours_can_be_touched(sandbox):
    got = sandbox.python(HAUNT, "once")
    assert got.code == 0, got
    told = json.loads(got.text.splitlines()[-1])
    assert all(told["control"].values()), told  # the means work on a process of the guest's own
    assert told["processes"] >= 1, "PID 1 is there to be attacked"
    assert told["leaks"] == [] and told["changed"] == []
    assert (
        sandbox.sh("cat /proc/1/stat | cut -d' ' -f3").text == "S\n"
    )  # init sleeps: neither stopped nor dead
    assert sandbox.sh("exit 7").code == 7


def test_init_has_a_filter_and_goes_on_reaping(sandbox):
    told = dict(line.split(":\t", 1) for line in sandbox.sh("cat /proc/1/status").text.splitlines())
    assert told["Name"] == "cay-init" and told["Seccomp"] == "2" and told["NoNewPrivs"] == "1"
    assert int(told["CapPrm"], 16) == int(told["CapBnd"], 16) == 0
    own = dict(
        line.split(":\t", 1) for line in sandbox.sh("cat /proc/self/status").text.splitlines()
    )
    assert own["NoNewPrivs"] == "0"  # positive control: the file tells the difference
    # Orphans become init's: a hundred of them are reaped, behind the filter.
    assert sandbox.sh("for i in $(seq 100); do (sleep 0.0$i &); done").code == 0
    wait_until(
        lambda: "Z" not in sandbox.sh("cat /proc/[0-9]*/stat | cut -d' ' -f3").text
        and sandbox.sh("grep -l sleep /proc/[0-9]*/comm").text == "",
        "the orphans are gone",
    )


def haunted_commands(sandbox, http, count, *how):
    """Runs `count` commands while the haunting goes on; (their results, seconds of each, the
    haunter's account)."""
    stop = "/tmp/stop-" + os.urandom(4).hex()
    told = {}

    def haunt():
        told["got"] = sandbox.python(HAUNT, "until", stop, *how, timeout=1800)

    haunter = threading.Thread(target=haunt)
    haunter.start()
    wait_until(
        lambda: "haunt" in sandbox.sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").text
        or not haunter.is_alive(),
        "the haunter has begun",
        60,
    )
    box = http.get(f"/api/v1/sandboxes/{sandbox.name}").json()["id"]
    results, seconds = [], []
    for number in range(count):
        begun = time.monotonic()
        answer = http.post(
            f"/api/v1/sandboxes/{box}/commands",
            json={"command": f"exit {number % 100}", "wait": True, "timeout_s": slow(30)},
        )
        seconds.append(time.monotonic() - begun)
        results.append((number % 100, answer.status_code, answer.json()))
    while haunter.is_alive():
        sandbox.sh(f"touch {stop}")
        haunter.join(0.5)
    return results, seconds, told["got"]


def told_by(got, count, seconds):
    assert got.code == 0, got
    told = json.loads(got.text.splitlines()[-1])
    print(
        f"{count} commands, {told['tried']} attacks on {told['processes']} processes, slowest "
        f"{max(seconds):.3f} s"
    )
    assert all(told["control"].values()), told
    return told


HOW_MANY = [
    300,
    pytest.param(
        10_000,
        marks=[
            pytest.mark.heavy,
            pytest.mark.skipif(
                not os.environ.get("CAY_LONG"), reason="of the long form: tests/long hostile"
            ),
        ],
    ),
]


@pytest.mark.parametrize("count", HOW_MANY)
def test_while_commands_run_nothing_of_ours_can_be_read(sandbox, http, count):
    results, seconds, got = haunted_commands(sandbox, http, count, "gentle")
    told = told_by(got, count, seconds)
    assert told["leaks"] == []
    wrong = [
        result
        for result in results
        if result[1] != 200
        or result[2].get("state") != "exited"
        or result[2].get("exit_code") != result[0]
    ]
    assert wrong == []
    assert max(seconds) < slow(15)


# The signals by which the haunter ends a program: SIGKILL, or SIGSEGV, SIGXCPU or SIGXFSZ where it
# has no memory, time or file left.
OF_THE_HAUNTER = {signal.SIGKILL, signal.SIGSEGV, signal.SIGXCPU, signal.SIGXFSZ}
NOT_STARTED = {126, 127}  # the loader, or the shell, without memory or descriptors


@pytest.mark.parametrize("count", HOW_MANY)
def test_signals_and_limits_against_starting_commands_hang_nothing(sandbox, http, count):
    """Root inside may stop, kill or starve what is about to become its own program. What comes of
    it is told, at once."""
    results, seconds, got = haunted_commands(sandbox, http, count)
    told = told_by(got, count, seconds)
    assert told["leaks"] == []
    assert [change for change in told["changed"] if change[0] == 1] == []
    ends = collections.Counter()
    for wanted, status, body in results:
        state = body.get("state") if status == 200 else body.get("error", {}).get("reason")
        how = {"exited": body.get("exit_code"), "signalled": body.get("signal")}.get(state)
        true = {
            "exited": how == wanted or how in NOT_STARTED,
            "signalled": how in OF_THE_HAUNTER,
            "start_interfered": True,
        }
        assert true.get(state), (wanted, status, body)
        ends["as written" if how == wanted else (state, how)] += 1
    print(dict(ends))
    assert ends["as written"] > 0  # else nothing would be known of commands that go through
    assert max(seconds) < slow(15)  # nothing hangs
    assert sandbox.sh("exit 7").code == 7  # and nothing stays broken


TRACER = r"""
import ctypes, os, time
libc = ctypes.CDLL(None)
print("ready", flush=True)
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try: line = open(f"/proc/{pid}/cmdline", "rb").read()
        except OSError: continue
        if line.startswith(b"sleep\x000.73"):
            libc.ptrace(0x4206, int(pid), 0, 0)   # seizes it, and never waits for it
            while True: time.sleep(1)
    time.sleep(0.005)
"""


def test_a_tracer_cannot_hide_the_end_of_a_command(sandbox):
    sandbox.put_text(TRACER, "/tmp/tracer.py")
    tracer = sandbox.start("exec python3 /tmp/tracer.py")
    wait_until(
        lambda: "tracer.py" in sandbox.sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").text,
        "the tracer runs",
    )
    begun = time.monotonic()
    got = sandbox.daemon.cli(
        "exec", "--timeout", "3", sandbox.name, "--", "sleep", "0.73", timeout=30
    )
    assert got.code in (0, 124), got  # its own end, or the timeout's
    assert time.monotonic() - begun < slow(10)
    sandbox.daemon.cli("kill", sandbox.name, tracer)


def test_commands_are_in_all_groups_of_their_sandbox_also_after_kills(sandbox, http):
    """A child is cloned into the v2 group, and a group that was killed is made anew."""
    box = http.get(f"/api/v1/sandboxes/{sandbox.name}").json()["id"]
    commands = f"/api/v1/sandboxes/{box}/commands"
    seen = []
    # A slot is free once the kernel has reported that it is empty, which may take a moment.
    for number in range(50):
        body = {"id": f"g{number}", "argv": ["sleep", "1000"], "wait": False}
        assert http.post(commands, json=body).status_code == 201
        running = {
            pid: cgroup
            for pid, cgroup in processes_of(box).items()
            if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep")
        }
        assert len(running) == 1, running
        (cgroup,) = running.values()
        lines = [line.split(":", 2) for line in cgroup.splitlines()]
        ours = {name: path for _, name, path in lines if box in path}
        assert "/cmds/s" in ours[""]
        on_v1 = {one for name in ours for one in name.split(",")} - {""}
        named = {one for _, name, _ in lines for one in name.split(",")}
        assert {"memory", "pids", "cpu"} & named <= on_v1, cgroup
        seen.append(ours[""])
        assert http.post(f"{commands}/g{number}/kill").status_code == 204
        end = http.get(f"{commands}/g{number}/output", params={"follow": True})
        assert end.status_code == 200
        assert http.get(f"{commands}/g{number}").json()["state"] == "killed"
        if number >= 3 and len(set(seen)) < len(seen):
            return
    raise AssertionError(f"no slot was used again: {seen}")
