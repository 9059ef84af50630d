"""What a sandbox sees of a server that says secrets back: nothing of one, in whatever way it is written, of whichever rule it is, and in whatever parts it is
asked for; and nothing of how far a guess was right."""
import json

import outside_world as world_of
import pytest
from vault_box import HEADERS, box, set_secret, vaulted, world  # noqa: F401  (fixtures too)

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

# Posts each text to a server that says it and then nothing: the sizes of what comes until all of it has.
SAYS = r"""
import os, socket, ssl, sys
for text in sys.stdin.read().split("\n"):
    stream = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"]).wrap_socket(socket.create_connection(("api.vault.test", 443)), server_hostname="api.vault.test")
    stream.settimeout(30)
    stream.sendall(f"POST /say HTTP/1.1\r\nHost: api.vault.test\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
    have = b""
    while b"\r\n\r\n" not in have: have += stream.recv(65536)
    body, sizes = have.partition(b"\r\n\r\n")[2], []
    while len(body) < len(text):
        sizes.append(len(body))
        body += stream.recv(65536)
    print(*sizes, len(body), body.decode() == text)
"""
WRITTEN = ("urlsafe", "hex", "HEX", "percent", "every-percent", "every-PERCENT", "json", "every-json", "html", "every-html", "utf-16")


@pytest.fixture(scope="module")
def one(vaulted, world):  # noqa: F811
    with box(vaulted, HEADERS) as made:
        yield made


def test_a_secret_is_cut_however_it_is_written(one, world):  # noqa: F811
    for way in WRITTEN:
        got = one.sh(f"curl -sS -m 30 'https://api.vault.test/reflect-written?{way}' > /tmp/got; echo $?; cut -c1-20 /tmp/got; wc -c < /tmp/got")
        lines = got.text.splitlines()
        assert int(lines[0]) != 0 and int(lines[-1]) < 5100, (way, got)
    one.line(host="api.vault.test", reason="secret_reflected")
    assert one.json("https://api.vault.test/x")["how"] == "Authorization", "the next is served"


def test_what_a_guess_got_right_is_not_to_be_seen(one, world):  # noqa: F811
    world.release.clear()
    try:
        secret = world.secret
        texts = ["?" * 60, *("?" * (60 - right) + secret[:right] for right in range(1, len(secret))), secret[:-1] + "?" * (61 - len(secret))]
        got = one.daemon.cli("exec", "-i", one.name, "--", "python3", "-c", SAYS, stdin="\n".join(texts).encode(), timeout=120)
        lines = got.text.splitlines()
        assert len(lines) == len(texts) and set(lines) == {lines[0]}, got
        assert lines[0].split()[-2:] == ["60", "True"], "all came, while the server was silent"
    finally:
        world.release.set()


def test_a_secret_is_not_fetched_in_parts(one, world):  # noqa: F811
    for begin in range(0, 24, 6):
        status, body = one.curl("https://api.vault.test/parts", "-r", f"{begin}-{begin + 5}", "-H", 'If-Range: "x"')
        assert status < 0, (status, body)  # the whole, and cut
    last = world.seen[-1]
    assert last["path"] == "/parts" and not {"range", "if-range"} & set(last["headers"])
    one.line(reason="secret_reflected")
    for path in ("part", "parts-of-many"):
        status, body = one.curl(f"https://api.vault.test/{path}")
        assert status == 502 and json.loads(body)["error"]["code"] == "answer_partial", (status, body)
    one.line(host="api.vault.test", reason="answer_partial")
    assert "was a part" in one.daemon.cli("net", one.name).text


def test_nothing_before_or_behind_an_answer_reaches_the_sandbox(one, world):  # noqa: F811
    got = one.sh("curl -sS -i -m 30 https://api.vault.test/around")
    assert got.code == 0 and got.text.startswith("HTTP/1.1 200 OK") and got.text.endswith("body"), got
    assert world.secret not in got.text


def test_every_secret_that_the_host_may_know_is_looked_for(vaulted, world):  # noqa: F811
    world.also = "another-secret-altogether"
    set_secret(vaulted, "also", world.also, "api.vault.test")
    with box(vaulted, HEADERS) as mine:
        assert mine.curl("https://api.vault.test/reflect-also")[0] == 200, "the control: it is not this sandbox's"
        mine.rules(HEADERS, {"secret": "also", "name": "also", "way": "headers", "paths": ["/nowhere"]})
        assert mine.curl("https://api.vault.test/reflect-also")[0] < 0
        mine.line(reason="secret_reflected")
        mine.rules(HEADERS, {"secret": "also", "name": "also", "way": "base_url"})
        assert mine.curl("https://api.vault.test/reflect-also")[0] < 0
        assert mine.json("https://api.vault.test/x")["how"] == "Authorization"
