"""Rules by name at ports without a scheme: any protocol passes, whoever speaks first.

A host that the first bytes name after all, as a server name or as Host, is judged like one at 443
or 80."""
import contextlib
import json
import pathlib
import socket
import threading

import pytest
from harness import slow, wait_until
from outside_world import V4, http
from test_gate import pytestmark  # noqa: F401
from test_gate_policies import hold, make, policed, set_policy, world  # noqa: F401 (fixtures)
from test_gate_requests import came

A, OTHER, DENIED = (
    "allowed.gate.test",
    "other.gate.test",
    "HTTP/1.1 403 Not allowed by this sandbox's network policy",
)
HELLO = "hello allowed.gate.test"
TLS = r"""
import json, socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
told = []
for port, name in json.loads(sys.argv[1]):
    try:
        with context.wrap_socket(socket.create_connection(("allowed.gate.test", port), timeout=20),
            server_hostname=name) as stream:
            stream.sendall(b"GET / HTTP/1.1\r\nHost: allowed.gate.test\r\n\r\n")
            got = b"".join(iter(lambda: stream.recv(65536), b""))
            told.append(got.split(b"\r\n\r\n")[-1].decode())
    except OSError as error: told.append("reset" if "reset" in str(error).lower()
        or "EOF" in str(error) else repr(error))
print(json.dumps(told))
"""
SAY = r"""
import json, socket, sys
told = []
for port, pieces in json.loads(sys.argv[1]):
    stream = socket.create_connection(("allowed.gate.test", port), timeout=20)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    got = b""
    try:
        for piece, awaited in pieces:
            stream.sendall(piece.encode("latin-1"))
            while len(got) < awaited: got += stream.recv(65536) or sys.exit("ended early")
        stream.shutdown(socket.SHUT_WR)
        got += b"".join(iter(lambda: stream.recv(65536), b""))
        told.append(got.decode("latin-1"))
    except OSError as error:  # ENOTCONN: it was reset before the end was said
        told.append("reset" if isinstance(error, ConnectionError) or error.errno == 107
            else repr(error))
print(json.dumps(told))
"""


def run(box, program, asked):
    got = box.python(program, json.dumps(asked))
    assert got.code == 0, got
    return json.loads(got.text)


def said(box, *pieces, port=7005):
    """Over one connection, piece by piece: each goes when so much was heard."""
    return run(
        box, SAY, [(port, [piece if isinstance(piece, tuple) else (piece, 0) for piece in pieces])]
    )[0]


def asks(host, path="/", line=None):
    return f"{line or f'GET {path} HTTP/1.1'}\r\nHost: {host}\r\nConnection: close\r\n\r\n"


def test_a_server_name_is_judged_at_any_port(make):
    box = make(f"{A}:7006", f"{A}:7008")
    # The server at 7006 requests another ClientHello.
    assert run(box, TLS, [(7008, A), (7008, OTHER), (7006, A), (7006, OTHER)]) == [
        HELLO,
        "reset",
        HELLO,
        "reset",
    ]
    assert (
        run(box, TLS, [(7008, None), (7006, None)]) == [HELLO] * 2
    ), "whoever names nobody is shown what the address has"
    line = box.line(host=OTHER, port=7008)
    assert (line["verdict"], line["reason"], line["needs"]) == (
        "refused",
        "not_in_policy",
        f"{OTHER}:7008",
    )
    assert box.line(host=A, port=7008)["verdict"] == "allowed"
    assert run(make(f"{A}:7008", f"{OTHER}:7008"), TLS, [(7008, OTHER)]) == [HELLO]  # the controls
    assert run(make("open"), TLS, [(7008, OTHER)]) == [HELLO]
    assert run(make(f"{A}:7008", "198.18.7.0/24", "fdca:7e57::/32"), TLS, [(7008, OTHER)]) == [
        HELLO
    ], "its address is enough"
    for record in ("\x16\x03\x01\x00\x05\x01\x00\x01\x00\x00", "\x16\x03"):
        assert said(box, record, port=7008) == said(box, *record, port=7008) == "reset"
    but = make("open", f"!{OTHER}")
    assert run(but, TLS, [(7008, OTHER), (7008, A)]) == ["reset", HELLO]
    assert but.line(host=OTHER, port=7008)["reason"] == "denied_by_rule"


