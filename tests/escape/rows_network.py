"""The way out: special ranges whatever the policy says, and what the policy `packages` lets through. Refused is what is tried; the control
does the same in a sandbox whose policy is `open`, or without the network namespace."""
import os

from frame import Bait, Outcome, inside, row
from harness import wait_until
from world import METADATA, METADATA_6, OWN, PRIVATE, UNLISTED, V4, V6

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
    return type("Asking", (Reached,), {"__enter__": lambda self: self.arguments.update(arguments) or self})


S, OPENED = "special ranges are refused", "succeeds where the operator has opened that address"
RANGES = {"metadata": METADATA, "metadata-6": METADATA_6, "private-10": PRIVATE[0], "private-172": PRIVATE[1], "private-192": PRIVATE[2],
          "carrier-range": PRIVATE[3], "benchmark-range": UNLISTED}
NOTATIONS = {"mapped": "::ffff:169.254.169.254", "number": "2852039166", "octal": "0251.0376.0251.0376", "hex": "0xa9fea9fe", "short": "169.254.43518"}
NEVER = {"own-address": OWN, "metadata-translated": "64:ff9b::a9fe:a9fe", "metadata-6to4": "2002:a9fe:a9fe::1"}  # no setting opens these


def special(name, attack, box, wall=S, **arguments):
    """The control does the same where the operator has opened the address."""
    def wrap(**more):
        @row(name, attack, N, wall, by="A1 A4", proof=OPENED, **more)
        def run(host, lifted):
            told = (host.opened(box) if lifted else host.box(box)).run(fetch, arguments)
            return Outcome("reached " in str(told.get("done")), str(told.get("refused", told.get("done")))[:60])
    return wrap


for name, address in RANGES.items():
    special(name, f"connect to {address} with the policy open", "open", host=address)(short="metadata" in name)
for name, text in NOTATIONS.items():
    special(f"metadata-{name}", f"the same as {text}", "open", host=text)()
for name, address in NEVER.items():
    inside(name, f"connect to {address} with the policy open", N, ["net"], fetch, asking(host=address), box="open", by="A1 A4", wall=S, short="metadata" in name)


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
        total = (total >> 16) + (total & 0xffff)
        stream.sendto(packet[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + packet[4:], (address, 0))
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
        header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(data), 0, 0, 64, 17, 0, socket.inet_aton(address), socket.inet_aton(address))
        stream.sendto(header + struct.pack("!HHHH", port, 9999, 8 + len(data), 0) + data, (address, 0))
        return receiver.recv(4096).decode("latin-1")


U = "UDP goes nowhere but to the gate's DNS"
inside("udp", "send a datagram to an address that TCP may reach", N, ["net"], datagram, asking(address=V4, port=9999), box="open", wall=U)
inside("udp-6", "the same over IPv6", N, ["net"], datagram, asking(address=V6, port=9999), box="open", wall=U)
inside("quic", "send to UDP port 443", N, ["net"], datagram, asking(address=V4, port=443), box="open", wall=U)
inside("foreign-resolver", "ask another name server over UDP", N, ["net"], datagram, asking(address=V4, port=53), box="open", wall="DNS ends at the gate", short=False,
       known=("microsandbox#675", "AgentCore: DNS"))
inside("foreign-resolver-tcp", "ask another name server over TCP", N, ["net"], fetch, asking(host=V4, port=53), box="open", wall="DNS ends at the gate",
       known=("microsandbox#675", "AgentCore: DNS"))
inside("icmp", "send an ICMP echo request", N, ["filter", "caps", "net", "user"], echo_request, asking(address=V4), box="open", wall="nothing but TCP leaves")
inside("raw-packet", "write a datagram by hand", N, ["filter", "caps", "net", "user"], raw_packet, asking(address=V4), box="open", wall="nothing but TCP leaves")
inside("off-address", "connect with the policy off", N, ["net"], fetch, asking(host=V4), box="off", wall="no way out")
inside("off-address-6", "the same over IPv6", N, ["net"], fetch, asking(host=V6), box="off", wall="no way out")
inside("off-udp", "send a datagram with the policy off", N, ["net"], datagram, asking(address=V4, port=9999), box="off", wall="no way out")


