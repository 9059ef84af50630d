"""Attacks every process that appears inside and is not a program of the guest's: one whose
executable cannot be read, or that still runs the keeper's image. Runs inside, as root. Prints what
it could read, if anything.

   haunt.py once        every process that is there now
   haunt.py until FILE  again and again, until FILE exists; then a summary
   … gentle             only reads and traces: changes nothing, sends no signals"""
import ctypes
import json
import os
import resource
import signal
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000
seen, tried = set(), 0
destructive = "gentle" not in sys.argv


class Leaks(list):
    """What counts is what was got from a process that still was Cay's afterwards: one that has
    begun the guest's program in between is the guest's own."""

    def append(self, leak):
        if theirs(leak[0]):
            super().append(leak)


leaks, changed = Leaks(), Leaks()


def told_of(pid):
    """What any process may know of another."""
    try:
        lines = dict(line.rstrip("\n").split(":\t", 1) for line in open(f"/proc/{pid}/status"))
        return [lines[name] for name in ("Name", "State", "Uid", "Seccomp")]
    except (OSError, ValueError, KeyError):
        return []


def theirs(pid):
    """Not a guest program: its exe link is closed to us, or it has gone."""
    try:
        os.readlink(f"/proc/{pid}/exe")
        return False
    except PermissionError:
        return True
    except OSError:
        return False


def attack(pid):
    global tried
    tried += 1
    seen.add(pid)
    for name in ("environ", "maps", "auxv", "mem", "syscall", "stack", "io"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if name == "mem":
                    file.seek(0x400000)
                data = file.read(256)
            if data:
                leaks.append([pid, name, repr(data[:80])])
        except OSError:
            pass
    for name in ("exe", "cwd", "root"):
        try:
            leaks.append([pid, name, os.readlink(f"/proc/{pid}/{name}")])
        except OSError:
            pass
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            leaks.append([pid, "fd/" + fd, os.readlink(f"/proc/{pid}/fd/{fd}")])
    except OSError:
        pass
    try:
        fd = os.open(f"/proc/{pid}/exe", os.O_RDWR)
        leaks.append([pid, "exe opened for writing", fd])
    except OSError:
        pass
    if libc.ptrace(PTRACE_SEIZE, pid, 0, 0) == 0:
        leaks.append([pid, "ptrace", "attached"])
        libc.ptrace(PTRACE_INTERRUPT, pid, 0, 0)
        try:
            os.waitpid(pid, WALL)
        except OSError:
            pass
        libc.ptrace(PTRACE_DETACH, pid, 0, 0)
    local, remote = ctypes.create_string_buffer(64), 0x400000

    class Iovec(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    mine, other = Iovec(ctypes.addressof(local), 64), Iovec(remote, 64)
    if libc.process_vm_readv(pid, ctypes.byref(mine), 1, ctypes.byref(other), 1, 0) > 0:
        leaks.append([pid, "process_vm_readv", repr(local.raw)])
    if not destructive:
        return
    for limit in (
        resource.RLIMIT_NOFILE,
        resource.RLIMIT_AS,
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_CPU,
    ):
        try:
            resource.prlimit(pid, limit, (0, 0))
            changed.append([pid, "prlimit", limit, told_of(pid)])
        except (OSError, ValueError):
            pass
    for act in (
        lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        lambda: os.sched_setaffinity(pid, {0}),
    ):
        try:
            act()
            changed.append([pid, "scheduling", 0, told_of(pid)])
        except OSError:
            pass
    if theirs(pid):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            try:
                os.kill(pid, number)
            except OSError:
                pass


def control():
    """The same means against a process of our own: they work."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    works = {
        "exe": bool(os.readlink(f"/proc/{child}/exe")),
        "environ": True,
        "ptrace": libc.ptrace(PTRACE_SEIZE, child, 0, 0) == 0,
    }
    open(f"/proc/{child}/environ", "rb").close()
    resource.prlimit(child, resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    works["prlimit"] = resource.prlimit(child, resource.RLIMIT_FSIZE)[0] == 1 << 30
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return works


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


works = control()
if sys.argv[1] == "once":
    for pid in pids():
        if theirs(pid):
            attack(pid)
else:
    print("ready", flush=True)
    while not os.path.exists(sys.argv[2]):
        for pid in pids():
            if theirs(pid):
                attack(pid)
print(
    json.dumps(
        {
            "control": works,
            "tried": tried,
            "processes": len(seen),
            "leaks": leaks[:50],
            "changed": changed[:50],
        }
    )
)
