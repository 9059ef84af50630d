"""Servers outside that change protocols, pretend to, or refuse to, or say again what they heard;
and a careless relay, which asks each request's Host anew whom it is for."""
import contextlib
import re
import socket

SOCKETS, ELSEWHERE = (
    "198.18.7.4",
    "198.18.7.5",
)  # a policy allows the first's name; the second's it does not
NAMES = {"sockets.gate.test": SOCKETS, "elsewhere.gate.test": ELSEWHERE}
RELAY = ("198.18.7.4", 8088)
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
ANSWERS = {
    b"/refuses": b"HTTP/1.1 426 Upgrade Required\r\n"
    b"Upgrade: websocket\r\n"
    b"Content-Length: 0\r\n"
    b"\r\n",
    b"/plain": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"/switches": SWITCH,
    b"/pretends": SWITCH,
}


def head_of(stream, begun=b""):
    """(head, what came behind it); ("", ...) at the end."""
    got = begun
    while b"\r\n\r\n" not in got:
        part = stream.recv(65536)
        if not part:
            return b"", got
        got += part
    head, _, rest = got.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def whole(body, status=b"200 OK", length=None):
    return (
        b"HTTP/1.1 "
        + status
        + b"\r\nContent-Length: %d\r\n\r\n" % (len(body) if length is None else length)
        + body
    )


def begun_at(text, secrets):
    """Where the longest end of the text begins that one of them begins with."""
    return next(
        (at for at in range(len(text)) if any(one.startswith(text[at:]) for one in secrets)),
        len(text),
    )


class Servers:
    """`came`: (address, bytes) of all that reached one. `open`: streams that changed protocols.
    `heard`: what was said in Authorization."""

    def __init__(self):
        self.came, self.open, self.heard = [], [], set()

    def said_again(self, path, query, head):
        """None: the path is another."""
        now = set(re.findall(rb"(?i)\r\nauthorization: bearer ([^\r]+)", head))
        self.heard.update(now)
        if path == b"/reflects":
            part = re.search(rb"(?i)\r\nrange: bytes=(\d+)-(\d+)", head)
            return (
                whole(head[int(part[1]) : int(part[2]) + 1], b"206 Partial Content")
                if part
                else whole(head)
            )
        if path == b"/recalls":
            return whole(
                b" ".join(sorted(one for one in self.heard - now if one.startswith(query)))
            )  # of other requests
        if path in (
            b"/says",
            b"/holds",
        ):  # and then nothing; the second holds back what may begin a secret
            return whole(
                query if path == b"/says" else query[: begun_at(query, self.heard)],
                length=len(query) + 1,
            )
        if path == b"/pauses":  # within what it was sent
            said = b"-" * 900 + b" ".join(now)
            return whole(said[:-2], length=len(said))
        return None

    def reached(self, address, mark):
        return any(at == address and mark.encode() in data for at, data in list(self.came))

    def handle(self, stream):
        address, rest = stream.getsockname()[0], b""
        while True:
            head, rest = head_of(stream, rest)
            self.came.append((address, head))
            if not head:
                return
            words = head.split(b" ")  # a body is read as a request by this one
            path, _, query = (words[1] if len(words) > 1 else b"").partition(b"?")
            answer = self.said_again(path, query, head) or ANSWERS.get(path, ANSWERS[b"/plain"])
            if path == b"/h2c" and b"\r\nupgrade: h2c\r\n" in head.lower():
                answer = SWITCH
            stream.sendall(answer)
            if answer == SWITCH:
                return self.changed(stream, address, rest)

    def changed(self, stream, address, rest):
        self.open.append(stream)
        while rest or (rest := stream.recv(65536)):
            self.came.append((address, rest))
            said = b"reached " + rest[:100]
            stream.sendall(
                b"\x81" + bytes([len(said)]) + said
            )  # one whole message: of less the broker passes nothing on
            rest = b""

    def relay(self, stream):
        """What the gate must not be."""
        rest = b""
        while True:
            head, rest = head_of(stream, rest)
            if not head:
                return
            host = next(
                line.split(b":")[1].strip().decode()
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"host:")
            )
            with contextlib.suppress(OSError), socket.create_connection(
                (NAMES[host], 80), timeout=5
            ) as server:
                server.sendall(head)
                answer, _ = head_of(server)
                stream.sendall(answer)

    def tell(self, data):
        """Says it to everybody who is still there."""
        for stream in self.open:
            with contextlib.suppress(OSError):
                stream.send(data, socket.MSG_DONTWAIT)
