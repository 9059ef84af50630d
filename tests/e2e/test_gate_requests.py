"""What is said over one connection after its first bytes: each request of plain HTTP, each
ClientHello of TLS."""
import json

import pytest

from harness import wait_until
from test_gate import V4, pytestmark  # noqa: F401
from test_gate_policies import (
    HELLO,
    make,
    policed,
    set_policy,
    words_of,
    world,
)  # noqa: F401 (fixtures)

A, OTHER = "allowed.gate.test", "other.gate.test"
BOTH = (f"http://{A}:7005", f"http://{OTHER}:7005")
TALK = r"""
import json, socket, sys
stream = socket.create_connection(("allowed.gate.test", 7005), timeout=20)
told = []
for text in json.loads(sys.argv[1]):
    try:
        stream.sendall(text.encode())
        got = b""
        while True:
            got += stream.recv(65536)
            if b"HTTP/1.1 200" not in got or b"hello" in got: break
        told.append(got.split(b"\r\n\r\n")[-1].decode() if b" 200 " in got else got.decode())
    except OSError as error: told.append(type(error).__name__)
print(json.dumps(told))
"""


def asks(host, path="/", more="", body=""):
    return f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n{body}"


def talk(box, *texts):
    got = box.python(TALK, json.dumps(texts))
    assert got.code == 0, got
    return json.loads(got.text)


def came(world, mark):  # noqa: F811
    return any(mark.encode() in head for head in world.heads)


def test_each_request_of_a_connection_is_judged(make, world):  # noqa: F811
    box = make(BOTH[0])
    assert talk(box, asks(A), asks(A), asks(A)) == ["hello " + A] * 3
    # The server ends it once it was answered; nothing of what is refused reaches it.
    assert talk(box, asks(A), asks(OTHER, "/refused-second")) == ["hello " + A, ""]
    assert not came(world, "/refused-second")
    line = box.line(host=OTHER, port=7005)
    assert (line["verdict"], line["reason"], line["needs"]) == (
        "refused",
        "not_in_policy",
        f"{OTHER}:7005",
    )
    assert (
        talk(box, asks(A) + asks(OTHER, "/refused-behind"))[0] == "hello " + A
    )  # what was asked for before is answered
    assert not came(world, "/refused-behind")
    # An address in a name's place is none beside refused names, in a later request neither.
    but = make("open", f"http://{A}:7005", f"!{OTHER}", "!http://refused.gate.test:7005")
    assert talk(but, asks(A), asks(V4, "/literal-second")) == ["hello " + A, ""] and not came(
        world, "/literal-second"
    )
    assert talk(make("open", f"http://{A}:7005"), asks(A), asks(V4, "/literal-allowed")) == [
        "hello " + A,
        "hello " + V4,
    ] and came(world, "/literal-allowed")
    for odd in (
        asks(A, "/odd", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "abc"),
        asks(A, "/odd", "Transfer-Encoding: gzip\r\n", "abc"),
        "/odd\r\n\r\n",
    ):
        assert talk(box, asks(A), odd) == ["hello " + A, ""], odd
    assert not came(world, "/odd")
    assert talk(make(*BOTH), asks(A), asks(OTHER, "/allowed-second")) == [
        "hello " + A,
        "hello " + OTHER,
    ]  # the control
    assert came(world, "/allowed-second")


@pytest.mark.depth
def test_a_request_with_a_body_is_the_last_of_its_connection(make, world):  # noqa: F811
    box, length = make(BOTH[0]), "Content-Length: 5\r\n"
    # The third goes nowhere: the server has ended the connection, as the request demanded.
    assert (
        talk(
            box,
            asks(A),
            asks(
                A, "/last", length + "Connection: keep-alive\r\nKeep-Alive: timeout=9\r\n", "hello"
            ),
            asks(A, "/behind"),
        )[:2]
        == ["hello " + A] * 2
    )
    head = next(head for head in world.heads if b" /last " in head)
    assert head.split(b"\r\n")[1:] == [
        b"Host: " + A.encode(),
        b"Content-Length: 5",
        b"Connection: close",
    ], head
    assert talk(box, asks(A, "/x", length, "hello") + asks(A, "/behind"))[0] == "hello " + A
    # One that stays all the same is cut once the guest wants more of it.
    assert talk(box, asks(A, "/stays", length, "hello"), asks(A, "/behind")) == [
        "hello " + A,
        "ConnectionResetError",
    ]
    assert not came(world, "/behind")


