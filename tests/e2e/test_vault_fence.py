"""Rules that name methods and paths: what none of them lets through reaches no server; and fences,
which have no secret."""
import json

import outside_world as world_of
import pytest
from harness import slow, wait_until
from vault_box import BASE, HEADERS, box, vaulted, world  # noqa: F401  (fixtures too)

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

READS = {**HEADERS, "methods": ["GET"], "paths": ["/v1/**"]}
FENCE = {"hosts": ["api.vault.test"], "methods": ["GET"], "paths": ["/open/**"]}
AS_IS = "--path-as-is"
REFUSED = {
    "another method": ("/v1/x", ("-X", "DELETE"), "method_not_in_rule"),
    "a method in small letters": ("/v1/x", ("-X", "get"), "method_not_in_rule"),
    "another path": ("/admin", (), "path_not_in_rule"),
    "the path above": ("/v1", (), "path_not_in_rule"),
    "dot segments": ("/v1/../admin", (AS_IS,), "path_not_in_rule"),
    "encoded dots": ("/v1/%2e%2e/admin", (AS_IS,), "ambiguous_path"),
    "an encoded slash": ("/v1/..%2fadmin", (AS_IS,), "ambiguous_path"),
    "one encoded twice": ("/v1/..%252fadmin", (AS_IS,), "ambiguous_path"),
    "a backslash": ("/v1/..\\admin", (AS_IS,), "ambiguous_path"),
    "two slashes": ("/v1//x", (AS_IS,), "ambiguous_path"),
    "parameters behind dots": ("/v1/..;/admin", (AS_IS,), "ambiguous_path"),
    "overlong dots": ("/v1/%c0%ae%c0%ae/admin", (AS_IS,), "ambiguous_path"),
    "a method's override": ("/v1/x", ("-H", "X-HTTP-Method-Override: DELETE"), "method_overridden"),
    "one as lighttpd and PHP read it": (
        "/v1/x",
        ("-H", "X.HTTP.Method~Override: DELETE"),
        "method_overridden",
    ),
    "one in the query": ("/v1/x?_method=DELETE", (), "method_overridden"),
    "a header's in the query": ("/v1/x?x-http-method-override=DELETE", (), "method_overridden"),
    "another path's header": ("/v1/x", ("-H", "X-Original-URL: /admin"), "method_overridden"),
}


@pytest.fixture(scope="module")
def fenced(vaulted):  # noqa: F811
    with box(vaulted, READS) as one:
        yield one


def test_what_a_rule_lets_through_passes_as_it_was_judged(fenced, world):  # noqa: F811
    assert fenced.json("https://api.vault.test/v1/chat/x")["how"] == "Authorization"
    assert fenced.curl("https://api.vault.test/v1/x", "-I")[0] == 200, "HEAD"
    assert (
        fenced.json("https://api.vault.test/v2/../v1/%63hat?q=%2e%2e/", AS_IS)["path"]
        == "/v1/chat?q=%2e%2e/"
    )
    assert fenced.json("https://api.vault.test/v1/a%20b")["path"] == "/v1/a%20b"


# ./test runs one of each kind.
CORE = ("another method", "another path", "dot segments", "an encoded slash", "a method's override")


@pytest.mark.parametrize(
    "trick",
    [one if one in CORE else pytest.param(one, marks=pytest.mark.depth) for one in REFUSED],
)
def test_nothing_else_reaches_the_server(fenced, world, trick):  # noqa: F811
    path, more, reason = REFUSED[trick]
    before = len(world.seen)
    status, body = fenced.curl(f"https://api.vault.test{path}", *more)
    assert (status, json.loads(body)["error"]["code"]) == (403, reason)
    assert "admin" not in body, "nothing of the guest's comes back"
    assert len(world.seen) == before
    fenced.line(host="api.vault.test", verdict="refused", reason=reason)
    assert fenced.json("https://api.vault.test/v1/x")["how"] == "Authorization", "the control"


@pytest.mark.depth
def test_a_refusal_says_what_is_allowed(fenced):
    status, body = fenced.curl("https://api.vault.test/v1/x", "-X", "POST")
    assert (
        json.loads(body)["error"]["message"]
        == "POST is not allowed at this path of api.vault.test: allowed is GET of /v1/**"
    )


