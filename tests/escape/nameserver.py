"""A name server outside, whom the host asks: it tells what was asked of it, byte by byte. It knows
names below ZONE and SECRET_ZONE, and says of some what it is told to, which may change from one
question to the next."""
import socket
import struct
import threading
import time

NAMESERVER = "198.18.7.53"
ZONE, SECRET_ZONE = (
    "tunnel.gate.test",
    "secret.gate.test",
)  # a policy allows what is below the first; the second none
A, CNAME, NULL, PTR, MX, TXT, AAAA, SRV, OPT, HTTPS, AXFR, ANY = (
    1,
    5,
    10,
    12,
    15,
    16,
    28,
    33,
    41,
    65,
    252,
    255,
)
MANY = 200  # addresses of a name that begins with "many"


def named(name):
    return (
        b"".join(
            bytes([len(label)]) + label for label in name.encode("latin-1").split(b".") if label
        )
        + b"\0"
    )


def message(name, kind=A, klass=1, flags=0x0100, questions=1, more=b"", additional=0):
    """A question, by hand: `name` is a text, or bytes as they go on the wire."""
    wire = name if isinstance(name, bytes) else named(name)
    return (
        struct.pack("!6H", 0x4361, flags, questions, 0, 0, additional)
        + wire
        + struct.pack("!HH", kind, klass)
        + more
    )


def with_options(room, data=b""):
    """An OPT record that takes answers of `room` bytes; `data` in an option that nobody knows."""
    body = struct.pack("!HH", 65001, len(data)) + data if data else b""
    return b"\0" + struct.pack("!HHIH", OPT, room, 0, len(body)) + body


def name_in(question):
    """(name, end) of what a message asks; "" where it cannot be read."""
    at, labels = 12, []
    while at < len(question) and 0 < question[at] < 64:
        labels.append(question[at + 1 : at + 1 + question[at]])
        at += 1 + question[at]
    return b".".join(labels).decode("latin-1"), at + 1


def data_of(addresses, kind):
    """Addresses as the records of that kind have them. One that is written in IPv6 is of AAAA, be
    it an IPv4 address."""
    family = {A: socket.AF_INET, AAAA: socket.AF_INET6}.get(kind)
    return (
        [
            socket.inet_pton(family, one)
            for one in addresses
            if (family == socket.AF_INET6) == (":" in one)
        ]
        if family
        else []
    )


class NameServer:
    """`asked`: (when, bytes) of every message that came. Names that begin with "silent" are never
    answered. `says`: name -> the addresses that it has now."""

    def __init__(self):
        self.asked, self.sockets, self.says = [], [], {}

    def start(self):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        datagrams.bind((NAMESERVER, 53))
        streams = socket.create_server((NAMESERVER, 53), backlog=512)
        self.sockets += [datagrams, streams]
        threading.Thread(target=self.serve_datagrams, args=(datagrams,), daemon=True).start()
        threading.Thread(target=self.serve_streams, args=(streams,), daemon=True).start()
        return self.sockets

    def seen(self, data):
        """How many messages had these bytes, whatever the case of their letters."""
        return sum(data.lower() in question.lower() for _, question in self.asked)

    def serve_datagrams(self, at):
        try:
            while True:
                question, peer = at.recvfrom(65536)
                if peer is None:  # it was shut down
                    return
                answer = self.answer(question, len(question) > 512 or b"\0\0\x29" in question)
                if answer:
                    at.sendto(answer, peer)
        except OSError:
            pass

    def serve_streams(self, at):
        try:
            while True:
                threading.Thread(
                    target=self.serve_stream, args=(at.accept()[0],), daemon=True
                ).start()
        except OSError:
            pass

    def serve_stream(self, stream):
        with stream:
            try:
                while len(size := stream.recv(2, socket.MSG_WAITALL)) == 2:
                    answer = self.answer(
                        stream.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL), True
                    )
                    stream.sendall(len(answer).to_bytes(2, "big") + answer)
            except OSError:
                pass

    def answer(self, question, large):
        self.asked.append((time.monotonic(), question))
        name, end = name_in(question)
        if name.lower().startswith("silent") or len(question) < end + 4:
            return b""
        kind = int.from_bytes(question[end : end + 2], "big")
        known = name.lower().endswith(("." + ZONE, "." + SECRET_ZONE))
        data = {
            A: [bytes([198, 18, 7, 1])],
            AAAA: [],
            TXT: [b"\x0ereached by TXT"],
            NULL: [b"reached by NULL"],
            ANY: [b"\x0ereached by ANY"],
        }.get(kind, [])
        if kind == AAAA and name.lower().startswith("many"):
            data = [
                bytes.fromhex("fdca7e57") + number.to_bytes(12, "big") for number in range(MANY)
            ]
        if name.lower() in self.says:
            data = data_of(self.says[name.lower()], kind)
        records = b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", TXT if kind == ANY else kind, 1, 5, len(one)) + one
            for one in data
            if known
        )
        cut = len(records) > 400 and not large
        flags = 0x8180 | (0x0200 if cut else 0) | (0 if known else 3)
        count = 0 if cut or not known else len(data)
        return (
            question[:2]
            + struct.pack("!5H", flags, 1, count, 0, 0)
            + question[12 : end + 4]
            + (b"" if cut else records)
        )