LIBRARY = r"""
import http.client, io, json, sys
told, connection = [], http.client.HTTPConnection("allowed.gate.test", 7007, timeout=20)
def asked(method, path, body=None, headers={}):
    connection.request(method, path, body, headers, encode_chunked="Transfer-Encoding" in headers)
    answer = connection.getresponse()
    told.append([answer.status, answer.read().decode()])
asked("GET", "/"); asked("GET", "/"); asked("POST", "/notes/a", b"x" * 100_000); connection.close()
asked("GET", "/notes/a?0-9"); asked("POST", "/notes/b", b""); asked("GET", "/")
print(json.dumps(told))
"""


@pytest.mark.depth
def test_a_body_that_a_server_does_not_read_is_no_request_to_it(make, world):  # noqa: F811
    box, before = make(f"http://{A}:7007"), len(world.notes.asked)
    talk_there = TALK.replace("7005", "7007").replace(
        'or b"hello" in got', 'or got.endswith(b"ok")'
    )
    for method in ("DELETE", "OPTIONS", "POST"):
        inner = asks("forbidden.example", "/exfil")
        text = (
            f"{method} /{method} HTTP/1.1\r\n"
            f"Host: {A}\r\n"
            f"Content-Length: {len(inner)}\r\n"
            "\r\n"
            f"{inner}"
        )
        got = box.python(talk_there, json.dumps([text]))
        assert (
            got.code == 0
        ), got  # it is answered, or reset: the server closes with something unread
    assert [path for _, _, path in world.notes.asked[before:]] == ["/DELETE", "/OPTIONS", "/POST"]
    assert make("open").python(talk_there, json.dumps([text])).code == 0
    wait_until(
        lambda: world.notes.asked[-1] == ("GET", "forbidden.example", "/exfil"), "the control"
    )
    got = box.python(LIBRARY)
    assert got.code == 0 and json.loads(got.text) == [
        [200, "ok"],
        [200, "ok"],
        [200, "kept"],
        [200, "x" * 9],
        [200, "kept"],
        [200, "ok"],
    ], got


@pytest.mark.depth
def test_a_second_host_of_a_connection_has_its_line_and_is_judged_again_when_the_policy_changes(
    make,
):
    box = make(*BOTH)
    program = TALK.replace(
        "print(json.dumps(told))",
        "print('asked', flush=True)\n"
        "try: print(stream.recv(1) or 'end', flush=True)\n"
        "except ConnectionResetError: print('reset', flush=True)",
    )
    started = box.daemon.cli(
        "exec",
        "-d",
        box.name,
        "--",
        "python3",
        "-c",
        program,
        json.dumps([asks(A), asks(OTHER), asks(A)]),
    ).text.strip()
    output = lambda: box.daemon.cli("logs", box.name, started).text.split()  # noqa: E731
    wait_until(lambda: output() == ["asked"], "its requests")
    for host, sent in ((A, 2 * len(asks(A))), (OTHER, len(asks(OTHER)))):
        line = wait_until(
            lambda: (found := box.line(host=host, port=7005))["sent_bytes"] == sent and found,
            "its bytes",
            10,
        )  # noqa: B023
        assert (line["verdict"], line["count"]) == ("allowed", 1)
    set_policy(box, BOTH[0])
    wait_until(lambda: output() == ["asked", "reset"], "its end")
    assert box.line(host=OTHER, verdict="refused")["reason"] == "policy_changed"


@pytest.mark.depth
def test_what_becomes_a_tunnel_is_one_and_what_does_not_is_read_on(make, world):  # noqa: F811
    box, upgrade = make(BOTH[0]), "Connection: Upgrade\r\nUpgrade: websocket\r\n"
    switched = talk(box, asks(A, "/switch", upgrade), "\x01no request at all")
    assert switched[0].startswith("HTTP/1.1 101 ") and switched[1] == "\x01no request at all"
    assert talk(box, asks(A, "/plain", upgrade), asks(A), asks(OTHER, "/not-switched")) == [
        "hello " + A
    ] * 2 + [""]
    assert talk(box, asks(A, "/plain", upgrade) + asks(OTHER, "/not-waited"))[0] == "hello " + A
    assert not came(world, "/not-switched") and not came(world, "/not-waited")


@pytest.mark.depth
def test_a_server_may_ask_for_another_client_hello(make):
    retried = {"host": A, "port": 7006, "kind": "tls", "sni": A, "says": A}
    assert words_of(make(f"https://{A}:7006"), retried, {**retried, "sni": OTHER}) == [
        HELLO,
        "reset",
    ]