# ---- the policy `packages`: the control is `open` ----

def policed(name, attack, act, wall="policy: an allow-list by name", by="A1", sign="other.gate.test", known=(), short=True, **arguments):
    @row(name, attack, N, wall, by=by, known=known, short=short)
    def run(host, lifted):
        told = host.box("open" if lifted else "main").run(act, arguments)
        text = str(told.get("done", ""))
        return Outcome("reached " in text and sign in text, str(told.get("refused", text))[:60])


def tls(host, sni, says, port=443):
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection((host, port), timeout=10), server_hostname=sni) as stream:
        stream.sendall(("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % says).encode())
        return b"".join(iter(lambda: stream.recv(65536), b"")).decode("latin-1") + (sni or "no name")


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


@row("changed-policy", "go on over a connection that a changed policy refuses", N, "what is open is judged again", by="A1", short=True)
def changed_policy(host, lifted):
    """The control leaves the policy as it was."""
    daemon, name = host.daemon, f"changed-{os.urandom(4).hex()}"
    assert daemon.cli("create", "--name", name, "--policy", f"{V4}:22").code == 0
    try:
        started = daemon.cli("exec", "-d", name, "--", "python3", "-c", WAITS, V4, "22").text.strip()
        lines = lambda: daemon.cli("logs", name, started).text.splitlines()  # noqa: E731
        wait_until(lambda: lines() == ["open"], "the connection")
        if not lifted:
            assert daemon.cli("policy", "set", name, "allowed.gate.test").code == 0
        daemon.cli("exec", name, "--", "touch", "/tmp/go")
        told = wait_until(lambda: len(lines()) > 1 and lines()[1], "what became of it")
        return Outcome(told == "reached", told)
    finally:
        daemon.cli("rm", name)


E = "other.gate.test"
policed("refused-name", "connect to a name that is not in the policy", fetch, host=E, says=E, known=("claude-code#78608",))
policed("literal-address", "connect to an allowed name's address without the name", fetch, host=V4, says=E)
policed("literal-address-6", "the same over IPv6", fetch, host=V6, says=E)
policed("other-host", "connect to an allowed name and ask for another Host", fetch, host="allowed.gate.test", says=E, wall="Host must be the name",
        known=("AgentCore (Sonrai)",))
policed("other-sni", "connect to an allowed name and name another in TLS", tls, host="allowed.gate.test", sni=E, says=E, wall="SNI must be the name")
policed("no-sni", "name nobody in TLS", tls, host="allowed.gate.test", sni=None, says=E, wall="SNI must be the name")
policed("sni-of-a-literal", "an address, and another name in TLS", tls, host=V4, sni=E, says=E, wall="SNI must be the name")
policed("sni-of-a-subdomain", "an allowed name, and a subdomain of another in TLS", tls, host="allowed.gate.test", sni="x." + E, says=E, wall="SNI must be the name")
policed("other-port", "an allowed name at a port that is not", fetch, host="allowed.gate.test", port=8080, says=E, wall="policy names ports")
policed("ssh-port", "the same at port 22", fetch, host="allowed.gate.test", port=22, says=E, wall="policy names ports")
policed("dns-over-tls", "DNS over TLS at port 853", fetch, host="allowed.gate.test", port=853, says=E, wall="policy names ports")
H = "allowed.gate.test"
for name, text in {
        "two-hosts-out": f"GET / HTTP/1.1\r\nHost: {H}\r\nHost: {E}\r\n\r\n", "two-hosts-turned": f"GET / HTTP/1.1\r\nHost: {E}\r\nHost: {H}\r\n\r\n",
        "absolute-target": f"GET http://{E}/ HTTP/1.1\r\nHost: {H}\r\n\r\n", "folded-host": f"GET / HTTP/1.1\r\nHost: {H}\r\n {E}\r\n\r\n",
        "spaced-host": f"GET / HTTP/1.1\r\nHost : {E}\r\nHost: {H}\r\n\r\n", "connect": f"CONNECT {E}:443 HTTP/1.1\r\nHost: {H}\r\n\r\n",
        "old-request": f"GET http://{E}/\r\n\r\n", "no-host-out": f"GET /{E} HTTP/1.0\r\n\r\n", "bare-line-ends": f"GET / HTTP/1.1\nHost: {E}\n\r\n\r\n",
        "zero-in-host": f"GET / HTTP/1.1\r\nHost: {H}\0.{E}\r\n\r\n", "user-in-host": f"GET / HTTP/1.1\r\nHost: {H}@{E}\r\n\r\n",
        "host-with-port": f"GET / HTTP/1.1\r\nHost: {E}:80\r\n\r\n", "many-in-host": f"GET / HTTP/1.1\r\nHost: {H}, {E}\r\n\r\n",
        "suffix-of-host": f"GET / HTTP/1.1\r\nHost: {H}.{E}\r\n\r\n", "other-protocol": f"SSH-2.0-{E}\r\n\r\n",
        "http-2": f"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{E}\r\n\r\n"}.items():
    policed(f"http-{name}", "an allowed name, and a head that means another: " + name.replace("-", " "), say, host=H, port=80, text=text,
            wall="Host must be the name, and be read in one way", sign="" if name == "http-2" else E,
            known=("HTTP smuggling",), short=name in ("two-hosts-out", "absolute-target", "connect", "http-2"))
policed("split-host", "a Host that comes in two parts", two_steps, host=H, port=80, begin=f"GET / HTTP/1.1\r\nHost: {E[:5]}", rest=f"{E[5:]}\r\n\r\n",
        wall="Host must be the name")


# ---- names that mean what nobody may reach: where no setting opens that, the control is one that means what it may ----

A = "addresses are checked after resolution"

def named(name, attack, refused, **more):
    @row(name, attack, N, A, by="A1 A4", **more)
    def run(host, lifted):
        meant = "allowed.gate.test" if lifted else refused
        told = host.box("main").run(fetch, {"host": meant, "says": meant})
        return Outcome("reached " in str(told.get("done")), str(told.get("refused", told.get("done")))[:60])


special("rebound-to-metadata", "an allowed name that means the metadata address", "main", A, host="metadata.gate.test", says="metadata.gate.test")(known=("DNS rebinding",))
special("rebound-to-private", "an allowed name that means a private address", "main", A, host="inner.gate.test", says="inner.gate.test")(known=("DNS rebinding", "CVE-2024-29021"))
named("rebound-to-loopback", "an allowed name that means the host's loopback", "loop.gate.test", known=("DNS rebinding",))
named("rebound-to-host", "an allowed name that means the host", "own.gate.test", known=("DNS rebinding",))
special("rebound-to-benchmark", "an allowed name that means an unlisted range", "main", A, host="private.gate.test", says="private.gate.test")(known=("DNS rebinding",))


def follow(host):
    import urllib.request
    return urllib.request.urlopen(host, timeout=10).read().decode("latin-1")


def redirected(name, attack, to, without=None, **more):
    """`without(host)`: where that address is open; where none can be, the control is led to one that may be reached."""
    @row(name, attack, N, "each connection is decided on", by="A4", **more)
    def run(host, lifted):
        box = without(host) if lifted and without else host.box("main")
        told = box.run(follow, {"host": f"http://allowed.gate.test/redirect/{'allowed.gate.test' if lifted and not without else to}"})
        return Outcome("reached " in str(told.get("done")), str(told.get("refused", ""))[:60])


redirected("redirect-to-metadata", "an allowed server redirects to the metadata address", METADATA, lambda host: host.opened("main"), proof=OPENED)
redirected("redirect-to-host", "an allowed server redirects to the host", OWN)
redirected("redirect-to-loopback", "an allowed server redirects to the host's loopback", "127.0.0.1")
redirected("redirect-to-other", "an allowed server redirects to a name that is not allowed", E, lambda host: host.box("open"))


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
            self.host.other_server = box.start(["python3", "-m", "http.server", "18765", "--bind", "127.0.0.1"])
        box.sh("for i in $(seq 100); do grep -q :494D /proc/net/tcp && break; sleep 0.1; done")
        return self


inside("other-loopback", "connect to a server on another sandbox's loopback", "tenants", lambda host: [f"take:net={host.box('other').model()}"], of_the_other,
       OtherServer, by="A2", wall="own network namespace")
