"""WebSockets through the gate: a connection has one upstream, whatever is said on it after its
first head, and ends when its host is refused. Servers outside tell what came to which of them. The
control: a policy with that one rule besides, a gate without exactly the check (holes_of_gate.py;
else the policy `open`), the policy left as it was, or a careless relay between, which goes by each
request's Host."""
import json
import os

from frame import SETTING, Outcome, row
from harness import wait_until
from nameserver import NAMESERVER
from upgrades import ELSEWHERE, RELAY, SOCKETS

N = "network"
HOST, OTHER = "sockets.gate.test", "elsewhere.gate.test"
WORDS = (
    "Upgrade: websocket\r\n"
    "Connection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
KNOWN = ("HTTP smuggling",)


def upgrade(host, port, first, then, waits, tls=False):
    """What came until it was quiet; `then` is said once an answer came, or at once."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    bare = socket.create_connection((host, port), timeout=10)
    with context.wrap_socket(bare, server_hostname=host) if tls else bare as stream:
        stream.sendall((first if waits else first + then).encode("latin-1"))
        got, stream_is_open = b"", True
        while waits and stream_is_open and b"\r\n\r\n" not in got:
            part = stream.recv(65536)
            got, stream_is_open = got + part, bool(part)
        if waits and stream_is_open:
            stream.sendall(then.encode("latin-1"))
        stream.settimeout(0.4)
        try:
            while stream_is_open:
                part = stream.recv(65536)
                got, stream_is_open = got + part, bool(part)
        except TimeoutError:
            pass
        return got.decode("latin-1")


def request(path, host, more=""):
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"


def tried(host, box, mark, at, to, port=80, **said):
    """Won: one of the servers `at` got the mark."""
    told = box.run(upgrade, {"host": to, "port": port, "then": "", "waits": True, **said})
    text = str(told.get("refused") or told.get("done", "").split("\r\n")[0])
    return Outcome(
        host.comes(lambda: any(host.world.upgrades.reached(one, mark) for one in at)), text
    )


def smuggled(
    name,
    attack,
    path,
    more=WORDS,
    waits=True,
    box="main",
    tls=False,
    wall="a connection has one upstream",
    **further,
):
    """A second request, for another host, on a connection that was opened for an allowed one."""

    @row(
        f"upgrade-{name}",
        attack,
        N,
        wall,
        by="A1 A4",
        known=KNOWN,
        proof="a careless relay is taken in",
        **further,
    )
    def run(host, lifted):
        mark = "mark-" + os.urandom(8).hex()
        to, port = RELAY if lifted else (HOST, 443 if tls else 80)
        said = {
            "first": request(path, HOST, more),
            "then": request(f"/{mark}", OTHER),
            "waits": waits,
            "tls": tls and not lifted,
        }
        if not lifted and box == "brokered":
            brokered(host)
        got = tried(
            host,
            host.widened(f"{SOCKETS}:{port}") if lifted else host.box(box),
            mark,
            (ELSEWHERE,),
            to,
            port,
            **said,
        )
        if not lifted:  # the first request was let through: else nothing was tried
            assert got.told.startswith("HTTP/1.1 "), got.told
        return got


smuggled("then-host", "after a WebSocket's handshake, ask for another host", "/switches")
smuggled(
    "refused-then-host",
    "after an upgrade that the server refuses, ask for another host",
    "/refuses",
)
smuggled("refused-at-once", "the same without waiting for the answer", "/refuses", waits=False)
smuggled(
    "ignored-at-once",
    "behind an upgrade that the server ignores, ask for another host",
    "/plain",
    waits=False,
)
smuggled(
    "pretended",
    "after a server switched protocols unasked, ask for another host",
    "/pretends",
    more="",
)
smuggled(
    "pretended-at-once",
    "the same without waiting for the answer",
    "/pretends",
    more="",
    waits=False,
    short=False,
)
H2C = "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n"
smuggled(
    "http-2",
    "after an upgrade to HTTP/2 that the server ignores, ask for another host",
    "/plain",
    more=H2C,
)
ALONE = "no protocol but a WebSocket is asked for"


@row(
    "upgrade-http-2-taken",
    "after an upgrade to HTTP/2 that the server takes, ask for another host in its frames",
    N,
    ALONE,
    by="A1 A4",
    known=KNOWN,
    holes=(ALONE,),
)
def http_2_taken(host, lifted):
    mark = "mark-" + os.urandom(8).hex()
    first = (
        request("/switches", HOST, WORDS) if lifted else request("/h2c", HOST, H2C)
    )  # where no check is taken out: a WebSocket
    got = tried(
        host,
        host.box("main"),
        mark,
        (SOCKETS,),
        HOST,
        first=first,
        then=f"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n:authority {OTHER} {mark}",
    )
    assert got.told.startswith("HTTP/1.1 "), got.told
    return got


# ---- the same where TLS is ended: the broker reads each request ----

RULE = {"name": "sockets", "secret": "sockets", "way": "headers", "hosts": [HOST]}


def give_rules(host, box, *rules):
    done = host.daemon.cli("proxy", box, "--rules", "-", stdin=json.dumps(rules).encode())
    assert done.code == 0, done


def brokered(host):
    """The sandbox `brokered` has a secret for HOST."""
    if hasattr(host, "broker_secret"):
        return
    host.broker_secret = "sk-" + os.urandom(12).hex()
    done = host.daemon.cli(
        "secret", "set", "sockets", "--host", HOST, stdin=host.broker_secret.encode()
    )
    assert done.code == 0, done
    give_rules(host, host.box("brokered").name, RULE)


B = "each request's Host must be the connection's"
for name, attack, path, waits in (
    (
        "then-host",
        "after a WebSocket's handshake through the broker, ask for another host",
        "/switches",
        True,
    ),
    (
        "refused-at-once",
        "behind an upgrade that the server refuses, ask for another host through the broker",
        "/refuses",
        False,
    ),
    ("ignored-then-host", "after an upgrade that the server ignores, the same", "/plain", True),
):
    smuggled(
        f"broker-{name}",
        attack,
        path,
        waits=waits,
        box="brokered",
        tls=True,
        wall=B if path != "/switches" else "a connection has one upstream",
    )


@row(
    "upgrade-broker-secret",
    "carry a secret to another host by an upgrade's Host",
    N,
    B,
    by="A1",
    known=("secrets at the proxy",),
    proof="succeeds where Host is the name",
)
def broker_secret(host, lifted):
    """Won: a server got it."""
    brokered(host)
    mark = "mark-" + os.urandom(8).hex()
    told = host.box("brokered").run(
        upgrade,
        {
            "host": HOST,
            "port": 443,
            "then": "",
            "waits": True,
            "tls": True,
            "first": request(f"/{mark}", HOST if lifted else OTHER, WORDS),
        },
    )
    got = [data for _, data in host.world.upgrades.came if mark.encode() in data]
    return Outcome(
        any(host.broker_secret.encode() in data for data in got),
        str(told.get("refused") or told.get("done", "").split("\r\n")[0]),
    )


# ---- which upgrade is let through at all ----


def policed(name, attack, first, wall, to=HOST, at=(SOCKETS, ELSEWHERE), besides=None, **further):
    """`first` has the mark in it. The control: the same policy and `besides`; or the holes."""
    if besides:
        further.update(proof=f"succeeds with the rule {besides} besides", means=SETTING)

    @row(f"upgrade-{name}", attack, N, wall, by="A1", known=KNOWN, **further)
    def run(host, lifted):
        mark = "mark-" + os.urandom(8).hex()
        box = (
            host.box("main")
            if not lifted
            else host.widened(besides)
            if besides
            else host.box("open")
        )
        return tried(host, box, mark, at, to, first=first(mark))


def checked(name, attack, first, *checks, **further):
    policed(name, attack, first, "; ".join(checks), holes=checks, **further)


L = "policy: an allow-list by name"
policed(
    "refused-name",
    "open a WebSocket to a name that is not in the policy",
    lambda mark: request(f"/{mark}", OTHER, WORDS),
    L,
    OTHER,
    besides=OTHER,
)
policed(
    "refused-address",
    "open one to its address",
    lambda mark: request(f"/{mark}", OTHER, WORDS),
    L,
    ELSEWHERE,
    besides=ELSEWHERE,
)
checked(
    "allowed-host-elsewhere",
    "open one to its address, with an allowed Host",
    lambda mark: request(f"/{mark}", HOST, WORDS),
    "an address that is not the name's is not dialled",
    to=ELSEWHERE,
    at=(ELSEWHERE,),
)
checked(
    "other-host",
    "open one to an allowed name, for another Host",
    lambda mark: request(f"/{mark}", OTHER, WORDS),
    "the name shown as Host is judged",
)
checked(
    "two-hosts",
    "open one with two Hosts",
    lambda mark: request(f"/{mark}", HOST, f"Host: {OTHER}\r\n{WORDS}"),
    "one Host, where the first would count",
)
checked(
    "absolute",
    "open one whose target names another host",
    lambda mark: request(f"http://{OTHER}/{mark}", HOST, WORDS),
    "a target is a path",
)
checked(
    "connect",
    "open one by CONNECT",
    lambda mark: f"CONNECT {OTHER}:80 HTTP/1.1\r\nHost: {HOST}\r\nX: {mark}\r\n{WORDS}\r\n",
    "a target is a path",
    "CONNECT is refused",
    short=False,
)
checked(
    "folded",
    "open one whose Host is folded into the upgrade",
    lambda mark: request(
        f"/{mark}", HOST, f"Upgrade: websocket\r\n Host: {OTHER}\r\nConnection: Upgrade\r\n"
    ),
    "no folded lines",
    short=False,
)


SPEAKS = """
import pathlib, socket, ssl, sys, time
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
bare = socket.create_connection(("sockets.gate.test", int(sys.argv[3])), timeout=60)
with (tls.wrap_socket(bare, server_hostname="sockets.gate.test") if sys.argv[3] == "443"
    else bare) as stream:
    stream.sendall(sys.argv[1].encode())
    assert b" 101 " in stream.recv(65536)
    print("open", flush=True)
    try:
        if sys.argv[2] == "speak":
            while not pathlib.Path("/tmp/go").exists(): time.sleep(0.02)
            stream.sendall(b"late")
        got = stream.recv(65536).decode("latin-1")
        print("reached" if "reached" in got else got[:12] or "end", flush=True)
    except OSError as error: print(type(error).__name__, flush=True)
"""


def went_on(host, box, how, change, port=80):
    """What became of a WebSocket from the sandbox while the change was made; with none, it goes
    on."""
    daemon = host.daemon
    command = daemon.cli(
        "exec",
        "-d",
        box,
        "--",
        "python3",
        "-c",
        SPEAKS,
        request("/switches", HOST, WORDS),
        how,
        str(port),
    ).text.strip()
    lines = lambda: daemon.cli("logs", box, command).text.splitlines()  # noqa: E731
    wait_until(lambda: lines() == ["open"], "the WebSocket")
    change()
    if how == "speak":
        daemon.cli("exec", box, "--", "touch", "/tmp/go")
    else:
        host.world.upgrades.tell(b"reached from outside")
    told = wait_until(lambda: len(lines()) > 1 and lines()[1], "what became of it")
    return Outcome(told.startswith("reached"), told)


def across_a_change(name, attack, how, policy):
    @row(
        f"upgrade-{name}",
        attack,
        N,
        "what is open is judged again",
        by="A1 A4",
        proof="succeeds with the policy as it was",
        means=SETTING,
    )
    def run(host, lifted):
        daemon, box = host.daemon, f"upgrade-{os.urandom(4).hex()}"
        assert daemon.cli("create", "--name", box, "--policy", HOST).code == 0

        def change():
            assert lifted or daemon.cli("policy", "set", box, policy).code == 0

        try:
            return went_on(host, box, how, change)
        finally:
            daemon.cli("rm", box)


across_a_change(
    "after-a-change",
    "speak on over a WebSocket whose host a changed policy leaves out",
    "speak",
    "allowed.gate.test",
)
across_a_change(
    "after-a-refusal",
    "speak on over one whose host a changed policy refuses by name",
    "speak",
    f"open,!{HOST}",
)
across_a_change(
    "heard-after-a-change",
    "hear what a server says over one after the change",
    "hear",
    f"{NAMESERVER}:53",
)