@pytest.mark.depth
def test_a_host_is_judged_at_any_port(make, world):  # noqa: F811
    box = make(f"{A}:7005")
    assert said(box, asks(A)).endswith(HELLO)
    refused = (
        (asks(OTHER, "/late-%d"), f"does not allow {OTHER}."),
        (asks(A, line=f"GET http://{OTHER}/late-%d HTTP/1.1"), "two ways"),
        (asks(A, line=f"CONNECT {OTHER}:80 HTTP/1.1"), "two ways"),
        ("GET /late-%d HTTP/1.1\r\n\r\n", "names no host"),
        (asks(OTHER, line="odd /late-%d HTTP/1.1"), None),
        ("\r\n\n" + asks(OTHER, "/late-%d"), None),
        (f"GET /late-%d HTTP/1.1\nHost: {OTHER}\n\n", None),
        (asks(OTHER, line=f"GET /{'a' * 20_000}/late-%d HTTP/1.1"), None),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n/late-%d ", None),
    )
    for number, (text, words) in enumerate(refused):
        text = text.replace("%d", str(number))
        got = said(box, text)
        assert (got.startswith(DENIED) and words in got) if words else got == "reset", (text, got)
        # In pieces a part of the line may be at the server already, which must see no end of it.
        got = said(box, *(text if len(text) < 1_000 else (text[:15_000], text[15_000:])))
        assert got == "reset" or (words and got.startswith(DENIED) and words in got), (text, got)
        assert not came(world, f"/late-{number} "), text
    assert said(make("open"), asks(OTHER, "/late-0")).endswith(OTHER)  # the control
    assert came(world, "/late-0 ")
    # The next one of the connection, too; and a request comes whole, however it is cut.
    assert (
        said(box, (asks(A).replace("close", "keep-alive"), 60), asks(OTHER, "/second")).count(
            "HTTP/1.1 200"
        )
        == 1
    )
    assert not came(world, "/second")
    assert said(box, *asks(A, "/in-pieces")).endswith(HELLO)
    assert (
        next(head for head in world.heads if b"/in-pieces" in head)
        == asks(A, "/in-pieces").encode()[:-4]
    )
    assert box.line(host=OTHER, port=7005, reason="not_in_policy")["needs"] == f"{OTHER}:7005"


def test_any_other_protocol_waits_for_nothing(make):
    box = make(f"{A}:7001", f"{A}:7009")
    for pieces in (
        [("x", 1), ("y\r\n", 4)],
        [("PING", 4), (" ", 5), ("\r\n", 7)],
        [("0032git-upload-pack /a\0", 23)],
        [("\x13", 1), ("\x7f", 2)],
        [("\r\n", 2), ("\r\n", 4)],
        [("A" * 9_000, 9_000), (" b\n", 9_003)],
        [("A b" + "c" * 9_000, 9_003), ("c" * 9_000, 18_003), ("\n", 18_004)],
        [("\0" * 9_000, 9_000)],
        [('{"msg":"GET /users","status":200}\n', 34)],
        [("get /user/1\r\n", 13)],
        [("\x15\0\xfd\x05\x0emc.example.com\x63\xdd\x02", 21)],
        [("\x14\0\0\0\x01\0\0\0\x03\0\0\0password12\0\0", 24)],
        [("\x15\x03\x01\0\x02\x01\x5a", 7)],
    ):
        text = "".join(text for text, _ in pieces)
        assert said(box, *pieces, port=7001) == text + "end", pieces
        if len(text) < 100:
            assert said(box, *text, port=7001) == text + "end", pieces
    # Once it is another protocol, whatever follows belongs to it.
    for first in ("\x21\0\0\1login", "\x10\x1a\0\4MQTT\4", '{"id": 1}', "\5\1\0", "PING\r\n"):
        pieces = [(first, len(first)), (asks(OTHER), len(first) + len(asks(OTHER)))]
        assert said(box, *pieces, port=7001) == first + asks(OTHER) + "end", pieces
    assert said(box, ("", 7), ("x", 8), port=7009) == "ready\r\nxend", "a server that speaks first"
    assert said(box, port=7009) == "ready\r\nend"
    # A length may look like a handshake record. The control: where the client speaks first.
    login = "\x16\3\0\1a login packet of 790 bytes"
    received = f"ready\r\n{login}end"
    assert said(box, ("", 7), (login, 7 + len(login)), port=7009) == received
    assert said(box, ("", 7), *login, port=7009) == received
    assert said(box, login, port=7001) == "reset"


