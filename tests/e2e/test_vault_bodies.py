"""Bodies that a server leaves unread are no request to it: a connection to a server that carried
one is asked nothing more."""
import json

import outside_world as world_of
import pytest
from vault_box import box, set_secret, vaulted, world  # noqa: F401  (fixtures too)
from vault_world import NOTES_PORT

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

HOST = f"api.vault.test:{NOTES_PORT}"
RULE = {"name": "notes", "secret": "notes", "way": "headers", "hosts": [HOST]}
SECRET = "sk-" + "0123456789abcdef" * 2
TALK = (
    r"""
import json, os, socket, ssl, sys
trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
plain = socket.create_connection(("api.vault.test", %d), timeout=20)
stream = trust.wrap_socket(plain, server_hostname="api.vault.test")
told = []
for text in json.loads(sys.argv[1]):
    try: stream.sendall(text.encode())
    except OSError:  # the broker had ended it
        told.append("")
        break
    got = b""
    def lacks():
        head, end, body = got.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        return not end or len(body) < int(length)
    while lacks():
        part = stream.recv(65536)
        if not part: break
        got += part
    told.append(got.decode())
    if not got: break
print(json.dumps(told))
"""
    % NOTES_PORT
)


@pytest.fixture(scope="module")
def noting(vaulted, world):  # noqa: F811
    set_secret(vaulted, "notes", SECRET, HOST)
    with box(vaulted, RULE) as one:
        yield one


def asks(method, path, body=None, more=""):
    length = "" if body is None else f"Content-Length: {len(body)}\r\n"
    return f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n{more}{length}\r\n{body or ''}"


def talk(one, *texts):
    got = one.daemon.cli("exec", one.name, "--", "python3", "-c", TALK, json.dumps(texts))
    assert got.code == 0, got
    return json.loads(got.text)


def statuses(told):
    return [text.split(" ")[1] if text else "" for text in told]


def of_the_next(path):
    """A request that has as much of the next one's head as its body as there may be of it."""
    return f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 150\r\n\r\n"


def test_no_head_of_a_later_request_becomes_a_body(noting, world):  # noqa: F811
    told = talk(
        noting,
        asks("POST", "/unknown", of_the_next("/notes/early")),
        asks("GET", "/x", more=f"X-P: {'p' * 99}\r\n"),
    )
    assert statuses(told) == ["404", "200"], told  # over one connection of the guest's
    told = talk(noting, asks("GET", "/x", of_the_next("/notes/got")), asks("GET", "/x"))
    assert (
        statuses(told) == ["400", ""]
        and json.loads(told[0].partition("\r\n\r\n")[2])["error"]["code"] == "bad_request"
    ), told
    noting.line(host="api.vault.test", verdict="refused", reason="bad_request")
    told = talk(
        noting,
        "GET /x HTTP/1.1\r\nHost: "
        + HOST
        + "\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    )
    assert statuses(told) == ["400"]
    assert not any(path in world.notes.kept for path in ("/notes/early", "/notes/got"))


@pytest.mark.depth
def test_an_answer_before_the_body_was_read_is_the_guests(noting):
    """A server that closes with something unread resets, and its answer may be lost with that: a
    body that is there goes with the head."""
    for _ in range(10):
        told = talk(noting, asks("POST", "/unknown", "x" * 5000))
        assert statuses(told) == ["404"] and told[0].endswith("unknown"), told
    told = talk(
        noting,
        "POST /unknown HTTP/1.1\r\n"
        f"Host: {HOST}\r\n"
        "Transfer-Encoding: chunked\r\n"
        "\r\n"
        "3\r\n"
        "abc\r\n"
        "2\r\n"
        "de\r\n"
        "0\r\n"
        "\r\n" + asks("GET", "/x"),
    )
    assert statuses(told) == ["404"], told


@pytest.mark.depth
def test_a_body_that_comes_late_is_not_waited_for(noting, world):  # noqa: F811
    late = (
        "import os, socket, ssl, time\n"
        "s = ssl.create_default_context(cafile=os.environ['SSL_CERT_FILE']).wrap_socket(socket."
        f"create_connection(('api.vault.test', {NOTES_PORT}), timeout=20), "
        "server_hostname='api.vault.test')\n"
        f"s.sendall(b'POST /unknown HTTP/1.1\\r\\nHost: {HOST}\\r\\nContent-Length: "
        "5\\r\\n\\r\\n')\n"
        "print(s.recv(65536).split()[1].decode())\n"
    )  # answered though no byte of the body was sent
    got = noting.daemon.cli("exec", noting.name, "--", "python3", "-c", late)
    assert got.text.strip() == "404", got


@pytest.mark.depth
def test_nothing_goes_past_a_fence_in_a_body(vaulted, noting, world):  # noqa: F811
    with box(
        vaulted, {**RULE, "methods": ["GET", "POST", "DELETE"], "paths": ["/public/*"]}
    ) as one:
        before = len(world.notes.asked)
        for method in ("GET", "POST", "DELETE"):
            talk(one, asks(method, "/public/a", asks("DELETE", "/admin/x")))
        assert [path for _, _, path in world.notes.asked[before:]] == [
            "/public/a"
        ] * 2, "the GET did not come at all"


@pytest.mark.depth
def test_a_kept_connection_is_asked_again_until_there_is_a_body(noting, world):  # noqa: F811
    def connections(*texts):
        before = world.notes.connections
        told = talk(noting, *texts)
        assert all(status in ("200", "404") for status in statuses(told)), told
        return world.notes.connections - before

    assert connections(*[asks("GET", "/x")] * 3) == 1
    assert (
        connections(
            asks("GET", "/x"),
            asks("POST", "/notes/a", "abc"),
            asks("GET", "/notes/a?0-3"),
            asks("DELETE", "/x"),
        )
        == 2
    )
    assert connections(*[asks("POST", "/notes/a", "abc")] * 3) == 3
    assert connections(*[asks("POST", "/notes/a", "")] * 3) == 1, "one without a byte is none"


@pytest.mark.depth
def test_what_a_server_says_beyond_its_answer_answers_nothing(noting):
    told = talk(noting, *[asks("GET", "/twice"), asks("GET", "/x")] * 3)
    assert [text.partition("\r\n\r\n")[2] for text in told] == ["ok"] * 6


@pytest.mark.depth
def test_a_body_that_waits_to_be_asked_for_comes_whole(noting, world):  # noqa: F811
    assert noting.sh("head -c 200000 /dev/zero | tr '\\0' x > /tmp/big").code == 0
    expects = ("-H", "Expect: 100-continue", "--data-binary", "@/tmp/big")
    assert noting.curl(f"https://{HOST}/notes/big", *expects)[0] == 200
    assert world.notes.kept["/notes/big"] == b"x" * 200_000
