"""The program record: what the kernel saw of every process in a sandbox that asked for it, and of
no other."""
import collections
import json
import os
import pathlib
import signal
import subprocess

import pytest

from census import processes_of
from harness import CAY, keeper_of, kill_keeper, needs_root, wait_until
from inside import Sandbox


@pytest.fixture(scope="module", autouse=True)
def able(daemon):
    feature = next(
        one
        for one in json.loads(daemon.cli("doctor", "--json").text)["features"]
        if one["name"] == "program record"
    )
    if not feature["ok"]:
        with daemon.http() as http:
            answer = http.post("/api/v1/sandboxes", json={"record_programs": True})
        assert (
            answer.status_code == 501 and answer.json()["error"]["reason"] == "programs_unsupported"
        ), answer.text
        pytest.skip(f"this kernel records no programs: {feature['found']}")


@pytest.fixture(scope="module")
def recorded(daemon):
    made = Sandbox(daemon, "--record-programs")
    yield made
    made.close()


@pytest.fixture(scope="module")
def plain(daemon):
    made = Sandbox(daemon)
    yield made
    made.close()


def record_of(daemon, name, offset=0):
    """Every event from `offset` on, and where the next one will be."""
    with daemon.http() as http:
        items = []
        while True:
            page = http.get(
                f"/api/v1/sandboxes/{name}/programs", params={"offset": offset, "limit": 1000}
            )
            assert page.status_code == 200, page.text
            got = page.json()
            items += got["items"]
            offset = got["next_offset"]
            if not got["items"]:
                return items, offset


def settled(daemon, name, offset, what):
    """The events from `offset` on, once `what` of them is there."""

    def ready():
        items, _ = record_of(daemon, name, offset)
        return items if what(items) else None

    return wait_until(ready, "the record has it")


def run_marked(sandbox, *argv, **kwargs):
    """Runs argv, then a marker; the processes of argv alone, and the result."""
    _, offset = record_of(sandbox.daemon, sandbox.name)
    got = sandbox.run(*argv, **kwargs)
    marker = "marker-" + os.urandom(6).hex()
    assert sandbox.run("/bin/true", marker).code == 0
    ends = lambda items: [one["process"] for one in items if one.get("args", [])[-1:] == [marker]]
    items = settled(
        sandbox.daemon,
        sandbox.name,
        offset,
        lambda items: any(one["kind"] == "end" and one["process"] in ends(items) for one in items),
    )
    own = ends(items)
    return got, [one for one in items if one.get("process") not in own]


def processes(items):
    out = collections.defaultdict(lambda: {"start": [], "exec": [], "end": []})
    for one in items:
        assert one["kind"] in ("start", "exec", "end"), one
        out[one["process"]][one["kind"]].append(one)
    return out


def test_a_tree_is_recorded_exactly(recorded):
    line = (
        "/bin/echo 'two words' '' >/dev/null; (exit 3); sh -c 'kill -9 $$'; /no/such/program; "
        "exec env A=1 sh -c 'exit 5'"
    )
    got, items = run_marked(recorded, "sh", "-c", line)
    assert got.code == 5
    found = processes(items)
    for one in found.values():
        assert len(one["start"]) == 1 and len(one["end"]) == 1, one  # every process once
    told = sorted(
        (
            tuple(tuple(x["args"]) for x in one["exec"]),
            one["end"][0].get("exit_code"),
            one["end"][0].get("signal"),
        )
        for one in found.values()
    )
    assert told == sorted(
        [
            (
                (("sh", "-c", line), ("env", "A=1", "sh", "-c", "exit 5"), ("sh", "-c", "exit 5")),
                5,
                None,
            ),
            ((("/bin/echo", "two words", ""),), 0, None),
            ((), 3, None),  # (exit 3): forked, never ran a program
            ((("sh", "-c", "kill -9 $$"),), None, 9),
            ((), 127, None),  # the program that is not there
        ]
    )
    root = next(one for one in found.values() if len(one["exec"]) == 3)
    assert root["start"][0]["parent"] == 0 and root["exec"][0]["path"].endswith("/sh")
    for one in found.values():
        if one is not root:
            assert one["start"][0]["parent"] == root["start"][0]["pid"]
        assert one["start"][0]["at_us"] <= one["end"][0]["at_us"]


