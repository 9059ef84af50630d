"""A keeper that was taken over: something between it and the daemon, on the keeper's own socket,
that passes on what it likes and says what it likes."""
import contextlib
import os
import socket
import stat
import struct
import threading

import keeper_frames as wire
from harness import wait_until
from places import Sandbox


class Ended(Exception):
    pass


def exactly(stream, size):
    got = b""
    while len(got) < size:
        part = stream.recv(size - len(got))
        if not part:
            raise Ended
        got += part
    return got


def next_frame(stream):
    """(type, channel, payload)."""
    length, kind, _, channel = struct.unpack("<IHHI", exactly(stream, 12))
    return kind, channel, exactly(stream, length - 8)


class TakenKeeper:
    """A context: while it lasts, the sandbox's keeper is this. `on_request(keeper, type, channel,
    payload)` is asked about each request of the daemon's: True: it was answered here.
    `greeting(payload)` -> the bytes that are said instead of the keeper's HELLO. `lend(keeper)` ->
    descriptors that are passed when the daemon asks for a socket."""

    def __init__(self, host, box, on_request=None, greeting=None, lend=None):
        self.path = host.daemon.data / "run" / f"{box.id}.sock"
        self.aside, self.ours = self.path.with_suffix(".aside"), self.path.with_suffix(".ours")
        self.on_request, self.lend = on_request or (lambda *_: False), lend
        self.greeting = greeting or (lambda payload: wire.frame(wire.HELLO, 0, payload))
        self.streams, self.lock, self.line, self.hello, self.said = (
            [],
            threading.Lock(),
            None,
            b"",
            set(),
        )

    def __enter__(self):
        facts = self.path.stat()
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(self.ours))
        os.chown(self.ours, facts.st_uid, facts.st_gid)
        self.ours.chmod(stat.S_IMODE(facts.st_mode))
        self.server.listen(64)
        os.link(self.path, self.aside)
        os.rename(
            self.ours, self.path
        )  # in one step: a keeper whose socket is gone is dead to the daemon
        threading.Thread(target=self.accept, daemon=True).start()
        # A peer that sends HELLO as the daemon takes its place: it comes again, and meets us.
        with self.dial() as stranger:
            stranger.sendall(
                wire.frame(wire.HELLO, 0, wire.encode({1: 1, 2: 1, wire.ROLE: "daemon"}))
            )
            exactly(stranger, 12)
            wait_until(lambda: self.line, "the daemon comes to the keeper that was taken over")
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            os.rename(self.aside, self.path)
        for one in (self.server, *self.streams):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        return False

    def dial(self):
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(30)
        stream.connect(str(self.aside))
        return stream

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(
                    target=self.serve, args=(self.server.accept()[0],), daemon=True
                ).start()

    def serve(self, daemon):
        with contextlib.suppress(OSError, Ended):
            keeper = self.dial()
            self.streams += [daemon, keeper]
            kind, channel, payload = next_frame(daemon)
            if wire.decode(payload).get(wire.ROLE) == b"tunnel":
                return self.pass_sockets(daemon)
            keeper.sendall(wire.frame(kind, channel, payload))
            _, _, self.hello = next_frame(keeper)
            keeper.settimeout(None)
            daemon.sendall(self.greeting(self.hello))
            self.line = daemon
            threading.Thread(target=self.answers, args=(keeper, daemon), daemon=True).start()
            while True:
                kind, channel, payload = next_frame(daemon)
                if not self.on_request(self, kind, channel, payload):
                    keeper.sendall(wire.frame(kind, channel, payload))

    def answers(self, keeper, daemon):
        with contextlib.suppress(OSError, Ended):
            while True:
                kind, channel, payload = next_frame(keeper)
                with self.lock:
                    daemon.sendall(wire.frame(kind, channel, payload))
                self.said.add(channel)

    def answered(self, channel):
        """Whether the keeper itself said something there."""
        return channel in self.said

    def pass_sockets(self, daemon):
        daemon.sendall(wire.frame(wire.HELLO, 0, self.hello))
        while True:
            kind, channel, _ = next_frame(daemon)
            assert kind == wire.OPEN_TUNNEL
            socket.send_fds(
                daemon,
                [wire.frame(wire.TUNNEL_OPEN, channel, wire.encode({1: 0}))],
                self.lend(self),
            )

    def say(self, *frames):
        """To the daemon, whole. It may hang up before it has heard all."""
        with self.lock, contextlib.suppress(OSError):
            for one in frames:
                self.line.sendall(one)


@contextlib.contextmanager
def with_command(host):
    """(sandbox, command): a sandbox for one row, in which a command runs."""
    box = Sandbox(host, "escape-" + os.urandom(4).hex())
    try:
        command = "c" + os.urandom(4).hex()
        answer = host.http.post(
            f"{box.url}/commands",
            json={"id": command, "argv": ["sleep", "1000"], "wait": False, "timeout_s": 0},
        )
        assert answer.status_code == 201, answer.text
        yield box, command
    finally:
        box.close()


def ends(host, command, *boxes):
    """Exit codes with which the command ended, as the journal tells it of these sandboxes."""
    items = []
    for box in boxes:
        items += host.http.get("/api/v1/events", params={"sandbox": box.id, "limit": 1000}).json()[
            "items"
        ]
    return [
        one.get("exit_code")
        for one in items
        if one["type"] == "command.ended" and one.get("command_id") == command
    ]


def others_are_true(host):
    """Whether another sandbox's command still tells the truth."""
    got = host.box("other").command(["sh", "-c", "echo true; exit 3"])
    return (got["state"], got["exit_code"], got["stdout"]) == ("exited", 3, "true\n")


def answers_health(host, limit):
    """Whether the daemon answers anybody within `limit` seconds."""
    with contextlib.suppress(OSError), socket.create_connection(
        ("127.0.0.1", host.daemon.port), timeout=limit
    ) as stream:
        stream.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return stream.recv(100).startswith(b"HTTP/1.1 200")
    return False
