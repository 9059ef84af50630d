"""What /proc and /sys would tell of the host, and what could be changed there."""
import os
import pathlib

import baits
from frame import Bait, inside

V = "kernel view"


def file_text(path):
    return read(path)


def text_of(path):
    return type(
        "Text",
        (baits.HostText,),
        {"path": path, "__enter__": lambda self: self.arguments.update(path=path) or self},
    )


def proc_file(name, what, **more):
    path = f"/proc/{name}"
    inside(
        f"proc-{name}",
        f"read {path}: {what}",
        V,
        [f"mask:{path}"],
        file_text,
        text_of(path),
        needs=lambda: ""
        if pathlib.Path(path).exists() and pathlib.Path(path).read_bytes()
        else f"this kernel shows nothing in {path}",
        **more,
    )


COMMON = ("cmdline", "partitions", "interrupts", "kallsyms")  # of the short form
for name, what in {
    "cmdline": "the host's boot line",
    "kallsyms": "names of the kernel's symbols",
    "partitions": "the host's disks",
    "diskstats": "what is done on the host's disks",
    "interrupts": "the host's devices",
    "iomem": "the host's address map",
    "locks": "who locks files on the host",
    "buddyinfo": "free pages of the host",
    "zoneinfo": "memory zones of the host",
    "slabinfo": "kernel objects of the host",
    "timer_list": "timers of all processes",
    "softirqs": "interrupt work",
    "swaps": "the host's swap",
    "misc": "drivers",
    "ioports": "ports of devices",
    "modules": "modules of the kernel",
    "config.gz": "the kernel's configuration",
    "pagetypeinfo": "pages of the host",
    "schedstat": "what processors do",
    "vmallocinfo": "kernel allocations",
    "execdomains": "kinds of programs",
    "consoles": "consoles",
    "fb": "screens",
    "mdstat": "disk arrays",
    "pressure": "load",
    "dma": "channels",
}.items():
    if (
        os.path.isfile(f"/proc/{name}")
        and os.stat(f"/proc/{name}").st_mode & 0o004
        and open(f"/proc/{name}", "rb").read(1)
    ):
        proc_file(name, what, short=name in COMMON)


def names_below(path):
    return "\n".join(sorted(os.listdir(path)))


class Names(Bait):
    path = ""

    def __enter__(self):
        self.arguments = {"path": self.path}
        return self

    def won(self, told):
        own = set(os.listdir(self.path))
        got = set(str(told or "").split())
        return len(own & got) * 2 > len(own) > 0


def below(path):
    return type("Below", (Names,), {"path": path})


for path, what in {
    "/proc/irq": "the host's interrupts",
    "/proc/bus": "the host's buses",
    "/proc/fs": "the host's file systems",
    "/proc/driver": "drivers",
}.items():
    if os.path.isdir(path) and os.listdir(path):
        inside(
            "list" + path.replace("/", "-"),
            f"list {path}: {what}",
            V,
            [f"mask:{path}"],
            names_below,
            below(path),
        )
for path, what in {
    "/sys/block": "the host's disks",
    "/sys/module": "modules and their settings",
    "/sys/bus": "buses",
    "/sys/firmware": "firmware tables",
    "/sys/class": "classes of devices",
    "/sys/kernel": "the kernel's knobs",
    "/sys/devices/system": "system devices",
    "/sys/devices/virtual": "virtual devices",
    "/sys/dev/block": "disks by number",
    "/sys/fs": "file systems in use",
    "/sys/kernel/slab": "kernel objects",
    "/sys/bus/virtio/devices": "devices of a virtual machine",
}.items():
    if os.path.isdir(path) and os.listdir(path):
        inside(
            "list" + path.replace("/", "-"),
            f"list {path}: {what}",
            V,
            ["host:/sys=/sys"],
            names_below,
            below(path),
            wall="allow-list of /sys",
            short=path in ("/sys/block", "/sys/module", "/sys/firmware"),
        )


# ---- changed through it: the same value is written back, so that a control changes nothing ----


def write_back(path):
    value = read(path)
    with open(path, "w") as file:
        file.write(value.split()[0] if value.split() else value)
    return True


def write_same(name, path, lift, what, **more):
    if os.path.exists(path):
        inside(
            name,
            what,
            V,
            lift,
            write_back,
            type(
                "Path",
                (Bait,),
                {"__enter__": lambda self: self.arguments.update(path=path) or self},
            ),
            **more,
        )


SYS = ("ro:/proc/sys", "user")
write_same(
    "core-pattern",
    "/proc/sys/kernel/core_pattern",
    SYS,
    "write core_pattern: a program run by the host's root at each crash",
    known=("CVE-2025-52881",),
)
write_same(
    "hotplug-helper",
    "/proc/sys/kernel/modprobe",
    SYS,
    "write kernel.modprobe: a program run by the host's root",
)
write_same("panic-on-oops", "/proc/sys/kernel/panic", SYS, "write kernel.panic")
write_same("swappiness", "/proc/sys/vm/overcommit_memory", SYS, "write vm.overcommit_memory")
write_same("protected-links", "/proc/sys/fs/protected_symlinks", SYS, "write fs.protected_symlinks")
write_same(
    "ip-forward",
    "/proc/sys/net/ipv4/ip_forward",
    ("ro:/proc/sys", "caps"),
    "write net.ipv4.ip_forward of its own network",
)
write_same(
    "ephemeral-ports",
    "/proc/sys/net/ipv4/ip_unprivileged_port_start",
    ("ro:/proc/sys", "caps"),
    "write a setting of its own network",
)
write_same(
    "huge-pages",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    ("ro:/sys/kernel/mm/hugepages", "user"),
    "take huge pages from the host",
)


