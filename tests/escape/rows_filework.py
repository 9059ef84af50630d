"""File work that the operator asks of Cay in a sandbox that lays traps, and archives. The
protection is that a process inside does it, with the sandbox's own root and rights; what a helper
would be without that, the control is (holes_of_files.py): it looks below the sandbox's root, by the
keeper's ids, and what it finds it follows from its own root, which is the host's. In the short form
the control does the same as a host-side helper would that puts the sandbox's root before the
path."""
import contextlib
import gzip
import http.client
import io
import json
import os
import pathlib
import tarfile
import tempfile
import threading
import time
import urllib.parse

import baits
from asking import ask, with_key
from frame import SETTING, Outcome, row
from harness import slow
from holes_of_files import (
    BESIDE,
    COMPRESSED,
    ENTER,
    JAIL,
    NAMES_BELOW,
    NO_HARD_LINKS,
    NO_SPARSE,
    NO_SPECIAL,
    REGULAR,
    TREE_BELOW,
    WAITS,
)

F, R = "file work", "archives"
WALL = (
    "done inside, with the sandbox's own root and rights; outside there is nothing but an empty "
    "directory"
)
INSIDE = (ENTER, JAIL)


def naive(host, path):
    """Where a careless helper of the host's would look."""
    return f"/proc/{host.box('main').model()}/root{path}"


def verb(host, method, what, body=None, **query):
    path = f"/api/v1/sandboxes/{host.box('main').id}/files{what}"
    return ask(
        host,
        method,
        path + ("?" + urllib.parse.urlencode(query) if query else ""),
        with_key(host.daemon.key),
        body,
    )


def trap(
    name,
    attack,
    prepare,
    act,
    careless,
    bait,
    kind=F,
    by="A1 A7",
    known=(),
    wall=WALL,
    holes=INSIDE,
):
    """`prepare`: a shell line inside, with {path} of the bait; `act(host, bait)` by the API;
    `careless(host, bait)` in the control."""

    @row(name, attack, kind, wall, by=by, known=known, holes=holes)
    def run(host, lifted):
        with bait() as one:
            host.box("main").sh(
                "rm -rf /srv/trap; mkdir -p /srv/trap; "
                + prepare.format(
                    path=one.arguments["path"], place=os.path.dirname(one.arguments["path"])
                )
            )
            told = ""
            try:
                told = (careless if lifted else act)(host, one)
            except OSError as error:
                told = str(error)
            return Outcome(one.won(told), str(told)[:60])


def status_and_text(got):
    return f"{got[0]} {got[1]}"


def download(path):
    return lambda host, bait: status_and_text(
        verb(host, "GET", "", path=path.format(path=bait.arguments["path"]))
    )


def read_naive(path):
    return lambda host, bait: pathlib.Path(
        naive(host, path.format(path=bait.arguments["path"]))
    ).read_text()


LINK = ("CVE-2026-47243", "CVE-2026-39861", "CVE-2024-28185", "CVE-2026-14891", "CVE-2026-41326")
LINKS = {
    "link": ("ln -s {path} /srv/trap/x", "/srv/trap/x", "a link to a file of the host's"),
    "directory-link": ("ln -s / /srv/trap/x", "/srv/trap/x{path}", "a link to the root directory"),
    "chain": (
        "ln -s {path} /srv/trap/c; ln -s c /srv/trap/b; ln -s b /srv/trap/x",
        "/srv/trap/x",
        "links to links",
    ),
    "place-link": (
        "ln -s {place} /srv/trap/x",
        "/srv/trap/x/secret",
        "a link to a directory of the host's",
    ),
}
for name, (prepare, path, what) in LINKS.items():
    trap(
        f"download-{name}",
        f"download through {what}",
        prepare,
        download(path),
        read_naive(path),
        baits.Secret,
        known=LINK,
    )


def stat_of(host, bait):
    return verb(host, "GET", "/stat", path="/srv/trap/x", follow="true")[1]


def list_of(host, bait):
    return verb(host, "GET", "/list", path="/srv/trap/x")[1]


class Listed(baits.Secret):
    """Told by the name of a file."""

    def __enter__(self):
        super().__enter__()
        (self.place / self.secret).touch()
        return self


