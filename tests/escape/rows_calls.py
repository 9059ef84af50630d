"""System calls that the filter refuses, each seen to have its effect without the filter."""
import functools
import os
import pathlib
import socket

from frame import Bait, inside
from together import together

S = "system calls"
TTY = pathlib.Path("/proc/sys/dev/tty/legacy_tiocsti")
LEGACY = not TTY.exists() or TTY.read_text().strip() == "1"
# The ioctls for which net/socket.c has modules loaded before it checks a capability. Each is a row,
# or one that passes hides another.
MODULE_IOCTLS = {
    "siocgifbr": 0x8940,
    "siocsifbr": 0x8941,
    "siocgifvlan": 0x8982,
    "siocsifvlan": 0x8983,
}
X86 = os.uname().machine == "x86_64"


def has_family(number):
    try:
        socket.socket(number, socket.SOCK_SEQPACKET, 0).close()
    except OSError:
        return False
    return True


def counted(name, attack, act, lift=("filter",), bait=Bait, **more):
    inside(name, attack, S, lift, act, bait, **more)


def new_users():
    return in_child(lambda: call(272, 0x10000000) == 0 and os.stat("/proc/self/ns/user").st_ino > 0)


def clone_users():
    pid = call(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return os.waitpid(pid, 0)[0] == pid


def clone_network():
    pid = call(56, 0x40000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return os.waitpid(pid, 0)[0] == pid


def clone_by_struct():
    args = struct.pack("8Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = call(435, args, len(args))
    if pid == 0:
        os._exit(0)
    return os.waitpid(pid, 0)[0] == pid


def child_of_the_keeper():
    pid = call(
        56, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0
    )  # CLONE_PARENT: the keeper, outside, would be its parent
    if pid == 0:
        os._exit(0)
    return pid > 0


def enter_again():
    return call(308, os.open("/proc/self/ns/net", os.O_RDONLY), 0) == 0


def bpf_map():
    return call(321, 0, struct.pack("IIII", 2, 4, 4, 1) + bytes(112), 128) >= 0


def measure_performance():
    return (
        call(298, struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 0x61) + bytes(64), 0, -1, -1, 0) >= 0
    )


def ring():
    return call(425, 4, ctypes.byref(ctypes.create_string_buffer(240))) >= 0


def page_faults():
    return call(323, 1) >= 0  # UFFD_USER_MODE_ONLY


def keep_a_key():
    return call(248, b"user", b"cay-escape", b"value", 5, -3) > 0


def join_keyring():
    return call(250, 1, b"cay-escape") > 0


def notify_all():
    return call(300, 0x200, 0) >= 0  # FAN_REPORT_FID


def compare_processes():
    return call(312, os.getpid(), os.getpid(), 0, 0, 0) == 0


def take_descriptor():
    return call(438, os.pidfd_open(os.getpid()), 0, 0) >= 0


def give_pages():
    out, inn = os.pipe()
    text = ctypes.create_string_buffer(b"x" * 16)

    class Part(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    return call(278, inn, ctypes.byref(Part(ctypes.addressof(text), 16)), 1, 0) == 16


def file_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128), 136)
    return (
        call(303, -100, b"/proc/self", ctypes.byref(handle), ctypes.byref(ctypes.c_int()), 0x200)
        == 0
    )  # AT_HANDLE_FID


def weaker_personality():
    """All memory executable, or page zero mapped."""

    def work(bit):
        call(135, bit)
        return call(135, 0xFFFFFFFF) & bit != 0

    return first(lambda: work(0x0400000), lambda: work(0x0100000))


def merge_memory():
    page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page.write(b"x" * 4096)
    call(
        28 if os.uname().machine == "x86_64" else 233,
        ctypes.addressof(ctypes.c_char.from_buffer(page)),
        4096,
        12,
    )
    return any(
        " mg" in line
        for line in read("/proc/self/smaps", 1 << 20).splitlines()
        if line.startswith("VmFlags")
    )


def raw_socket():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, 255).fileno() >= 0


def packets():
    return socket.socket(17, socket.SOCK_RAW, 0).fileno() >= 0


def crypto():
    return socket.socket(38, socket.SOCK_SEQPACKET, 0).fileno() >= 0


def vsock():
    return socket.socket(40, socket.SOCK_STREAM, 0).fileno() >= 0


def xdp():
    return socket.socket(44, socket.SOCK_RAW, 0).fileno() >= 0


# Netfilter's rules, and the two ways of Dirty Frag to the kernel's in-place decryption: XFRM and
# RxRPC.
def netfilter():
    for family, kind, protocol in (
        (16, socket.SOCK_RAW, 12),
        (16, socket.SOCK_RAW, 6),
        (33, socket.SOCK_DGRAM, 2),
    ):
        try:
            socket.socket(family, kind, protocol).close()
            return True
        except OSError:
            pass
    return False


