"""A daemon that was taken over (A2 or A6, and then the launcher against it): DATA is its user's,
and what it puts there where root works must be neither followed nor trusted. The launcher is
started over it as at a host's next boot."""
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

import harness
from frame import Outcome, row

U = "host users"
DAEMON, GATE = 61234, 61235
HOLED = (
    "root works through no link",
    "what root trusts is root's own",
    "nothing of root's is given away",
)


def as_daemon(program, *words):
    subprocess.run(
        [
            "setpriv",
            "--reuid",
            str(DAEMON),
            "--regid",
            str(DAEMON),
            "--clear-groups",
            "--bounding-set=-all",
            "--inh-caps=-all",
            sys.executable,
            "-c",
            "import os, sys\n" + program,
            *map(str, words),
        ],
        check=True,
        timeout=60,
    )


class Boot:
    """A data directory of that user's, and the launcher's start over it. A context, which leaves
    nothing."""

    def __init__(self, host):
        daemon = host.daemon
        self.program, self.holes = daemon.program, daemon.extra.get("CAY_HOLES", "")
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="taken-"))
        self.place.chmod(0o755)
        self.data, self.bait = self.place / "data", self.place / "bait"
        for path in (self.data, self.bait):
            path.mkdir()
            path.chmod(0o755)
        os.chown(self.data, DAEMON, DAEMON)

    def __enter__(self):
        return self

    def launcher(self, *words):
        return subprocess.run(
            [self.program, "launcher", "--data", self.data, *words],
            capture_output=True,
            text=True,
            timeout=harness.slow(60),
            env={"PATH": os.environ["PATH"], "CAY_HOLES": self.holes},
            check=False,
        )

    def start(self):
        """What it says where it does not serve; "" where it does."""
        words = ["--daemon-uid", str(DAEMON), "--daemon-gid", str(DAEMON)]
        if not self.holes:
            done = self.launcher(*words, "--detach")
            return (
                ""
                if done.returncode == 0
                else done.stderr.strip().splitlines()[-1].rpartition("cay-launcher: ")[2]
            )
        # The program's own holes come by a file (holes.py), this one by its environment.
        env = {"PATH": os.environ["PATH"], "CAY_HOLES": self.holes}
        with subprocess.Popen(
            [
                self.program.with_name("cay-launcher"),
                "--data",
                self.data,
                *words,
                "--instance",
                self.place.name.replace("_", "-").lower(),
                "--plain-disks",
            ],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as begun:
            harness.wait_until(
                lambda: begun.poll() is not None or self.serves(), "the launcher serves or ends"
            )
            if begun.poll() is None:
                self.launcher("--stop")
                return ""
            return begun.stderr.read().strip().splitlines()[-1]

    def serves(self):
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(self.data / "run/launcher.sock"))
                return True
        except OSError:
            return False

    def __exit__(self, *_):
        self.launcher("--stop")
        shutil.rmtree(self.place, ignore_errors=True)
        return False


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def linked(name):
    @row(
        f"daemon-links-{name}",
        "a daemon that was taken over: a link to a directory of root's where the launcher keeps "
        f"{name}",
        U,
        HOLED[0],
        by="A8",
        known=("CVE-2026-1386",),
        holes=HOLED[:1],
        proof="succeeds with a directory in its place",
        short=name == "layers",
    )
    def run(host, lifted):
        with Boot(host) as boot:
            place = boot.data / name
            if lifted:
                boot.bait.rename(place)
            else:
                as_daemon("os.symlink(sys.argv[1], sys.argv[2])", boot.bait, place)
            told = boot.start()
            return Outcome(mode(place) != 0o755, told)


for name in ("sandboxes", "layers", "spool", "store"):
    linked(name)


@row(
    "daemon-owns-layers",
    "a daemon that was taken over: snapshots' trees of its own, which sandboxes of all tenants "
    "would have for their root",
    U,
    HOLED[1],
    by="A8",
    known=("CVE-2026-1386", "CVE-2026-24054"),
    holes=HOLED[1:2],
    proof="succeeds with a directory of root's",
)
def owns_layers(host, lifted):
    with Boot(host) as boot:
        if lifted:
            (boot.data / "layers").mkdir()
        else:
            as_daemon("os.mkdir(sys.argv[1])", boot.data / "layers")
        told = boot.start()
        return Outcome(told == "", told)


@row(
    "daemon-gives-away",
    "a daemon that was taken over: move snapshots' trees to where the gate's own directory is, "
    "and have root give them away",
    U,
    HOLED[2],
    by="A8",
    holes=HOLED[2:],
    proof="succeeds with a directory of another user's",
)
def gives_away(host, lifted):
    with Boot(host) as boot:
        first = boot.start()
        assert first == "", first
        boot.launcher("--stop")
        shutil.rmtree(boot.data / "gate")
        as_daemon("os.rename(sys.argv[1], sys.argv[2])", boot.data / "layers", boot.data / "gate")
        if lifted:
            os.chown(boot.data / "gate", GATE, GATE)
        told = boot.start()
        return Outcome((boot.data / "gate").stat().st_uid not in (0, GATE), told)