@pytest.mark.depth
def test_what_was_not_looked_at_ends_where_names_come_to_matter(make):
    box = make("open")
    lines = hold(box, f"{A}:7001", f"{A}:7003")
    set_policy(box, f"{A}:7001", f"{A}:7003")
    wait_until(
        lambda: sorted(lines()) == ["open", f"reset {A}:7001", f"reset {A}:7003"],
        "their ends",
        slow(10),
    )
    lines = hold(box, f"{A}:7001", f"{A}:7003")  # these are looked at
    set_policy(box, f"{A}:7001")
    wait_until(lambda: len(lines()) > 1, "an end", slow(10))
    assert lines() == ["open", f"reset {A}:7003"]


def being_dialled(port):
    """Connections that wait for an answer of this port."""
    return sum(
        line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "02"
        for line in pathlib.Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    )


@pytest.mark.depth
@pytest.mark.parametrize(
    "then, says",
    [(["open", f"!{OTHER}"], DENIED), (["open", "!else.gate.test"], "HTTP/1.1 200 OK")],
    ids=["refused", "control"],
)
def test_a_policy_that_comes_during_a_dial_counts_for_what_is_shown(make, then, says):
    """How long a dial takes is the guest's to choose, who knows a server whose backlog is full."""
    box, port = make("open"), 7020
    box.sh(f"getent hosts {A}")
    with contextlib.ExitStack() as at_end:
        listener = at_end.enter_context(socket.socket())
        listener.bind((V4, port))
        listener.listen(0)
        for _ in range(3):
            one = at_end.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex((V4, port))
        full = wait_until(lambda: being_dialled(port), "the backlog is full")
        command = box.daemon.cli(
            "exec",
            "-d",
            box.name,
            "--",
            "python3",
            "-c",
            SAY.replace(A, V4),
            json.dumps([(port, [(asks(OTHER), 0)])]),
        ).text.strip()
        wait_until(lambda: being_dialled(port) > full, "the gate dials")
        set_policy(box, *then)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(
                        target=answer, args=[listener.accept()[0]], daemon=True
                    ).start()

        def answer(stream):
            with contextlib.suppress(OSError), stream:
                http(stream)

        threading.Thread(target=serve, daemon=True).start()
        at_end.callback(listener.shutdown, socket.SHUT_RDWR)
        got = box.daemon.cli("attach", box.name, command)
        assert got.code == 0 and json.loads(got.text)[0].startswith(says), got


TWO_NAMES = r"""
import pathlib, socket, sys, time
for name in ("allowed.gate.test", "other.gate.test"): socket.getaddrinfo(name, 7005)
stream = socket.create_connection((socket.getaddrinfo("allowed.gate.test", 7005)[0][4][0], 7005),
    timeout=30)
print("open", flush=True)
while not pathlib.Path("/tmp/go").exists(): time.sleep(0.02)
stream.sendall(b"GET / HTTP/1.1\r\nHost: allowed.gate.test\r\n\r\n")
print(stream.recv(65536).decode().split("\r\n")[0], flush=True)
"""


@pytest.mark.depth
@pytest.mark.parametrize("left, says", [(OTHER, DENIED), (A, "HTTP/1.1 200 OK")])
def test_a_name_is_judged_when_it_is_shown_by_the_policy_of_then(make, left, says):
    box = make(f"{A}:7005", f"{OTHER}:7005")
    command = box.daemon.cli("exec", "-d", box.name, "--", "python3", "-c", TWO_NAMES).text.strip()
    lines = lambda: box.daemon.cli("logs", box.name, command).text.splitlines()  # noqa: E731
    wait_until(lambda: lines() == ["open"], "the connection")
    set_policy(box, f"{left}:7005")
    box.sh("touch /tmp/go")
    assert wait_until(lambda: lines()[1:], "the answer")[0] == says