def uevents():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15).fileno() >= 0


def socket_diagnosis():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4).fileno() >= 0


def generic_netlink():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16).fileno() >= 0


def old_entry():
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(
        bytes.fromhex("53b814000000cd805bc3")
    )  # push rbx; eax=20 (getpid of i386); int 0x80; pop rbx; ret
    return (
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        == os.getpid()
    )


def old_socketcall():
    page, low = mmap.mmap(-1, 4096, prot=7), mmap.mmap(
        -1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40
    )  # MAP_32BIT
    low.write(struct.pack("III", 17, 3, 0))  # socket(AF_PACKET, SOCK_RAW, 0) behind a pointer
    at = ctypes.addressof(ctypes.c_char.from_buffer(low))
    code = (
        bytes.fromhex("53b866000000bb01000000b9") + struct.pack("I", at) + bytes.fromhex("cd805bc3")
    )
    page.write(code)
    got = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    if got < 0:
        raise OSError(-got, "socketcall")
    return True


def segments():
    description = struct.pack("IIII", 0, 0, 0xFFFFF, 0x51)
    return call(154, 1, ctypes.byref(ctypes.create_string_buffer(description, 16)), 16) == 0


def type_into_terminal():
    def work():
        main, other = os.openpty()
        os.setsid()
        fcntl.ioctl(other, 0x540E, 0)  # TIOCSCTTY
        fcntl.ioctl(other, 0x5412, b"x")
        return True

    return in_child(work)


def line_discipline():
    main, other = os.openpty()
    fcntl.ioctl(other, 0x5423, struct.pack("i", 0))
    return True