def test_the_pid_is_the_one_inside_and_the_user_too(recorded):
    got, items = run_marked(
        recorded,
        "python3",
        "-c",
        "import os; print(os.getpid(), os.getppid(), os.getuid())",
        user="1000:1000",
    )
    pid, parent, uid = map(int, got.text.split())
    assert [(one["pid"], one["parent"], one["uid"]) for one in items if one["kind"] == "exec"] == [
        (pid, parent, uid)
    ]
    assert uid == 1000


# Overwrites its arguments where /proc shows them, and its name: what a process does to hide.
RENAMES_ITSELF = """
import ctypes, os
stat = open('/proc/self/stat').read().rsplit(')', 1)[1].split()
start, end = int(stat[45]), int(stat[46])
ctypes.memset(start, ord('x'), end - start)
ctypes.CDLL(None).prctl(15, b'innocent', 0, 0, 0)
print(open('/proc/self/cmdline').read()[:8], open('/proc/self/comm').read().strip())
"""


def test_a_process_cannot_change_what_was_recorded(recorded):
    got, items = run_marked(recorded, "python3", "-c", RENAMES_ITSELF, "secret-argument")
    assert got.text.split() == ["xxxxxxxx", "innocent"], "positive control: it did hide from /proc"
    assert [one["args"] for one in items if one["kind"] == "exec"] == [
        ["python3", "-c", RENAMES_ITSELF, "secret-argument"]
    ]


def test_long_arguments_are_cut_and_said_to_be(recorded):
    _, items = run_marked(recorded, "/bin/true", "a" * 5000)
    (only,) = [one for one in items if one["kind"] == "exec"]
    assert only["args_cut"] and only["args"] == ["/bin/true", "a" * (2048 - len("/bin/true") - 1)]
    _, items = run_marked(recorded, "/bin/true", "b" * 2000)
    (only,) = [one for one in items if one["kind"] == "exec"]
    assert "args_cut" not in only and only["args"] == ["/bin/true", "b" * 2000]


THREADS = """
import threading, time
for _ in range(20):
    all = [threading.Thread(target=time.sleep, args=(0,)) for _ in range(20)]
    [one.start() for one in all]; [one.join() for one in all]
"""


def test_threads_are_no_processes(recorded):
    _, items = run_marked(recorded, "python3", "-c", THREADS)
    assert sorted(one["kind"] for one in items) == ["end", "exec", "start"]