@pytest.mark.depth
def test_each_request_of_a_kept_connection_is_judged(fenced, world):  # noqa: F811
    program = r"""
import os, re, socket, ssl
trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
plain = socket.create_connection(("api.vault.test", 443))
stream = trust.wrap_socket(plain, server_hostname="api.vault.test")
def head(line): return line.encode() + b" HTTP/1.1\r\nHost: api.vault.test\r\n\r\n"
stream.settimeout(20)
stream.sendall(head("GET /v1/first") + head("DELETE /v1/second") + head("GET /admin")
    + b"GET /v1/last HTTP/1.1\r\nHost: api.vault.test\r\nConnection: close\r\n\r\n")
got = b""
while part := stream.recv(65536): got += part
print([code.decode() for code in re.findall(rb"HTTP/1.[01] (\d\d\d)", got)])
"""
    before = len(world.seen)
    got = fenced.python(program)
    assert got.text.strip() == "['200', '403', '403', '200']", got
    assert [seen["path"] for seen in world.seen[before:]] == ["/v1/first", "/v1/last"]


@pytest.mark.depth
def test_a_base_url_has_methods_and_paths_too(vaulted, world):  # noqa: F811
    with box(vaulted, {**BASE, "methods": ["POST"], "paths": ["/v1/*"]}) as one:
        key = f"X-Api-Key: {one.token()}"
        assert one.curl("http://192.0.0.3/api/v1/x", "-H", key, "-d", "x")[0] == 200
        before = len(world.seen)
        assert one.curl("http://192.0.0.3/api/v1/x", "-H", key)[0] == 403
        assert one.curl("http://192.0.0.3/api/v1/x/y", "-H", key, "-d", "x")[0] == 403
        assert len(world.seen) == before


@pytest.mark.depth
def test_rules_of_one_host_add_up(vaulted):  # noqa: F811
    with box(
        vaulted, READS, {**HEADERS, "name": "writes", "methods": ["POST"], "paths": ["/jobs"]}
    ) as one:
        assert one.curl("https://api.vault.test/jobs", "-d", "x")[0] == 200
        assert one.json("https://api.vault.test/v1/x")["how"] == "Authorization"
        assert one.curl("https://api.vault.test/v1/x", "-d", "x")[0] == 403


# --- without a secret ---


@pytest.mark.depth
def test_a_fence_checks_and_adds_nothing(vaulted, world):  # noqa: F811
    with box(vaulted, FENCE, policy="api.vault.test") as one:
        assert (
            one.json("https://api.vault.test/open/x", "-H", "Authorization: Bearer mine")["how"]
            == ""
        )
        assert b"Bearer mine" in world.raw[-1], "what the guest says goes on"
        before = len(world.seen)
        assert one.curl("https://api.vault.test/open/x", "-d", "x")[0] == 403
        assert one.curl("https://api.vault.test/x")[0] == 403
        assert one.curl("http://api.vault.test/open/x") == (
            403,
            "A proxy rule of this sandbox is a fence for api.vault.test: it is reached by HTTPS "
            "alone.\n",
        )
        assert len(world.seen) == before
        one.line(reason="fenced", port=80)
        shown = vaulted.cli("proxy", one.name).text
        assert "fence" in shown and "GET" in shown and "/open/**" in shown, shown


@pytest.mark.depth
def test_a_fence_opens_nothing(vaulted, world):  # noqa: F811
    with box(vaulted, FENCE) as one:  # policy `packages`
        before = len(world.seen)
        assert one.curl("https://api.vault.test/open/x")[0] < 0
        assert (
            one.curl(
                "https://api.vault.test/open/x", "--resolve", "api.vault.test:443:198.18.11.1"
            )[0]
            < 0
        )
        assert len(world.seen) == before


@pytest.mark.depth
def test_a_dry_run_goes_by_rules_and_fences(vaulted, world):  # noqa: F811
    """As the same requests fare."""

    def tried(one, target, *words):
        got = vaulted.cli("policy", "try", one.id, target)
        assert all(word in got.text for word in words), got
        return got.code == 0

    with box(vaulted, FENCE, policy="api.vault.test") as one:
        assert tried(one, "api.vault.test", "beside the rule api.vault.test", "/open/")
        assert (
            tried(one, "https://api.vault.test/open/x")
            and one.curl("https://api.vault.test/open/x")[0] == 200
        )
        assert (
            not tried(one, "https://api.vault.test/shut", "has not the path")
            and one.curl("https://api.vault.test/shut")[0] == 403
        )
        assert (
            not tried(one, "http://api.vault.test/open/x", "plain HTTP never")
            and one.curl("http://api.vault.test/open/x")[0] == 403
        )
    with box(vaulted, FENCE) as one:  # policy `packages`
        assert not tried(one, "api.vault.test", "no rule matches", "--add 'api.vault.test:443'")
    with box(vaulted, HEADERS) as one:
        assert (
            tried(one, "https://api.vault.test/x")
            and one.curl("https://api.vault.test/x")[0] == 200
        )
        assert (
            not tried(
                one, "http://api.vault.test/x", "no rule matches", "--add 'api.vault.test:80'"
            )
            and one.curl("http://api.vault.test/x")[0] == 403
        )


