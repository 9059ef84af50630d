"""The profiles. What strict takes: the control does the same in profile default. What nested must
not give, as root of containers made inside: the control makes the container without a user
namespace of its own, in a stand-in without the sandbox's, or takes one wall away."""
import os
import pathlib
import shutil
import subprocess

import baits
from frame import Bait, Outcome, inside, row
from places import StandIn
from rows_calls import child_of_the_keeper, join_keyring, keep_a_key, netfilter, packets, ring
from rows_view import Agent
from together import together
from world import V4

G, S, M, D, N = "privileges", "profiles", "mounts", "devices", "network"


def outcome(bait, told):
    won = bait.won(told.get("done"))
    return Outcome(won, told["refused"] if "refused" in told else str(told["done"])[:60])


# ---- strict ----


def strict(name, attack, act, kind=S, user=None, wall="profile strict", prepare=None, **arguments):
    @row(f"strict-{name}", attack, kind, wall, proof="succeeds in profile default")
    def run(host, lifted):
        box = host.box("main" if lifted else "strict")
        if prepare:
            box.sh(prepare)
        return outcome(Bait(), box.run(act, arguments, user=user))


def run_set_id():
    import subprocess

    return (
        subprocess.run(["/usr/local/bin/strict-id", "-u"], capture_output=True, text=True).stdout
        == "0\n"
    )


def trace_another():
    pid = os.fork()
    if pid == 0:
        signal.pause()
    try:
        call(101, 0x4206, pid, 0, 0)  # SEIZE
        return True
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def read_another():
    class Part(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    secret = ctypes.create_string_buffer(b"of another process", 32)
    pid = os.fork()
    if pid == 0:
        signal.pause()
    got = ctypes.create_string_buffer(32)
    try:
        read = call(
            310,
            pid,
            ctypes.byref(Part(ctypes.addressof(got), 32)),
            1,
            ctypes.byref(Part(ctypes.addressof(secret), 32)),
            1,
            0,
        )
        return read == 32 and got.value == b"of another process"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def another_root():
    return in_child(lambda: os.chroot("/tmp") or not os.path.exists("/etc/passwd"))


def fixed_addresses():
    call(135, 0x0040000)  # ADDR_NO_RANDOMIZE
    return call(135, 0xFFFFFFFF) & 0x0040000 != 0


def message():
    queue = call(68, 0, 0o600)
    call(71, queue, 0, 0)
    return queue >= 0


def carry_capability():
    import shutil

    shutil.copy("/usr/bin/cat", "/var/tmp/carrier")
    os.setxattr(
        "/var/tmp/carrier",
        "security.capability",
        struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0),
    )  # NET_BIND_SERVICE
    return True


strict(
    "set-id",
    "gain root by a set-id program",
    run_set_id,
    G,
    user="user",
    wall="no_new_privs",
    prepare="cp /usr/bin/id /usr/local/bin/strict-id && chmod 4755 /usr/local/bin/strict-id",
)
strict("ptrace", "trace another process of the same user", trace_another)
strict("read-memory", "read the memory of another process", read_another)
strict("chroot", "change the root", another_root)
strict("fixed-addresses", "turn address randomisation off", fixed_addresses)
strict("message-queue", "lay out the kernel's heap by messages", message)
together(
    "strict-processes",
    "in profile strict: trace another process of the same user, read its memory",
    S,
    "profile strict",
    ("strict-ptrace", "strict-read-memory"),
)
together(
    "strict-calls",
    "in profile strict: change the root, turn address randomisation off, lay out the kernel's "
    "heap by messages",
    S,
    "profile strict",
    ("strict-chroot", "strict-fixed-addresses", "strict-message-queue"),
)
strict(
    "file-capability",
    "give a file a capability",
    carry_capability,
    G,
    wall="capability set of strict",
)


# ---- nested: what a container's root must not get ----


def nested(
    name,
    attack,
    act,
    kind=M,
    bait=Bait,
    wall="user namespace of the container's own",
    user=None,
    known=(),
    needs=None,
    also=(),
):
    """The control: host root's capabilities, by a container that has no user namespace of its own
    in a stand-in without the sandbox's."""

    @row(
        f"nested-{name}",
        attack,
        kind,
        wall,
        proof="succeeds where no user namespace is between",
        known=known,
        needs=needs,
    )
    def run(host, lifted):
        place = (
            StandIn(host.box("nested"), ("filter", "caps", "user", "namespaces", *also))
            if lifted
            else host.box("nested")
        )
        with bait() as one:
            return outcome(one, place.run(act, {"users": not lifted, **one.arguments}, user=user))


