"""Privileges that root inside has not: capabilities, ids, limits, set-id programs, devices."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import baits
from frame import Bait, Outcome, inside, row

G, D = "privileges", "devices"


def all_capabilities():
    header, data = struct.pack("Ii", 0x20080522, 0), struct.pack(
        "6I", 1 << 21, 1 << 21, 0, 0, 0, 0
    )  # SYS_ADMIN alone
    call(126, header, data)
    return int(read("/proc/thread-self/status").split("CapEff:")[1].split()[0], 16) == 1 << 21


def file_capability():
    import shutil

    shutil.copy("/usr/bin/cat", "/var/tmp/cat")
    # v2 xattr: permitted SYS_ADMIN and effective; becomes v3 of this user namespace.
    os.setxattr(
        "/var/tmp/cat", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 21, 0, 0, 0)
    )
    import subprocess

    text = subprocess.run(
        ["/var/tmp/cat", "/proc/self/status"], capture_output=True, text=True
    ).stdout
    return bool(text) and int(text.split("CapEff:")[1].split()[0], 16) >> 21 & 1 == 1


def set_user_in_tmp(place):
    import shutil, subprocess

    shutil.copy("/usr/bin/id", place + "/set-id")
    os.chown(place + "/set-id", 0, 0)
    os.chmod(place + "/set-id", 0o4755)
    return (
        subprocess.run([place + "/set-id", "-u"], capture_output=True, text=True, user=1000).stdout
        == "0\n"
    )


def run_from(place):
    import shutil, subprocess

    shutil.copy("/usr/bin/id", place + "/program")
    os.chmod(place + "/program", 0o755)
    return (
        subprocess.run([place + "/program", "-u"], capture_output=True, text=True).stdout == "0\n"
    )


def become(uid):
    return in_child(lambda: os.setresuid(uid, uid, uid) or os.getuid() == uid)


def give_away(uid):
    # In memory: the mount of a sandbox's disk maps no other ids, whatever the user may do.
    with open("/dev/shm/given", "w"):
        pass
    os.chown("/dev/shm/given", uid, uid)
    return os.stat("/dev/shm/given").st_uid == uid


class Foreign(Bait):
    """An id of the host's that is not this sandbox's: of the first slot's keeper."""

    def __enter__(self):
        self.arguments = {"uid": 0x70001000}
        return self


def write_to(path):
    with open(path, "w") as file:
        file.write("changed")


class RootsFile(baits.Marker):
    """A file of the host's root, which is attached inside at a place that the wall names."""

    mode, place = 0o644, pathlib.Path("/var/tmp/cay-escape-roots")

    def __enter__(self):
        self.place.mkdir(exist_ok=True)
        self.file = self.place / "marker"
        self.file.write_text("as it was")
        self.file.chmod(self.mode)
        self.arguments = {"path": "/usr/bin/users"}
        return self


def read_it(path):
    return read(path)


class RootsSecret(RootsFile):
    mode = 0o600

    def __enter__(self):
        super().__enter__()
        self.secret = baits.new_secret()
        self.file.write_text(self.secret)
        return self

    def won(self, told):
        return self.secret in str(told)


def own_it(path):
    os.chmod(path, 0o666)
    with open(path, "w") as file:
        file.write("changed")


def better_priority():
    os.setpriority(os.PRIO_PROCESS, 0, -5)
    return os.getpriority(os.PRIO_PROCESS, 0) == -5


def real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return os.sched_getscheduler(0) == os.SCHED_FIFO


def dump_core(nothing=False):
    os.makedirs("/var/tmp/core", exist_ok=True)
    os.chdir("/var/tmp/core")
    for name in os.listdir("."):
        os.unlink(name)
    pid = os.fork()
    if pid == 0:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (0 if nothing else hard, hard))
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    _, status = os.waitpid(pid, 0)
    return os.WCOREDUMP(status) or bool(os.listdir("."))


