"""What is said over a connection after the first bytes that it was let through by: to the very
server that another name has, too. The control is a build without exactly the check that holds it
(holes.py, holes_of_gate.py); in the short form the policy `open`, under which nobody looks."""
import os

from frame import Outcome, row
from harness import wait_until
from rows_upgrades import HOST, OTHER, WORDS, request, upgrade
from upgrades import SOCKETS

N = "network"


def second(name, attack, then, holes, path="/plain", more="", waits=True, **further):
    """`then(mark)` is said behind a request that is let through. Won: the server that both names
    could have got it."""

    @row(
        f"request-{name}",
        attack,
        N,
        "; ".join(holes),
        by="A1",
        holes=holes,
        known=("HTTP smuggling",),
        **further,
    )
    def run(host, lifted):
        mark = "mark-" + os.urandom(8).hex()
        said = {
            "host": HOST,
            "port": 80,
            "first": request(path, HOST, more),
            "then": then(mark),
            "waits": waits,
        }
        told = host.box("open" if lifted else "main").run(upgrade, said)
        text = str(told.get("refused") or told.get("done", "").split("\r\n")[0])
        if not lifted:  # the first was let through: else nothing was tried
            assert text.startswith("HTTP/1.1 "), text
        return Outcome(host.comes(lambda: host.world.upgrades.reached(SOCKETS, mark)), text)


def post(fields, body):
    return f"POST /x HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n{body}"


J = ("each request is judged",)
second(
    "second-host",
    "in the second request of a kept connection name another host",
    lambda mark: request(f"/{mark}", OTHER),
    J,
)
second(
    "behind-the-first",
    "the same, without waiting for the first one's answer",
    lambda mark: request(f"/{mark}", OTHER),
    J,
    waits=False,
)
second(
    "after-no-upgrade",
    "the same, after an upgrade that the server refuses",
    lambda mark: request(f"/{mark}", OTHER),
    J,
    "/refuses",
    WORDS,
)
# A strict reading of the first request and of each holds these: its words, and the end of its body.
second(
    "both-lengths",
    "hide a request in a body that has two lengths",
    lambda mark: post(
        "Content-Length: 999\r\nTransfer-Encoding: chunked\r\n",
        "0\r\n\r\n" + request(f"/{mark}", OTHER),
    ),
    ("a body has one length",),
)
second(
    "get-with-a-body",
    "hide one in the body of a GET, which many servers do not read",
    lambda mark: request("/x", HOST, f"Content-Length: {len(request(f'/{mark}', OTHER))}\r\n")
    + request(f"/{mark}", OTHER),
    ("no body where many read none",),
)
second(
    "chunk-extension",
    "hide one behind a chunk's extension, which some servers take for the chunk's end",
    lambda mark: post(
        "Transfer-Encoding: chunked\r\n",
        f"{len(request(f'/{mark}', OTHER)):x};\n0\r\n{request(f'/{mark}', OTHER)}\r\n0\r\n\r\n",
    ),
    ("no extensions of chunks",),
)
second(
    "trailer",
    "name another host in a chunked body's trailer",
    lambda mark: post("Transfer-Encoding: chunked\r\n", f"0\r\nHost: {OTHER}\r\nX: {mark}\r\n\r\n"),
    ("no trailers",),
    short=False,
)
second(
    "no-host",
    "name none in the second request",
    lambda mark: f"GET /{mark} HTTP/1.0\r\n\r\n",
    ("a name must be shown",),
    short=False,
)
second(
    "absolute",
    "name another in its target",
    lambda mark: request(f"http://{OTHER}/{mark}", HOST),
    ("a target is a path",),
    short=False,
)


def two_hellos(host, names):
    """ClientHellos one after the other, each once the server has answered the last; by hand, for no
    library says another name in the second."""

    def hello(name):
        entry = b"\0" + struct.pack("!H", len(name)) + name.encode()
        extension = (
            struct.pack("!HHH", 0, len(entry) + 2, len(entry))
            + entry
            + struct.pack("!HH", 43, 3)
            + b"\x02\x03\x04"
        )
        body = (
            b"\x03\x03"
            + b"r" * 32
            + b"\0"
            + struct.pack("!H", 2)
            + b"\x13\x01\x01\0"
            + struct.pack("!H", len(extension))
            + extension
        )
        message = b"\x01\0" + struct.pack("!H", len(body)) + body
        return b"\x16\x03\x01" + struct.pack("!H", len(message)) + message

    with socket.create_connection((host, 443), timeout=10) as stream:
        stream.sendall(hello(names[0]))
        retry = stream.recv(4096)
        stream.sendall(b"\x14\x03\x03\0\x01\x01" + hello(names[1]))
        stream.settimeout(0.5)
        try:
            stream.recv(4096)
        except (TimeoutError, ConnectionResetError):
            pass
        return retry[:1].hex()


@row(
    "sni-of-a-second-hello",
    "after the server asked for another ClientHello, name another host in that",
    N,
    "a second ClientHello names whom the first did",
    by="A1",
    known=("domain fronting",),
    holes=("the second ClientHello is judged",),
)
def second_hello(host, lifted):
    """Won: the server got it. It gets one that names the same host, or nothing was tried."""
    label = "m" + os.urandom(8).hex()
    told = host.box("open" if lifted else "main").run(
        two_hellos,
        {"host": "retries.gate.test", "names": ["retries.gate.test", f"{label}.gate.test"]},
    )
    assert told.get("done") == "16", told
    if not lifted:
        before = len(host.world.retries.came)
        host.box("main").run(
            two_hellos, {"host": "retries.gate.test", "names": ["retries.gate.test"] * 2}
        )
        wait_until(
            lambda: any(b"retries.gate.test" in one for one in host.world.retries.came[before:]),
            "a second one of the same name",
        )
    return Outcome(host.comes(lambda: host.world.retries.seen(label)), str(told))