def device_of_its_own(users):
    def work():
        linux("mount", b"none", b"/mnt", b"tmpfs", 0, None)
        os.mknod("/mnt/zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        return len(os.read(os.open("/mnt/zero", os.O_RDONLY), 16)) == 16

    return contained(work, users)


def whole_sysfs(users):
    def work():
        linux("mount", b"sysfs", b"/mnt", b"sysfs", 0, None)
        return "\n".join(os.listdir("/mnt/block"))

    return contained(work, users, MOUNTS | PIDS | NETWORK)


class Disks(Bait):
    def won(self, told):
        return bool(set(str(told or "").split()) & set(os.listdir("/sys/block")))


def own_proc_sysctl(users, path):
    def work():
        linux("mount", b"proc", b"/mnt", b"proc", 0, None)
        path_there = path.replace("/proc/", "/mnt/")
        value = read(path_there)
        with open(path_there, "w") as file:
            file.write(value.strip() or "\n")
        return True

    return contained(work, users)


def sysctl(path):
    return type(
        "Sysctl", (Bait,), {"__enter__": lambda self: self.arguments.update(path=path) or self}
    )


def press_sysrq(users):
    def work():
        linux("mount", b"proc", b"/mnt", b"proc", 0, None)
        with open("/mnt/sysrq-trigger", "w"):
            return True

    return contained(work, users)


def kernel_file_system(users):
    def work():
        linux("mount", b"none", b"/mnt", b"debugfs", 0, None)
        return bool(os.listdir("/mnt"))

    return contained(work, users)


def mount_disk(users, major, minor, kind):
    def work():
        linux("mount", b"none", b"/tmp", b"tmpfs", 0, None)
        os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(major, minor))
        linux("mount", b"/tmp/disk", b"/mnt", kind.encode(), 1, None)
        return read("/mnt/secret")

    return contained(work, users)


