"""What one sandbox can take of the host: its limits hold, each seen to be passed without it. All in
a sandbox of 64 MiB and 64 processes."""
import os
import pathlib
import subprocess

import connection_tracking
from baits import wait_won
from frame import SETTING, Bait, Outcome, inside, row
from harness import processes_of
from places import Sandbox

R = "resources"


def many_processes():
    pids = []
    try:
        for _ in range(100):
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            pids.append(pid)
        return True
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)


def many_threads():
    import threading

    stop = threading.Event()
    try:
        for _ in range(100):
            threading.Thread(target=stop.wait, daemon=True).start()
        return True
    except RuntimeError:
        raise OSError(errno.EAGAIN, "threads")
    finally:
        stop.set()


def much_memory():
    return in_child(lambda: len(bytearray(b"x" * (160 << 20))) == 160 << 20)


def much_mapped():
    def work():
        page = mmap.mmap(-1, 160 << 20)
        for at in range(0, 160 << 20, 4096):
            page[at] = 1
        return True

    return in_child(work)


def much_of_memfd():
    def work():
        fd = os.memfd_create("much")
        for _ in range(160):
            os.write(fd, bytes(1 << 20))
        return True

    return in_child(work)


def much_of_system_v():
    def work():
        handle = call(29, 0, 160 << 20, 0o1600)
        libc.shmat.restype = ctypes.c_void_p
        at = libc.shmat(handle, None, 0)
        call(31, handle, 0, 0)
        for place in range(0, 160 << 20, 4096):
            ctypes.memset(at + place, 1, 1)
        return True

    return in_child(work)


def fill(path):
    def work():
        with open(path, "wb") as file:
            for _ in range(160):
                file.write(bytes(1 << 20))
        return True

    try:
        return in_child(work)
    finally:
        if os.path.exists(path):
            os.unlink(path)


def fill_sockets():
    def work():
        held, sent = [], 0
        while sent < 160 << 20:
            one, other = socket.socketpair(socket.AF_UNIX)
            one.setblocking(False)
            held += [one, other]
            try:
                while True:
                    sent += one.send(bytes(65536))
            except BlockingIOError:
                pass
        return True

    return in_child(work)


def files_of_tmp():
    os.makedirs("/run/many", exist_ok=True)
    try:
        for number in range(4000):
            os.close(os.open(f"/run/many/{number}", os.O_CREAT | os.O_WRONLY))
        return True
    finally:
        import shutil

        shutil.rmtree("/run/many")


def terminals():
    held = []
    while len(held) < 200:
        held.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    return True


inside("many-processes", "make 100 processes", R, ["cgroup"], many_processes, Bait, box="small")
inside("many-threads", "make 100 threads", R, ["cgroup"], many_threads, Bait, box="small")
inside(
    "much-memory",
    "fill 160 MiB of memory",
    R,
    ["cgroup"],
    much_memory,
    Bait,
    box="small",
    may_die=True,
)
inside(
    "much-mapped",
    "fill 160 MiB of a mapping",
    R,
    ["cgroup"],
    much_mapped,
    Bait,
    box="small",
    may_die=True,
    short=False,
)
inside(
    "much-of-memfd",
    "fill 160 MiB of a file in memory",
    R,
    ["cgroup"],
    much_of_memfd,
    Bait,
    box="small",
    may_die=True,
)
inside(
    "much-of-system-v",
    "fill 160 MiB of System V memory",
    R,
    ["cgroup"],
    much_of_system_v,
    Bait,
    box="small",
    may_die=True,
    short=False,
)
inside(
    "much-of-sockets",
    "fill UNIX sockets with 160 MiB",
    R,
    ["cgroup"],
    fill_sockets,
    Bait,
    box="small",
    may_die=True,
    short=False,
)


def at(path):
    return type("At", (Bait,), {"__enter__": lambda self: self.arguments.update(path=path) or self})


class Room(Bait):
    """A place of the host's without a limit."""

    place = pathlib.Path("/var/tmp/cay-escape-room")

    def __enter__(self):
        self.place.mkdir(exist_ok=True)
        self.place.chmod(0o777)
        self.arguments = {"path": "/srv/full"}
        return self

    def __exit__(self, *_):
        import shutil

        shutil.rmtree(self.place, ignore_errors=True)
        return False


