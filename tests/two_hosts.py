"""Two network namespaces joined by a wire: one for the daemon, one for its clients. And a wire that
takes its time."""
import contextlib
import ctypes
import os
import selectors
import socket
import subprocess
import threading
import time

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
DAEMON, CLIENT = "10.231.7.1", "10.231.7.2"


def _call(done):
    if done != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _here():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _fresh():
    _call(LIBC.unshare(CLONE_NEWNET))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return _here()


class Hosts:
    """`there`: the daemon's namespace. The calling thread, and those it starts, are in the
    client's."""

    def __init__(self, there):
        self.there = there

    @property
    def prefix(self):
        """Words that start a program on the daemon's host."""
        return ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.there}"]

    @contextlib.contextmanager
    def visit(self):
        """This thread alone on the daemon's host."""
        back = _here()
        _call(LIBC.setns(self.there, CLONE_NEWNET))
        try:
            yield
        finally:
            _call(LIBC.setns(back, CLONE_NEWNET))
            os.close(back)


@contextlib.contextmanager
def two_hosts():
    own = _here()
    there = here = None
    try:
        there = _fresh()
        here = _fresh()
        lines = (
            f"link add cay0 type veth peer name cay1 netns /proc/{os.getpid()}/fd/{there}",
            f"addr add {CLIENT}/24 dev cay0",
            "link set cay0 up",
        )
        for line in lines:
            subprocess.run(["ip", *line.split()], check=True)
        hosts = Hosts(there)
        with hosts.visit():
            for line in (f"addr add {DAEMON}/24 dev cay1", "link set cay1 up"):
                subprocess.run(["ip", *line.split()], check=True)
        yield hosts
    finally:
        _call(LIBC.setns(own, CLONE_NEWNET))
        for fd in (own, there, here):
            if fd is not None:
                os.close(fd)


class SlowWire:
    """Forwards 127.0.0.1:port to `target`; every byte is `delay` seconds under way. Counts the
    times that the direction changes from answer to question: round trips."""

    def __init__(self, target, delay):
        self.target, self.delay = target, delay
        self.round_trips = self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        selector, waiting, asking = (
            selectors.DefaultSelector(),
            [],
            False,
        )  # waiting: (due, to, bytes), oldest first
        with contextlib.suppress(OSError), client, socket.create_connection(self.target) as server:
            for one, other in ((client, server), (server, client)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(one, selectors.EVENT_READ, other)
            while True:
                left = max(0, waiting[0][0] - time.monotonic()) if waiting else None
                for key, _ in selector.select(left):
                    data = key.fileobj.recv(1 << 16)
                    if key.fileobj is client and data and not asking:
                        self.round_trips += 1
                    asking = key.fileobj is client
                    waiting.append((time.monotonic() + self.delay, key.data, data))
                    if not data:
                        selector.unregister(key.fileobj)
                while waiting and waiting[0][0] <= time.monotonic():
                    _, to, data = waiting.pop(0)
                    if data:
                        to.sendall(data)
                    else:
                        to.shutdown(socket.SHUT_WR)
                if not waiting and not selector.get_map():
                    return

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
