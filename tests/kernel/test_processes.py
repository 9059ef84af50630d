"""Other processes: the host's cannot be seen, Cay's own inside cannot be read, stopped, limited or killed."""
import json
import os
import pathlib
import subprocess
import threading
import time

import pytest

from harness import wait_until
from inside import HERE, sandbox  # noqa: F401 (a fixture)

HAUNT = (HERE / "payloads" / "haunt.py").read_text()


def test_host_processes_cannot_be_seen_or_signalled(sandbox):
    marker = "cay-host-process-" + os.urandom(4).hex()
    host = subprocess.Popen(["sleep", "300"], env={"MARK": marker}, executable="/bin/sleep")
    try:
        assert marker.encode() in pathlib.Path(f"/proc/{host.pid}/environ").read_bytes()  # positive control
        seen = sandbox.sh("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'")
        assert marker not in seen.text and "cay serve" not in seen.text
        count = int(sandbox.sh("ls -d /proc/[0-9]* | wc -l").text)
        assert count < 12, "only PID 1 and the guest's own processes are there"
        sandbox.python("import os, signal, sys\nfor pid in [%d, -1]:\n    try: os.kill(pid, signal.SIGCONT)\n"
                       "    except OSError: pass" % host.pid)
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
    assert told["leaks"] == []
    assert sandbox.sh("cat /proc/1/stat | cut -d' ' -f3").text == "S\n"  # init sleeps: neither stopped nor dead
    assert sandbox.sh("exit 7").code == 7


def haunted_commands(sandbox, http, count):
    """Runs `count` commands while the haunting goes on; (their results, seconds of each, the haunter's account)."""
    stop = "/tmp/stop-" + os.urandom(4).hex()
    told = {}

    def haunt():
        told["got"] = sandbox.python(HAUNT, "until", stop, timeout=1800)

    haunter = threading.Thread(target=haunt)
    haunter.start()
    wait_until(lambda: "haunt" in sandbox.sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").text or not haunter.is_alive(),
               "the haunter has begun", 60)
    box = http.get("/api/v1/sandboxes", params={"name": sandbox.name}).json()["items"][0]["id"]
    results, seconds = [], []
    for number in range(count):
        begun = time.monotonic()
        answer = http.post(f"/api/v1/sandboxes/{box}/commands", json={"command": f"exit {number % 100}", "wait": True, "timeout_s": 30})
        seconds.append(time.monotonic() - begun)
        results.append((number % 100, answer.status_code, answer.json()))
    while haunter.is_alive():
        sandbox.sh(f"touch {stop}")
        haunter.join(0.5)
    return results, seconds, told["got"]


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.heavy)])
def test_while_commands_run_nothing_of_ours_can_be_touched(sandbox, http, count):
    results, seconds, got = haunted_commands(sandbox, http, count)
    assert got.code == 0, got
    told = json.loads(got.text.splitlines()[-1])
    assert all(told["control"].values()) and told["leaks"] == [], told
    wrong, spoiled = [], 0
    for wanted, status, body in results:
        if status == 200 and body.get("state") == "exited" and body.get("exit_code") == wanted:
            continue
        # The guest may end its own children: then that is what is told, or that it could not be started.
        if (status == 200 and body.get("state") == "signalled") or body.get("error", {}).get("reason") == "start_interfered":
            spoiled += 1
        else:
            wrong.append((wanted, status, body))
    print(f"{count} commands, {told['tried']} attacks on {told['processes']} processes, {spoiled} spoiled, "
          f"slowest {max(seconds):.3f} s")
    assert wrong == []
    assert spoiled < count / 10
    assert max(seconds) < 15  # nothing hangs
