"""Host processes, and what the kernel shares by name: sockets, System V objects, the host's
names."""
import os
import pathlib
import socket
import time

import baits
from frame import Bait, inside


# ---- processes of the host ----


def environments():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.append(read(f"/proc/{pid}/environ"))
        except OSError:
            pass
    return "".join(found)


def command_lines():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.append(read(f"/proc/{pid}/cmdline"))
        except OSError:
            pass
    return "".join(found)


def memory_of(pid):
    for line in read(f"/proc/{pid}/maps", 1 << 20).splitlines():
        begin, end = (int(word, 16) for word in line.split()[0].split("-"))
        if "[stack]" in line:
            with open(f"/proc/{pid}/mem", "rb") as memory:
                memory.seek(begin)
                return memory.read(end - begin).decode("latin-1").partition("cay-secret-")[2][:24]


def peek(pid):
    call(101, 0x4206, pid, 0, 0)  # PTRACE_SEIZE
    call(101, 0x4207, pid, 0, 0)  # PTRACE_INTERRUPT
    os.waitpid(pid, 0x40000000)
    at = (
        next(line for line in read(f"/proc/{pid}/maps", 1 << 20).splitlines() if "[stack]" in line)
        .split()[0]
        .split("-")
    )
    begin, end = (int(word, 16) for word in at)
    found, word = b"", ctypes.c_long()
    for place in range(end - 4096, end - 8, 8):
        call(101, 2, pid, place, ctypes.byref(word))
        found += struct.pack("l", word.value)
    call(101, 17, pid, 0, 0)
    return found.decode("latin-1").partition("cay-secret-")[2][:24]


def vm_read(pid):
    at = 0
    with open(f"/proc/{pid}/stat") as file:
        at = int(file.read().rsplit(")", 1)[1].split()[25])  # startstack
    buffer = ctypes.create_string_buffer(16384)

    class Part(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    total = b""
    for page in range(at & ~4095, (at & ~4095) + 16384, 4096):
        mine, its = Part(ctypes.addressof(buffer), 4096), Part(page, 4096)
        try:
            size = call(310, pid, ctypes.byref(mine), 1, ctypes.byref(its), 1, 0)
            total += buffer.raw[:size]
        except OSError as error:
            if error.errno != errno.EFAULT:
                raise
            break
    return total.decode("latin-1")


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def kill_all(pid):
    os.kill(-1, signal.SIGURG)


def kill_by_descriptor(pid):
    signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)


def queue_signal(pid):
    info = (ctypes.c_int * 32)(signal.SIGURG, 0, -1)
    call(129, pid, signal.SIGURG, ctypes.byref(info))  # rt_sigqueueinfo


def be_nice(pid):
    os.setpriority(os.PRIO_PROCESS, pid, 7)


def move_to_a_cpu(pid):
    os.sched_setaffinity(pid, {0})


def starve(pid):
    import resource

    resource.prlimit(pid, resource.RLIMIT_NOFILE, (16, 16))


def blame(pid):
    with open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write("900")


def descriptors_of(pid):
    return "".join(
        os.readlink(f"/proc/{pid}/fd/{fd}") + read(f"/proc/{pid}/fd/{fd}")
        for fd in os.listdir(f"/proc/{pid}/fd")
        if int(fd) > 2
    )


def root_of(pid, path):
    return read(f"/proc/{pid}/root{path}")


class WithFile(baits.Process):
    """One that holds a file open which has no name any more."""

    like = "root"
    script = (
        "import os, sys; fd = os.open('/var/tmp', os.O_TMPFILE | os.O_RDWR, 0o600); os.write(fd, "
        "sys.argv[1].encode());"
        " os.lseek(fd, 0, 0); print('up', flush=True); sys.stdin.read()"
    )


class WithSecret(baits.Process):
    """Beside a file that only its own root directory has for the guest."""

    like = "root"

    def __enter__(self):
        self.file = baits.Secret()
        self.file.__enter__()
        self.arguments = {"path": str(self.file.file)}
        return super().__enter__()

    def __exit__(self, *words):
        self.file.__exit__(*words)
        return super().__exit__(*words)

    def won(self, told):
        return self.file.won(told)


