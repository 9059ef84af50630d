"""What attacks are after, on the host: each is made for one try, and tells from outside whether it
was reached."""
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from frame import Bait
from harness import slow, wait_until

libc = ctypes.CDLL(None, use_errno=True)


def of_host(bait):
    """Marks a bait that is made with the host: its sandboxes, its directory."""
    bait.of_host = True
    return bait


def new_secret():
    return "cay-secret-" + os.urandom(12).hex()


class Secret(Bait):
    """A file of the host's that everybody there may read."""

    where = "/var/tmp"

    def __enter__(self):
        self.secret = new_secret()
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="cay-escape-secret-", dir=self.where))
        self.place.chmod(0o755)
        self.file = self.place / "secret"
        self.file.write_text(self.secret)
        self.file.chmod(0o644)
        self.arguments = {**self.arguments, "path": str(self.file)}
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.place, ignore_errors=True)
        return False

    def won(self, told):
        return self.secret in str(told)


def secret_in(directory):
    return type("Secret", (Secret,), {"where": directory})


def run_as(uid, caps):
    """Words that make a program an ordinary one of that host uid; uid 0 without capabilities."""
    words = [
        "setpriv",
        "--reuid",
        str(uid),
        "--regid",
        str(uid),
        "--clear-groups",
        "--inh-caps=-all",
    ]
    return words if caps else [*words, "--bounding-set=-all"]


class Process(Bait):
    """A process of the host. `like`: whose uid it has: "guest" (host uid of the sandbox's root), or
    "root" (of the host's, without capabilities). `sign`: how its being reached shows."""

    of_host = True
    like, gives_pid, script = (
        "guest",
        True,
        "import sys, time; print('up', flush=True); sys.stdin.read()",
    )

    def __init__(self, host, **arguments):
        super().__init__(**arguments)
        self.host = host

    def uid(self):
        return 0 if self.like == "root" else self.host.box("main").root_uid()

    def __enter__(self):
        self.secret = new_secret()
        self.process = subprocess.Popen(
            [*run_as(self.uid(), False), "python3", "-c", self.script, self.secret[11:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"CAY_SECRET": self.secret, "PATH": "/usr/bin:/bin"},
        )
        line = self.process.stdout.readline().split()
        assert line and line[0] == b"up", line
        self.words = [word.decode() for word in line[1:]]
        return self

    def given(self, host, lifted):
        return {**self.arguments, **({"pid": self.process.pid} if self.gives_pid else {})}

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        return False

    def won(self, told):
        return self.secret in str(told) or self.secret[11:] in str(told)


class Killed(Process):
    def won(self, told):
        try:
            return self.process.wait(timeout=self.patience) == -signal.SIGKILL
        except subprocess.TimeoutExpired:
            return False


class Signalled(Process):
    """Ends by itself with 77 when it is sent SIGURG, which others ignore."""

    script = (
        "import os, signal, sys; signal.signal(signal.SIGURG, lambda *_: os._exit(77)); "
        "print('up', flush=True); sys.stdin.read()"
    )

    def won(self, told):
        try:
            return self.process.wait(timeout=self.patience) == 77
        except subprocess.TimeoutExpired:
            return False


class Fact(Process):
    """A process about which something is changed: won() asks the kernel."""

    def fact(self):
        raise NotImplementedError

    def __enter__(self):
        super().__enter__()
        self.before = self.fact()
        return self

    def won(self, told):
        return self.fact() != self.before


def changed(fact, base=Process):
    """A bait whose `fact(pid)` must stay."""
    return type("Changed", (Fact, base), {"fact": lambda self: fact(self.process.pid)})


def as_root(bait):
    return type(bait.__name__ + "OfRoot", (bait,), {"like": "root"})


class Listener(Bait):
    """A server of the host's, which tells its secret to whoever comes."""

    family, address, type = socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_STREAM

    def bind_to(self):
        return self.address

    def __enter__(self):
        self.secret = new_secret()
        self.server = socket.socket(self.family, self.type)
        if self.family != socket.AF_UNIX:
            self.server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.server.bind(self.bind_to())
        self.came = threading.Event()
        if self.type == socket.SOCK_STREAM:
            self.server.listen()
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self):
        try:
            while True:
                if self.type == socket.SOCK_STREAM:
                    peer, _ = self.server.accept()
                    self.came.set()
                    peer.sendall(self.secret.encode())
                    peer.close()
                else:
                    self.server.recv(65536)
                    self.came.set()
        except OSError:
            pass

    def given(self, host, lifted):
        return {**self.arguments, "port": self.server.getsockname()[1]}

    def __exit__(self, *_):
        try:
            self.server.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.server.close()
        return False

    def won(self, told):
        return self.secret in str(told)


