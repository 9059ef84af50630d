#!/usr/bin/env python3
"""Prints, as a table, what programs inside a sandbox take its size for. No pass mark.

    bench/sizes.py [--cpus N] [--memory SIZE] [--go FILE]     needs a daemon (CAY_URL, CAY_DATA)

--go FILE: a static program for the sandbox that prints runtime.NumCPU() and runtime.GOMAXPROCS(0).
A program that the default snapshot lacks has a row without a value.
"""
import argparse
import subprocess
import sys

PYTHON = (
    "import os, multiprocessing; "
    "print(os.cpu_count(), len(os.sched_getaffinity(0)), multiprocessing.cpu_count())"
)
NODE = (
    "const os = require('os'), mib = (bytes) => Math.round(bytes / 2 ** 20); "
    "console.log(os.cpus().length, os.availableParallelism?.(), mib(os.totalmem()), "
    "mib(process.constrainedMemory?.()), "
    "mib(require('v8').getHeapStatistics().heap_size_limit))"
)
JAVA = (
    "java -XX:+PrintFlagsFinal -version 2>/dev/null | "
    "awk '/ MaxHeapSize / {print int($4 / 1048576)}'; "
    "java -XshowSettings:system -version 2>&1 | "
    "sed -n 's/ *Effective CPU Count: //p; s/ *Memory Limit: //p'"
)
ONLINE = "cd /sys/devices/system/cpu; cat online; ls -d cpu[0-9]* | wc -l"
TOP = "top -bn1 -Em | sed -n 's/^MiB Mem *: *\\([0-9.]*\\) total.*/\\1/p'"
V1 = "cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes cpu/cpu.cfs_quota_us"
ROWS = (
    ("`nproc`", "nproc"),
    ("`getconf _NPROCESSORS_ONLN`", "getconf _NPROCESSORS_ONLN"),
    ("`/proc/cpuinfo`: processors", "grep -c '^processor' /proc/cpuinfo"),
    ("`/proc/stat`: CPUs", "grep -c '^cpu[0-9]' /proc/stat"),
    ("`/sys/devices/system/cpu`: `online`, directories", ONLINE),
    ("`lscpu`: CPU(s)", "lscpu | sed -n 's/^CPU(s): *//p'"),
    ("Python: `os.cpu_count()`, affinity, `multiprocessing`", f"python3 -c '{PYTHON}'"),
    ("Go: `NumCPU`, `GOMAXPROCS`", "/tmp/gosize"),
    (
        "Node: `cpus()`, `availableParallelism`, `totalmem`, `constrainedMemory`, heap, MiB",
        f'node -e "{NODE}"',
    ),
    ("Java: `MaxHeapSize` MiB, CPUs, memory limit", JAVA),
    ("`/proc/meminfo`: `MemTotal` MiB", "awk '/^MemTotal/ {print int($2 / 1024)}' /proc/meminfo"),
    ("`free -m`: total, available", "free -m | awk '/^Mem/ {print $2, $7}'"),
    ("`top`: memory MiB", TOP),
    (
        "`/sys/fs/cgroup`: `memory.max`, `cpu.max`",
        "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max",
    ),
    ("the same by v1's names", V1),
    (
        "`sysconf(_SC_PHYS_PAGES)`, which asks sysinfo(2), MiB",
        "echo $(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE) / 1048576))",
    ),
    ("`nproc --all`: possible CPUs", "nproc --all"),
    ("`df -h /`: size, available", "df -h / | awk 'NR == 2 {print $2, $4}'"),
)


def cay(*argv, check=True):
    done = subprocess.run(["cay", *argv], capture_output=True, text=True)
    if check and done.returncode != 0:
        sys.exit(f"sizes: cay {' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--cpus", default="1")
    parser.add_argument("--memory", default="3GiB")
    parser.add_argument("--go", help="a program to run inside")
    asked = parser.parse_args()
    name = cay("create", "--cpus", asked.cpus, "--memory", asked.memory).strip().split()[0]
    try:
        if asked.go:
            cay("cp", asked.go, f"{name}:/tmp/gosize")
        print(f"| {asked.cpus} CPUs, {asked.memory} | inside |\n|---|---|")
        for what, line in ROWS:
            told = cay("exec", name, "--", "sh", "-c", f"({line}) 2>/dev/null", check=False).split()
            print(f"| {what} | {', '.join(told) or '–'} |", flush=True)
    finally:
        cay("rm", name, check=False)


if __name__ == "__main__":
    main()