SHOWS_NO_NAME = r"""
import socket, ssl
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
try:
    with tls.wrap_socket(socket.create_connection((socket.gethostbyname("api.vault.test"), 443),
        timeout=20)) as stream:
        stream.sendall(b"DELETE /open/x HTTP/1.1\r\nHost: api.vault.test\r\n\r\n")
        print(stream.recv(65536)[:12])
except OSError as error: print("refused")
"""


def test_no_one_goes_past_a_fence_under_open(vaulted, world):  # noqa: F811
    with box(vaulted, policy="open") as one:
        assert one.python(SHOWS_NO_NAME).text.startswith("b'HTTP/1"), "the control: no fence"
        one.rules(FENCE)
        assert one.python(SHOWS_NO_NAME).text == "refused\n"
        one.line(reason="fenced", port=443)
        assert one.curl("https://api.vault.test/open/x", "-X", "DELETE")[0] == 403
        assert (
            json.loads(one.curl("https://other.vault.test/open/", "-k")[1])["how"] == ""
        ), "another name at the same address"


BY_OTHER_NAMES = r"""
import json, re, socket, ssl, sys
def lookup(name): return socket.gethostbyname(name)
def tls(name):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    return made.wrap_socket(socket.create_connection((address, 443), timeout=20),
        server_hostname=name)
def said(stream, host, method="PUT", before=""):
    with stream:
        stream.settimeout(20)
        stream.sendall((before + f"{method} /open/x HTTP/1.1\r\nHost: {host}\r\n"
            "Content-Length: 0\r\nConnection: close\r\n\r\n").encode())
        got = b""
        while part := stream.recv(65536): got += part
        return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d+)", got)]
def tried(what):
    try: return what()
    except OSError: return "reset"
def plain(): return socket.create_connection((address, 80), timeout=20)
F = "api.vault.test"
if sys.argv[1] == "known": lookup(F)
others = ["other.vault.test", "git.vault.test"]
for name in others + [f"n{i}.many.vault.test" for i in range(20)]: address = lookup(name)
print(json.dumps({"sni": tried(lambda: said(tls(F), F)),
                  "no name": tried(lambda: said(tls(None), F)),
                  "plain": tried(lambda: said(plain(), F)),
                  "later": tried(lambda: said(plain(), F,
                      before="GET /open/x HTTP/1.1\r\nHost: other.vault.test\r\n\r\n")),
                  "bare": tried(lambda: said(plain(), "other.vault.test",
                      before="GET /open/x HTTP/1.1\nHost: api.vault.test\n\n")),
                  "other": tried(lambda: said(plain(), "other.vault.test", "GET")),
                  "other tls": tried(lambda: said(tls("other.vault.test"), "other.vault.test",
                      "GET"))}))
"""


@pytest.mark.depth
def test_no_other_name_of_its_address_leads_past_a_fence(vaulted, world):  # noqa: F811
    def way(known):
        got = one.daemon.cli("exec", one.name, "--", "python3", "-c", BY_OTHER_NAMES, known)
        assert got.code == 0, got
        return json.loads(got.text)

    with box(vaulted, policy="open") as one:
        plain = way("known")
        assert (plain["sni"], plain["no name"], plain["plain"]) == ([200], [200], [200]) and plain[
            "later"
        ] == [200, 200], f"the control: no fence: {plain}"
        one.rules(FENCE)
        before = len([seen for seen in world.seen if seen["host"] == "api.vault.test"])
        for known in ("unknown", "known"):
            assert way(known) == {
                **plain,
                "sni": [403],
                "no name": "reset",
                "plain": [403],
                "later": [200],
                "bare": [403],
            }, known
        assert len([seen for seen in world.seen if seen["host"] == "api.vault.test"]) == before
        one.line(reason="fenced", port=443)


