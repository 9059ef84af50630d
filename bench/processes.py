"""What processes use: memory, descriptors and CPU, from /proc."""

import os
import pathlib
import time


def _words(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def pids():
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]


def of_daemon(daemon):
    """Returns {role: [pids]} of the processes that serve this daemon, those of sandboxes aside."""
    found = {}
    for pid in pids():
        words = _words(pid)
        if pid != daemon.process.pid and str(daemon.data).encode() not in words:
            continue
        if words[0].startswith(b"cay-"):
            role = words[0]
        elif words[0].endswith(b"/cay") and len(words) > 1:
            role = words[1]
        else:
            continue
        found.setdefault(role.decode(errors="replace"), []).append(pid)
    return found


def descendants(roots):
    """Returns these processes and all that they, or their children, started."""
    children = {}
    for pid in pids():
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf8")
        except OSError:
            continue
        parent = int(fields.rsplit(")", 1)[1].split()[1])
        children.setdefault(parent, []).append(pid)
    found, left = set(), list(roots)
    while left:
        pid = left.pop()
        if pid not in found:
            found.add(pid)
            left += children.get(pid, [])
    return found


def pss_kib(pid):
    """Returns the memory of a process, shared pages divided by their users."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def ran_seconds(roots):
    """Returns the exact CPU time of these processes, their threads, and all that they started."""
    total = 0
    for pid in descendants(roots):
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total += int(task.read_text(encoding="ascii").split()[0])
            except OSError:
                continue
    return total / 1e9


def busy_seconds():
    """Returns the CPU seconds of the whole host since its start."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, *others = map(int, file.readline().split()[1:9])
    return (user + nice + system + sum(others)) / os.sysconf("SC_CLK_TCK")


def memory():
    """Returns /proc/meminfo in KiB."""
    with open("/proc/meminfo", encoding="ascii") as file:
        return {line.split(":")[0]: int(line.split()[1]) for line in file}


def monotonic():
    """Returns the seconds of the clock that kernel_trace.py goes by."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)