trap(
    "list-link",
    "list a directory of the host's by a link",
    "ln -s {place} /srv/trap/x",
    list_of,
    lambda host, bait: " ".join(os.listdir(naive(host, "/srv/trap/x"))),
    Listed,
    known=LINK,
)
trap(
    "glob-link",
    "search names below a link",
    "ln -s {place} /srv/trap/x",
    lambda host, bait: verb(
        host, "POST", "/glob", json.dumps({"path": "/srv/trap/x", "pattern": "**"})
    )[1],
    lambda host, bait: " ".join(
        str(one) for one in pathlib.Path(naive(host, "/srv/trap/x/")).glob("*")
    ),
    Listed,
    known=LINK,
)
trap(
    "grep-link",
    "search text below a link",
    "ln -s {place} /srv/trap/x",
    lambda host, bait: verb(
        host, "POST", "/grep", json.dumps({"path": "/srv/trap/x", "text": "cay-secret"})
    )[1],
    lambda host, bait: " ".join(
        one.read_text() for one in pathlib.Path(naive(host, "/srv/trap/x/")).glob("*")
    ),
    baits.Secret,
    known=LINK,
)
trap(
    "tree-link",
    "download a tree by a link",
    "ln -s {place} /srv/trap/x",
    lambda host, bait: verb(host, "GET", "/tree", path="/srv/trap/x")[1],
    lambda host, bait: " ".join(
        one.read_text() for one in pathlib.Path(naive(host, "/srv/trap/x/")).glob("*")
    ),
    baits.Secret,
    known=LINK,
)


# ---- writing through what the sandbox prepared ----


class Writable(baits.Marker):
    """Beside the marker, others may come: won when anything of the host's changed."""

    def won(self, told):
        return super().won(told) or (self.place / "new").exists() or not self.file.exists()


def careless_write(path):
    def act(host, bait):
        with open(naive(host, path), "w") as file:
            file.write("changed")

    return act


def upload(path):
    return lambda host, bait: status_and_text(verb(host, "PUT", "", b"changed", path=path))


WRITE = ("CVE-2026-32055", "CVE-2026-41397", "CVE-2026-31990", "CVE-2026-41326")
trap(
    "upload-link",
    "upload over a link to a file of the host's",
    "ln -s {path} /srv/trap/x",
    upload("/srv/trap/x"),
    careless_write("/srv/trap/x"),
    Writable,
    known=WRITE,
)
trap(
    "upload-dangling",
    "upload over a link to a file that is not there yet",
    "ln -s {place}/new /srv/trap/x",
    upload("/srv/trap/x"),
    careless_write("/srv/trap/x"),
    Writable,
    known=(*WRITE, "CVE-2026-50549"),
)
trap(
    "upload-below-link",
    "upload below a link to a directory of the host's",
    "ln -s {place} /srv/trap/x",
    upload("/srv/trap/x/marker"),
    careless_write("/srv/trap/x/marker"),
    Writable,
    known=WRITE,
)
trap(
    "settings-later",
    "create a file of Cay's own settings where there is none",
    "ln -s {place} /srv/trap/x",
    upload("/srv/trap/x/new"),
    careless_write("/srv/trap/x/new"),
    Writable,
    known=("CVE-2026-25725",),
)
trap(
    "mkdir-link",
    "make a directory below a link",
    "ln -s {place} /srv/trap/x",
    lambda host, bait: verb(host, "POST", "/mkdir", json.dumps({"path": "/srv/trap/x/new"}))[0],
    lambda host, bait: os.mkdir(naive(host, "/srv/trap/x/new")),
    Writable,
    known=WRITE,
)
trap(
    "rename-link",
    "rename a file below a link",
    "ln -s {place} /srv/trap/x",
    lambda host, bait: verb(
        host, "POST", "/rename", json.dumps({"from": "/srv/trap/x/marker", "to": "/srv/trap/x/new"})
    )[0],
    lambda host, bait: os.rename(naive(host, "/srv/trap/x/marker"), naive(host, "/srv/trap/x/new")),
    Writable,
    known=WRITE,
)
trap(
    "delete-link",
    "delete a file below a link",
    "ln -s {place} /srv/trap/x",
    lambda host, bait: verb(host, "DELETE", "", path="/srv/trap/x/marker")[0],
    lambda host, bait: os.unlink(naive(host, "/srv/trap/x/marker")),
    Writable,
    known=WRITE,
)
trap(
    "delete-tree",
    "delete a tree that holds a link",
    "ln -s {place} /srv/trap/x",
    lambda host, bait: verb(host, "DELETE", "", path="/srv/trap/x/", recursive="true")[0],
    lambda host, bait: [
        one.unlink() for one in pathlib.Path(naive(host, "/srv/trap/x/")).iterdir()
    ],
    Writable,
    known=WRITE,
    wall=WALL + "; a tree is removed through no link",
    holes=(*INSIDE, "a tree is removed through no link"),
)