HIDES = r"""
import json, re, socket, ssl, sys, time
name, port, hows = "api.vault.test", int(sys.argv[1]), sys.argv[2:]
address = socket.gethostbyname("other.vault.test")
RAW = {"old": bytes.fromhex("803201030300090000002000002f00003c00009c") + bytes(range(32)),
    "http": f"PUT /open/x HTTP/1.1\r\nHost: {name}:{port}\r\nContent-Length: 0\r\n\r\n".encode()}
def raw(said):
    with socket.create_connection((address, port), timeout=60) as wire:
        wire.sendall(said)
        try: got = wire.recv(65536)
        except OSError: got = b""
        return int(got[9:12]) if got.startswith(b"HTTP/1.1 ") else "answered" if got else "reset"
def tried(how):
    if how in RAW: return raw(RAW[how])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    if how == "large": tls.set_alpn_protocols(["http/1.1"] + [f"{i:04}" + "y" * 240
        for i in range(70)])
    said, heard = ssl.MemoryBIO(), ssl.MemoryBIO()
    stream = tls.wrap_bio(heard, said, server_hostname=None if how == "nameless" else name)
    with socket.create_connection((address, port), timeout=60) as wire:
        if how == "late": time.sleep(10.5)
        if how == "warning": wire.sendall(b"\x15\x03\x01\x00\x02\x01\x5a")
        begun = [how != "slow"]
        def step(act, *words):
            while True:
                try: done = act(*words)
                except ssl.SSLWantReadError: done = None
                bytes = said.read()
                if not begun[0]:
                    begun[0] = True
                    wire.sendall(bytes[:40]); time.sleep(10.5); bytes = bytes[40:]
                if bytes: wire.sendall(bytes)
                if done is not None: return done
                heard.write(wire.recv(65536) or sys.exit("end"))
        try:
            step(lambda: stream.do_handshake() or True)
            head = f"PUT /open/x HTTP/1.1\r\nHost: {name}\r\n"
            step(stream.write, (head + "Content-Length: 0\r\nConnection: close\r\n\r\n").encode())
            return int(re.match(rb"HTTP/1\.1 (\d+)", step(stream.read, 65536))[1])
        except (OSError, SystemExit): return "reset"
print(json.dumps([tried(how) for how in hows]))
"""


@pytest.mark.depth
@pytest.mark.parametrize(
    "policy, port",
    [("open", 443), ("open", 8443), ("api.vault.test:8443,other.vault.test:8443", 8443)],
)
def test_no_hello_that_cannot_be_judged_goes_past_a_fence(vaulted, policy, port):  # noqa: F811
    """By another name of its address: larger than is read, slower than is waited for, begun when
    nothing is waited for any more."""

    def way(*hows):
        got = one.daemon.cli(
            "exec", one.name, "--", "python3", "-c", HIDES, str(port), *hows, timeout=slow(120)
        )
        assert got.code == 0, got
        return json.loads(got.text)

    with box(vaulted, policy=policy) as one:
        large = (
            200 if policy == "open" else "reset"
        )  # a policy by name does not let through what names nobody for certain, fence or not
        assert way("large", "plain", "nameless") == [large, 200, 200], "the control: no fence"
        if policy == "open":
            assert way("old") == [
                "answered"
            ], "the control: its server tells what it thinks of that"
        one.rules({**FENCE, "hosts": [f"api.vault.test:{port}"]})
        assert way("warning") == ["reset"], "some servers pass over that"
        one.line(reason="fenced", port=port, verdict="refused")
        assert way("nameless") == ["reset"], "whatever name of its address it goes by"
        assert (
            way("old", "http") == ["reset"] * 2
        ), "the ClientHello of SSL 2; and a server may take HTTP in the clear at the same port"
        assert way("plain", "large", *(["slow", "late"] if policy != "open" else [])) == [
            403,
            "reset",
        ] + (["reset"] * 2 if policy != "open" else [])
        one.line(reason="fenced", port=port, verdict="refused")


WAITS = r"""
import socket, ssl
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
with tls.wrap_socket(socket.create_connection(("api.vault.test", 443), timeout=60),
    server_hostname="api.vault.test") as stream:
    print("open", flush=True)
    try: print("cut" if not stream.recv(1) else "more",
        flush=True)  # Python's word for a reset within TLS
    except OSError: print("cut", flush=True)
"""


@pytest.mark.depth
def test_what_is_open_when_a_fence_comes_is_reset(vaulted):  # noqa: F811
    with box(vaulted, policy="api.vault.test") as one:
        lines = one.opens(WAITS, "the connection")
        one.rules(FENCE)
        wait_until(lambda: lines()[1:] == ["cut"], "its end")
        one.line(reason="fenced", host="api.vault.test")


@pytest.mark.depth
def test_what_is_open_by_a_fence_ends_with_the_policy_that_has_its_host(vaulted):  # noqa: F811
    with box(vaulted, FENCE, policy="api.vault.test") as one:
        lines = one.opens(WAITS, "the connection")
        assert vaulted.cli("policy", "set", one.name, "packages").code == 0
        wait_until(lambda: lines()[1:] == ["cut"], "its end")
        one.line(reason="policy_changed", host="api.vault.test")
