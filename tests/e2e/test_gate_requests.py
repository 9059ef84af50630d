"""What is said over one connection after its first bytes: each request of plain HTTP, each ClientHello of TLS."""
import json

from harness import wait_until
from test_gate import pytestmark  # noqa: F401
from test_gate_policies import HELLO, make, policed, set_policy, words_of, world  # noqa: F401 (fixtures)

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
    assert talk(box, asks(A), asks(A, more="Content-Length: 5\r\n", body="hello"), asks(A)) == ["hello " + A] * 3
    # The server ends it once it was answered; nothing of what is refused reaches it.
    assert talk(box, asks(A), asks(OTHER, "/refused-second")) == ["hello " + A, ""]
    assert not came(world, "/refused-second")
    line = box.line(host=OTHER, port=7005)
    assert (line["verdict"], line["reason"], line["needs"]) == ("refused", "not_in_policy", f"{OTHER}:7005")
    assert talk(box, asks(A) + asks(OTHER, "/refused-behind"))[0] == "hello " + A  # what was asked for before is answered
    assert not came(world, "/refused-behind")
    for odd in (asks(A, "/odd", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "abc"), asks(A, "/odd", "Transfer-Encoding: gzip\r\n", "abc"), "/odd\r\n\r\n"):
        assert talk(box, asks(A), odd) == ["hello " + A, ""], odd
    assert not came(world, "/odd")
    assert talk(make(*BOTH), asks(A), asks(OTHER, "/allowed-second")) == ["hello " + A, "hello " + OTHER]  # the control
    assert came(world, "/allowed-second")


def test_a_second_host_of_a_connection_has_its_line_and_is_judged_again_when_the_policy_changes(make):
    box = make(*BOTH)
    program = TALK.replace("print(json.dumps(told))", "print('asked', flush=True)\ntry: print(stream.recv(1) or 'end', flush=True)\nexcept ConnectionResetError: print('reset', flush=True)")
    started = box.daemon.cli("exec", "-d", box.name, "--", "python3", "-c", program, json.dumps([asks(A), asks(OTHER), asks(A)])).text.strip()
    output = lambda: box.daemon.cli("logs", box.name, started).text.split()  # noqa: E731
    wait_until(lambda: output() == ["asked"], "its requests")
    for host, sent in ((A, 2 * len(asks(A))), (OTHER, len(asks(OTHER)))):
        line = wait_until(lambda: (found := box.line(host=host, port=7005))["sent_bytes"] == sent and found, "its bytes", 10)  # noqa: B023
        assert (line["verdict"], line["count"]) == ("allowed", 1)
    set_policy(box, BOTH[0])
    wait_until(lambda: output() == ["asked", "reset"], "its end", 5)
    assert box.line(host=OTHER, verdict="refused")["reason"] == "policy_changed"


def test_what_becomes_a_tunnel_is_one_and_what_does_not_is_read_on(make, world):  # noqa: F811
    box, upgrade = make(BOTH[0]), "Connection: Upgrade\r\nUpgrade: echo\r\n"
    switched = talk(box, asks(A, "/switch", upgrade), "\x01no request at all")
    assert switched[0].startswith("HTTP/1.1 101 ") and switched[1] == "\x01no request at all"
    assert talk(box, asks(A, "/plain", upgrade), asks(A), asks(OTHER, "/not-switched")) == ["hello " + A] * 2 + [""]
    assert talk(box, asks(A, "/plain", upgrade) + asks(OTHER, "/not-waited"))[0] == "hello " + A
    assert not came(world, "/not-switched") and not came(world, "/not-waited")


def test_a_server_may_ask_for_another_client_hello(make):
    retried = {"host": A, "port": 7006, "kind": "tls", "sni": A, "says": A}
    assert words_of(make(f"https://{A}:7006"), retried, {**retried, "sni": OTHER}) == [HELLO, "reset"]