class Owned(baits.Marker):
    def __enter__(self):
        super().__enter__()
        self.before = self.file.stat().st_mode
        return self

    def won(self, told):
        return self.file.stat().st_mode != self.before


trap(
    "mode-link",
    "upload with a mode over a link",
    "ln -s {path} /srv/trap/x",
    lambda host, bait: verb(host, "PUT", "", b"as it was", path="/srv/trap/x", mode="4755")[0],
    lambda host, bait: os.chmod(naive(host, "/srv/trap/x"), 0o4755),
    Owned,
    known=("CVE-2024-28189", "CVE-2024-29021"),
)


# ---- races ----

SWAP = """
import os, ctypes, sys
libc = ctypes.CDLL(None)
os.makedirs("/srv/race/d", exist_ok=True)
open("/srv/race/d/secret", "w").write("inside")
try: os.symlink(sys.argv[1], "/srv/race/l")
except FileExistsError: pass
while True: libc.syscall(316, -100, b"/srv/race/d", -100, b"/srv/race/l", 2)
"""


def tries(count, lifted, won):
    """So many against the product; as many as it takes without the protection."""
    end = time.monotonic() + slow(60)
    number = 0
    while time.monotonic() < end if lifted else number < count:
        yield number
        number += 1
        if lifted and won():
            return


@row(
    "swap-race",
    "exchange a directory and a link to the host's while files are read",
    F,
    WALL,
    by="A1 A7",
    holes=INSIDE,
    known=("CVE-2026-14891", "CVE-2026-13201"),
)
def swap_race(host, lifted):
    box = host.box("main")
    with baits.Secret() as bait:
        box.sh("rm -rf /srv/race")
        pid = box.start(["python3", "-c", SWAP, str(bait.place)])
        seen = set()
        try:
            baits.wait_until(
                lambda: "inside" in verb(host, "GET", "", path="/srv/race/d/secret")[1] or None,
                "the race is on",
                20,
            )
            for _ in tries(300, lifted, lambda: bait.secret in seen):
                if lifted:
                    careless = pathlib.Path(naive(host, "/srv/race/d"))
                    with contextlib.suppress(OSError):  # looks first, and goes by what it saw
                        seen.add((careless / "secret").read_text())
                else:
                    seen.add(verb(host, "GET", "", path="/srv/race/d/secret")[1])
        finally:
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
        return Outcome(bait.secret in " ".join(seen), f"{len(seen)} kinds of answers")


@row(
    "write-race",
    "the same while files are written",
    F,
    WALL,
    by="A1 A7",
    holes=INSIDE,
    known=("CVE-2026-14891",),
)
def write_race(host, lifted):
    box = host.box("main")
    with baits.Marker() as bait:
        (bait.place / "secret").write_text("as it was")
        (bait.place / "secret").chmod(0o666)
        box.sh("rm -rf /srv/race")
        pid = box.start(["python3", "-c", SWAP, str(bait.place)])
        try:
            baits.wait_until(
                lambda: verb(host, "GET", "", path="/srv/race/d/secret")[0] == 200,
                "the race is on",
                20,
            )
            for _ in tries(200, lifted, lambda: "changed" in (bait.place / "secret").read_text()):
                if lifted:
                    with contextlib.suppress(OSError), open(
                        naive(host, "/srv/race/d/secret"), "r+"
                    ) as file:
                        file.write("changed")
                else:
                    verb(host, "PUT", "", b"changed", path="/srv/race/d/secret")
        finally:
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
        return Outcome("changed" in (bait.place / "secret").read_text(), "as it was")