def raise_a_group(group):
    for root, names, files in os.walk("/sys/fs/cgroup"):
        if group in names:
            for name in ("pids.max", "cgroup.max.depth"):
                path = os.path.join(root, group, name)
                if os.path.exists(path):
                    with open(path, "w") as file:
                        file.write("77")


class Group(Bait):
    """A control group of the host's with a limit."""

    def __enter__(self):
        self.name = "cay-escape-" + os.urandom(4).hex()
        roots = [
            pathlib.Path(one)
            for one in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")
        ]
        self.group = next(root for root in roots if (root / "cgroup.procs").exists()) / self.name
        self.group.mkdir()
        self.limit = next(
            self.group / name
            for name in ("pids.max", "cgroup.max.depth")
            if (self.group / name).exists()
        )
        self.limit.write_text("55")
        self.arguments = {"group": self.name}
        return self

    def __exit__(self, *_):
        self.group.rmdir()
        return False

    def won(self, told):
        return self.limit.read_text().strip() == "77"


inside(
    "raise-a-group",
    "raise a limit in /sys/fs/cgroup",
    V,
    ["host:/sys=/sys", "user"],
    raise_a_group,
    Group,
    known=("CVE-2022-0492",),
)


def release_agent(marker, group):
    place = "/tmp/rdma"
    os.makedirs(place, exist_ok=True)
    call(165, b"none", place.encode(), b"cgroup", 0, b"none,name=" + group.encode())
    try:
        with open(f"{place}/release_agent", "w") as file:
            file.write(marker)
        return True
    finally:
        call(166, place.encode(), 2)


class Agent(Bait):
    def __enter__(self):
        self.arguments = {"marker": "/bin/true", "group": "cayescape" + os.urandom(4).hex()}
        return self


inside(
    "release-agent",
    "mount a control group hierarchy and name the program that the host's root runs when a group "
    "is empty",
    "mounts",
    ("filter", "caps", "user", "cgroupns"),
    release_agent,
    Agent,
    known=("CVE-2022-0492",),
)


class Log(Bait):
    def __enter__(self):
        self.secret = baits.new_secret()
        with open("/dev/kmsg", "w") as file:
            file.write(self.secret + "\n")
        return self

    def won(self, told):
        return self.secret in str(told)


def last_log():
    buffer = ctypes.create_string_buffer(1 << 20)
    size = call(103, 3, ctypes.byref(buffer), 1 << 20)
    return buffer.raw[:size].decode("latin-1")[-4000:]


inside(
    "kernel-log-by-call",
    "read the kernel's log with syslog(2)",
    V,
    ("filter", "user", "caps")
    if pathlib.Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() == "1"
    else ["filter"],
    last_log,
    Log,
    needs=lambda: "" if os.access("/dev/kmsg", os.W_OK) else "no /dev/kmsg",
)


# ---- the files that programs size themselves by ----


def write_over(path):
    with open(path, "r+") as file:
        text = file.read()
        file.seek(0)
        file.write(text)
    return True


class Written(Bait):
    path = ""

    def __enter__(self):
        self.arguments.update(path=self.path)
        return self


def written(path):
    return type("WrittenPath", (Written,), {"path": path})


# On pure v2 the limit's file is the kernel's, which belongs to the keeper's user.
PURE_V2 = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
LIMIT = ("ro:/sys/fs/cgroup", "user") if PURE_V2 else ("ro:/sys/fs/cgroup",)
inside(
    "meminfo",
    "write /proc/meminfo, which is a file of Cay's",
    V,
    ("ro:/proc/meminfo",),
    write_over,
    written("/proc/meminfo"),
)
inside(
    "memory-limit",
    "raise the memory limit in /sys/fs/cgroup",
    V,
    LIMIT,
    write_over,
    written("/sys/fs/cgroup/memory.max"),
    known=("CVE-2022-0492",),
)


def uncover(path, line):
    call(166, path.encode(), 2)
    return line in open(path).read()


class OnHost(Bait):
    """The host's memory is seen where the sandbox's own file is taken off."""

    def __enter__(self):
        line = next(line for line in open("/proc/meminfo") if line.startswith("MemTotal"))
        self.arguments.update(path="/proc/meminfo", line=line)
        return self


inside(
    "uncover-meminfo",
    "take Cay's file off /proc/meminfo, and read the host's",
    "mounts",
    ("filter", "caps"),
    uncover,
    OnHost,
)


def group_names(group):
    return any(group in names for _, names, _ in os.walk("/sys/fs/cgroup"))


class SeenGroup(Group):
    def won(self, told):
        return told is True


inside(
    "groups-above",
    "find a control group of the host's below /sys/fs/cgroup",
    V,
    ["host:/sys=/sys"],
    group_names,
    SeenGroup,
)
