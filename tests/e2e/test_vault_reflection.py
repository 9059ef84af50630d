"""A server that repeats secrets: the sandbox receives no part of one, in any covered encoding, by
any rule and in any parts, and learns nothing by guessing."""
import json

import outside_world as world_of
import pytest
from harness import wait_until
from vault_box import HEADERS, box, set_secret, vaulted, world  # noqa: F401  (fixtures too)

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

# Posts each text to a server that repeats it and is then silent. Prints the sizes of the pieces
# until the given amount has arrived.
SAYS = r"""
import os, socket, ssl, sys
path, most, *texts = sys.stdin.read().split("\n")
for text in texts:
    trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    plain = socket.create_connection(("api.vault.test", 443))
    stream = trust.wrap_socket(plain, server_hostname="api.vault.test")
    stream.settimeout(30)
    head = f"POST {path} HTTP/1.1\r\nHost: api.vault.test\r\nContent-Length: {len(text)}\r\n\r\n"
    stream.sendall((head + text).encode())
    have = b""
    while b"\r\n\r\n" not in have: have += stream.recv(65536)
    body, sizes = have.partition(b"\r\n\r\n")[2], []
    while len(body) < int(most):
        sizes.append(len(body))
        body += stream.recv(65536)
    print(*sizes, len(body), text.startswith(body.decode()))
"""
# Requests a whole message from the server, then the beginning of a secret, then silence. Prints a
# line with all bytes so far for each arrival, and one at the end.
PAUSES = r"""
import os, socket, ssl, sys
path, text = sys.argv[1:]
trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
plain = socket.create_connection(("api.vault.test", 443))
stream = trust.wrap_socket(plain, server_hostname="api.vault.test")
more = ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n") if text else ""
stream.sendall(f"GET {path} HTTP/1.1\r\nHost: api.vault.test\r\n{more}\r\n".encode())
if text: stream.sendall(bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text.encode())
have = b""
try:
    while part := stream.recv(65536):
        have += part
        _, end, body = have.partition(b"\r\n\r\n")
        if end and body: print(len(body), flush=True)
except OSError: pass
print("end", have.partition(b"\r\n\r\n")[2].hex(), flush=True)
"""
COVERED = (
    "plain",
    "base64",
    "urlsafe",
    "mime",
    "mime-in-json",
    "percent",
    "every-percent",
    "every-PERCENT",
    "json",
    "every-json",
)
NOT_COVERED = ("hex", "UPPER", "every-html", "list")  # as SECURITY.md explains
ROOM = (
    6  # bytes that are held back for one of a secret's: kMostGrowth in src/vault/secret_encodings.h
)


@pytest.fixture(scope="module")
def one(vaulted, world):  # noqa: F811
    with box(vaulted, HEADERS) as made:
        yield made


def test_a_secret_is_cut_in_each_encoding_that_is_covered(one, world):  # noqa: F811
    for way in COVERED:
        got = one.sh(
            f"curl -sS -m 30 'https://api.vault.test/reflect-written?{way}' > /tmp/got; echo $?; "
            "cut -c1-20 /tmp/got; wc -c < /tmp/got"
        )
        lines = got.text.splitlines()
        assert int(lines[0]) != 0 and int(lines[-1]) < 5100, (way, got)
    one.line(host="api.vault.test", reason="secret_reflected")
    for way in NOT_COVERED:
        assert one.curl(f"https://api.vault.test/reflect-written?{way}")[0] == 200, way


@pytest.mark.depth
def test_what_a_guess_got_right_is_not_to_be_seen(one, world):  # noqa: F811
    world.release.clear()
    try:
        secret = world.secret
        begin = "?" * (ROOM * len(secret))
        texts = [
            begin + "?" * 60,
            *(begin + "?" * (60 - right) + secret[:right] for right in range(1, len(secret))),
            begin + secret[:-1] + "?" * (61 - len(secret)),
        ]
        comes = len(texts[0]) - (ROOM * len(secret) - 1)  # the rest is held until the end
        got = one.daemon.cli(
            "exec",
            "-i",
            one.name,
            "--",
            "python3",
            "-c",
            SAYS,
            stdin="\n".join(["/say", str(comes), *texts]).encode(),
            timeout=120,
        )
        lines = got.text.splitlines()
        assert len(lines) == len(texts) and set(lines) == {lines[0]}, got
        assert lines[0].split()[-2:] == [str(comes), "True"], "while the server was silent"
    finally:
        world.release.set()


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "text/event-stream",
        pytest.param("text/plain", marks=pytest.mark.depth),
        pytest.param("application/x-ndjson", marks=pytest.mark.depth),
        pytest.param("websocket", marks=pytest.mark.depth),
    ],
)
def test_a_pause_within_a_secret_lets_nothing_of_it_out(one, world, kind):  # noqa: F811
    """What was whole comes while the server is silent, of the secret nothing does: not after the
    silence in which a whole event goes on, either."""
    secret = world.secret.encode()
    whole = {
        "text/event-stream": b"data: one\n\n",
        "application/x-ndjson": b'{"one": 1}\n',
        "websocket": b"\x81\x11how:Authorization",
    }.get(kind)
    if whole is None:
        said = 3000 + 10 + len(secret) - 2
        whole = b"-" * (said - (ROOM * len(secret) - 1))
    world.release.clear()
    try:
        words = ("/socket", "pause") if kind == "websocket" else (f"/pauses?{kind}", "")
        command = one.daemon.cli(
            "exec", "-d", one.name, "--", "python3", "-c", PAUSES, *words
        ).text.strip()

        def lines():
            return one.daemon.cli("logs", one.name, command).text.splitlines()

        wait_until(
            lambda: str(len(whole)) in lines(), "what was whole, while the server says nothing"
        )
        before = len(world.seen)
        got = one.python(
            "import urllib.request as u; print(u.urlopen('https://api.vault.test/event')."
            "readline())"
        )  # asked later, and let go by a silence
        assert got.text == "b'data: one\\n'\n" and len(world.seen) == before + 1, got
        assert lines()[-1] == str(len(whole)), "nothing more"
    finally:
        world.release.set()
    end = wait_until(
        lambda: next((line for line in lines() if line.startswith("end")), None), "its end"
    )
    assert bytes.fromhex(end.partition(" ")[2]) == whole, "and nothing of it was ever let out"
    one.line(host="api.vault.test", reason="secret_reflected")


