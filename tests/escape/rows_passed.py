"""Descriptors that a keeper which was taken over passes: to the daemon for tunnels and services, to
the gate as a sandbox's way out. The control passes a TCP connection, lends in its own name, or has
a careless reader."""
import contextlib
import os
import select
import socket
import threading
import uuid

import keeper_frames as wire
import nameserver
from asking import issue, talk
from frame import Outcome, row
from harness import slow
from rows_keeper import P, judged
from taken_keeper import TakenKeeper, with_command

PORT = 8093


def passed(name, attack, wall, proof, **more):
    def wrap(act):
        row(
            f"passed-{name}",
            f"a keeper that was taken over: {attack}",
            P,
            wall,
            by="A1 A2 A8",
            proof=proof,
            **more,
        )(act)
        return act

    return wrap


def request(host, box, link, mark):
    return (
        f"GET /{mark} HTTP/1.1\r\n"
        f"Host: {box.id}--{PORT}.localhost:{host.daemon.port}\r\n"
        f"X-Cay-Service-Token: {link['token']}\r\n"
        "Connection: close\r\n\r\n"
    ).encode()


def tcp():
    """Both ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]


def datagrams():
    one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    other.bind(("127.0.0.1", 0))
    one.connect(other.getsockname())
    return one, other


def pipe():
    reads, writes = os.pipe()
    return os.fdopen(writes, "wb", 0), os.fdopen(reads, "rb", 0)


def of_kind(kind, attack, made, **more):
    @passed(
        f"{kind}",
        f"pass {attack} as a service's connection",
        "what is passed must be a TCP socket",
        "succeeds with a TCP connection",
        **more,
    )
    def run(host, lifted):
        """Won: the daemon wrote the client's request into it."""
        mark, ours, theirs = "mark-" + os.urandom(8).hex(), [], []

        def lend(keeper):
            one, other = (tcp if lifted else made)()
            ours.append(one)
            theirs.append(other)
            return [one.fileno()]

        with with_command(host) as (box, _), TakenKeeper(host, box, lend=lend):
            said = talk(
                host,
                request(host, box, issue(host, box, port=PORT), mark),
                limit=1,
                until=b"\r\n\r\n",
            )
            assert theirs, f"no socket was asked for: {said[:200]}"
            got = b""
            while select.select([theirs[0]], [], [], 0.3)[0]:
                part = os.read(theirs[0].fileno(), 65536)
                got += part
                if not part:
                    break
            return judged(host, mark.encode() in got, said.split("\r\n")[0])


of_kind("pipe", "a pipe", pipe, holes=())  # the kernel sends into none, whoever checks
of_kind("unix-socket", "a UNIX socket", socket.socketpair)
of_kind("datagram-socket", "a UDP socket", datagrams)


FLOOD = 60


@passed(
    "many",
    "pass 60 descriptors where one was asked for",
    "what was not asked for is closed",
    "a careless reader keeps all",
)
def many(host, lifted):
    kept = []

    def lend(keeper):
        kept.append(tcp())
        return [kept[-1][0].fileno()] * FLOOD

    def held():
        return len(os.listdir(f"/proc/{host.daemon.process.pid}/fd"))

    with with_command(host) as (box, _):
        if lifted:
            one, other = socket.socketpair()
            socket.send_fds(one, [b"x"], lend(None))
            _, fds, _, _ = socket.recv_fds(other, 1, FLOOD)
            for fd in fds:
                os.close(fd)
            return judged(host, len(fds) == FLOOD, f"{len(fds)} more")
        with TakenKeeper(host, box, lend=lend):
            link = issue(host, box, port=PORT)
            before = held()
            for number in range(5):
                talk(host, request(host, box, link, f"m{number}"), limit=0.3)
            assert kept, "no socket was asked for"
            more = held() - before
            return judged(host, more > FLOOD, f"{more} more")


class Lender:
    """A sandbox that there is not, whose keeper lends its way out to the gate, in its own name or
    another's; sockets that wait, or not. A context."""

    def __init__(self, host, name=None, waits=False):
        self.id = str(uuid.uuid4())
        self.name, self.path = name or self.id, host.daemon.data / "gate" / f"{self.id}.sock"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind(("127.0.0.1", 0))
        for one in (self.listener, self.datagrams):
            one.setblocking(waits)
        self.lent = threading.Event()

    def __enter__(self):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(self.path.with_suffix(".new")))
        self.path.with_suffix(".new").chmod(0o777)
        self.server.listen(8)
        os.rename(self.path.with_suffix(".new"), self.path)  # the gate looks at once
        threading.Thread(target=self.lend, daemon=True).start()
        return self

    def lend(self):
        with contextlib.suppress(OSError):
            self.gate = self.server.accept()[0]
            socket.send_fds(
                self.gate,
                [wire.encode({1: self.name, 2: "open"})],
                [self.listener.fileno(), self.datagrams.fileno()],
            )
            self.lent.set()

    def __exit__(self, *_):
        self.path.unlink()
        for one in (self.listener, self.datagrams):
            one.setblocking(False)
        with contextlib.suppress(OSError):  # wakes who waits
            socket.create_connection(self.listener.getsockname(), timeout=5).close()
            self.ask().close()
        for one in (self.server, self.gate, self.listener, self.datagrams):
            one.close()
        return False

    def ask(self):
        """A question on the socket that was lent."""
        asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        asker.settimeout(3)
        asker.connect(self.datagrams.getsockname())
        asker.send(nameserver.message("allowed.gate.test"))
        return asker


@passed(
    "lent-for-another",
    "lend its sockets to the gate in another sandbox's name",
    "the gate goes by the socket's name",
    "succeeds in its own name",
)
def lent_for_another(host, lifted):
    """Won: the gate answers on them."""
    with Lender(host, None if lifted else host.box("other").id) as lender:
        assert lender.lent.wait(slow(10)), "the gate did not come"
        with lender.ask() as asker:
            try:
                return judged(host, len(asker.recv(4096)) > 0, "answered")
            except OSError as error:
                return judged(host, False, type(error).__name__)