for place in ("/dev/shm", "/run"):
    inside(
        f"fill{place.replace('/', '-')}",
        f"write 160 MiB to {place}",
        R,
        [f"host:/var/tmp={place}"],
        fill,
        at(f"{place}/full"),
        box="small",
        wall=f"{place} has a size of its own",
        short=place == "/dev/shm",
    )
inside(
    "fill-tmp",
    "write 160 MiB to /tmp on a disk of 64",
    R,
    ["host:/var/tmp=/tmp"],
    fill,
    at("/tmp/full"),
    box="small",
    wall="disk limit",
    short=False,
    needs=lambda: "" if btrfs() else "no btrfs here, so no limit on disks",
)
inside(
    "fill-the-disk",
    "write 160 MiB to a disk of 64",
    R,
    ["host:/var/tmp/cay-escape-room=/srv"],
    fill,
    Room,
    box="small",
    wall="disk limit",
    needs=lambda: "" if btrfs() else "no btrfs here, so no limit on disks",
)
inside(
    "many-files",
    "make 4,000 files in /run",
    R,
    ["host:/var/tmp=/run"],
    files_of_tmp,
    Bait,
    box="small",
    wall="/run has inodes of its own",
)


def btrfs():
    return "btrfs" in pathlib.Path("/proc/filesystems").read_text()


def limited(name, attack, wall, fields, **more):
    """The limit is what is asked of the product: a sandbox, or a command, with and without it."""

    def wrap(act):
        @row(name, attack, R, wall, proof="succeeds where none is asked for", means=SETTING, **more)
        def run(host, lifted):
            return act(host, {} if lifted else fields)

        return run

    return wrap


@limited(
    "output-flood",
    "print 40 MB and have the host keep it",
    "output limit",
    {"output_limit_bytes": 1 << 20},
)
def output_flood(host, fields):
    box = host.box("main")
    got = box.command(
        ["sh", "-c", "yes cay-escape-flood | head -c 40000000"], max_output_bytes=4096, **fields
    )
    spool = host.daemon.data / "spool" / box.id
    kept = sum(
        path.stat().st_blocks * 512 for path in spool.rglob("*") if got["command_id"] in str(path)
    )
    return Outcome(kept > 20_000_000, f"{kept} bytes kept")


@limited("endless-command", "run for ever", "time limit", {"timeout_s": 1}, short=False)
def endless_command(host, fields):
    """Outlives a second: told by what it left."""
    box = host.box("main")
    box.sh("rm -f /tmp/outlived")
    got = box.command(["sh", "-c", "sleep 2.5; touch /tmp/outlived"], **{"timeout_s": 60, **fields})
    return Outcome("yes" in box.sh("[ -e /tmp/outlived ] && echo yes"), got["state"])


@limited(
    "left-behind",
    "leave a process behind that no time limit reaches",
    "the whole tree is killed",
    {"timeout_s": 1},
    short=False,
)
def left_behind(host, fields):
    box = host.box("main")
    box.sh("rm -f /tmp/left")
    box.command(
        ["sh", "-c", "setsid sh -c 'sleep 2.5; touch /tmp/left' & sleep 2"],
        **{"timeout_s": 60, **fields},
    )
    return Outcome(
        wait_won(lambda: "yes" in box.sh("[ -e /tmp/left ] && echo yes"), 20 if not fields else 3),
        "nothing was left",
    )


@limited(
    "more-than-asked",
    "take more processes than the limit by running commands side by side",
    "one limit for all commands",
    {"limits": {"pids": 40}},
)
def more_than_asked(host, fields):
    box = Sandbox(host, "escape-" + os.urandom(4).hex(), **fields)
    try:
        for _ in range(2):
            box.host.http.post(
                f"{box.url}/commands",
                json={"command": "for i in $(seq 30); do sleep 60 & done; wait", "wait": False},
            )
        return Outcome(
            wait_won(lambda: len(processes_of(box.id)) > 55, 3),
            f"{len(processes_of(box.id))} processes",
        )
    finally:
        box.close()