# ---- what is not a file ----


def hung(work, limit):
    """Whether work() has not ended after `limit` seconds."""
    done = threading.Event()

    def run():
        with contextlib.suppress(OSError):
            work()
        done.set()

    threading.Thread(target=run, daemon=True).start()
    return not done.wait(limit), done


def waits_for_ever(host, work, path, flags):
    """Whether work() does, at a FIFO at `path`, which then gets its other end."""
    got, done = hung(work, slow(30))
    with contextlib.suppress(OSError):
        os.close(os.open(path, flags | os.O_NONBLOCK))
    done.wait(10)
    return Outcome(got, "answered")


@row(
    "fifo-hangs",
    "download a FIFO that nobody writes",
    F,
    "opened without waiting, regular files only",
    by="A1 A7",
    known=("hostile helper files",),
    holes=(REGULAR, WAITS),
)
def fifo_hangs(host, lifted):
    box = host.box("main")
    box.sh("rm -rf /srv/trap; mkdir -p /srv/trap; mkfifo /srv/trap/x")
    path = naive(host, "/srv/trap/x")
    return waits_for_ever(
        host,
        lambda: open(path, "rb").read() if lifted else verb(host, "GET", "", path="/srv/trap/x"),
        path,
        os.O_WRONLY,
    )


@row(
    "fifo-swallows",
    "upload into a FIFO that nobody reads",
    F,
    "regular files only; written beside, so that nothing which is there is opened",
    by="A1 A7",
    holes=(REGULAR, BESIDE),
)
def fifo_swallows(host, lifted):
    box = host.box("main")
    box.sh("rm -rf /srv/trap; mkdir -p /srv/trap; mkfifo /srv/trap/x")
    path = naive(host, "/srv/trap/x")
    return waits_for_ever(
        host,
        lambda: open(path, "wb").close()
        if lifted
        else verb(host, "PUT", "", b"x", path="/srv/trap/x"),
        path,
        os.O_RDONLY,
    )


@row(
    "endless-device",
    "download /dev/zero by a link",
    F,
    "regular files only",
    by="A1 A7",
    holes=(REGULAR,),
)
def endless_device(host, lifted):
    box = host.box("main")
    box.sh("rm -rf /srv/trap; mkdir -p /srv/trap; ln -s /dev/zero /srv/trap/x")
    if lifted:
        with open(naive(host, "/srv/trap/x"), "rb") as file:
            return Outcome(len(file.read(8 << 20)) == 8 << 20)
    connection = http.client.HTTPConnection("127.0.0.1", host.daemon.port, timeout=slow(60))
    with contextlib.closing(connection):  # what has no end is not read to its end
        connection.request(
            "GET",
            f"/api/v1/sandboxes/{box.id}/files?path=/srv/trap/x",
            headers=with_key(host.daemon.key),
        )
        answer = connection.getresponse()
        return Outcome(
            answer.status == 200 and len(answer.read(8 << 20)) == 8 << 20, str(answer.status)
        )


@row(
    "own-program",
    "download /proc/self/exe: Cay's own program",
    F,
    "a helper does not read its own program",
    by="A1 A7",
    known=("CVE-2019-5736",),
)
def own_program(host, lifted):
    host.box("main").sh(
        "rm -rf /srv/trap; mkdir -p /srv/trap; ln -s /proc/self/exe /srv/trap/x; cp /usr/bin/true "
        "/srv/trap/own"
    )
    status, text = verb(
        host, "GET", "", path="/srv/trap/own" if lifted else "/srv/trap/x"
    )  # the control: a program that is the guest's to read
    return Outcome(status == 200 and text.startswith("\x7fELF"), str(status))


# ---- archives ----


