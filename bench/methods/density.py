"""Idle sandboxes: the fall of MemAvailable for each, and the CPU that all take together."""

import json
import os
import subprocess
import time

import processes
from setting import PROGRAMS

# More limits than the host has memory: they are idle.
ROOM = "[host]\nmax_sandboxes = 100000\nmemory_overcommit = 100.0\ncpu_overcommit = 1000.0\n"
# Lines of /proc/meminfo.
PARTS = ("AnonPages", "Shmem", "SUnreclaim", "SReclaimable", "Percpu", "KernelStack", "PageTables")
SMALL = {
    "limits": {"cpu_millicores": 1000, "memory_bytes": 64 << 20, "disk_bytes": 1 << 30},
    "idle_ttl_s": 0,
}


def _settled(at, seconds):
    """Waits, and returns the memory that is available and how much CPU Cay used meanwhile."""
    roots = [pid for pids in processes.of_daemon(at.daemon).values() for pid in pids]
    begin, ran = time.monotonic(), processes.ran_seconds(roots)
    time.sleep(seconds)
    share = (processes.ran_seconds(roots) - ran) / (time.monotonic() - begin)
    return processes.memory(), share


def _drop_caches():
    """So that page cache that comes or goes is no part of the difference."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3\n")


def one(at, count, settle):
    with at.started(ROOM):
        at.api.remove(at.api.create(**SMALL))
        _drop_caches()
        before, _ = _settled(at, settle)
        words = [PROGRAMS / "bench_client", "hold"]
        words.append(json.dumps({"count": count, "sandbox": SMALL}))
        with subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **at.daemon.env},
        ) as held:
            if held.stdout.readline() != "ready\n":
                raise RuntimeError("bench_client hold did not come up")
            _drop_caches()
            after, share = _settled(at, settle)
            of_cay = processes.of_daemon(at.daemon)
            supervisors = sum(processes.pss_kib(pid) for pids in of_cay.values() for pid in pids)
            held.stdin.write("\n")
            held.stdin.close()
            got = json.loads(held.stdout.read())
        at.fresh_api()
    made = len(got["microseconds"])
    parts = {name: (after[name] - before[name]) / made for name in PARTS}
    at.value(
        f"idle sandbox, N = {count}: memory",
        (before["MemAvailable"] - after["MemAvailable"]) / made / 1024,
        "MiB",
        made=made,
        failures=got["failures"],
        why=got["why"],
        parts_kib=parts,
        serving_kib=supervisors,
    )
    at.told("  of it, KiB: " + ", ".join(f"{name} {kib:.0f}" for name, kib in parts.items()))
    at.value(
        f"idle sandboxes, N = {count}: CPU of all",
        100 * share,
        "% of a core",
    )
    at.value(
        f"idle sandboxes, N = {count}: CPU of one",
        100 * share / made,
        "% of a core",
    )
    at.value(f"creates a second up to N = {count}", got["per_second"], "1/s")


def measure(at):
    one(at, at.count(100, 20), at.count(30, 3))
    if not at.quick:
        one(at, 1000, 30)
