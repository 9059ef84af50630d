"""What /proc and /sys tell inside: of the sandbox, not of the host. The positive control is the
host's own view."""
import json
import os
import pathlib
import subprocess

from harness import needs_root
from inside import sandbox  # noqa: F401 (a fixture)

# Every file below /proc that may be read inside. src/launcher/kernel_view.cc has the reasons. Some
# have numbers of the whole machine, and SECURITY.md lists them.
ALLOWED = {
    "cgroups",
    "cpuinfo",
    "devices",
    "filesystems",
    "loadavg",
    "meminfo",
    "mounts",
    "net",
    "self",
    "stat",
    "sys",
    "sysvipc",
    "thread-self",
    "tty",
    "uptime",
    "version",
    "vmstat",
}

READABLE = r"""
import os, json
told = {"files": [], "dirs": []}
for name in os.listdir("/proc"):
    if name.isdigit(): continue
    path = "/proc/" + name
    try:
        if os.path.isdir(path):
            if os.listdir(path): told["dirs"].append(name)
        elif open(path, "rb").read(64): told["files"].append(name)
    except OSError: pass
print(json.dumps(told))
"""


def readable(run):
    told = json.loads(run(READABLE))
    return set(told["files"]) | set(told["dirs"])


def on_host(program):
    return subprocess.run(
        ["python3", "-c", program], capture_output=True, text=True, check=True
    ).stdout


def test_proc_shows_only_what_is_allowed(sandbox):
    inside = readable(lambda program: sandbox.python(program).text)
    assert inside <= ALLOWED, inside - ALLOWED
    outside = readable(on_host)
    assert {"cpuinfo", "meminfo", "self"} <= inside  # what programs need is there
    assert outside - ALLOWED >= {
        "cmdline",
        "iomem",
        "partitions",
        "diskstats",
    }  # positive control: the host does show more


@needs_root
def test_the_known_leaks_one_by_one(sandbox):
    covered = []
    for name in (
        "cmdline",
        "config.gz",
        "kallsyms",
        "modules",
        "keys",
        "key-users",
        "timer_list",
        "sched_debug",
        "interrupts",
        "kcore",
        "latency_stats",
        "acpi",
        "scsi",
        "partitions",
        "diskstats",
        "iomem",
        "ioports",
        "locks",
        "swaps",
        "bus",
        "fs",
        "irq",
        "driver",
        "buddyinfo",
        "zoneinfo",
        "softirqs",
        "consoles",
    ):
        for user in ("root", "user"):
            got = sandbox.sh(
                f"ls -A /proc/{name}/ 2>/dev/null; head -c 64 /proc/{name} 2>/dev/null", user=user
            )
            assert got.out == b"", (name, user, got)
        host = pathlib.Path("/proc") / name
        if host.exists() and (host.is_dir() or host.name == "kcore" or host.open("rb").read(1)):
            covered.append(name)
    assert {"cmdline", "partitions", "interrupts", "kallsyms"} <= set(
        covered
    )  # positive control: the host has them
    assert (
        sandbox.sh("head -c 5 /proc/version").text == "Linux"
    )  # and the way of reading works inside


def test_the_host_cannot_be_poked_through_proc(sandbox):
    for path in (
        "sysrq-trigger",
        "sys/kernel/hostname",
        "sys/kernel/core_pattern",
        "sys/vm/drop_caches",
        "acpi/x",
        "irq/x",
    ):
        assert sandbox.sh(f"echo x > /proc/{path}").code != 0, path
    assert (
        sandbox.sh("echo 7 > /proc/self/oom_score_adj && cat /proc/self/oom_score_adj").text
        == "7\n"
    )  # positive control


def test_sys_shows_no_hardware_of_the_host(sandbox):
    names = sandbox.sh("find /sys -maxdepth 3 | sort").text.split()
    assert "/sys/class/net/lo" in names and "/sys/devices/system/cpu" in names
    for gone in (
        "firmware",
        "kernel/debug",
        "kernel/tracing",
        "kernel/security",
        "kernel/notes",
        "kernel/btf",
        "kernel/slab",
        "class/dmi",
        "devices/virtual/dmi",
        "block",
        "bus",
        "module",
        "power",
        "hypervisor",
        "devices/virtual/powercap",
        "devices/pci0000:00",
        "devices/platform",
    ):
        assert sandbox.sh(f"ls -A /sys/{gone} 2>/dev/null").text == "", gone
    assert any(
        os.listdir(f"/sys/{name}") for name in ("block", "bus", "module", "firmware")
    )  # positive control
    assert sandbox.sh("ls /sys/class/net /sys/devices/virtual/net").text.split() == [
        "/sys/class/net:",
        "lo",
        "/sys/devices/virtual/net:",
        "lo",
    ]
    assert len(os.listdir("/sys/class/net")) >= 1
    assert (
        sandbox.sh(
            "touch /sys/x /sys/fs/cgroup/x || mkdir /sys/block/x || echo 0 > "
            "/sys/devices/system/cpu/cpu1/online"
        ).code
        != 0
    )


def test_cgroup_paths_hold_no_ids(sandbox, daemon, http):
    """On hybrid hosts too: the groups' names hold the instance's and the sandbox's ids, and the
    host's services."""
    box = http.get(f"/api/v1/sandboxes/{sandbox.name}").json()["id"]
    instance = (daemon.data / "instance").read_text().strip()
    outside = [path.read_text() for path in pathlib.Path("/proc").glob("[0-9]*/cgroup")]
    assert any(instance in text and box in text for text in outside)  # positive control
    child = sandbox.start("sleep 30")
    for user in ("root", "user"):
        for line in sandbox.sh(
            "cat /proc/[0-9]*/cgroup /proc/[0-9]*/task/*/cgroup", user=user
        ).text.splitlines():
            path = line.split(":", 2)[2]
            assert instance not in path and box not in path, line
            assert set(path.strip("/").split("/")) <= {
                "",
                "..",
                "keeper",
                "cmds",
                *(f"s{n}" for n in range(64)),
            }, line
        own = {
            line.split(":", 2)[2]
            for line in sandbox.sh("cat /proc/self/cgroup", user=user).text.splitlines()
        }
        assert own == {"/"}, own
    sandbox.daemon.cli("kill", sandbox.name, child)
