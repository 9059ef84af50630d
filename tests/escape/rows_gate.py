"""A gate or a broker that a hostile server has taken over (A4): what it could do on this host. `cay
gate --probe` and `cay broker --probe` try it within their own confinement; the control is the same
without (`--unconfined`). And where the daemon listens."""
import http.client
import pathlib
import subprocess
import sys

from frame import SETTING, Outcome, row
from harness import new_daemon
from together import together
from world import OWN

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import test_gate_confinement as confinement  # noqa: E402

WHAT = {
    "ptrace": "trace the daemon's user's process",
    "process-vm-readv": "read its memory",
    "pidfd-getfd": "take its descriptors",
    "signal": "signal it",
    "limit": "change its limits",
    "fork": "start a process",
    "execve": "run a program",
    "mode": "change modes",
    "mode-at": "change a path's mode",
    "mode-of-open": "change an open file's mode",
    "mount": "mount",
    "socket-unix": "open a UNIX socket",
    "socket-netlink-diagnosis": "ask for sockets",
    "socket-raw": "open a raw socket",
    "bind-udp": "serve UDP",
    "bind-tcp": "serve TCP",
    "listen": "listen",
    "memory-file": "make a file in memory",
    "own-limit": "change its own limits",
    "signal-by-descriptor": "signal by descriptor",
}
FILES = {
    "open-store": "open the store",
    "open-environment": "read the daemon's environment",
    "open-data": "open the data directory",
    "write-data": "write to the data directory",
    "write-rules": "widen what sandboxes may reach",
}


def probed(host, role):
    """(free, confined): what each probe came to. Once, for a daemon of its own user."""
    if not hasattr(host, "probed"):
        with confinement.own_gate() as daemon, subprocess.Popen(
            [*daemon.prefix, *confinement.TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as target:
            try:
                assert target.stdout.readline() == b"up\n"
                host.probed = {
                    one: (
                        confinement.probe(daemon, one, target.pid, "--unconfined"),
                        confinement.probe(daemon, one, target.pid),
                    )
                    for one in ("gate", "broker")
                }
            finally:
                target.stdin.close()
    return host.probed[role]


def taken_over(role, name, what, wall, **more):
    @row(
        f"{role}-{name}",
        f"a {role} that was taken over: {what}",
        "our processes",
        f"the {role}'s {wall}",
        by="A4 A8",
        known=("the proxy as the way out",),
        short=False,
        proof="succeeds unconfined",
        **more,
    )
    def run(host, lifted):
        free, confined = probed(host, role)
        word = (free if lifted else confined)[name]
        return Outcome(word == "ok", word)


def refused(role, groups):
    for name, (what, names) in groups.items():
        for one in names:
            taken_over(role, one, WHAT[one], "filter of system calls")
        together(
            f"{role}-{name}",
            f"a {role} that was taken over: {what}",
            "our processes",
            f"the {role}'s filter of system calls",
            [f"{role}-{one}" for one in names],
        )


refused(
    "gate",
    {
        "other-processes": (
            "trace the daemon's user's process, read its memory, take its descriptors, signal or "
            "limit it",
            (
                "ptrace",
                "process-vm-readv",
                "pidfd-getfd",
                "signal",
                "signal-by-descriptor",
                "limit",
                "own-limit",
            ),
        ),
        "programs": ("start a process, run a program", ("fork", "execve", "memory-file")),
        "modes": (
            "change modes, by path and of open files; mount",
            ("mode", "mode-at", "mode-of-open", "mount"),
        ),
        "sockets": (
            "open a UNIX socket, a raw one or one that asks for sockets",
            ("socket-unix", "socket-netlink-diagnosis", "socket-raw"),
        ),
        "servers": ("serve UDP or TCP", ("bind-udp", "bind-tcp", "listen")),
    },
)
for name, what in FILES.items():
    taken_over(
        "gate",
        name,
        what,
        "Landlock",
        needs=lambda: "" if confinement.landlock() else "this kernel has no Landlock",
    )
# The same walls: of the broker the worst alone, and what it may no more than the gate though it
# keeps files, too.
refused(
    "broker",
    {
        "other-processes": ("trace the daemon's user's process", ("ptrace",)),
        "calls": (
            "start a process, run a program, open a UNIX socket, serve TCP, change modes",
            ("fork", "execve", "socket-unix", "listen", "mode-at", "mode-of-open"),
        ),
    },
)
for name in ("open-store", "open-environment", "open-data", "write-data"):
    taken_over(
        "broker",
        name,
        FILES[name],
        "Landlock",
        needs=lambda: "" if confinement.landlock() else "this kernel has no Landlock",
    )


@row(
    "listen-everywhere",
    "reach the API by another address of the host",
    "api",
    "listens on loopback",
    by="A2 A5",
    known=("crawl4ai", "ToolUniverse"),
    proof="succeeds with --listen 0.0.0.0 --insecure-http",
    means=SETTING,
)
def listen_everywhere(host, lifted):
    """The control: a daemon whose operator has it listen at every address."""
    wide = new_daemon("--insecure-http") if lifted else None
    try:
        port = wide.start(listen="0.0.0.0:0").port if wide else host.daemon.port
        asked = http.client.HTTPConnection(OWN, port, timeout=10)
        asked.request("GET", "/healthz", headers={"Host": "127.0.0.1"})
        return Outcome(asked.getresponse().status == 200, "answered")
    except OSError as error:
        return Outcome(False, type(error).__name__)
    finally:
        if wide:
            wide.close()