inside("raise-capabilities", "take a capability that was dropped", G, ["caps"], all_capabilities)
inside(
    "file-capability", "take a capability from a file that carries it", G, ["caps"], file_capability
)
inside(
    "foreign-user",
    "become a user of the host's that is not the sandbox's",
    G,
    ["user"],
    become,
    Foreign,
)
inside(
    "foreign-owner",
    "give a file to a user of the host's",
    G,
    ["user"],
    give_away,
    Foreign,
    known=("CVE-2024-28189",),
)
AT = "host:/var/tmp/cay-escape-roots/marker=/usr/bin/users"
inside(
    "roots-file-write",
    "write a file of the host's root",
    G,
    [AT, "user"],
    write_to,
    RootsFile,
    wall="no host file inside; root is nobody outside",
    known=("OpenSandbox#750",),
)
inside(
    "roots-file-read",
    "read a private file of the host's root",
    G,
    [AT, "user"],
    read_it,
    RootsSecret,
    wall="no host file inside; root is nobody outside",
    known=("OpenSandbox#750", "CubeSandbox#838"),
)
inside(
    "roots-file-mode",
    "make a file of the host's root writable",
    G,
    [AT, "user"],
    own_it,
    RootsFile,
    wall="no host file inside; root is nobody outside",
    known=("CVE-2024-28189",),
)
inside("better-priority", "go before the host's processes", G, ["user", "caps"], better_priority)
inside("real-time", "run in real time", G, ["user", "caps", "cgroup"], real_time)
inside(
    "core-dump",
    "have the host's kernel dump a core",
    G,
    ["limits"],
    dump_core,
    known=("CVE-2025-52881",),
    needs=lambda: ""
    if "unlimited"
    in next(
        line
        for line in pathlib.Path("/proc/self/limits").read_text().splitlines()
        if "core file" in line
    ).split()[4:6]
    and not pathlib.Path("/proc/sys/kernel/core_pattern").read_text().startswith("|")
    else "the host dumps no cores into files",
)
# At 0 a core goes to a program of the host's all the same, at 1 nowhere (core(5)).
inside(
    "core-to-a-program",
    "have a program of the host's take a core",
    G,
    ["filter"],
    dump_core,
    type(
        "Nothing", (Bait,), {"__enter__": lambda self: self.arguments.update(nothing=True) or self}
    ),
    wall="a core limit of 1, which nobody sets anew",
    needs=lambda: ""
    if pathlib.Path("/proc/sys/kernel/core_pattern").read_text().startswith("|")
    else "the host hands cores to no program",
)
for place in ("/tmp", "/dev/shm", "/run"):
    inside(
        f"set-id-in{place.replace('/', '-')}",
        f"run a set-id program from {place}",
        G,
        [f"nosuid:{place}"],
        set_user_in_tmp,
        type(
            "Place",
            (Bait,),
            {
                "place": place,
                "__enter__": lambda self: self.arguments.update(place=self.place) or self,
            },
        ),
    )
inside(
    "program-in-dev",
    "run a program from /dev",
    G,
    ["noexec:/dev"],
    run_from,
    type("Place", (Bait,), {"__enter__": lambda self: self.arguments.update(place="/dev") or self}),
)


# ---- devices ----


def make_and_open(major, minor, place):
    node = f"{place}/node-{os.getpid()}"
    os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
    try:
        return len(os.read(os.open(node, os.O_RDONLY), 16)) == 16
    finally:
        os.unlink(node)


class Device(Bait):
    major, minor, host_place = 1, 5, pathlib.Path("/var/tmp/cay-escape-devices")

    def __enter__(self):
        self.host_place.mkdir(exist_ok=True)
        self.host_place.chmod(0o777)
        self.arguments = {"major": self.major, "minor": self.minor, "place": "/srv"}
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.host_place, ignore_errors=True)
        return False


HERE = "host:/var/tmp/cay-escape-devices=/srv"
inside(
    "make-device",
    "make a device node and read from it",
    D,
    [HERE, "user", "caps"],
    make_and_open,
    Device,
    wall="nodev on every mount, no CAP_MKNOD over the host",
    known=("CVE-2026-96812", "CubeSandbox#838"),
)
inside(
    "make-log-device",
    "make a node of the kernel's log and read it",
    D,
    [HERE, "user", "caps"],
    make_and_open,
    type("LogDevice", (Device,), {"minor": 9}),
    wall="nodev on every mount, no CAP_MKNOD over the host",
)


def open_node(path):
    return len(os.read(os.open(path, os.O_RDONLY), 16)) == 16


class Node(Bait):
    """A device node that somebody put into the sandbox's own disk from outside, as a hostile image
    would."""

    of_host, name, over = True, "planted", pathlib.Path("/var/tmp/cay-escape-node")

    def __init__(self, host):
        super().__init__(path="/opt/planted")
        self.host = host

    def __enter__(self):
        self.over.mkdir(exist_ok=True)
        subprocess.run(["mknod", "-m", "666", self.over / "planted", "c", "1", "5"], check=True)
        self.host.box("main").sh("mkdir -p /opt")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.over, ignore_errors=True)
        return False


