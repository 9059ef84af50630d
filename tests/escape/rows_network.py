"""The way out: special ranges whatever the policy says, and what the policy `packages` lets
through. Refused is what is tried; the control does the same where the operator or the policy has
exactly that one address, name or port more, on a gate without exactly the check that refuses it
(holes_of_gate.py), or without the network namespace. (In the short form a row of such a check has
the policy `open` for its control.)"""
import os

from frame import LEFT_OUT, SETTING, Bait, Outcome, inside, row
from harness import wait_until
from places import StandIn
from world import METADATA, METADATA_6, METADATA_FORMS, OWN, OWN_IN_RANGE, PRIVATE, UNLISTED, V4, V6

N = "network"


def fetch(host, port=80, family=0, says="x"):
    found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0]
    with socket.socket(found[0], socket.SOCK_STREAM) as stream:
        stream.settimeout(10)
        stream.connect(found[4])
        stream.sendall(("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % says).encode())
        return b"".join(iter(lambda: stream.recv(65536), b"")).decode("latin-1")


class Reached(Bait):
    def won(self, told):
        return "reached " in str(told)


def asking(**arguments):
    return type(
        "Asking", (Reached,), {"__enter__": lambda self: self.arguments.update(arguments) or self}
    )


S, OPENED = "special ranges are refused", "succeeds where the operator has opened that address"
RANGES = {
    "metadata": METADATA,
    "metadata-6": METADATA_6,
    "private-10": PRIVATE[0],
    "private-172": PRIVATE[1],
    "private-192": PRIVATE[2],
    "carrier-range": PRIVATE[3],
    "benchmark-range": UNLISTED,
}
MAPPED, NUMBERS = "::ffff:169.254.169.254", (
    "2852039166",
    "0251.0376.0251.0376",
    "0xa9fea9fe",
    "169.254.43518",
)


OWN_ADDRESS = "this host's own addresses are refused"


def special(name, attack, box, wall=S, **arguments):
    """The control does the same where the operator has opened the address: a gate without that
    check alone would refuse it as this host's own, which it is here."""

    def wrap(**more):
        @row(name, attack, N, wall, by="A1 A4", proof=OPENED, holes=(), **more)
        def run(host, lifted):
            told = (host.opened(box) if lifted else host.box(box)).run(fetch, arguments)
            return Outcome(
                "reached " in str(told.get("done")), str(told.get("refused", told.get("done")))[:60]
            )

    return wrap


def visit(tries):
    """What came of each: (where to connect to, which Host to say)."""
    told = []
    for to, says in tries:
        try:
            with socket.create_connection((to, 80), timeout=10) as stream:
                stream.sendall(
                    f"GET / HTTP/1.1\r\nHost: {says}\r\nConnection: close\r\n\r\n".encode()
                )
                told.append(b"".join(iter(lambda: stream.recv(65536), b"")).decode("latin-1"))
        except OSError as error:
            told.append(type(error).__name__)
    return told


def by_notations(name, attack, box, tries):
    """Won where one notation gets there; in the control each has to, or nothing is known of it."""

    @row(name, attack, N, S, by="A1 A4", proof=OPENED, holes=())
    def run(host, lifted):
        told = (host.opened(box) if lifted else host.box(box)).run(visit, {"tries": tries})["done"]
        got = [one.endswith(f"by {METADATA}") for one in told]
        return Outcome(all(got) if lifted else any(got), " ".join(one[-24:] for one in told))


for name, address in RANGES.items():
    special(name, f"connect to {address} with the policy open", "open", host=address)(
        short="metadata" in name
    )
special(
    "own-in-range",
    f"connect to {OWN_IN_RANGE}, an address of this host within a network that the operator has "
    "opened",
    "open",
    OWN_ADDRESS,
    host=OWN_IN_RANGE,
)()
for name, address in METADATA_FORMS.items():
    special(
        f"metadata-{name}",
        f"connect to {address} with the policy open, and the ranges of such forms opened",
        "open",
        host=address,
    )()
by_notations(
    "metadata-notations",
    "connect to it in the notations that the guest's C library takes: "
    + ", ".join((MAPPED, *NUMBERS)),
    "open",
    [(one, "x") for one in (MAPPED, *NUMBERS)],
)
by_notations(
    "metadata-notations-shown",
    "have the gate look such a notation up, as a Host at an address that the policy lists, as it "
    "does what they stand for",
    "numbers",
    [(V4, one) for one in NUMBERS],
)


@row(
    "own-address",
    "connect to an address of this host with the policy open",
    N,
    OWN_ADDRESS,
    by="A1 A4",
    proof="succeeds without the network namespace",
    means=LEFT_OUT,
    holes=(OWN_ADDRESS,),
)
def own_address(host, lifted):
    box = host.box("open")
    told = (StandIn(box, ["net"]) if lifted else box).run(fetch, {"host": OWN})
    return Outcome(
        "reached " in str(told.get("done")), str(told.get("refused", told.get("done")))[:60]
    )


def carry_out(address, count, size):
    """Requests of so many bytes, each over a connection of its own; how many came through whole."""
    import contextlib

    came = 0
    for _ in range(count):
        with contextlib.suppress(OSError), socket.create_connection(
            (address, 8080), timeout=10
        ) as stream:
            stream.sendall(b"x" * (size - 4) + b"\r\n\r\n")
            came += b"".join(iter(lambda: stream.recv(65536), b"")).count(b"x") >= size - 4
    return came


@row(
    "bytes-without-end",
    "carry more out of a sandbox, over many connections, than the operator gives it",
    N,
    "the bytes of a sandbox are bounded",
    by="A1 A8",
    proof="succeeds where the operator gives bytes without end",
    means=SETTING,
)
def bytes_without_end(host, lifted):
    size, most = 1 << 18, 8 << 20
    told = (host.opened("spent") if lifted else host.box("spent")).run(
        carry_out, {"address": V4, "count": most // size + 8, "size": size}
    )
    return Outcome(
        (told.get("done") or 0) * size > most,
        f"{told.get('done')} of {most // size + 8} came through: {told.get('refused', '')}",
    )


def datagram(address, port, data="hello"):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as stream:
        stream.settimeout(1.5)
        stream.connect((address, port))
        stream.send(data.encode())
        return stream.recv(4096).decode("latin-1")


def echo_request(address):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, 1) as stream:
        stream.settimeout(1.5)
        packet = struct.pack("!BBHHH", 8, 0, 0, 0x1234, 1) + b"cay-escape"
        total = sum(struct.unpack("!9H", packet))
        total = (total >> 16) + (total & 0xFFFF)
        stream.sendto(
            packet[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + packet[4:],
            (address, 0),
        )
        while True:
            got, peer = stream.recvfrom(4096)
            if got[20] == 0:
                return "reached " + peer[0]


def raw_packet(address):
    """A datagram that is written by hand, header and all."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("0.0.0.0", 0))
    receiver.settimeout(1.5)
    port = receiver.getsockname()[1]
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, 255) as stream:
        data = b"hello"
        header = struct.pack(
            "!BBHHHBBH4s4s",
            0x45,
            0,
            28 + len(data),
            0,
            0,
            64,
            17,
            0,
            socket.inet_aton(address),
            socket.inet_aton(address),
        )
        stream.sendto(
            header + struct.pack("!HHHH", port, 9999, 8 + len(data), 0) + data, (address, 0)
        )
        return receiver.recv(4096).decode("latin-1")


U = "UDP goes nowhere but to the gate's DNS"
inside(
    "udp",
    "send a datagram to an address that TCP may reach",
    N,
    ["net"],
    datagram,
    asking(address=V4, port=9999),
    box="open",
    wall=U,
)
inside(
    "udp-6",
    "the same over IPv6",
    N,
    ["net"],
    datagram,
    asking(address=V6, port=9999),
    box="open",
    wall=U,
)
inside(
    "quic",
    "send to UDP port 443",
    N,
    ["net"],
    datagram,
    asking(address=V4, port=443),
    box="open",
    wall=U,
)
inside(
    "foreign-resolver",
    "ask another name server over UDP",
    N,
    ["net"],
    datagram,
    asking(address=V4, port=53),
    box="open",
    wall="DNS ends at the gate",
    short=False,
    known=("microsandbox#675", "AgentCore: DNS"),
)
inside(
    "foreign-resolver-tcp",
    "ask another name server over TCP",
    N,
    ["net"],
    fetch,
    asking(host=V4, port=53),
    box="open",
    wall="DNS ends at the gate",
    known=("microsandbox#675", "AgentCore: DNS"),
)
inside(
    "icmp",
    "send an ICMP echo request",
    N,
    ["filter", "caps", "net", "user"],
    echo_request,
    asking(address=V4),
    box="open",
    wall="nothing but TCP leaves",
)
inside(
    "raw-packet",
    "write a datagram by hand",
    N,
    ["filter", "caps", "net", "user"],
    raw_packet,
    asking(address=V4),
    box="open",
    wall="nothing but TCP leaves",
)
inside(
    "off-address",
    "connect with the policy off",
    N,
    ["net"],
    fetch,
    asking(host=V4),
    box="off",
    wall="no way out",
)
inside(
    "off-address-6",
    "the same over IPv6",
    N,
    ["net"],
    fetch,
    asking(host=V6),
    box="off",
    wall="no way out",
)
inside(
    "off-udp",
    "send a datagram with the policy off",
    N,
    ["net"],
    datagram,
    asking(address=V4, port=9999),
    box="off",
    wall="no way out",
)


# ---- the policy `packages` ----


def policed(
    name,
    attack,
    act,
    wall="policy: an allow-list by name",
    by="A1",
    sign="other.gate.test",
    besides=None,
    holes=(),
    known=(),
    short=True,
    place="main",
    **arguments,
):
    """The control: the same policy and `besides`; or `holes`."""

    @row(
        name,
        attack,
        N,
        wall,
        by=by,
        known=known,
        short=short,
        holes=holes,
        **(
            {"proof": f"succeeds with the rule {besides} besides", "means": SETTING}
            if besides
            else {}
        ),
    )
    def run(host, lifted):
        box = (
            host.box(place)
            if not lifted
            else host.widened(besides)
            if besides
            else host.box("open")
        )
        told = box.run(act, arguments)
        text = str(told.get("done", ""))
        return Outcome("reached " in text and sign in text, str(told.get("refused", text))[:60])


def tls(host, sni, says, port=443):
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(
        socket.create_connection((host, port), timeout=10), server_hostname=sni
    ) as stream:
        stream.sendall(("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % says).encode())
        return b"".join(iter(lambda: stream.recv(65536), b"")).decode("latin-1") + (
            sni or "no name"
        )


def say(host, port, text):
    with socket.create_connection((host, port), timeout=10) as stream:
        stream.sendall(text.encode("latin-1"))
        return b"".join(iter(lambda: stream.recv(65536), b"")).decode("latin-1")


def two_steps(host, port, begin, rest):
    with socket.create_connection((host, port), timeout=10) as stream:
        stream.sendall(begin.encode("latin-1"))
        time.sleep(0.3)
        stream.sendall(rest.encode("latin-1"))
        return b"".join(iter(lambda: stream.recv(65536), b"")).decode("latin-1")


WAITS = """
import pathlib, socket, sys, time
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=60) as stream:
    print("open", flush=True)
    while not pathlib.Path("/tmp/go").exists(): time.sleep(0.02)
    try:
        stream.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        print(stream.recv(65536).decode("latin-1").split("\\r\\n\\r\\n")[1][:7], flush=True)
    except OSError as error: print(type(error).__name__, flush=True)
"""


@row(
    "changed-policy",
    "go on over a connection that a changed policy refuses",
    N,
    "what is open is judged again",
    by="A1",
    proof="succeeds with the policy as it was",
    means=SETTING,
)
def changed_policy(host, lifted):
    """The control leaves the policy as it was."""
    daemon, name = host.daemon, f"changed-{os.urandom(4).hex()}"
    assert daemon.cli("create", "--name", name, "--policy", f"{V4}:22").code == 0
    try:
        started = daemon.cli(
            "exec", "-d", name, "--", "python3", "-c", WAITS, V4, "22"
        ).text.strip()
        lines = lambda: daemon.cli("logs", name, started).text.splitlines()  # noqa: E731
        wait_until(lambda: lines() == ["open"], "the connection")
        if not lifted:
            assert daemon.cli("policy", "set", name, "allowed.gate.test").code == 0
        daemon.cli("exec", name, "--", "touch", "/tmp/go")
        told = wait_until(lambda: len(lines()) > 1 and lines()[1], "what became of it")
        return Outcome(told == "reached", told)
    finally:
        daemon.cli("rm", name)


E, H = "other.gate.test", "allowed.gate.test"
HOST_IS_JUDGED, SNI_IS_JUDGED, A_NAME = (
    "the name shown as Host is judged",
    "the name shown in TLS is judged",
    "a name must be shown",
)
PINNED, PORTS = "an address that is not the name's is not dialled", "policy names ports"
policed(
    "refused-name",
    "connect to a name that is not in the policy",
    fetch,
    besides=E,
    host=E,
    says=E,
    known=("claude-code#78608",),
)
policed(
    "literal-address",
    "connect to an allowed name's address without the name",
    fetch,
    besides=V4,
    host=V4,
    says=E,
)
policed("literal-address-6", "the same over IPv6", fetch, besides=V6, host=V6, says=E)
policed(
    "other-host",
    "connect to an allowed name and ask for another Host",
    fetch,
    host=H,
    says=E,
    wall=HOST_IS_JUDGED,
    holes=(HOST_IS_JUDGED,),
)
policed(
    "other-sni",
    "connect to an allowed name and name another in TLS",
    tls,
    host=H,
    sni=E,
    says=E,
    wall=SNI_IS_JUDGED,
    holes=(SNI_IS_JUDGED,),
)
policed("no-sni", "name nobody in TLS", tls, host=H, sni=None, says=E, wall=A_NAME, holes=(A_NAME,))
policed(
    "sni-of-a-literal",
    "an address, and another name in TLS",
    tls,
    host=V4,
    sni=E,
    says=E,
    wall=SNI_IS_JUDGED,
    holes=(SNI_IS_JUDGED,),
)
policed(
    "sni-of-a-subdomain",
    "an allowed name, and a subdomain of another in TLS",
    tls,
    host=H,
    sni="x." + E,
    says=E,
    wall=f"{SNI_IS_JUDGED}; {PINNED}",
    holes=(SNI_IS_JUDGED, PINNED),
)
NO_NAME = "an address in a name's place is no name"
policed(
    "literal-for-a-name",
    "beside a refused name, go to its address and give that for a Host",
    fetch,
    wall=NO_NAME,
    holes=(NO_NAME,),
    place="but",
    sign=V4,
    host=V4,
    says=V4,
)
ANY_PORT = "what names a host is judged at any port"
policed(
    "other-host-at-any-port",
    "connect to an allowed name at a port where any protocol is let through, and ask for another "
    "Host",
    fetch,
    host=H,
    port=8081,
    says=E,
    wall=ANY_PORT,
    holes=(ANY_PORT,),
)
policed(
    "other-sni-at-any-port",
    "the same, and name another in TLS",
    tls,
    host=H,
    port=8444,
    sni=E,
    says=E,
    wall=ANY_PORT,
    holes=(ANY_PORT,),
)
policed(
    "absolute-target-at-any-port",
    "the same, and ask for a URL of another",
    say,
    host=H,
    port=8081,
    text=f"GET http://{E}/ HTTP/1.1\r\nHost: {H}\r\n\r\n",
    wall=ANY_PORT,
    holes=(ANY_PORT,),
)
policed(
    "other-port",
    "an allowed name at a port that is not",
    fetch,
    besides=f"{H}:8080",
    host=H,
    port=8080,
    says=H,
    sign=H,
    wall=PORTS,
)
policed(
    "ssh-port",
    "the same at port 22",
    fetch,
    besides=f"{H}:22",
    host=H,
    port=22,
    says=H,
    sign=H,
    wall=PORTS,
)
policed(
    "dns-over-tls",
    "DNS over TLS at port 853",
    fetch,
    besides=f"{H}:853",
    host=H,
    port=853,
    says=H,
    sign=H,
    wall=PORTS,
)
TARGET, VERSION, CHARACTERS = (
    "a target is a path",
    "a request is of HTTP/1",
    "what no name has is in no Host",
)
FIELDS = "no line end and no zero in a field"
for name, (text, checks) in {
    "two-hosts-out": (
        f"GET / HTTP/1.1\r\nHost: {H}\r\nHost: {E}\r\n\r\n",
        ("one Host, where the first would count",),
    ),
    "two-hosts-turned": (
        f"GET / HTTP/1.1\r\nHost: {E}\r\nHost: {H}\r\n\r\n",
        ("one Host, where the last would count",),
    ),
    "absolute-target": (f"GET http://{E}/ HTTP/1.1\r\nHost: {H}\r\n\r\n", (TARGET,)),
    "folded-host": (f"GET / HTTP/1.1\r\nHost: {H}\r\n {E}\r\n\r\n", ("no folded lines",)),
    "spaced-host": (
        f"GET / HTTP/1.1\r\nHost : {E}\r\nHost: {H}\r\n\r\n",
        ("no blank in a field's name",),
    ),
    "connect": (f"CONNECT {E}:443 HTTP/1.1\r\nHost: {H}\r\n\r\n", (TARGET, "CONNECT is refused")),
    "old-request": (f"GET http://{E}/\r\n\r\n", (VERSION, TARGET, A_NAME)),
    "no-host-out": (f"GET /{E} HTTP/1.0\r\n\r\n", (A_NAME,)),
    "bare-line-ends": (
        f"GET /x\nHost:{E}\nX: HTTP/1.1\r\nHost: {H}\r\n\r\n",
        ("no line end within a request line",),
    ),
    "bare-line-end-in-a-field": (
        f"GET / HTTP/1.1\r\nX: y\nHost: {E}\r\nHost: {H}\r\n\r\n",
        (FIELDS,),
    ),
    "zero-in-host": (f"GET / HTTP/1.1\r\nHost: {H}\0.{E}\r\n\r\n", (FIELDS, CHARACTERS)),
    "user-in-host": (f"GET / HTTP/1.1\r\nHost: {H}@{E}\r\n\r\n", (CHARACTERS,)),
    "host-with-port": (f"GET / HTTP/1.1\r\nHost: {E}:80\r\n\r\n", (HOST_IS_JUDGED,)),
    "many-in-host": (f"GET / HTTP/1.1\r\nHost: {H}, {E}\r\n\r\n", (CHARACTERS,)),
    "suffix-of-host": (f"GET / HTTP/1.1\r\nHost: {H}.{E}\r\n\r\n", (HOST_IS_JUDGED, PINNED)),
    "other-protocol": (f"SSH-2.0-{E}\r\n\r\n", ("what is no request is refused",)),
    "http-2": (f"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{E}\r\n\r\n", (VERSION, A_NAME)),
}.items():
    policed(
        f"http-{name}",
        "an allowed name, and a head that means another: " + name.replace("-", " "),
        say,
        host=H,
        port=80,
        text=text,
        wall="; ".join(checks),
        holes=checks,
        sign="" if name == "http-2" else E,
        known=("HTTP smuggling",),
        short=name in ("two-hosts-out", "absolute-target", "connect", "http-2"),
    )
policed(
    "split-host",
    "a Host that comes in two parts",
    two_steps,
    host=H,
    port=80,
    begin=f"GET / HTTP/1.1\r\nHost: {E[:5]}",
    rest=f"{E[5:]}\r\n\r\n",
    wall=HOST_IS_JUDGED,
    holes=(HOST_IS_JUDGED,),
)


# ---- names that mean what nobody may reach: where no setting opens that, the control is one that
# means what it may ----

A = "addresses are checked after resolution"


def named(name, attack, meant, holes, at=None, **more):
    """`at`: shown as Host to another address, for the guest's own kernel would take that one.
    Without a build with holes the control is a name that means what may be reached."""

    @row(
        name,
        attack,
        N,
        A,
        by="A1 A4",
        holes=holes,
        proof="succeeds for a name that means another",
        **more,
    )
    def run(host, lifted):
        told = host.box("main").run(
            fetch, {"host": at or (H if lifted else meant), "says": H if lifted else meant}
        )
        return Outcome(
            "reached " in str(told.get("done")), str(told.get("refused", told.get("done")))[:60]
        )


special(
    "rebound-to-metadata",
    "an allowed name that means the metadata address",
    "main",
    A,
    host="metadata.gate.test",
    says="metadata.gate.test",
)(known=("DNS rebinding",))
special(
    "rebound-to-private",
    "an allowed name that means a private address",
    "main",
    A,
    host="inner.gate.test",
    says="inner.gate.test",
)(known=("DNS rebinding", "CVE-2024-29021"))
named(
    "rebound-to-loopback",
    "have the gate look up an allowed name that means the host's loopback, as a Host",
    "loop.gate.test",
    (S, OWN_ADDRESS),
    at=V4,
    known=("DNS rebinding",),
)
named(
    "rebound-to-host",
    "an allowed name that means the host",
    "own.gate.test",
    (OWN_ADDRESS,),
    known=("DNS rebinding",),
)
special(
    "rebound-to-benchmark",
    "an allowed name that means an unlisted range",
    "main",
    A,
    host="private.gate.test",
    says="private.gate.test",
)(known=("DNS rebinding",))


def follow(host):
    import urllib.request

    return urllib.request.urlopen(host, timeout=10).read().decode("latin-1")


def redirected(name, attack, to, without, wall="each connection is decided on", **more):
    """`without(host)`: a sandbox for which that is open; None, where the control is led to what may
    be reached."""

    @row(name, attack, N, wall, by="A4", **more)
    def run(host, lifted):
        box = without(host) if lifted and without else host.box("main")
        told = box.run(
            follow, {"host": f"http://{H}/redirect/{H if lifted and not without else to}"}
        )
        return Outcome("reached " in str(told.get("done")), str(told.get("refused", ""))[:60])


redirected(
    "redirect-to-metadata",
    "an allowed server redirects to the metadata address",
    METADATA,
    lambda host: host.opened("main"),
    proof=OPENED,
)
redirected(
    "redirect-to-private",
    "an allowed server redirects to a private address",
    PRIVATE[0],
    lambda host: host.opened("main"),
    proof=OPENED,
    known=("CVE-2024-29021",),
)
redirected(
    "redirect-to-host",
    "an allowed server redirects to an allowed name that means the host",
    "own.gate.test",
    None,
    OWN_ADDRESS,
    holes=(OWN_ADDRESS,),
    proof="succeeds where it redirects to another",
)
redirected(
    "redirect-to-other",
    "an allowed server redirects to a name that is not allowed",
    E,
    lambda host: host.widened(E),
    proof=f"succeeds with the rule {E} besides",
    means=SETTING,
)


def of_the_other(port):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(b"GET /escape HTTP/1.0\r\n\r\n")
        return "reached " + client.recv(100).decode()


class OtherServer(Reached):
    of_host = True

    def __init__(self, host):
        super().__init__(port=18765)
        self.host = host

    def __enter__(self):
        box = self.host.box("other")
        if not hasattr(self.host, "other_server"):
            self.host.other_server = box.start(
                ["python3", "-m", "http.server", "18765", "--bind", "127.0.0.1"]
            )
        box.sh("for i in $(seq 100); do grep -q :494D /proc/net/tcp && break; sleep 0.1; done")
        return self


inside(
    "other-loopback",
    "connect to a server on another sandbox's loopback",
    "tenants",
    lambda host: [f"take:net={host.box('other').model()}"],
    of_the_other,
    OtherServer,
    by="A2",
    wall="own network namespace",
)
