"""Counts what a daemon leaves on the machine: processes, mounts, cgroups, namespaces, loops, files,
rows."""
import contextlib
import os
import pathlib
import sqlite3
import subprocess


def processes_of(instance):
    """Pids of this instance's processes: in its cgroups, or its launcher. Other people's come and
    go meanwhile. So does the child that lets the roots of deleted sandboxes go."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            proc = pathlib.Path("/proc") / pid
            if (proc / "comm").read_text() == "cay-unmounts\n":
                continue
            if (
                instance in (proc / "cgroup").read_text()
                or instance.encode() in (proc / "cmdline").read_bytes()
            ):
                found.append(pid)
        except OSError:
            continue
    return found


def _cgroups(instance):
    total = 0
    for root, dirs, _ in os.walk("/sys/fs/cgroup"):
        total += sum(1 for _ in dirs if instance in root)
    return total


def _namespaces(pids):
    seen = set()
    for pid in pids:
        for kind in ("user", "pid", "mnt", "net", "uts", "ipc", "cgroup"):
            try:
                seen.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            except OSError:
                pass
    return len(seen)


def _loops(data):
    lines = subprocess.run(
        ["losetup", "-n", "-l", "-O", "BACK-FILE"], capture_output=True, text=True
    ).stdout.splitlines()
    return sum(str(data) in line for line in lines)


def launchers_of(instance):
    """Pids of this instance's launcher: its mount namespace is where the store is, and what it
    holds open lives on."""
    found = []
    for pid in processes_of(instance):
        try:
            words = (pathlib.Path("/proc") / pid / "cmdline").read_bytes()
        except OSError:
            continue
        if words.startswith(b"cay-launcher\0"):
            found.append(pathlib.Path("/proc") / pid)
    return found


def _mounts(data, instance, launchers):
    """In our mount namespace and in the launcher's."""
    total, seen = 0, set()
    for proc in [pathlib.Path("/proc/self"), *launchers]:
        try:
            space = os.readlink(proc / "ns/mnt")
            lines = (proc / "mountinfo").read_text().splitlines()
        except OSError:
            continue
        if space not in seen:
            seen.add(space)
            total += sum(str(data) in line or instance in line for line in lines)
    return total


def disks(data, launchers):
    """Writable layers, by the ids of their sandboxes: in the store, as the launcher sees it."""
    seen = set()
    for root in [pathlib.Path("/"), *(proc / "root" for proc in launchers)]:
        try:
            seen |= set(os.listdir(root / str(data / "store").lstrip("/")))
        except OSError:
            pass
    return seen


def _is_newer(proc, fd, data):
    """What older builds' launchers do not have, so that a replaced one has more than its
    predecessor: the gate's directory, and the kernel part that names who was killed for memory (its
    table alone is frozen)."""
    what = os.readlink(proc / "fd" / fd)
    if what == str(data / "gate"):
        return True
    if "bpf" not in what:
        return False
    told = (proc / "fdinfo" / fd).read_text()
    return "mark_victim" in told or "frozen:\t1" in told


def _is_late_root(proc, fd):
    """Whether it is the root of a deleted sandbox, which the launcher has for a moment more."""
    return os.readlink(proc / "fd" / fd) == "/"


def _slots_of(proc):
    """Numbers of the uid ranges that a process holds by a lock."""
    out = set()
    for fd in os.listdir(proc / "fd") if (proc / "fd").exists() else []:
        with contextlib.suppress(OSError):
            if os.readlink(proc / "fd" / fd).endswith("/slots/locks"):
                for line in (proc / "fdinfo" / fd).read_text().splitlines():
                    if "OFDLCK" in line:
                        out.add(int(line.split()[-2]))
    return out


def _groundworks(launchers):
    """How many groundworks wait: uid ranges that the launcher holds for no keeper. One is right."""
    held = set().union(*(_slots_of(proc) for proc in launchers))
    for proc in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if proc.name.isdigit() and (proc / "comm").read_text() == "cay-keeper\n":
                held -= _slots_of(proc)
    return min(len(held), 1)


def _held(launchers, data):
    """Descriptors of the launcher: each may hold a namespace, a mount or a process that nobody else
    knows of. The one network namespace that it keeps for all keepers, which an older one has not,
    is in no count. Nor are the two of a groundwork, which may wait or not."""
    total = -2 * _groundworks(launchers)
    for proc in launchers:
        networks = 0
        for fd in os.listdir(proc / "fd") if (proc / "fd").exists() else []:
            with contextlib.suppress(OSError):
                networks += os.readlink(proc / "fd" / fd).startswith("net:[")
                total += not (_is_newer(proc, fd, data) or _is_late_root(proc, fd))
        total -= min(networks, 1)
    return total


def _files(path):
    return sum(
        len(dirs) + len(files) for root, dirs, files in os.walk(path) if "/layers" not in root
    )


# The files that the gate itself keeps there, once its process was started.
GATES_OWN = {"lock", "gate.sock", "landlock"}


# Rows that are kept on purpose, and bounded, so that there may be more than before. They are a
# tenant's last 100,000 events (events.keep, EventTableTest prunes) and the use of deleted
# sandboxes. The latter is one sum for each set of labels, at most 10,000 for a tenant
# (UsageTableTest).
REMEMBERED = {"event", "usage_retired"}


def census(daemon):
    with daemon.http() as http:
        http.get(
            "/api/v1/usage"
        )  # the meter retires the rows of those that are gone when it is asked, or at its next tick
    data = pathlib.Path(daemon.data)
    instance = (data / "instance").read_text().strip()
    db = sqlite3.connect(f"file:{data / 'state.db'}?mode=ro", uri=True)
    tables = [
        row[0]
        for row in db.execute(
            "select name from sqlite_master where type='table' and name not like 'sqlite%'"
        )
    ]
    rows = {
        table: db.execute(f"select count(*) from {table}").fetchone()[0]
        for table in tables
        if table not in REMEMBERED
    }
    db.close()
    pids, launchers = processes_of(instance), launchers_of(instance)
    return {
        "processes": len(pids),
        "cgroups": _cgroups(instance),
        "namespaces": _namespaces(pids),
        "mounts": _mounts(data, instance, launchers),
        "disks": len(disks(data, launchers)),
        "held by the launcher": _held(launchers, data),
        "loops": _loops(data),
        "data files": sum(
            _files(data / part)
            for part in ("run", "gate", "rules", "spool", "sandboxes")
            if (data / part).exists()
        )
        - sum((data / "gate" / name).exists() for name in GATES_OWN),
        "rows": rows,
    }
