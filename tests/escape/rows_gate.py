"""A gate or a broker that a hostile server has taken over (A4): what it could do on this host. `cay gate --probe` and `cay broker --probe` try it within
their own confinement; the control is the same without (`--unconfined`). And where the daemon listens."""
import http.client
import pathlib
import socket
import subprocess
import sys
import threading

from frame import Outcome, row
from world import OWN

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import test_gate_confinement as confinement  # noqa: E402

WHAT = {"ptrace": "trace the daemon's user's process", "process-vm-readv": "read its memory", "pidfd-getfd": "take its descriptors", "signal": "signal it",
        "limit": "change its limits", "fork": "start a process", "execve": "run a program", "mode": "change modes", "mode-at": "change a path's mode", "mode-of-open": "change an open file's mode", "mount": "mount",
        "socket-unix": "open a UNIX socket", "socket-netlink-diagnosis": "ask for sockets", "socket-raw": "open a raw socket", "bind-udp": "serve UDP",
        "bind-tcp": "serve TCP", "listen": "listen", "memory-file": "make a file in memory", "own-limit": "change its own limits",
        "signal-by-descriptor": "signal by descriptor"}
FILES = {"open-store": "open the store", "open-environment": "read the daemon's environment", "open-data": "open the data directory",
         "write-data": "write to the data directory", "write-rules": "widen what sandboxes may reach"}


def probed(host, role):
    """(free, confined): what each probe came to. Once, for a daemon of its own user."""
    if not hasattr(host, "probed"):
        with confinement.own_gate() as daemon, subprocess.Popen([*daemon.prefix, *confinement.TARGET], stdin=subprocess.PIPE,
                                                               stdout=subprocess.PIPE) as target:
            try:
                assert target.stdout.readline() == b"up\n"
                host.probed = {one: (confinement.probe(daemon, one, target.pid, "--unconfined"), confinement.probe(daemon, one, target.pid))
                               for one in ("gate", "broker")}
            finally:
                target.stdin.close()
    return host.probed[role]


def taken_over(role, name, what, wall, **more):
    @row(f"{role}-{name}", f"a {role} that was taken over: {what}", "our processes", f"the {role}'s {wall}", by="A4 A8", known=("the proxy as the way out",), short=False,
         proof="succeeds unconfined", **more)
    def run(host, lifted):
        free, confined = probed(host, role)
        word = (free if lifted else confined)[name]
        return Outcome(word == "ok", word)


for name, what in WHAT.items():
    taken_over("gate", name, what, "filter of system calls")
for name, what in FILES.items():
    taken_over("gate", name, what, "Landlock", needs=lambda: "" if confinement.landlock() else "this kernel has no Landlock")
# The same walls: of the broker the worst alone, and what it may no more than the gate though it keeps files, too.
for name in ("ptrace", "fork", "execve", "socket-unix", "listen", "mode-at", "mode-of-open"):
    taken_over("broker", name, WHAT[name], "filter of system calls")
for name in ("open-store", "open-environment", "open-data", "write-data"):
    taken_over("broker", name, FILES[name], "Landlock", needs=lambda: "" if confinement.landlock() else "this kernel has no Landlock")


@row("listen-everywhere", "reach the API by another address of the host", "api", "listens on loopback", by="A2 A5", known=("crawl4ai", "ToolUniverse"))
def listen_everywhere(host, lifted):
    """The control listens there as a daemon of all addresses would, and passes on."""
    server = None
    if lifted:
        server = socket.create_server((OWN, host.daemon.port))

        def pass_on():
            peer, _ = server.accept()
            with socket.create_connection(("127.0.0.1", host.daemon.port)) as to:
                to.sendall(peer.recv(65536))
                peer.sendall(to.recv(65536))
                peer.close()
        threading.Thread(target=pass_on, daemon=True).start()
    try:
        asked = http.client.HTTPConnection(OWN, host.daemon.port, timeout=10)
        asked.request("GET", "/healthz", headers={"Host": "127.0.0.1"})
        return Outcome(asked.getresponse().status == 200, "answered")
    except OSError as error:
        return Outcome(False, type(error).__name__)
    finally:
        if server:
            server.close()