class Terminals(Bait):
    """Terminals without a limit."""

    place = pathlib.Path("/var/tmp/cay-escape-pts")

    def __enter__(self):
        self.place.mkdir(exist_ok=True)
        subprocess.run(
            ["mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666", "none", self.place],
            check=True,
        )
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.place], check=True)
        self.place.rmdir()
        return False


inside(
    "many-terminals",
    "take 200 of the host's terminals",
    R,
    ["host:/var/tmp/cay-escape-pts=/dev/pts"],
    terminals,
    Terminals,
    wall="128 terminals each",
)


# ---- of the host's memory and rooms, which no group's limit counts ----


def own_filter():
    """A filter of system calls: each is compiled within a room that is the whole host's."""
    pass_all = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000), 8)
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(pass_all))

    def work(load):
        linux("prctl", 38, 1, 0, 0, 0)  # NO_NEW_PRIVS
        load()
        return (
            "Seccomp_filters" not in read("/proc/self/status")
            or int(read("/proc/self/status").split("Seccomp_filters:")[1].split()[0]) > 0
        )

    number = 317 if os.uname().machine == "x86_64" else 277
    return first(
        lambda: in_child(lambda: work(lambda: call(number, 1, 0, program))),
        lambda: in_child(lambda: work(lambda: linux("prctl", 22, 2, program, 0, 0))),
    )


def socket_filter():
    """The same for sockets, in memory that is not counted."""
    pass_all = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xFFFFFFFF), 8)
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(pass_all))

    def attach(option, kind):
        with socket.socket(socket.AF_INET, kind) as stream:
            stream.setsockopt(socket.SOL_SOCKET, 15, 1)  # REUSEPORT
            stream.bind(("127.0.0.1", 0))
            stream.setsockopt(socket.SOL_SOCKET, option, program)
            return True

    return first(lambda: attach(26, socket.SOCK_DGRAM), lambda: attach(51, socket.SOCK_DGRAM))


def huge_pages():
    def mapped():
        page = mmap.mmap(-1, 2 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
        page[0] = 1
        return True

    def by_file():
        page = mmap.mmap(os.memfd_create("huge", 4), 2 << 20)
        page[0] = 1
        return True

    def by_segment():
        number = call(29 if os.uname().machine == "x86_64" else 194, 0, 2 << 20, 0x800 | 0o600)
        linux("shmctl", number, 0, None)
        return True

    return first(lambda: in_child(mapped), lambda: in_child(by_file), lambda: in_child(by_segment))


POOL = pathlib.Path("/proc/sys/vm/nr_hugepages")


class HugePages(Bait):
    """Some in the host's pool for as long as it takes."""

    def __enter__(self):
        self.before = POOL.read_text()
        POOL.write_text(str(int(self.before) + 8))
        return self

    def __exit__(self, *_):
        POOL.write_text(self.before)
        return False


inside(
    "own-filter",
    "load a filter of system calls, of which the host has room for so many",
    R,
    ["filter"],
    own_filter,
)
inside("socket-filter", "load a filter of packets into a socket", R, ["filter"], socket_filter)
inside(
    "huge-mapping",
    "take huge pages out of the host's pool",
    R,
    ["filter"],
    huge_pages,
    HugePages,
    needs=lambda: "" if POOL.exists() else "this kernel has no huge pages",
)


# ---- what the kernel remembers of connections, which no group pays for either ----


def tracking(name, attack, act):
    @row(name, attack, R, "few connections are tracked", proof="succeeds without those rules")
    def run(host, lifted):
        box = Sandbox(host, "escape-" + os.urandom(4).hex(), policy="open")
        try:
            if lifted:
                connection_tracking.unbound(box.model())
            box.run(act, {})
            made = connection_tracking.entries(box.model())
            return Outcome(made > connection_tracking.MOST, f"{made} entries")
        finally:
            box.close()


tracking(
    "connection-tracking",
    "fill the kernel's memory with entries of datagrams inside",
    connection_tracking.flood,
)
tracking(
    "connection-tracking-outwards",
    "fill it with entries of what is redirected",
    connection_tracking.flood_outwards,
)