OF_ROOT = ("pid", "user")
P = "host processes"
Root = baits.as_root(baits.Process)
Unnamed = type("Unnamed", (Root,), {"gives_pid": False})
inside(
    "environment-of-all",
    "read the environment of every process in /proc",
    P,
    OF_ROOT,
    environments,
    Unnamed,
)
inside(
    "command-lines-of-all",
    "read the arguments of every process in /proc",
    P,
    ["pid"],
    command_lines,
    Unnamed,
)
inside(
    "memory-of-a-host-process", "read /proc/PID/mem of a host process", P, OF_ROOT, memory_of, Root
)
inside(
    "trace-a-host-process",
    "attach to a host process with ptrace and read its stack",
    P,
    OF_ROOT,
    peek,
    Root,
)
inside("read-a-host-process", "process_vm_readv of a host process", P, OF_ROOT, vm_read, Root)
inside(
    "descriptors-of-a-host-process",
    "open the descriptors of a host process",
    P,
    OF_ROOT,
    descriptors_of,
    WithFile,
    known=("CVE-2024-21626",),
)
inside(
    "root-of-a-host-process",
    "go through /proc/PID/root of a host process",
    P,
    OF_ROOT,
    root_of,
    WithSecret,
    known=("CubeSandbox#841",),
)
inside(
    "kill-a-guests-uid",
    "SIGKILL a host process that has the uid of the sandbox's root",
    P,
    ["pid"],
    kill,
    baits.Killed,
)
inside(
    "kill-a-host-process",
    "SIGKILL a host process of root",
    P,
    OF_ROOT,
    kill,
    baits.as_root(baits.Killed),
)
inside(
    "kill-everybody",
    "kill(-1) with a signal that others ignore",
    P,
    ["pid"],
    kill_all,
    baits.Signalled,
)
inside(
    "kill-by-descriptor",
    "pidfd_open a host process and SIGKILL it",
    P,
    ["pid"],
    kill_by_descriptor,
    baits.Killed,
)
inside(
    "queue-a-signal", "rt_sigqueueinfo to a host process", P, ["pid"], queue_signal, baits.Signalled
)
inside(
    "nice-a-host-process",
    "lower the priority of a host process",
    P,
    ["pid"],
    be_nice,
    baits.changed(
        lambda pid: pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[16]
    ),
)
inside(
    "bind-a-host-process",
    "bind a host process to one processor",
    P,
    ["pid"],
    move_to_a_cpu,
    baits.changed(os.sched_getaffinity),
)
inside(
    "starve-a-host-process",
    "lower the limits of a host process",
    P,
    ["pid"],
    starve,
    baits.changed(lambda pid: pathlib.Path(f"/proc/{pid}/limits").read_text()),
)
inside(
    "blame-a-host-process",
    "make a host process the first that is killed for memory",
    P,
    ["pid"],
    blame,
    baits.changed(lambda pid: pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text()),
)


# ---- names that the kernel shares ----


def connect_abstract(name):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + name)
        return client.recv(100).decode()


def connect_loopback(port):
    return answer_at("127.0.0.1", port)


def connect_own_name(port):
    return answer_at("::ffff:127.0.0.1", port)


def connect_zero(port):
    return answer_at("0.0.0.0", port)


def connect_loopback_6(port):
    return answer_at("::1", port)


def send_datagram(port):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", port))


def listeners(port):
    return f":{port:04X} 00000000:0000 0A" in read("/proc/net/tcp", 1 << 20)


def unix_names(name):
    return "@" + name in read("/proc/net/unix", 1 << 20)


def shared_memory(key):
    libc.shmat.restype = ctypes.c_void_p
    return ctypes.string_at(call(30, call(29, key, 0, 0), 0, 0o10000), 64).decode("latin-1")


def message(key):
    buffer = ctypes.create_string_buffer(4096)
    call(70, call(68, key, 0), ctypes.byref(buffer), 4000, 0, 0o4000)
    return buffer.raw.decode("latin-1")


def semaphore(key):
    call(66, call(64, key, 1, 0), 0, 16, 4711)  # SETVAL


def system_v_list(secret_key):
    return any(
        line.split()[0] == str(secret_key) for line in read("/proc/sysvipc/shm").splitlines()
    )


def host_name():
    return os.uname().nodename


def rename_host():
    name = b"changed"
    call(170, name, len(name))


def groups_path():
    return read("/proc/self/cgroup") + read("/proc/self/mountinfo")