class Disk(Bait):
    """A disk of the host's with a secret on it."""

    def __enter__(self):
        self.secret = baits.new_secret()
        self.image = pathlib.Path("/var/tmp/cay-escape-disk")
        tree = pathlib.Path("/var/tmp/cay-escape-disk-tree")
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir()
        (tree / "secret").write_text(self.secret)
        with self.image.open("wb") as file:
            file.truncate(8 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-d", tree, self.image], check=True)
        self.loop = subprocess.run(
            ["losetup", "-f", "--show", self.image], check=True, capture_output=True, text=True
        ).stdout.strip()
        number = os.stat(self.loop).st_rdev
        self.arguments = {"major": os.major(number), "minor": os.minor(number), "kind": "ext4"}
        return self

    def __exit__(self, *_):
        subprocess.run(["losetup", "-d", self.loop], check=True)
        self.image.unlink()
        return False

    def won(self, told):
        return self.secret in str(told)


def map_foreign_user(users, uid):
    """A container one of whose users is a user of the host's."""
    if not users:
        return in_child(lambda: os.setresuid(uid, uid, uid) or os.getuid() == uid)
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        linux("unshare", USERS)
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        os.setresuid(1, 1, 1)
        os._exit(0)
    os.read(ready[0], 1)
    try:
        with open(f"/proc/{pid}/uid_map", "w") as file:
            file.write(f"0 0 1\n1 {uid} 1\n")
    finally:
        os.write(go[1], b"x")
        status = os.waitpid(pid, 0)[1]
    return status == 0


class Foreign(Bait):
    def __enter__(self):
        self.arguments = {"uid": 0x70001000}
        return self


def agent_of_its_own(users, marker, group):
    def work():
        os.makedirs("/tmp/rdma", exist_ok=True)
        linux("mount", b"none", b"/tmp/rdma", b"cgroup", 0, b"none,name=" + group.encode())
        with open("/tmp/rdma/release_agent", "w") as file:
            file.write(marker)
        return True

    return contained(work, users, MOUNTS | PIDS | (GROUPS if users else 0))


def loosen_its_group(users):
    """Lets its own group have as many groups below it as it likes, in the hierarchy of version
    2."""

    def work():
        linux("mount", b"none", b"/mnt", b"cgroup2", 0, None)
        own = next(
            (
                line.split("::")[1].strip()
                for line in open("/proc/self/cgroup")
                if line.startswith("0::")
            ),
            "/",
        )
        path = ("/mnt" if users else "/mnt" + own.rstrip("/")) + "/cgroup.max.descendants"
        value = read(path).strip()
        with open(path, "w") as file:
            file.write(value)
        return True

    return contained(work, users, MOUNTS | PIDS | (GROUPS if users else 0))


nested(
    "make-device",
    "make a device node on a file system of its own and read from it",
    device_of_its_own,
    D,
    known=("CubeSandbox#838",),
)
nested(
    "mount-disk",
    "mount a disk of the host's",
    mount_disk,
    M,
    Disk,
    needs=lambda: ""
    if shutil.which("mkfs.ext4") and os.path.exists("/dev/loop-control")
    else "no mkfs.ext4 or no loop devices here",
)
nested(
    "mount-sysfs",
    "mount a sysfs without covers, over a network namespace of its own",
    whole_sysfs,
    M,
    Disks,
)
nested(
    "mount-debugfs",
    "mount the kernel's debugfs",
    kernel_file_system,
    M,
    needs=lambda: ""
    if "\tdebugfs" in pathlib.Path("/proc/filesystems").read_text()
    else "this kernel has no debugfs",
)
for path in (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/overcommit_memory",
):
    if os.path.exists(path):
        nested(
            "write-" + path.rpartition("/")[2].replace("_", "-"),
            f"write {path} in a procfs of its own, which has no covers",
            own_proc_sysctl,
            "kernel view",
            sysctl(path),
            known=("CVE-2025-52881",),
        )
if os.path.exists("/proc/sysrq-trigger"):
    nested("sysrq", "open sysrq-trigger in a procfs of its own", press_sysrq, "kernel view")
nested(
    "foreign-user",
    "map a user of the host's into a container",
    map_foreign_user,
    G,
    Foreign,
    wall="id range of the sandbox",
)
nested(
    "release-agent",
    "mount a control group hierarchy of its own and name the program that the host's root runs",
    agent_of_its_own,
    M,
    Agent,
    also=("cgroupns",),
    known=("CVE-2022-0492",),
)
nested("loosen-group", "mount the control groups and loosen its own", loosen_its_group, M)


# ---- nested: one wall taken away ----


def uncover():
    def work():
        linux("umount2", b"/proc/cmdline", 2)
        return read("/proc/cmdline")

    return first(lambda: contained(work), lambda: read("/proc/cmdline"))


class BootLine(baits.HostText):
    path = "/proc/cmdline"


def many_namespaces():
    def work():
        kept = []
        while len(kept) < 600:
            linux("unshare", MOUNTS)
            kept.append(os.open("/proc/self/ns/mnt", os.O_RDONLY))
        return True

    return contained(work, True, MOUNTS)


def own_network():
    return contained(lambda: True, True, NETWORK)


inside(
    "nested-uncover",
    "take a cover of /proc off in a mount namespace of its own",
    "kernel view",
    ["mask:/proc/cmdline"],
    uncover,
    BootLine,
    box="nested",
)
inside(
    "nested-network",
    "make a network namespace, with packet filters and routes of its own",
    "resources",
    ["namespaces"],
    own_network,
    box="nested",
)
inside(
    "nested-many-namespaces",
    "make namespaces without end",
    "resources",
    ["namespaces"],
    many_namespaces,
    box="nested",
)
for act, name, attack in (
    (child_of_the_keeper, "clone-parent", "make a child of the keeper's, outside"),
    (keep_a_key, "add-key", "keep a key in the kernel, which has no namespace"),
    (join_keyring, "keyring", "join a keyring"),
    (ring, "io-uring", "make an io_uring"),
    (netfilter, "netfilter", "talk to netfilter, of its own network namespace"),
    (packets, "af-packet", "open a packet socket"),
):
    inside(
        f"nested-{name}",
        attack,
        S,
        ["filter", "caps"] if act is packets else ["filter"],
        act,
        box="nested",
    )


def mount_by_descriptor():
    return contained(lambda: call(430, b"tmpfs", 0) >= 0)


inside(
    "nested-fsopen",
    "begin a mount by fsopen, in a container",
    S,
    ["filter"],
    mount_by_descriptor,
    box="nested",
    known=("CVE-2022-0185",),
)
together(
    "nested-calls",
    "in profile nested: make a child of the keeper's, keep keys, make an io_uring, talk to "
    "netfilter, open a packet socket, begin a mount by fsopen",
    "system calls",
    "filter of system calls (packet sockets: and capability set)",
    (
        "nested-clone-parent",
        "nested-add-key",
        "nested-keyring",
        "nested-io-uring",
        "nested-netfilter",
        "nested-af-packet",
        "nested-fsopen",
    ),
)


def reach_out(address):
    def work():
        import subprocess

        subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
        with socket.create_connection((address, 80), timeout=3) as stream:
            stream.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return b"".join(iter(lambda: stream.recv(65536), b"")).decode("latin-1")

    return contained(work, True, MOUNTS | PIDS | NETWORK)


def reach_out_plainly(address):
    with socket.create_connection((address, 80), timeout=3) as stream:
        stream.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return b"".join(iter(lambda: stream.recv(65536), b"")).decode("latin-1")


@row(
    "nested-around-the-gate",
    "reach a server from a network namespace of its own",
    N,
    "own network namespaces lead nowhere",
    by="A1 A4",
    proof="succeeds from the sandbox's own namespace, with a rule for that address",
)
def around_the_gate(host, lifted):
    box = host.widened(V4) if lifted else host.box("nested")
    told = box.run(reach_out_plainly if lifted else reach_out, {"address": V4})
    return Outcome(
        "reached " in str(told.get("done")), str(told.get("refused", told.get("done")))[:60]
    )


@row(
    "nested-user-is-no-root",
    "write a file of the sandbox's root as root of a container that an ordinary user made",
    "files",
    "ids of the container's own",
    proof="succeeds as the sandbox's root",
)
def user_is_no_root(host, lifted):
    def act(path):
        def work():
            with open(path, "a"):
                return True

        return contained(work)

    told = host.box("nested").run(act, {"path": "/etc/shadow"}, user=None if lifted else "user")
    return outcome(Bait(), told)
