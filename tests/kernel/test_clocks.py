"""Each sandbox's clocks count from its own start, and its boot has an id of its own. The control is
what the host's show."""
import inspect
import json
import os
import pathlib
import re
import time

import pytest

from inside import Sandbox, sandbox  # noqa: F401 (a fixture)

own_clocks = pytest.mark.skipif(
    not os.path.exists("/proc/self/ns/time"),
    reason="a kernel without time namespaces: sandboxes go without (doctor says so)",
)


def raw_ahead():
    """How far the raw clock is ahead of the other: of several looks the one in which least came
    between."""
    looks = []
    for _ in range(50):
        begun = time.clock_gettime(time.CLOCK_MONOTONIC)
        raw = time.clock_gettime(time.CLOCK_MONOTONIC_RAW)
        looks.append((time.clock_gettime(time.CLOCK_MONOTONIC) - begun, raw - begun))
    return min(looks)[1]


LOOK = (
    "import ctypes, json, os, platform, time\n"
    + inspect.getsource(raw_ahead)
    + r"""
told = {"namespace": os.readlink("/proc/self/ns/time"),
    "for_children": os.readlink("/proc/self/ns/time_for_children")}
told["boot"] = time.clock_gettime(time.CLOCK_BOOTTIME)
told["monotonic"] = time.clock_gettime(time.CLOCK_MONOTONIC)
told["raw_ahead"] = raw_ahead()
timespec = (ctypes.c_long * 2)()
ctypes.CDLL(None).syscall({"x86_64": 228}.get(platform.machine(), 113), time.CLOCK_BOOTTIME,
    timespec)  # clock_gettime, past the vDSO
told["by_call"] = timespec[0] + timespec[1] / 1e9
told["uptime"] = float(open("/proc/uptime").read().split()[0])
told["btime"] = next(int(line.split()[1]) for line in open("/proc/stat")
    if line.startswith("btime "))
tick = os.sysconf("SC_CLK_TCK")
told["starts"] = {pid: int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[19]) / tick
    for pid in ("1", "self")}
told["wall"] = time.time()
told["boot_id"] = open("/proc/sys/kernel/random/boot_id").read()
print(json.dumps(told))
"""
)


def look(box, **how):
    got = box.python(LOOK, **how)
    assert got.code == 0, got
    return json.loads(got.text)


def host_clock():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@pytest.fixture
def born(daemon):
    """A new sandbox, and the host's clocks before it was asked for."""
    before = {"boot": host_clock(), "wall": time.time()}
    box = Sandbox(daemon)
    yield box, before
    box.close()


@own_clocks
def test_uptime_is_the_sandboxs(born):
    box, before = born
    told = look(box)
    lived = host_clock() - before["boot"]
    assert told["namespace"] == told["for_children"] != os.readlink("/proc/self/ns/time")
    for clock in ("boot", "monotonic", "by_call", "uptime"):
        assert -0.02 < told[clock] <= lived + 0.02, (clock, told, lived)
    # The raw clock has the offset of the other: what the host's has been corrected by since its
    # boot stays between them.
    corrected = raw_ahead()
    assert abs(told["raw_ahead"] - corrected) < 0.02, (told, corrected)
    assert host_clock() > lived + 1  # positive control: the host's own show more
    assert before["wall"] - 2 <= told["btime"] <= told["wall"] + 1, told
    assert 0 <= told["starts"]["1"] <= told["starts"]["self"] <= told["uptime"] + 0.02, told
    assert abs(told["wall"] - time.time()) < 600  # the wall clock is the host's


@own_clocks
def test_all_in_a_sandbox_have_the_same_clocks(sandbox):
    first = look(sandbox)
    again = look(sandbox, user="user")
    assert (
        again["namespace"] == first["namespace"]
        and again["boot"] > first["boot"]
        and again["btime"] in range(first["btime"] - 1, first["btime"] + 2)
    )
    marks = sandbox.sh(
        "cut -d' ' -f1 /proc/uptime; (sh -c \"cut -d' ' -f1 /proc/uptime\")"
    ).text.split()
    assert float(marks[0]) <= float(marks[1]) < float(marks[0]) + 60


@own_clocks
def test_another_sandbox_has_other_clocks(sandbox, born):
    assert look(born[0])["namespace"] != look(sandbox)["namespace"]


WAITS = r"""
import asyncio, ctypes, os, select, signal, subprocess, threading, time
begun = time.monotonic()
threading.Event().wait(0.05)
lock = threading.Lock(); lock.acquire(); assert not lock.acquire(timeout=0.05)
select.select([], [], [], 0.05)
asyncio.run(asyncio.sleep(0.05))
libc = ctypes.CDLL(None, use_errno=True)
class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("n", ctypes.c_long)]
class Timer(ctypes.Structure):
    _fields_ = [("every", Timespec), ("first", Timespec)]
for clock in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME):
    at = time.clock_gettime_ns(clock) + 50_000_000
    until = Timespec(at // 10**9, at % 10**9)
    assert libc.clock_nanosleep(clock, 1, ctypes.byref(until), None) == 0  # TIMER_ABSTIME
    assert at <= time.clock_gettime_ns(clock) < at + 30 * 10**9
    timer = libc.timerfd_create(clock, 0)
    at = time.clock_gettime_ns(clock) + 50_000_000
    assert libc.timerfd_settime(timer, 1, ctypes.byref(Timer(Timespec(0, 0), Timespec(at // 10**9,
        at % 10**9))), None) == 0
    assert int.from_bytes(os.read(timer, 8), "little") == 1
    assert at <= time.clock_gettime_ns(clock) < at + 30 * 10**9
assert subprocess.run(["timeout", "0.05", "sleep", "600"]).returncode == 124
print("waited", time.monotonic() - begun >= 0.4)
"""


@own_clocks
def test_waiting_until_a_moment_is_by_the_own_clocks(sandbox):
    got = sandbox.python(WAITS)
    assert got.text == "waited True\n", got


@own_clocks
def test_a_start_begins_anew_and_a_pause_does_not(born, http):
    box, _ = born
    first = look(box)
    begun = host_clock()
    http.post(f"/api/v1/sandboxes/{box.name}/pause").raise_for_status()
    http.post(f"/api/v1/sandboxes/{box.name}/resume").raise_for_status()
    passed = host_clock() - begun
    resumed = look(box)
    assert resumed["boot"] >= first["boot"] + passed and resumed["boot_id"] == first["boot_id"]
    begun = host_clock()
    assert box.daemon.cli("stop", box.name).code == 0
    started = look(box)
    assert started["boot"] <= host_clock() - begun + 0.02
    assert started["boot_id"] != first["boot_id"]


def test_the_boot_has_an_id_of_its_own(sandbox, born):
    path = pathlib.Path("/proc/sys/kernel/random/boot_id")
    ids = [sandbox.sh(f"cat {path}").text, born[0].sh(f"cat {path}").text, path.read_text()]
    assert all(
        re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\n", one) for one in ids
    ), ids
    assert len(set(ids)) == 3  # the host's is the control
    assert sandbox.sh(f"cat {path}", user="user").text == ids[0]
    for change in (f"echo x > {path}", f"umount {path}", f"mount --bind /etc/hostname {path}"):
        assert sandbox.sh(change).code != 0, change
    assert sandbox.sh(f"cat {path}").text == ids[0]