def mount_table():
    return read("/proc/self/mountinfo", 1 << 20)


def queue_by_name(name):
    handle = call(240, name.encode(), os.O_RDONLY | os.O_NONBLOCK, 0, 0)
    buffer = ctypes.create_string_buffer(8192)
    size = call(243, handle, ctypes.byref(buffer), 8192, 0, 0)
    return buffer.raw[:size].decode()


class ByShmKey(baits.SharedMemory):
    def __enter__(self):
        super().__enter__()
        self.arguments = {"secret_key": self.key}
        return self

    def won(self, told):
        return told is True


class HostName(baits.Bait):
    def won(self, told):
        return told == socket.gethostname()


class Renamed(baits.Bait):
    """The name is the suite's: it runs in a uts namespace of its own."""

    def __enter__(self):
        self.before = socket.gethostname()
        return self

    def won(self, told):
        return socket.gethostname() != self.before

    def __exit__(self, *_):
        socket.sethostname(self.before)
        return False


class GroupNames(baits.Bait):
    of_host = True

    def __init__(self, host):
        super().__init__()
        self.host = host

    def won(self, told):
        return self.host.box("main").id in str(told)


class HostPaths(baits.Bait):
    def won(self, told):
        return any(
            f" {line.split()[4]} " in str(told)
            for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
            if line.split()[4]
            not in (
                "/",
                "/proc",
                "/sys",
                "/dev",
                "/tmp",
                "/dev/shm",
                "/dev/pts",
                "/run",
                "/dev/mqueue",
                "/sys/fs/cgroup",  # the sandbox has its own there
            )
        )


class Queue(baits.Bait):
    """A POSIX queue of the host's for everybody, with a message in it."""

    def __enter__(self):
        self.secret = baits.new_secret()
        self.name = "/cay-escape-" + os.urandom(6).hex()
        old = os.umask(0)
        handle = baits.libc.syscall(
            240, self.name[1:].encode(), os.O_RDWR | os.O_CREAT, 0o666, None
        )
        os.umask(old)
        assert (
            handle >= 0
            and baits.libc.syscall(242, handle, self.secret.encode(), len(self.secret), 0, None)
            == 0
        )
        os.close(handle)
        self.arguments = {"name": self.name[1:]}
        return self

    def __exit__(self, *_):
        baits.libc.syscall(241, self.name[1:].encode())
        return False

    def won(self, told):
        return self.secret in str(told)


# ---- the host's clocks ----


def uptime():
    return float(read("/proc/uptime").split()[0])


def clock_since_boot():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def steady_clock():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def steady_clock_raw():
    return time.clock_gettime(time.CLOCK_MONOTONIC_RAW)


def uptime_by_call():
    told = ctypes.create_string_buffer(512)
    if libc.sysinfo(told) != 0:
        raise OSError(ctypes.get_errno(), "sysinfo")
    return float(struct.unpack_from("l", told)[0])