def archive(*entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, more in entries:
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.uid, info.gid = kind, 0o755, 0, 0
            data = more.pop("data", b"")
            for key, value in more.items():
                setattr(info, key, value)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def unpack(host, data, to="/srv/trap/to"):
    return status_and_text(verb(host, "PUT", "/tree", data, path=to))


def careless_unpack(data, to):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(
            to, **({"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {})
        )


def packed(name, attack, make, sign, holes, wall, known=(), trap="/srv/trap"):
    """`make(path)` -> archive; `sign(place, outside)`: whether it did its harm below `place`, or to
    the file that an absolute `path` leads to from there."""

    @row(name, attack, R, wall, by="A3 A7", known=known, holes=holes)
    def run(host, lifted):
        with baits.Marker() as bait, tempfile.TemporaryDirectory(
            dir="/var/tmp", prefix="cay-escape-"
        ) as own:
            box = host.box("main")
            box.sh(
                f"rm -rf {trap} /var/tmp/cay-escape-*; mkdir -p {trap}/to {bait.place}; echo as "
                f"it was > {bait.file}"
            )
            place, outside = pathlib.Path(own) / "to", bait.file
            if not lifted:
                place, outside = (
                    pathlib.Path(naive(host, path)) for path in (f"{trap}/to", str(bait.file))
                )
            data = make(str(bait.file))
            told = ""
            if lifted:
                place.mkdir()
                with contextlib.suppress(OSError, tarfile.TarError):
                    careless_unpack(data, place)
            else:
                told = unpack(host, data, f"{trap}/to")
            return Outcome(bait.won(None) or sign(place, outside), told[:60])


def reached(place, outside):
    return "changed" in outside.read_text() or (place.parent / "above").exists()


REG, DIR, SYM, LNK, CHR, FIFO = (
    tarfile.REGTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.FIFOTYPE,
)
X = {"data": b"changed"}
LEADS_OUT = {
    "holes": (NAMES_BELOW, TREE_BELOW),
    "wall": "names lead nowhere but below: looked at by the daemon, and by the helper",
}
THROUGH = {
    "holes": ("a tree is written through no link",),
    "wall": "a tree is written through no link",
}
SPECIAL = {
    "holes": (NO_SPECIAL,),
    "wall": "archives hold no special files: refused by the daemon, made by no helper, which "
    "Landlock "
    "would not let (one hole)",
}
packed(
    "tar-absolute",
    "an archive with an absolute name",
    lambda path: archive((path, REG, dict(X))),
    reached,
    known=("zip slip",),
    **LEADS_OUT,
)
packed(
    "tar-dots",
    "an archive with a name of dots",
    lambda path: archive(("../above", REG, dict(X))),
    reached,
    known=("zip slip",),
    **LEADS_OUT,
)
packed(
    "tar-inner-dots",
    "an archive whose dots come later",
    lambda path: archive(("a", DIR, {}), ("a/../../above", REG, dict(X))),
    reached,
    known=("zip slip",),
    **LEADS_OUT,
)
packed(
    "tar-link-through",
    "a link and a file through it",
    lambda path: archive(
        ("l", SYM, {"linkname": os.path.dirname(path)}), ("l/marker", REG, dict(X))
    ),
    reached,
    known=("CVE-2026-41326", "CVE-2026-41397"),
    **THROUGH,
)
packed(
    "tar-link-up",
    "a relative link up and a file through it",
    lambda path: archive(("l", SYM, {"linkname": ".."}), ("l/above", REG, dict(X))),
    reached,
    **THROUGH,
)
packed(
    "tar-link-chain",
    "a link through a link and a file through both",
    lambda path: archive(
        ("a", SYM, {"linkname": "."}), ("a/b", SYM, {"linkname": ".."}), ("b/above", REG, dict(X))
    ),
    reached,
    **THROUGH,
)
packed(
    "tar-hard-link",
    "a hard link to a file outside of where it is unpacked",
    lambda path: archive(("h", LNK, {"linkname": path})),
    lambda place, outside: (place / "h").exists() and (place / "h").samefile(outside),
    (NO_HARD_LINKS,),
    "archives hold no hard links: refused by the daemon, made by no helper (one hole)",
    known=("archives: hard links",),
)
packed(
    "tar-device",
    "device nodes: the host's random numbers, and the one that the kernel lets everybody make",
    lambda path: archive(
        ("d", CHR, {"devmajor": 1, "devminor": 8}), ("w", CHR, {"devmajor": 0, "devminor": 0})
    ),
    lambda place, outside: any((place / name).is_char_device() for name in ("d", "w")),
    known=("CVE-2026-96812",),
    trap="/dev/shm/trap",
    **SPECIAL,
)  # an overlay takes no such node
packed(
    "tar-set-id",
    "a program that runs as its owner, root, whoever starts it",
    lambda path: archive(("s", REG, {**X, "mode": 0o6755}), ("d", DIR, {"mode": 0o6755})),
    lambda place, outside: any((place / name).stat().st_mode & 0o6000 for name in ("s", "d")),
    ("archives make no set-id programs",),
    "archives make no set-id programs",
    known=("archives: set-id programs",),
)
packed(
    "tar-fifo",
    "a FIFO",
    lambda path: archive(("f", FIFO, {})),
    lambda place, outside: (place / "f").is_fifo(),
    **SPECIAL,
)


def sparse(size):
    """One file of a block, which says that it is a hole of `size` bytes, or just that."""
    info, data = tarfile.TarInfo("s"), b"1\n%d\n0\n" % size if size else b"a block"
    data = data.ljust(512, b"\0")
    info.size = len(data)
    info.pax_headers = (
        {
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": "s",
            "GNU.sparse.realsize": str(size),
        }
        if size
        else {}
    )
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def taken(name, attack, data, without, wall, hole, known):
    """An archive that is refused as it is. `without`: one in the bounds, for the short form's
    control."""

    @row(
        name,
        attack,
        R,
        wall,
        by="A3 A7",
        known=known,
        holes=(hole,),
        proof="succeeds within the bound",
    )
    def run(host, lifted):
        host.box("main").sh("rm -rf /srv/trap; mkdir -p /srv/trap/to")
        got = unpack(host, without if lifted else data)
        return Outcome(got.startswith("2"), got[:60])


ZEROS = archive(("zeros", REG, {"data": bytes(1 << 20)}))
taken(
    "tar-sparse",
    "a file that claims to be a terabyte",
    sparse(1 << 40),
    sparse(0),
    "archives hold no sparse files: refused by the daemon; a file is as long as what comes of it "
    "(one hole)",
    NO_SPARSE,
    ("archives: sparse 1 TB",),
)
taken(
    "tar-long-name",
    "a name of 10,000 letters, in parts that any file system takes",
    archive((("n" * 199 + "/") * 50 + "f", REG, dict(X))),
    archive(("n" * 100, REG, dict(X))),
    "bounds of names",
    "names in archives are bounded",
    ("archives: path of 4,096 bytes",),
)
taken(
    "tar-deep",
    "a file below 300 directories",
    archive(("d/" * 300 + "f", REG, dict(X))),
    archive(("d/" * 200 + "f", REG, dict(X))),
    "bound of depth",
    "depth in archives is bounded",
    ("archives: deep trees",),
)
taken(
    "tar-compressed",
    "a kilobyte that says it is a megabyte",
    gzip.compress(ZEROS),
    ZEROS,
    COMPRESSED,
    COMPRESSED,
    ("archives: bombs",),
)


@row(
    "tar-bomb",
    "more than the disk holds",
    R,
    "disk limit",
    by="A3 A7",
    known=("archives: bombs",),
    short=False,
    proof="succeeds where the disk is larger",
    means=SETTING,
)
def tar_bomb(host, lifted):
    box = host.box("roomy" if lifted else "small")
    box.sh("rm -rf /srv/trap; mkdir -p /srv/trap/to")
    status, text = ask(
        host,
        "PUT",
        f"/api/v1/sandboxes/{box.id}/files/tree?path=/srv/trap/to",
        with_key(host.daemon.key),
        archive(("big", REG, {"data": os.urandom(1 << 20) * 160})),
    )  # zeros would take no disk
    box.sh("rm -rf /srv/trap")
    return Outcome(status < 300, f"{status} {text[:60]}")