class Datagram(Listener):
    type = socket.SOCK_DGRAM

    def won(self, told):
        return self.came.wait(self.patience)


class Abstract(Listener):
    """On a name without a file."""

    family = socket.AF_UNIX

    def bind_to(self):
        self.name = "cay-escape-" + os.urandom(6).hex()
        return "\0" + self.name

    def given(self, host, lifted):
        return {**self.arguments, "name": self.name}


class Marker(Bait):
    """A file of the host's that everybody there may write."""

    mode = 0o666

    def __enter__(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="cay-escape-marker-", dir="/var/tmp"))
        self.place.chmod(0o777)
        self.file = self.place / "marker"
        self.file.write_text("as it was")
        self.file.chmod(self.mode)
        self.arguments = {**self.arguments, "path": str(self.file)}
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.place, ignore_errors=True)
        return False

    def won(self, told):
        return self.file.exists() and "changed" in self.file.read_text()


class SystemV(Bait):
    """An object of the host's System V IPC, for everybody. make() gives its id, end() takes it
    away."""

    def __enter__(self):
        self.secret = new_secret()
        self.key = int.from_bytes(os.urandom(3), "big") | 0x40000000
        self.id = self.make()
        assert self.id >= 0
        self.fill()
        self.arguments = {"key": self.key}
        return self

    def fill(self):
        pass

    def __exit__(self, *_):
        self.end()
        return False

    def won(self, told):
        return self.secret in str(told)


class SharedMemory(SystemV):
    """A segment with a secret in it."""

    def make(self):
        return libc.shmget(self.key, 4096, 0o1666)

    def fill(self):
        libc.shmat.restype = ctypes.c_void_p
        at = libc.shmat(self.id, None, 0)
        ctypes.memmove(at, self.secret.encode(), len(self.secret))
        libc.shmdt(ctypes.c_void_p(at))

    def end(self):
        libc.shmctl(self.id, 0, None)


class MessageQueue(SystemV):
    """A queue with a secret in it."""

    def make(self):
        return libc.msgget(self.key, 0o1666)

    def fill(self):
        message = (1).to_bytes(8, "little") + self.secret.encode()
        assert libc.msgsnd(self.id, message, len(self.secret), 0) == 0

    def end(self):
        libc.msgctl(self.id, 0, None)


class Semaphore(SystemV):
    def make(self):
        return libc.semget(self.key, 1, 0o1666)

    def end(self):
        libc.semctl(self.id, 0, 0)

    def won(self, told):
        return libc.semctl(self.id, 0, 12) == 4711  # GETVAL


class HostText(Bait):
    """A file of the host's kernel: won when what the host reads there came out. Numbers may have
    moved, so by the words at the beginnings and ends of lines."""

    path = ""

    def won(self, told):
        def words(text):
            return {
                word
                for line in text.splitlines()
                if line.split()
                for word in (line.split()[0], line.split()[-1])
            }

        got = words(str(told or ""))
        return bool(got) and 2 * len(
            got & words(pathlib.Path(self.path).read_bytes()[:65536].decode("latin-1"))
        ) > len(got)


def host_text(path):
    return type("HostText", (HostText,), {"path": path})


def wait_won(condition, limit=5.0):
    """True once condition() is; False at the limit."""
    try:
        wait_until(condition, "it is reached", limit)
        return True
    except AssertionError:
        return False
