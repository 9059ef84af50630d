"""Programs size themselves by the sandbox and not by its host: by its CPUs and its memory, wherever
runtimes look for them. The host's own numbers are the control."""
import json
import os
import pathlib
import re

import pytest

from harness import needs_root, slow, wait_until
from inside import Sandbox

MIB = 1 << 20
MEMORY = 768 * MIB
HOST_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
GROUPS = pathlib.Path("/sys/fs/cgroup")
PURE_V2 = (GROUPS / "cgroup.controllers").exists()
two_cpus = pytest.mark.skipif(os.cpu_count() < 2, reason="SKIPPED: this host has one CPU alone")


@pytest.fixture(scope="module")
def small(daemon):
    made = Sandbox(daemon, "--cpus", "1", "--memory", "768MiB")
    yield made
    made.close()


CPUS = r"""
import glob, json, multiprocessing, os, subprocess
CPU = "/sys/devices/system/cpu/"
text = lambda path: open(path).read()
def listed(path):
    ends = [[int(one) for one in part.split("-")] for part in text(path).split(",")]
    return sum(end[-1] - end[0] + 1 for end in ends)
print(json.dumps({
    "nproc": int(subprocess.check_output(["nproc"])),
    "os.cpu_count": os.cpu_count(),
    "multiprocessing": multiprocessing.cpu_count(),
    "affinity": len(os.sched_getaffinity(0)),
    "_SC_NPROCESSORS_ONLN": os.sysconf("SC_NPROCESSORS_ONLN"),
    "/proc/cpuinfo": text("/proc/cpuinfo").count("processor\t:"),
    "/proc/stat": sum(line[:3] == "cpu" != line[:4].strip() for line in open("/proc/stat")),
    "directories": len(glob.glob(CPU + "cpu[0-9]*")),
    "present": listed(CPU + "present"), "online": listed(CPU + "online")}))
"""


@two_cpus
def test_programs_count_the_cpus_of_the_sandbox(small):
    for user in ("root", "user"):
        told = json.loads(small.python(CPUS, user=user).text)
        assert set(told.values()) == {1}, told
    text = pathlib.Path("/proc/cpuinfo").read_text()
    assert os.cpu_count() > 1 and text.count("processor\t:") > 1  # positive control


@two_cpus
def test_cpus_are_whole_and_no_more_than_the_hosts(daemon):
    for asked, count in (("0.5", 1), ("1.5", 2), (str(os.cpu_count()), os.cpu_count())):
        box = Sandbox(daemon, "--cpus", asked)
        try:
            told = json.loads(box.python(CPUS).text)
            assert set(told.values()) == {count}, (asked, told)
        finally:
            box.close()


@two_cpus
def test_commands_do_not_pile_up_on_one_cpu(small):
    """Each runs where the kernel put it at its start, which is not behind one that is busy."""
    mask = "grep Cpus_allowed_list /proc/self/status"
    busy = small.start(f"{mask} > /tmp/busy; while :; do :; done")
    its = wait_until(lambda: small.sh("cat /tmp/busy").text, "the busy command's CPU")
    wait_until(lambda: small.sh(mask).text != its, "a command on another CPU than the busy one")
    small.daemon.cli("kill", small.name, busy)
    wider = """
import os
os.sched_setaffinity(0, range(os.sysconf("SC_NPROCESSORS_CONF")))
print(len(os.sched_getaffinity(0)))"""
    assert int(small.python(wider).text) > 1  # no wall: the limit is the group's
    assert small.sh("nproc").text == "1\n"  # and the next command has its own again


def test_memory_is_the_sandboxs(small):
    lines = dict(line.split(":") for line in small.sh("cat /proc/meminfo").text.splitlines())
    told = {name: int(value.split()[0]) for name, value in lines.items()}
    assert told["MemTotal"] * 1024 == MEMORY < HOST_MEMORY
    assert 0 < told["MemFree"] <= told["MemAvailable"] <= told["MemTotal"]
    assert told["SwapTotal"] == told["SwapFree"] == 0
    if small.sh("command -v free").code == 0:
        assert small.sh("free -b | awk '/^Mem/ {print $2}'").text.strip() == str(MEMORY)


GROWS = r"""
import time
def free():
    return next(int(line.split()[1]) for line in open("/proc/meminfo") if line[:8] == "MemFree:")
def used():
    return sum(map(int, open("/proc/stat").readline().split()[1:4]))
before, began = free(), used()
held = bytearray(200 << 20)
until = time.monotonic() + LIMIT
while time.monotonic() < until and (before - free() < 190 << 10 or used() - began < 10): pass
print(before - free() >= 190 << 10, used() - began >= 10)
"""


def test_use_is_told_while_it_grows(small):
    assert small.python(GROWS.replace("LIMIT", str(slow(20)))).text == "True True\n"
    free = "awk '/^MemFree/ {print $2}' /proc/meminfo"
    most = (MEMORY - 100 * MIB) // 1024
    wait_until(lambda: int(small.sh(free).text) > most, "the memory to be free again")