# Many threads that end at the same instant, each alone. The last one is a race, and only one may be
# reported.
RACING_ENDS = """
import ctypes, os, threading
libc = ctypes.CDLL(None)
for _ in range(50):
    if os.fork() == 0:
        gate = threading.Barrier(8)
        def end():
            gate.wait()
            libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 7)  # exit: this thread alone
        for _ in range(7): threading.Thread(target=end).start()
        end()
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_threads_that_end_together_are_one_end(recorded):
    got, items = run_marked(recorded, "python3", "-c", RACING_ENDS)
    assert got.text.split() == ["7"] * 50, got
    ends = collections.Counter(one["process"] for one in items if one["kind"] == "end")
    assert len(ends) == 51 and set(ends.values()) == {1}
    assert sum(one.get("exit_code") == 7 for one in items) == 50


def test_nothing_of_others_is_recorded(recorded, plain):
    _, offset = record_of(recorded.daemon, recorded.name)
    marker = "other-" + os.urandom(6).hex()
    assert plain.run("/bin/true", marker).code == 0
    subprocess.run(["/bin/true", marker], check=True)
    _, items = run_marked(recorded, "/bin/true", "own-" + marker)
    seen = json.dumps(record_of(recorded.daemon, recorded.name, offset)[0])
    assert "own-" + marker in seen, "positive control"
    assert '"' + marker + '"' not in seen
    assert len(processes(items)) == 1


def test_without_the_option_there_is_no_record(plain):
    with plain.daemon.http() as http:
        answer = http.get(f"/api/v1/sandboxes/{plain.name}/programs")
    assert answer.status_code == 404 and answer.json()["error"]["reason"] == "programs_not_recorded"
    assert plain.daemon.cli("programs", plain.name).code == 125


def test_the_kernels_memory_killer_is_named(daemon):
    box = Sandbox(daemon, "--record-programs", "--memory", "64MiB")
    try:
        box.python("b = bytearray(512 << 20)")
        items = settled(
            daemon, box.name, 0, lambda items: any(one["kind"] == "end" for one in items)
        )
        (end,) = [one for one in items if one["kind"] == "end"]
        assert end["signal"] == signal.SIGKILL and end["oom_killed"]
        box.run(
            "sh", "-c", "kill -9 $$"
        )  # positive control: another SIGKILL is not the memory killer's
        items = settled(
            daemon, box.name, 0, lambda items: sum(one["kind"] == "end" for one in items) == 2
        )
        assert not items[-1]["oom_killed"] and items[-1]["signal"] == signal.SIGKILL
    finally:
        box.close()


BURST = (
    "i=0; while [ $i -lt 5000 ]; do /bin/true $i & i=$((i+1)); [ $((i % 50)) = 0 ] && wait; done; "
    "wait"
)


def test_a_burst_is_recorded_or_counted_as_lost(recorded):
    _, offset = record_of(recorded.daemon, recorded.name)
    assert recorded.sh(BURST, timeout=180).code == 0
    expected = 3 * 5001
    total = lambda items: sum(one.get("lost", 1) for one in items)
    items = settled(recorded.daemon, recorded.name, offset, lambda items: total(items) >= expected)
    assert total(items) == expected
    if not any(one["kind"] == "lost" for one in items):
        args = [
            one["args"][1]
            for one in items
            if one["kind"] == "exec" and one["args"][0] == "/bin/true"
        ]
        assert sorted(map(int, args)) == list(range(5000))


@needs_root
def test_what_did_not_fit_is_told_where_it_is_missing(recorded):
    """The ring runs over while its reader is stopped: what did not fit is counted, to the last
    one."""
    _, offset = record_of(recorded.daemon, recorded.name)
    with recorded.daemon.http() as http:
        box = http.get(f"/api/v1/sandboxes/{recorded.name}").json()["id"]
    keeper = keeper_of(recorded.daemon, box)
    recorded.start("true begun; sleep 0.2; " + BURST.replace("true $i", "true $i " + "x" * 1000))
    find = lambda: [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_burst(pid, box)]
    burst = wait_until(find, "it has begun")
    os.kill(keeper, signal.SIGSTOP)
    try:
        wait_until(lambda: not any(runs(pid) for pid in burst), "the burst is over", limit=120)
    finally:
        os.kill(keeper, signal.SIGCONT)

    def whole():
        # Again each time: a process that finds the ring full is lost as the others are.
        assert recorded.run("/bin/true", "after").code == 0
        items, _ = record_of(recorded.daemon, recorded.name, offset)
        after = [one["process"] for one in items if one.get("args") == ["/bin/true", "after"]]
        ended = any(one["kind"] == "end" and one["process"] in after for one in items)
        lost = sum(one.get("lost", 0) for one in items)
        # Every process is start, exec and end: so is the sum of what is there and what is missing.
        return ended and lost > 0 and sum(one.get("lost", 1) for one in items) % 3 == 0

    wait_until(whole, "the gap is told, and its size is exact", limit=60)


def is_burst(pid, box):
    try:
        return (
            box in pathlib.Path(f"/proc/{pid}/cgroup").read_text()
            and b"begun" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        )
    except OSError:
        return False


def runs(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@needs_root
def test_the_daemon_killed_in_the_middle_loses_nothing(own_daemon):
    daemon = own_daemon()
    box = Sandbox(daemon, "--record-programs")
    box.start("i=0; while [ $i -lt 2000 ]; do /bin/true $i; i=$((i+1)); done; /bin/true the-end")
    wait_until(lambda: record_of(daemon, box.name)[0], "it has begun")
    for _ in range(3):
        daemon.restart("kill")
    done = lambda items: any(one.get("args") == ["/bin/true", "the-end"] for one in items)
    items = settled(daemon, box.name, 0, done)
    numbers = [
        int(one["args"][1])
        for one in items
        if one["kind"] == "exec" and one["args"][1:2] and one["args"][1].isdigit()
    ]
    assert numbers == list(range(2000)) and not any(one["kind"] == "lost" for one in items)
    # The record outlives a stop, and goes on after a start.
    before, offset = record_of(daemon, box.name)
    assert daemon.cli("stop", box.name).code == 0
    assert record_of(daemon, box.name)[0][: len(before)] == before
    assert daemon.cli("start", box.name).code == 0
    assert box.run("/bin/true", "second life").code == 0
    items = settled(
        daemon,
        box.name,
        offset,
        lambda items: any(one.get("args") == ["/bin/true", "second life"] for one in items),
    )
    assert "life" in [one["kind"] for one in items]


def bpf_holders(daemon):
    """Which of its processes hold BPF links and maps now: (pid, kind) -> how many. Other daemons'
    come and go beside it."""
    found = collections.Counter()
    own = processes_of((daemon.data / "instance").read_text().strip())
    for info in (file for pid in own for file in pathlib.Path(f"/proc/{pid}/fdinfo").glob("*")):
        try:
            text = info.read_text()
        except OSError:
            continue
        for kind in ("link_id:", "map_id:", "prog_tag:"):
            if kind in text:
                found[(info.parts[2], kind)] += 1
    return found


@needs_root
def test_a_keeper_that_was_killed_is_told_by_the_next_life(daemon):
    box = Sandbox(daemon, "--record-programs")
    one = f"/api/v1/sandboxes/{box.name}"
    with daemon.http() as http:

        def next_life():
            _, offset = record_of(daemon, box.name)
            http.post(f"{one}/start").raise_for_status()
            assert box.run("/bin/true", "awake").code == 0
            items = settled(
                daemon,
                box.name,
                offset,
                lambda items: any(item.get("args") == ["/bin/true", "awake"] for item in items),
            )
            return [
                (item["kind"], item.get("lost"))
                for item in items
                if item["kind"] in ("life", "lost")
            ]

        assert box.run("/bin/true").code == 0
        http.post(f"{one}/stop").raise_for_status()
        assert next_life() == [
            ("life", None)
        ]  # positive control: one that ended by itself lost nothing
        kill_keeper(daemon, http.get(one).json()["id"])
        wait_until(lambda: http.get(one).json()["state"] == "failed", "its keeper's death is seen")
        assert next_life() == [("lost", 0), ("life", None)]
    box.close()


def test_nothing_is_attached_without_it_and_nothing_is_left(own_daemon):
    daemon = own_daemon()
    before = bpf_holders(daemon)
    new = lambda: bpf_holders(daemon) - before

    def keeper(sandbox):
        with daemon.http() as http:
            return str(
                keeper_of(daemon, http.get(f"/api/v1/sandboxes/{sandbox.name}").json()["id"])
            )

    with_plain = Sandbox(daemon)
    with_plain.run("/bin/true")
    # Each keeper holds what names the victims of the memory killer: one program that runs for each
    # of these.
    assert new() == {
        (keeper(with_plain), kind): 1 for kind in ("link_id:", "map_id:", "prog_tag:")
    }, "without the option there is no other"
    before = bpf_holders(daemon)
    box = Sandbox(daemon, "--record-programs")
    assert (
        new()[(keeper(box), "link_id:")] == 1 + 3
    ), "positive control: the keeper holds the tracepoints"
    box.close()
    wait_until(lambda: not new(), "the launcher lets go 10 s after the last", limit=30)


@needs_root
def test_a_launcher_that_dies_stops_no_record(own_daemon):
    daemon = own_daemon()
    box = Sandbox(daemon, "--record-programs")
    workers = subprocess.run(
        ["pgrep", "-f", f"cay-launcher.*{daemon.data}"], capture_output=True, text=True
    ).stdout.split()
    assert workers, "positive control"
    daemon_launcher_worker = max(map(int, workers))
    os.kill(daemon_launcher_worker, signal.SIGKILL)
    assert box.run("/bin/true", "after the launcher").code == 0
    settled(
        daemon,
        box.name,
        0,
        lambda items: any(one.get("args") == ["/bin/true", "after the launcher"] for one in items),
    )
    second = Sandbox(daemon, "--record-programs")  # by the next worker, with a part of its own
    assert second.run("/bin/true", "second").code == 0
    settled(
        daemon,
        second.name,
        0,
        lambda items: any(one.get("args") == ["/bin/true", "second"] for one in items),
    )
    assert "second" not in json.dumps(record_of(daemon, box.name)[0])
    second.close()
    box.close()


def test_the_cli_shows_and_follows(recorded):
    daemon = recorded.daemon
    marker = "shown-" + os.urandom(6).hex()
    follower = subprocess.Popen(
        [CAY, "programs", "--follow", "--json", recorded.name],
        stdout=subprocess.PIPE,
        env={**os.environ, **daemon.env},
    )
    try:
        assert recorded.run("/bin/true", marker).code == 0
        for line in follower.stdout:
            if marker in line.decode():
                break
        assert json.loads(line)["args"] == ["/bin/true", marker]
    finally:
        follower.terminate()
        follower.wait()
    text = daemon.cli("programs", recorded.name).text
    assert f"[/bin/true {marker}]" in text and "exit code 0" in text
    assert daemon.cli("programs", "--offset", "9", recorded.name).code == 125