def own_start():
    """When this very program began, by the host's count from its boot."""
    return int(read("/proc/self/stat").rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")


def boot_time():
    return float(
        next(
            line.split()[1] for line in read("/proc/stat").splitlines() if line.startswith("btime ")
        )
    )


class Clock(Bait):
    """One of the host's clocks: told if what comes lies between what it showed before and after,
    the roundings of its readers aside."""

    clock, slack = time.CLOCK_BOOTTIME, 0.02

    def __enter__(self):
        self.before = time.clock_gettime(self.clock)
        return self

    def won(self, told):
        return (
            told is not None
            and self.before - self.slack <= told <= time.clock_gettime(self.clock) + self.slack
        )


def clock_of(clock, slack=0.02):
    return type("Clock", (Clock,), {"clock": clock, "slack": slack})


class BootTime(Bait):
    """The host's, in whole seconds: its reader's rounding may differ by one."""

    def won(self, told):
        own = next(
            int(line.split()[1])
            for line in pathlib.Path("/proc/stat").read_text().splitlines()
            if line.startswith("btime ")
        )
        return told is not None and abs(told - own) <= 1


def boot_id(path):
    return read(path).strip()


class BootId(Bait):
    def __enter__(self):
        self.arguments = {"path": "/proc/sys/kernel/random/boot_id"}
        return self

    def won(self, told):
        return str(told) == pathlib.Path(self.arguments["path"]).read_text().strip()


N = "shared names"


def clock_row(name, attack, act, bait, walls=("time",)):
    inside(
        name,
        attack,
        N,
        walls,
        act,
        bait,
        short=name in ("host-uptime", "host-boot-time"),
        needs=lambda: ""
        if os.path.exists("/proc/self/ns/time")
        else "a kernel without time namespaces",
    )


clock_row("host-uptime", "learn from /proc/uptime how long the host has been up", uptime, Clock)
clock_row(
    "host-boot-time",
    "learn from /proc/stat when the host was booted",
    boot_time,
    BootTime,
    ("time", "mask:/proc/stat"),
)
clock_row(
    "host-clock-since-boot",
    "ask the clock that counts from the host's boot",
    clock_since_boot,
    Clock,
)
clock_row(
    "host-steady-clock",
    "ask the host's monotonic clock",
    steady_clock,
    clock_of(time.CLOCK_MONOTONIC),
)
clock_row(
    "host-raw-clock",
    "ask it without the adjustments of NTP",
    steady_clock_raw,
    clock_of(time.CLOCK_MONOTONIC_RAW),
)
clock_row(
    "host-uptime-by-call",
    "ask sysinfo(2) for the host's uptime",
    uptime_by_call,
    clock_of(time.CLOCK_BOOTTIME, 1.0),
)
clock_row("host-start-times", "read its own start time as the host counts it", own_start, Clock)
inside(
    "host-boot-id",
    "read which boot of the host this is: the same in all its sandboxes",
    N,
    ["mask:/proc/sys/kernel/random/boot_id"],
    boot_id,
    BootId,
)
Six = type("Six", (baits.Listener,), {"family": socket.AF_INET6, "address": ("::1", 0)})
inside(
    "abstract-socket",
    "connect to an abstract UNIX socket of the host",
    N,
    ["net"],
    connect_abstract,
    baits.Abstract,
)
inside(
    "loopback",
    "connect to a server on the host's loopback",
    N,
    ["net"],
    connect_loopback,
    baits.Listener,
)
inside(
    "loopback-mapped",
    "the same, as an IPv4-mapped IPv6 address",
    N,
    ["net"],
    connect_own_name,
    baits.Listener,
)
inside("loopback-zero", "the same, as 0.0.0.0", N, ["net"], connect_zero, baits.Listener)
inside("loopback-6", "connect to a server on the host's ::1", N, ["net"], connect_loopback_6, Six)
inside(
    "loopback-datagram",
    "send a datagram to a server on the host's loopback",
    N,
    ["net"],
    send_datagram,
    baits.Datagram,
)
inside(
    "list-listeners",
    "find the host's servers in /proc/net/tcp",
    N,
    ["net"],
    listeners,
    type("Port", (baits.Listener,), {"won": baits.Bait.won}),
)
inside(
    "list-unix-sockets",
    "find the host's sockets in /proc/net/unix",
    N,
    ["net"],
    unix_names,
    type("Name", (baits.Abstract,), {"won": baits.Bait.won}),
)
inside(
    "system-v-memory",
    "attach a shared memory segment of the host",
    N,
    ["ipc"],
    shared_memory,
    baits.SharedMemory,
)
inside(
    "system-v-queue",
    "take a message out of a queue of the host",
    N,
    ["ipc"],
    message,
    baits.MessageQueue,
)
inside("system-v-semaphore", "set a semaphore of the host", N, ["ipc"], semaphore, baits.Semaphore)
inside(
    "list-system-v",
    "find the host's segments in /proc/sysvipc",
    N,
    ["ipc"],
    system_v_list,
    ByShmKey,
)
inside(
    "posix-queue",
    "open a POSIX message queue of the host",
    N,
    ["ipc", "filter"],
    queue_by_name,
    Queue,
)
inside("host-name", "learn the host's name", N, ["uts"], host_name, HostName)
inside(
    "rename-the-host",
    "change the host's name",
    N,
    ["uts", "user", "caps", "filter"],
    rename_host,
    Renamed,
)
inside(
    "group-names",
    "learn the sandbox's and the instance's ids from cgroup paths",
    N,
    ["cgroupns"],
    groups_path,
    GroupNames,
)
inside(
    "mount-table", "learn the host's mounts from mountinfo", N, ["mount"], mount_table, HostPaths
)