def ask_for_a_module(asked):
    """Answered by the module that the kernel has, or has loaded for it; of a kernel that may load
    none, that there is no such package."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            fcntl.ioctl(any_socket, asked, bytes(64))  # BRCTL_GET_VERSION; a VLAN of no interface
        except OSError as error:
            if error.errno not in (errno.ENOPKG, errno.ENODEV, errno.EFAULT, errno.EINVAL):
                raise
    return True


def mount_facts():
    request = struct.pack("IIQQ", 24, 0, 0xFFFFFFFFFFFFFFFF, 0)
    return call(458, request, ctypes.byref(ctypes.create_string_buffer(4096)), 64, 0) > 0


def security_modules():
    return (
        call(
            461,
            ctypes.byref(ctypes.create_string_buffer(4096)),
            ctypes.byref(ctypes.c_uint32(4096)),
            0,
        )
        > 0
    )


def memory_policy():
    return call(238, 0, 0, 0) == 0


def advise_others():
    class Part(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    page = mmap.mmap(-1, 4096)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return call(440, os.pidfd_open(os.getpid()), ctypes.byref(Part(at, 4096)), 1, 21, 0) == 4096


def set_clock():
    now = time.clock_gettime_ns(time.CLOCK_REALTIME)
    return call(227, 0, struct.pack("qq", now // 10**9, now % 10**9)) == 0


def rename_itself():
    call(170, b"changed", 7)
    return os.uname().nodename == "changed"


def file_system_context():
    return call(430, b"tmpfs", 0) >= 0


def ask_for_the_clock():
    return call(159, ctypes.byref(ctypes.create_string_buffer(208))) >= 0


counted("unshare-users", "make a user namespace by unshare", new_users, ("filter", "namespaces"))
counted("clone-users", "make a user namespace by clone", clone_users, ("filter", "namespaces"))
counted(
    "clone-network",
    "make a network namespace by clone",
    clone_network,
    ("filter", "caps", "namespaces"),
)
counted(
    "clone3",
    "make a user namespace by clone3, whose flags no filter sees",
    clone_by_struct,
    ("filter", "namespaces"),
)
counted("clone-parent", "make a child of the keeper's, outside", child_of_the_keeper)
counted("setns", "enter a namespace", enter_again, ("filter", "caps"))
counted(
    "bpf",
    "make a BPF map",
    bpf_map,
    ("filter", "caps", "user"),
    needs=lambda: ""
    if pathlib.Path("/proc/sys/kernel/unprivileged_bpf_disabled").read_text().strip() != "0"
    else "BPF is for everybody here",
)
counted(
    "perf",
    "measure a process by perf_event_open",
    measure_performance,
    needs=lambda: ""
    if int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) <= 2
    else "perf is root's alone here",
)
counted("io-uring", "make an io_uring, which no filter sees into", ring)
counted("userfaultfd", "handle page faults", page_faults)
counted("add-key", "keep a key in the kernel", keep_a_key)
counted("keyring", "join a keyring", join_keyring)
counted("fanotify", "watch file systems by fanotify", notify_all)
counted("kcmp", "compare kernel objects", compare_processes)
counted("pidfd-getfd", "take a descriptor out of a process", take_descriptor)
counted("vmsplice", "give pages to a pipe", give_pages, known=("CVE-2026-31431",))
counted("name-to-handle", "name a file by a handle", file_handle)
counted("weaker-personality", "make all memory executable, or map page zero", weaker_personality)
counted(
    "merge-memory",
    "offer memory for merging with other tenants'",
    merge_memory,
    needs=lambda: ""
    if pathlib.Path("/sys/kernel/mm/ksm").is_dir()
    else "this kernel merges no memory",
)
counted("af-packet", "open a packet socket", packets, ("filter", "caps"))
counted("raw-socket", "open a raw socket", raw_socket, ("filter", "caps"))
counted(
    "af-alg",
    "open a socket of the kernel's ciphers",
    crypto,
    known=("CVE-2026-31431",),
    needs=lambda: "" if has_family(38) else "this kernel has no AF_ALG",
)
counted("af-vsock", "open a socket to the hypervisor", vsock)
counted("af-xdp", "open an XDP socket", xdp, ("filter", "caps"))
counted(
    "netlink-netfilter",
    "talk to netfilter or IPsec, or open an RxRPC socket",
    netfilter,
    known=("CVE-2026-43284", "CVE-2026-43500"),
)
counted("netlink-uevent", "listen to devices", uevents)
counted("netlink-diagnosis", "ask for sockets", socket_diagnosis)
counted("netlink-generic", "talk to kernel families by name", generic_netlink)
if X86:
    counted("int-80", "call the kernel by the 32-bit entry", old_entry, may_die=True)
    counted(
        "socketcall",
        "open a packet socket by the 32-bit socketcall, whose arguments no filter sees",
        old_socketcall,
        ("filter", "caps"),
        may_die=True,
        known=("CVE-2026-31431",),
    )
    counted("modify-ldt", "make a segment of its own", segments)
counted(
    "tiocsti",
    "type into its own terminal, which another may read",
    type_into_terminal,
    ("filter",) if LEGACY else ("filter", "user", "caps"),
)
counted("line-discipline", "have the kernel load a line discipline", line_discipline)
for name, number in MODULE_IOCTLS.items():
    counted(
        name,
        f"have the kernel load its {'bridge' if 'br' in name else 'VLANs'}, by the ioctl "
        f"{name.upper()} of any socket",
        ask_for_a_module,
        bait=functools.partial(Bait, asked=number),
    )
counted("listmount", "list mounts", mount_facts)
counted("security-modules", "list the host's security modules", security_modules)
counted("memory-policy", "bind memory to the host's nodes", memory_policy)
counted("process-madvise", "advise on a process's memory", advise_others)
counted("set-clock", "set the host's clock", set_clock, ("filter", "caps", "user"))
counted("rename", "rename the sandbox", rename_itself, ("filter", "caps"))
counted("fsopen", "begin a mount by fsopen", file_system_context, ("filter", "caps"))
counted("adjtimex", "ask how the host's clock is kept", ask_for_the_clock)

F = "filter of system calls"
together(
    "netlink",
    "talk to netfilter or IPsec, listen to devices, ask for sockets, talk to kernel families by "
    "name",
    S,
    F,
    ("netlink-netfilter", "netlink-uevent", "netlink-diagnosis", "netlink-generic"),
)
together(
    "odd-families",
    "open a socket of the kernel's ciphers, to the hypervisor or of XDP",
    S,
    F + " (XDP: and capability set)",
    ("af-alg", "af-vsock", "af-xdp"),
)
together(
    "raw-packets",
    "open a packet socket or a raw socket",
    S,
    F + " and capability set",
    ("af-packet", "raw-socket"),
)
together("keyrings", "keep a key in the kernel, join a keyring", S, F, ("add-key", "keyring"))
together(
    "by-descriptor",
    "compare, advise or take from processes by their descriptors",
    S,
    F,
    ("kcmp", "pidfd-getfd", "process-madvise"),
)
together(
    "facts-of-the-host",
    "ask for mounts, security modules, the host's nodes and how its clock is kept",
    S,
    F,
    ("listmount", "security-modules", "memory-policy", "adjtimex"),
)
together(
    "own-namespaces",
    "make a user or network namespace by unshare, by clone and by clone3, whose flags no filter "
    "sees",
    S,
    F + " and count of namespaces (networks: and capability set)",
    ("unshare-users", "clone-users", "clone-network", "clone3"),
)
if X86:
    together(
        "32-bit-entry",
        "call the kernel by the 32-bit entry, and open a packet socket by its socketcall, whose "
        "arguments no filter sees",
        S,
        F,
        ("int-80", "socketcall"),
    )
together(
    "modules",
    "have the kernel load a line discipline, its bridge and VLANs",
    S,
    F,
    ("line-discipline", *MODULE_IOCTLS),
)
together(
    "host-names",
    "set the host's clock, rename the sandbox",
    S,
    F + ", capability set and user namespace",
    ("set-clock", "rename"),
)