inside(
    "node-in-a-tree",
    "open a device node that lies in a tree attached from outside",
    D,
    ["host:/var/tmp/cay-escape-node=/opt"],
    open_node,
    Node,
    wall="no tree with devices inside",
    known=("CVE-2026-96812",),
)


def watch_null():
    watch = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(watch, b"/dev/null", 0x20) > 0
    return bool(select.select([watch], [], [], 2)[0])


class Using(Bait):
    """Somebody on the host uses /dev/null meanwhile."""

    def __enter__(self):
        import threading

        self.done = threading.Event()

        def use():
            while not self.done.wait(0.01):
                open("/dev/null", "wb").close()

        threading.Thread(target=use, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.done.set()
        return False


inside(
    "watch-a-device",
    "watch the host's use of /dev/null",
    D,
    ["host:/dev/null=/dev/null"],
    watch_null,
    Using,
    wall="device nodes of its own",
)


def lock_device():
    import fcntl

    with open("/dev/null", "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True


class Locking(Bait):
    def __enter__(self):
        import fcntl

        self.file = open("/dev/null", "wb")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_):
        self.file.close()
        return False


inside(
    "see-a-lock",
    "learn of a lock on a device of the host",
    D,
    ["host:/dev/null=/dev/null"],
    lock_device,
    Locking,
    wall="device nodes of its own",
)


def write_terminal(number):
    for name in os.listdir("/dev/pts"):
        if name == number:
            with open("/dev/pts/" + name, "wb", buffering=0) as file:
                file.write(b"changed")


class Terminal(Bait):
    """A terminal of the host's, writable for everybody."""

    def __enter__(self):
        self.main, self.other = os.openpty()
        name = os.ttyname(self.other)
        os.chmod(name, 0o666)
        os.set_blocking(self.main, False)
        self.arguments = {"number": os.path.basename(name)}
        return self

    def __exit__(self, *_):
        os.close(self.main)
        os.close(self.other)
        return False

    def won(self, told):
        try:
            return b"changed" in os.read(self.main, 100)
        except BlockingIOError:
            return False


inside(
    "host-terminal",
    "write to a terminal of the host",
    D,
    ["host:/dev/pts=/dev/pts"],
    write_terminal,
    Terminal,
    wall="terminals of its own",
    known=("CVE-2025-52565",),
)


# ---- a launcher that was taken over ----

# Prints which of these succeeds. Root's programs have the capabilities that their bounding set
# leaves.
AS_A_LAUNCHER = r"""
import ctypes, socket, sys
libc = ctypes.CDLL(None, use_errno=True)

def packets():
    socket.socket(17, socket.SOCK_RAW, 0).close()

def module():
    libc.delete_module(b"cay-no-such-module", 0)
    if ctypes.get_errno() != 2: raise OSError(ctypes.get_errno(),
        "modules")  # whoever may take one out learns that there is none

for act in (packets, module):
    try: act()
    except OSError as error: print(act.__name__, error, file=sys.stderr)
    else: print(act.__name__)
"""


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # others' come and go
        return b""


@row(
    "launcher-powers",
    "read the host's packets or take out its kernel modules, as a launcher that was taken over",
    "our processes",
    "capabilities of the launcher",
    proof="succeeds with all of root's",
)
def launcher_powers(host, lifted):
    words = f"cay-launcher\0--data\0{host.daemon.data}\0".encode()
    own = next(
        pid
        for pid in filter(str.isdigit, os.listdir("/proc"))
        if command_line(pid).startswith(words)
    )
    status = dict(
        line.split(":\t", 1)
        for line in pathlib.Path(f"/proc/{own}/status").read_text().splitlines()
        if ":\t" in line
    )
    left = 0
    for name in ("CapBnd", "CapPrm", "CapEff", "CapInh", "CapAmb"):
        left |= int(status[name], 16)
    libc = ctypes.CDLL(None, use_errno=True)

    def held_as_it():
        for one in range(64):
            if not left >> one & 1:
                libc.prctl(24, one, 0, 0, 0)  # CAPBSET_DROP

    done = subprocess.run(
        [sys.executable, "-SE", "-c", AS_A_LAUNCHER],
        capture_output=True,
        text=True,
        preexec_fn=None if lifted else held_as_it,
    )
    return Outcome(bool(done.stdout), done.stdout.strip() or "EPERM")
