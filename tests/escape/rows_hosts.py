"""Ordinary users of the host: the data directory, and the sockets of launcher, keepers and gate.
The control makes the mode that stands in the way what it must not be, or comes as the user that
may."""
import contextlib
import stat
import subprocess
import sys

from frame import Outcome, row

U = "host users"
STRANGER = 65534


def as_stranger(program, *words, uid=STRANGER):
    """What a program of that user prints."""
    done = subprocess.run(
        [
            "setpriv",
            "--reuid",
            str(uid),
            "--regid",
            str(uid),
            "--clear-groups",
            "--bounding-set=-all",
            "--inh-caps=-all",
            sys.executable,
            "-c",
            program,
            *map(str, words),
        ],
        capture_output=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin"},
    )
    return done.stdout.decode("latin-1"), done.stderr.decode("latin-1").strip().splitlines()[-1:]


@contextlib.contextmanager
def opened(path, until):
    """Everything from `until` down to `path` may be read by everybody for the while."""
    changed = []
    try:
        for one in [path, *path.parents]:
            mode = stat.S_IMODE(one.stat().st_mode)
            changed.append((one, mode))
            one.chmod(
                mode | (0o777 if one.is_dir() or stat.S_ISSOCK(one.stat().st_mode) else 0o666)
            )
            if one == until:
                break
        yield
    finally:
        for one, mode in changed:
            one.chmod(mode)


READ = (
    "import os, sys; print('got', open(sys.argv[1], 'rb').read(64).hex() if "
    "os.path.isfile(sys.argv[1]) else sorted(os.listdir(sys.argv[1]))[:1])"
)
WRITE = "import sys; open(sys.argv[1], 'ab').close(); print('got')"
MAKE = (
    "import os, sys; path = sys.argv[1] + '/cay-escape-planted'; open(path, 'w').close(); "
    "os.unlink(path); print('got')"
)


def data_file(name, attack, find, program=READ, **more):
    @row(name, attack, U, "modes of the data directory", by="A2", **more)
    def run(host, lifted):
        path = find(host)
        assert path.exists(), f"no {path}: the attack would prove nothing"
        with opened(path, host.daemon.data) if lifted else contextlib.nullcontext():
            out, err = as_stranger(program, path)
        return Outcome(out.startswith("got"), " ".join(err))


def data(name):
    return lambda host: host.daemon.data / name


def spool_of(host):
    host.box("main").sh("echo in the spool")
    return next(
        path
        for path in (host.daemon.data / "spool" / host.box("main").id).rglob("*")
        if path.is_file()
    )


data_file("read-the-key", "read the first API key", data("api-key"))
data_file("read-the-state", "read the database", data("state.db"))
data_file("write-the-state", "write the database", data("state.db"), WRITE)
data_file("read-the-audit", "read the audit log", data("audit.log"))
data_file("list-sockets", "list the sockets' directory", data("run"))
data_file("list-spools", "read what commands printed", spool_of)
data_file("list-layers", "list the snapshots' trees", data("layers"))
data_file("list-store", "list the sandboxes' disks", data("store"))
data_file("plant-in-data", "plant a file in the data directory", data("."), MAKE)
data_file("plant-a-socket", "plant a socket beside the launcher's", data("run"), MAKE)
data_file("plant-a-layer", "plant a snapshot's tree", data("layers"), MAKE)

SPEAK = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.settimeout(1.5)
client.connect(sys.argv[1])
try: kept = bool(client.recv(4096))
except TimeoutError: kept = True  # it waits for our words
except OSError: kept = False
print('got' if kept else 'cut off')
"""


def socket_row(name, attack, find, owner):
    """Two walls: the directory's mode, and the uid that the kernel tells of the peer. With modes
    open the stranger must still be cut off; `owner(host)`, whom the socket is for, is not."""

    @row(name, attack, U, "modes of the data directory; uid of the peer", by="A2")
    def run(host, lifted):
        path = find(host)
        tries = [as_stranger(SPEAK, path)]
        with opened(path, host.daemon.data):
            tries.append(as_stranger(SPEAK, path, uid=owner(host) if lifted else STRANGER))
        return Outcome(any(out.startswith("got") for out, _ in tries), " ".join(tries[0][1]))


def daemons_user(host):
    return host.daemon.data.stat().st_uid


def gates_user(host):
    return (host.daemon.data / "gate").stat().st_uid


def in_gate(host):
    return next(
        path
        for path in (host.daemon.data / "gate").iterdir()
        if path.name == f"{host.box('main').id}.sock"
    )


socket_row(
    "reach-the-launcher",
    "connect to the launcher's socket",
    lambda host: host.daemon.data / "run" / "launcher.sock",
    daemons_user,
)
socket_row(
    "reach-a-keeper",
    "connect to a keeper's socket",
    lambda host: host.daemon.data / "run" / f"{host.box('main').id}.sock",
    daemons_user,
)
socket_row(
    "reach-the-gates-side",
    "connect to the socket that lends a sandbox's way out",
    in_gate,
    gates_user,
)