def test_a_start_and_a_pause_leave_them_true(daemon, small):
    asked = "nproc; awk '/^MemTotal/ {print $2}' /proc/meminfo"
    for steps in (("pause", "resume"), ("stop", "start")):
        for step in steps:
            got = daemon.cli(step, small.name)
            assert got.code == 0, got
        assert small.sh(asked).text.split() == ["1", str(MEMORY // 1024)]
    told = small.sh("awk '/^cpu / {print $5}' /proc/stat; cut -d' ' -f1 /proc/uptime").text
    idle, up = map(float, told.split())
    assert idle / 100 <= up + 1


def test_a_changed_limit_is_told_after_the_next_start(daemon, http):
    box = Sandbox(daemon, "--cpus", "1", "--memory", "512MiB")
    try:
        wanted = {"limits": {"memory_bytes": 640 * MIB}}
        changed = http.patch(f"/api/v1/sandboxes/{box.name}", json=wanted)
        assert changed.status_code == 200, changed.text
        assert daemon.cli("stop", box.name).code == 0
        asked = "awk '/^MemTotal/ {print $2}' /proc/meminfo; cat /sys/fs/cgroup/memory.max"
        assert box.sh(asked).text.split() == [str(640 * 1024), str(640 * MIB)]
    finally:
        box.close()


# As JDK 17 reads (CgroupSubsystemFactory::determine_type). It takes the groups for v2 if no
# controller in /proc/cgroups has a hierarchy. Then it wants a mount of type cgroup2, and goes
# astray where there is one of type cgroup too.
AS_A_JDK = r"""
rows = [line.split() for line in open("/proc/cgroups") if line[0] != "#"]
enabled = {row[0] for row in rows if row[1::2] == ["0", "1"]}
assert enabled >= {"cpu", "cpuset", "cpuacct", "memory"}, rows
lines = [line.split(" - ") for line in open("/proc/self/mountinfo")]
mounts = [(rest.split()[0], head.split()[4]) for head, rest in lines]
assert not [path for kind, path in mounts if kind == "cgroup"], mounts
(place,) = [path for kind, path in mounts if kind == "cgroup2"]
own = [line.strip().split(":", 2)[2] for line in open("/proc/self/cgroup")][-1]
for name in ("memory.max", "cpu.max"): print(*open(place + own + "/" + name).read().split())
"""


def test_a_jdk_finds_the_limits(small):
    for user in ("root", "user"):
        assert small.python(AS_A_JDK, user=user).text == f"{MEMORY}\n100000 100000\n"
    if small.sh("command -v java").code == 0:
        heap = "java -XX:+PrintFlagsFinal -version 2>/dev/null | awk '/ MaxHeapSize / {print $4}'"
        assert int(small.sh(heap).text) == MEMORY // 4


NODE = """
const os = require("os");
console.log(os.cpus().length, os.availableParallelism?.() ?? 1, os.totalmem(),
            process.constrainedMemory?.() ?? MEMORY);
"""


def test_other_runtimes_find_the_limits(small):
    """By the paths that libuv (Node) and .NET have for the kind of groups that the kernel tells."""
    if small.sh("cat /proc/self/cgroup").text.startswith("0::/"):
        told = small.sh("cat /sys/fs/cgroup/memory.max; stat -fc %T /sys/fs/cgroup").text
        assert told == f"{MEMORY}\ncgroup2fs\n"
    else:
        files = "memory/memory.limit_in_bytes cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us"
        told = small.sh(f"cd /sys/fs/cgroup; cat {files}").text
        assert told.split() == [str(MEMORY), "100000", "100000"]
    assert 0 < int(small.sh("cat /sys/fs/cgroup/memory.current").text) < MEMORY
    if small.sh("command -v node").code == 0:
        told = small.run("node", "-e", NODE.replace("MEMORY", str(MEMORY))).text
        assert told.split() == ["1", "1", str(MEMORY), str(MEMORY)]


@pytest.mark.skipif(not PURE_V2, reason="SKIPPED: this host's limits are in v1 hierarchies")
def test_on_pure_v2_the_kernels_own_files_are_there(small):
    told = small.sh("cd /sys/fs/cgroup; ls; cat cpu.max pids.max").text
    assert "cgroup.controllers" in told and "memory.stat" in told and "100000 100000" in told


FILES = ["/proc/meminfo", "/proc/stat", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/cpu.max"]
OF_FEWER_CPUS = ["/proc/cpuinfo", "/sys/devices/system/cpu/online"]
CHANGES = ("echo 1 > {0}", "rm {0}", "mv {0} {0}x", "umount {0}", "mount -o remount,bind,rw {0}")
OF_GROUPS = [
    "mkdir /sys/fs/cgroup/x",
    "echo 0 > /sys/fs/cgroup/cgroup.procs",
    "umount /sys/fs/cgroup",
    "umount -l /sys/fs/cgroup",
]
ELSEWHERE = ["echo 1 > /tmp/x", "rm /tmp/x"]


@needs_root
def test_they_cannot_be_changed_and_nothing_above_is_seen(small, daemon, http):
    files = FILES + (OF_FEWER_CPUS if os.cpu_count() > 1 else [])
    tries = [change.format(path) for path in files for change in CHANGES] + OF_GROUPS + ELSEWHERE
    count = f"wc -l {' '.join(files)}"
    before = small.sh(count).text
    told = small.sh("\n".join(f"({change}) 2>/dev/null && echo '{change}'" for change in tries))
    assert told.text.splitlines() == ELSEWHERE  # that is the positive control
    assert small.sh(count).text == before
    box = http.get(f"/api/v1/sandboxes/{small.name}").json()["id"]
    instance = (daemon.data / "instance").read_text().strip()
    told = small.sh("find /sys/fs/cgroup /sys/fs/cgroup/..; cat /proc/self/mountinfo").text
    assert instance not in told and box not in told
    names = set(re.findall(r"/sys/fs/cgroup/(\w+)$", told, re.M))
    assert not [one for one in names if not re.fullmatch(r"s\d+|memory|cpu", one)], names
    seen = [root for root, names, _ in os.walk(GROUPS) if instance in root + str(names)]
    assert seen  # positive control