@pytest.mark.depth
def test_a_secret_in_two_fragments_of_a_message_is_cut(one, world):  # noqa: F811
    got = one.daemon.cli("exec", one.name, "--", "python3", "-c", PAUSES, "/socket", "fragments")
    body = bytes.fromhex(got.text.splitlines()[-1].partition(" ")[2])
    assert b"\x81\x11how:Authorization".startswith(body), got
    one.line(host="api.vault.test", reason="secret_reflected")


@pytest.mark.depth
def test_answers_that_end_are_whole_at_once(one, world):  # noqa: F811
    """Over one kept connection, and though each is shorter than what is held back."""
    got = one.sh(
        "curl -sS -m 30 -w '%{http_code} %{num_connects}\\n' -o /dev/null -o /dev/null "
        "https://api.vault.test/x https://api.vault.test/x"
    )
    assert got.text.splitlines() == ["200 1", "200 0"], got


def test_a_secret_is_not_fetched_in_parts(one, world):  # noqa: F811
    for begin in range(0, 24, 6):
        status, body = one.curl(
            "https://api.vault.test/parts", "-r", f"{begin}-{begin + 5}", "-H", 'If-Range: "x"'
        )
        assert status < 0, (status, body)  # the whole, and cut
    last = world.seen[-1]
    assert last["path"] == "/parts" and not {"range", "if-range"} & set(last["headers"])
    one.line(reason="secret_reflected")
    for path in ("part", "parts-of-many"):
        status, body = one.curl(f"https://api.vault.test/{path}")
        assert status == 502 and json.loads(body)["error"]["code"] == "answer_partial", (
            status,
            body,
        )
    one.line(host="api.vault.test", reason="answer_partial")
    assert "was a part" in one.daemon.cli("net", one.name).text


@pytest.mark.depth
def test_nothing_before_or_behind_an_answer_reaches_the_sandbox(one, world):  # noqa: F811
    got = one.sh("curl -sS -i -m 30 https://api.vault.test/around")
    assert (
        got.code == 0 and got.text.startswith("HTTP/1.1 200 OK") and got.text.endswith("body")
    ), got
    assert world.secret not in got.text


@pytest.mark.depth
def test_a_secret_that_is_folded_over_lines_of_a_header_is_cut(one, world):  # noqa: F811
    got = one.sh("curl -sS -i -m 30 https://api.vault.test/folded")
    assert "X-Said" not in got.text and world.secret[len(world.secret) // 2 :] not in got.text, got
    assert (
        "X-Said" in one.sh("curl -sS -i -m 30 'https://api.vault.test/folded?part'").text
    ), "the control: a part is not it"


@pytest.mark.depth
def test_every_secret_that_the_host_may_know_is_looked_for(vaulted, world):  # noqa: F811
    world.also = "another-secret-altogether"
    set_secret(vaulted, "also", world.also, "api.vault.test")
    with box(vaulted, HEADERS) as mine:
        assert (
            mine.curl("https://api.vault.test/reflect-also")[0] == 200
        ), "the control: it is not this sandbox's"
        mine.rules(
            HEADERS, {"secret": "also", "name": "also", "way": "headers", "paths": ["/nowhere"]}
        )
        assert mine.curl("https://api.vault.test/reflect-also")[0] < 0
        mine.line(reason="secret_reflected")
        mine.rules(HEADERS, {"secret": "also", "name": "also", "way": "base_url"})
        assert mine.curl("https://api.vault.test/reflect-also")[0] < 0
        assert mine.json("https://api.vault.test/x")["how"] == "Authorization"
