"""Services and files of a sandbox by their links: bytes both ways, rights and their ends, and who
must not get in."""
import contextlib
import functools
import hashlib
import json
import pathlib
import re
import socket
import time
import urllib.parse

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from file_daemon import daemon, http  # noqa: F401 (fixtures)
from harness import SANITIZED, keeper_of, new_daemon, slow, wait_until
from service_links import (
    PORT,
    TOKEN,
    client,
    host_of,
    issue,
    link,
    service,
    start_web,
    web,
    websocket,
)  # noqa: F401 (fixtures too)

LIMIT = 64 << 20


def seen(response):
    assert response.status_code == 200, response.text
    got = response.json()
    return got["path"], {name.lower(): value for name, value in got["headers"]}


def resident_peak(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


BLOCK = hashlib.sha256(b"block").digest() * 2048


def blocks(count):
    for _ in range(count):
        yield BLOCK


def digest_of(count):
    out = hashlib.sha256()
    for piece in blocks(count):
        out.update(piece)
    return out.hexdigest()


# The requests that pass.


def test_requests_pass_as_they_are_and_nothing_of_cays_goes_in(daemon, service, link):
    path, headers = seen(
        service.get(
            "/headers?a=%2f&b=c+d",
            headers={
                "X-Api-Key": daemon.key,
                "Authorization": f"Bearer {daemon.key}",
                "Cookie": "own=1; cay_service=x",
                "X-Forwarded-For": "1.2.3.4",
                "Connection": "close, X-Hop",
                "X-Hop": "1",
                "X-Own": "yes",
                "X_Forwarded_For": "1.2.3.4",
                "X_Real_IP": "1.2.3.4",
                "X_Forwarded_Proto": "https",
                "X_Langsmith_User_Id": "u",
                "X_Own": "yes",
            },
        )
    )
    assert path == "/headers?a=%2f&b=c+d"
    authority = f"{host_of(link)}:{daemon.port}"
    assert (
        headers["host"] == authority and headers["x-own"] == "yes" and headers["cookie"] == "own=1"
    )
    assert (
        headers["x-forwarded-for"],
        headers["x-forwarded-proto"],
        headers["x-forwarded-host"],
    ) == ("127.0.0.1", "http", authority)
    assert not {"x-api-key", "authorization", TOKEN.lower(), "x-hop"} & set(headers)
    assert {name for name in headers if "_" in name} == {
        "x_own"
    }, "a WSGI application reads '_' as '-'"
    assert daemon.key not in json.dumps(headers) and link["token"] not in json.dumps(headers)
    # The control: the application's own of the same names.
    _, headers = seen(
        service.get("/headers", headers={"X-Api-Key": "mine", "Authorization": "Bearer mine"})
    )
    assert headers["x-api-key"] == "mine" and headers["authorization"] == "Bearer mine"
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert service.request(method, "/headers").json()["method"] == method
    assert service.head("/bytes?1000").headers["content-length"] == "1000"
    assert service.get("/nowhere").status_code == 404


def test_a_services_own_request_id_comes_out(daemon, service, link):
    named = "/answer?" + urllib.parse.quote(
        "HTTP/1.1 200 OK\r\nX-Request-Id: its-own\r\nContent-Length: 2\r\n\r\nok"
    )
    by_path = httpx.get(
        f"{daemon.url}/svc/{link['sandbox_id']}/{PORT}{named}",
        headers={TOKEN: link["token"]},
        timeout=slow(60),
    )
    for got in (service.get(named), by_path):
        assert (got.text, got.headers["x-request-id"]) == ("ok", "its-own")
        assert got.headers["x-cay-request-id"] not in ("", "its-own")
    plain = service.get("/headers")  # the control: one that names nothing
    assert plain.headers["x-request-id"] and "x-cay-request-id" not in plain.headers


def test_the_path_form_keeps_cays_own_origin_clean(http, daemon, link):
    base = f"{daemon.url}/svc/{link['sandbox_id']}/{PORT}"
    assert link["url"] in (base, f"http://{host_of(link)}:{daemon.port}")
    headers = {TOKEN: link["token"], "Cookie": "session=of-cays-origin"}
    got = httpx.get(f"{base}/headers?x", headers=headers)
    path, inside = seen(got)
    assert (
        path == "/headers?x"
        and "cookie" not in inside
        and inside["x-forwarded-prefix"] == f"/svc/{link['sandbox_id']}/{PORT}"
    )
    assert "sandbox" in got.headers["content-security-policy"]
    cookies = httpx.get(f"{base}/cookies", headers=headers)
    assert "set-cookie" not in cookies.headers and "clear-site-data" not in cookies.headers
    assert (
        httpx.get(f"{base}/moved", headers=headers).headers["location"]
        == f"/svc/{link['sandbox_id']}/{PORT}/headers"
    )
    assert (
        httpx.get(f"{base}/", headers={"Cookie": f"cay_service={link['token']}"}).status_code == 401
    )
    assert httpx.get(f"{base}/_svc/auth", params={"token": link["token"]}).status_code == 501


@pytest.mark.heavy
def test_200_mib_stream_through_in_bounded_memory(daemon, service, link):
    count = 1600  # 100 MiB
    wanted = digest_of(count)
    up = service.post("/digest", content=blocks(count))  # chunked
    assert up.json() == {"size": count << 16, "sha256": wanted}
    up = service.post(
        "/digest", content=blocks(count), headers={"Content-Length": str(count << 16)}
    )
    assert up.json() == {"size": count << 16, "sha256": wanted}
    for path in ("/bytes", "/chunked"):
        got, size = hashlib.sha256(), 0
        with service.stream("GET", f"{path}?{count << 16}") as down:
            for piece in down.iter_raw():
                got.update(piece)
                size += len(piece)
        assert (size, got.hexdigest()) == (count << 16, wanted), path
    if not SANITIZED:
        assert (
            resident_peak(daemon.process.pid) < LIMIT
            and resident_peak(keeper_of(daemon, link["sandbox_id"])) < LIMIT
        )


def test_a_service_that_reads_nothing_holds_its_client_back(daemon, service, link):
    sent = 0

    def endless():
        nonlocal sent
        while True:
            sent += len(BLOCK)
            yield BLOCK

    with pytest.raises(httpx.WriteTimeout):
        service.post("/stall", content=endless(), timeout=httpx.Timeout(slow(60), write=slow(2)))
    assert sent < LIMIT
    assert service.get("/headers").status_code == 200  # and nobody else


def test_a_client_that_reads_nothing_holds_its_service_back(daemon, service, link):
    with service.stream("GET", f"/bytes?{4 << 30}") as down:
        assert next(down.iter_raw())
        assert service.get("/headers").status_code == 200
        if not SANITIZED:
            assert resident_peak(daemon.process.pid) < LIMIT


def test_an_answer_comes_as_it_is_sent(service):
    with service.stream("GET", "/events") as events:
        pieces = events.iter_raw()
        assert next(pieces) == b"data: one\n\n"  # while the service waits for what comes now
        assert service.post("/go").text == "going"
        assert b"".join(pieces) == b"data: two\n\n"


def test_http_1_0_gets_the_body_itself(daemon, link):
    """RFC 9112, 6.1: no chunks to a client that does not know them; the end of the connection is
    the body's."""

    def asked(version):
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=slow(60)) as sock:
            sock.sendall(
                f"GET /chunked?{3 << 16} HTTP/{version}\r\n"
                f"Host: {host_of(link)}\r\n"
                f"{TOKEN}: {link['token']}\r\n"
                "Connection: close\r\n"
                "\r\n".encode()
            )
            return b"".join(iter(lambda: sock.recv(1 << 16), b"")).split(b"\r\n\r\n", 1)

    head, body = asked("1.0")
    assert b"chunked" not in head.lower() and body == BLOCK * 3, head
    head, body = asked("1.1")
    assert b"chunked" in head.lower() and len(body) > len(BLOCK) * 3, "the control"


def test_an_early_answer_reaches_a_client_that_still_sends(service):
    got = service.post("/early", content=blocks(64))
    assert (got.status_code, got.text) == (413, "no")


def test_a_paused_sandbox_answers_for_its_services_at_once(daemon, http, link, service):
    ref = f"/api/v1/sandboxes/{link['sandbox_id']}"
    assert (
        service.get("/headers").status_code == 200
    )  # and this connection is kept for the next request
    with websocket(daemon, link) as before:
        http.post(f"{ref}/pause").raise_for_status()
        by_path = functools.partial(
            httpx.get,
            f"{daemon.url}/svc/{link['sandbox_id']}/{PORT}/headers",
            headers={TOKEN: link["token"]},
            timeout=slow(60),
        )
        for ask in (
            lambda: service.get("/headers"),
            by_path,
            lambda: service.post("/digest", content=blocks(2)),
        ):
            got = ask()
            assert (got.status_code, got.headers["x-cay-error"]) == (
                503,
                "sandbox_paused",
            ), got.text
            assert "is paused: resume it" in got.text and "retry-after" not in got.headers
            assert got.headers["content-type"].startswith("text/plain")
        with pytest.raises(InvalidStatus) as refused:
            websocket(daemon, link)
        assert (
            refused.value.response.status_code == 503
            and refused.value.response.headers["X-Cay-Error"] == "sandbox_paused"
        )
        assert http.get(ref).json()["state"] == "paused"
        before.send("waits")
        http.post(f"{ref}/resume").raise_for_status()
        assert before.recv(timeout=slow(60)) == "waits"
    assert service.get("/headers").status_code == 200


def test_a_websocket_passes_both_ways(daemon, link):
    with websocket(daemon, link) as ws:
        for message in ("hello", b"\x00\xff" * 100, b"m" * (2 << 20)):
            ws.send(message)
            assert ws.recv(timeout=slow(30)) == message
    with pytest.raises(InvalidStatus) as refused:
        websocket(daemon, link, token=False)
    assert refused.value.response.status_code == 401


def test_the_unmodified_browsers_way(daemon, link, web):
    assert (
        link["browser_url"]
        == f"http://{host_of(link)}:{daemon.port}/_svc/auth?token={link['token']}"
    )
    with client(daemon, link, token=False) as browser:
        assert browser.get("/").status_code == 401
        entered = browser.get(f"/_svc/auth?token={link['token']}")
        assert entered.status_code == 303 and entered.headers["location"] == "/"
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Domain" not in cookie
        mine = {"Cookie": cookie.split(";")[0]}
        page = browser.get("/", headers=mine)
        assert (
            f'href="http://{host_of(link)}:{daemon.port}/headers"' in page.text
        )  # absolute links lead back here
        assert (
            browser.post("/upload", headers=mine, files={"file": ("a", b"some bytes")}).text
            == "kept"
        )
        assert browser.get("/uploaded", headers=mine).content == b"some bytes"
        with websocket(
            daemon, link, token=False, Origin=f"http://{host_of(link)}:{daemon.port}", **mine
        ) as ws:
            ws.send("hello")
            assert ws.recv(timeout=slow(30)) == "hello"
        # Another sandbox's page, which a browser takes for the same site, may not use it.
        evil = f"http://{web['id'][:-1]}0--80.localhost:{daemon.port}"
        assert browser.post("/upload", headers={**mine, "Origin": evil}).status_code == 403
        assert (
            browser.get(
                "/headers",
                headers={**mine, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
            ).status_code
            == 403
        )
        with pytest.raises(InvalidStatus) as refused:
            websocket(daemon, link, token=False, Origin=evil, **mine)
        assert refused.value.response.status_code == 403
        answer = browser.get("/cookies", headers=mine)
        assert answer.headers.get_list("set-cookie") == ["mine=1; Path=/"]
        assert "clear-site-data" not in answer.headers and "x-accel-redirect" not in answer.headers


# The requests that must not get in.


def test_a_token_is_for_one_service_of_one_sandbox(daemon, http, link, service):
    other = http.post("/api/v1/sandboxes", json={}).json()
    try:

        def asked(sandbox, port, token):
            host = f"{sandbox}--{port}.localhost:{daemon.port}"
            return httpx.get(
                f"{daemon.url}/headers", headers={"Host": host, TOKEN: token}
            ).status_code

        assert asked(link["sandbox_id"], PORT, link["token"]) == 200
        assert asked(link["sandbox_id"], PORT + 1, link["token"]) == 401
        assert asked(other["id"], PORT, link["token"]) == 401
        assert asked(link["sandbox_id"], PORT, link["token"][:-1]) == 401
        assert asked(link["sandbox_id"], PORT, "") == 401
        file = issue(http, link["sandbox_id"], path="/etc/hostname")
        assert asked(link["sandbox_id"], PORT, file["token"]) == 401
        # A key is for the API, and no token is a key.
        assert (
            httpx.get(
                f"{daemon.url}/headers",
                headers={"Host": f"{host_of(link)}:1", "X-Api-Key": daemon.key},
            ).status_code
            == 401
        )
        assert (
            httpx.get(
                f"{daemon.url}/api/v1/version", headers={"X-Api-Key": link["token"]}
            ).status_code
            == 401
        )
    finally:
        http.delete(f"/api/v1/sandboxes/{other['id']}")


def test_the_api_is_never_under_a_services_host(daemon, service, link):
    for path in ("/api/v1/version", "/healthz", "/v2/sandboxes/boxes", "/metrics"):
        got = service.get(path, headers={"X-Api-Key": daemon.key})
        assert (got.status_code, got.text) == (
            404,
            "nothing here",
        ), path  # the application's own words
        for host in (
            "x.localhost",
            f"{link['sandbox_id']}--0.localhost",
            f"{link['sandbox_id']}--dl.localhost",
            "a.b.localhost",
        ):
            got = httpx.get(f"{daemon.url}{path}", headers={"Host": host, "X-Api-Key": daemon.key})
            assert got.status_code in (403, 404) and "cay" not in got.headers.get(
                "content-type", ""
            ), (host, path)
        assert (
            httpx.get(
                f"{daemon.url}{path}", headers={"Host": "localhost", "X-Api-Key": daemon.key}
            ).status_code
            == 200
        ), "the control"
        # A name's absolute form is the same name.
        for dotted in (
            f"{host_of(link)}.",
            f"{host_of(link)}.:{daemon.port}",
            f"x.localhost.:{daemon.port}",
        ):
            got = httpx.get(
                f"{daemon.url}{path}", headers={"Host": dotted, "X-Api-Key": daemon.key}
            )
            assert (got.status_code, "cay" in got.headers.get("content-type", "")) in (
                (401, False),
                (404, False),
            ), (dotted, path, got.text)
    dotted = httpx.get(
        f"{daemon.url}/headers",
        headers={"Host": f"{host_of(link)}.:{daemon.port}", TOKEN: link["token"]},
    )
    assert dotted.status_code == 200 and dotted.json()["path"] == "/headers"
    evil = httpx.get(
        f"{daemon.url}/", headers={"Host": f"{host_of(link)}.evil.example", TOKEN: link["token"]}
    )
    assert evil.status_code == 421


def raw(daemon, link, text):
    """All that comes back for these bytes."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=slow(30)) as sock:
        sock.sendall(
            text.replace(
                "HEAD", f"Host: {host_of(link)}\r\n{TOKEN}: {link['token']}\r\nConnection: close"
            ).encode("latin-1")
        )
        out = b""
        with contextlib.suppress(ConnectionResetError):
            while data := sock.recv(65536):
                out += data
        return out.decode("latin-1")


def test_smuggling_shapes_are_refused_both_ways(daemon, link, service):
    hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    for framing in (
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: xchunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Transfer-Encoding : chunked",
        "Content-Length: 0x5",
        " Content-Length: 5",
    ):
        got = raw(
            daemon, link, f"POST /digest HTTP/1.1\r\nHEAD\r\n{framing}\r\n\r\n0\r\n\r\n{hidden}"
        )
        assert got.split(" ")[1] in ("400", "501"), (framing, got)
        assert len(re.findall(r"^HTTP/1\.1 ", got, re.M)) == 1 and "sha256" not in got, framing
    for chunks in (
        "zz\r\nab\r\n0\r\n\r\n",
        "2\r\nabcd\r\n0\r\n\r\n",
        "fffffffffffffffff\r\na",
        "-1\r\na",
    ):
        got = raw(
            daemon,
            link,
            f"POST /digest HTTP/1.1\r\nHEAD\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}",
        )
        assert "sha256" not in got and (got == "" or " 400 " in got.splitlines()[0]), (chunks, got)
    assert (
        " 431 "
        in raw(
            daemon, link, "GET / HTTP/1.1\r\nHEAD\r\nX: " + "a" * 20_000 + "\r\n\r\n"
        ).splitlines()[0]
    )
    assert "sha256" in raw(
        daemon,
        link,
        "POST /digest HTTP/1.1\r\nHEAD\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    ), "the control"

    def answered(text):
        return service.get("/answer?" + "".join(f"%{byte:02x}" for byte in text.encode()))

    for text in (
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ):
        got = answered(text)
        assert got.status_code == 502 and "not reachable" in got.text, text
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        answered("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")
    assert (
        answered(
            "HTTP/1.1 200 OK\r\n"
            "Content-Length: 2\r\n"
            "\r\n"
            "okHTTP/1.1 200 OK\r\n"
            "Content-Length: 4\r\n"
            "\r\n"
            "evil"
        ).text
        == "ok"
    )


def test_a_request_with_a_body_becomes_no_websocket(daemon, link, service):
    """What read the body would go on reading from a connection that is the WebSocket's by then."""
    switch = "".join(
        f"%{byte:02x}"
        for byte in b"HTTP/1.1 101 Switching Protocols\r\n"
        b"Connection: Upgrade\r\n"
        b"Upgrade: websocket\r\n"
        b"\r\n"
    )

    def first_line(framing, rest=b""):
        with socket.create_connection(
            ("127.0.0.1", daemon.port), timeout=slow(30)
        ) as sock, contextlib.suppress(ConnectionError):
            sock.sendall(
                (
                    f"GET /answer?{switch} HTTP/1.1\r\n"
                    f"Host: {host_of(link)}\r\n"
                    f"{TOKEN}: {link['token']}\r\n"
                    "Connection: Upgrade\r\n"
                    f"Upgrade: websocket\r\n{framing}\r\n"
                ).encode()
            )
            got = sock.recv(65536)
            for byte in rest:
                sock.sendall(bytes([byte]))
            return got.split(b"\r\n")[0]

    for framing, rest in (
        ("Transfer-Encoding: chunked\r\n", b"5\r\n"),
        ("Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
        ("Content-Length: 10\r\n", b"0123456789"),
    ):
        assert first_line(framing, rest) == b"HTTP/1.1 502 Bad Gateway", framing
    assert seen(service.get("/headers"))[0] == "/headers", "the daemon lives"
    assert first_line("").startswith(b"HTTP/1.1 101 "), "the control"


# Prints the number of its connections, and takes one at a time.
LONE = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        body = b'%d' % self.server.taken
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
class Server(http.server.HTTPServer):
    taken = 0
    def get_request(self):
        self.taken += 1
        return super().get_request()
Server(('127.0.0.1', 8090), Handler).serve_forever()
"""


def test_a_connection_is_asked_again_by_its_link_alone_and_holds_nobody_up(daemon, http, web):
    http.post(
        f"/api/v1/sandboxes/{web['id']}/commands",
        json={"argv": ["python3", "-c", LONE], "wait": False, "timeout_s": 0},
    )
    one, other = (issue(http, web["id"], port=8090) for _ in range(2))
    with client(daemon, one) as service, client(daemon, other) as neighbour:

        def taken(by, method="GET", **more):
            got = by.request(method, "/", **more)
            return int(got.text) if got.status_code == 200 else f"{got.status_code}: {got.text}"

        first = wait_until(
            lambda: isinstance(taken(service), int) and taken(service), "it listens", 30
        )
        # Within its second of life; a busy machine may miss it now and then, and not ten times.
        assert wait_until(lambda: taken(service) == taken(service), "one that is asked again", 30)
        assert taken(neighbour) > first, "the neighbour's is another one, and has its turn at once"
        # A service that leaves a body unread would take it for the next request. If it closes with
        # an unread body, it resets, and its response may be lost: a 502 on a connection of its own.
        hidden = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
        before, heard = taken(service), 0
        for _ in range(30):
            now = taken(service, "POST", content=hidden)
            assert now == before + 1 or str(now).startswith(
                "502: "
            ), "one for each request with a body"
            before, heard = before + 1, heard + isinstance(now, int)
            if heard == 5:
                break
        assert heard == 5, "answers of its own"


def test_what_passes_in_the_kernel_is_counted_and_whole(daemon, http, web, service, link):
    ref, size = f"/api/v1/sandboxes/{web['id']}", 48 << 20
    before = http.get(f"{ref}/usage").json()
    seen = hashlib.sha256()
    with service.stream("GET", f"/bytes?{size}") as down:
        for piece in down.iter_raw():
            seen.update(piece)
    block = hashlib.sha256(b"block").digest() * 2048
    assert seen.hexdigest() == hashlib.sha256(block * (size // len(block))).hexdigest()
    message = bytes(range(256)) * 16384  # 4 MiB: over what a read takes, both ways
    with websocket(daemon, link) as ws:
        ws.send(message)
        assert ws.recv(timeout=slow(60)) == message
    after = http.get(f"{ref}/usage").json()
    assert (
        size + len(message)
        <= after["bytes_out"] - before["bytes_out"]
        < size + len(message) + (1 << 20)
    ), (before, after)
    assert len(message) <= after["bytes_in"] - before["bytes_in"] < len(message) + (1 << 20), (
        before,
        after,
    )
    up = service.post("/digest", content=blocks(size >> 16), headers={"Content-Length": str(size)})
    assert up.json() == {"size": size, "sha256": digest_of(size >> 16)}
    last = http.get(f"{ref}/usage").json()
    assert size <= last["bytes_in"] - after["bytes_in"] < size + (1 << 20), (after, last)


def test_tokens_are_neither_logged_nor_stored(daemon, http, link, service):
    file = issue(http, link["sandbox_id"], path="/etc/hostname")
    assert service.get("/headers").status_code == 200
    assert httpx.get(f"{daemon.url}/dl/{link['sandbox_id']}/{file['token']}").status_code == 200
    with client(daemon, link, token=False) as browser:
        browser.get(f"/_svc/auth?token={link['token']}")
    secrets = [one["token"].encode() for one in (link, file)]
    places = [daemon.log, *daemon.data.glob("state.db*")]
    for place in places:
        content = place.read_bytes()
        assert not any(secret in content or secret[-43:] in content for secret in secrets), place
    assert any(
        link["id"].encode() in place.read_bytes() for place in places
    ), "the control: what is stored is found so"
    assert link["token"] not in http.get(f"/api/v1/sandboxes/{link['sandbox_id']}/links").text


def test_a_request_wakes_its_sandbox_and_is_use_of_it(daemon, http):
    box = http.post("/api/v1/sandboxes", json={"idle_ttl_s": 2}).json()
    ref = f"/api/v1/sandboxes/{box['id']}"
    try:
        link = issue(http, box["id"], port=PORT)
        assert http.post(f"{ref}/stop").status_code < 300
        with client(daemon, link) as service:
            got = service.get("/headers")
            assert got.status_code == 502 and got.text.startswith(
                "Service is not reachable"
            )  # its programs ended with the stop
            assert http.get(ref).json()["state"] == "ready"
            start_web(http, box["id"])
            with websocket(daemon, link) as ws:
                began = time.monotonic()
                wait_until(lambda: time.monotonic() - began > 5, "more than twice its idle time")
                ws.send("awake")
                assert ws.recv(timeout=slow(30)) == "awake"
        wait_until(
            lambda: http.get(ref).json()["state"] == "stopped", "idle once nothing is open", 30
        )
        with client(daemon, link, token=False) as stranger:
            assert stranger.get("/").status_code == 401
        assert http.get(ref).json()["state"] == "stopped", "a stranger wakes nobody"
    finally:
        http.delete(ref)


# Files.


def test_a_files_link_serves_that_file_alone(daemon, http, box):
    body = bytes(range(256)) * 4096
    http.put(
        f"/api/v1/sandboxes/{box['id']}/files", params={"path": '/data/a "b".html'}, content=body
    ).raise_for_status()
    link = issue(http, box["id"], path='/data/a "b".html')
    assert link["expires_at"] is not None, "a day"
    assert issue(http, box["id"], path="/etc/hostname", expires_in_s=0)["expires_at"] is None
    for url, headers in (
        (f"{daemon.url}/dl/{box['id']}/{link['token']}", {}),
        (f"{daemon.url}/{link['token']}", {"Host": f"{box['id']}--dl.localhost:{daemon.port}"}),
    ):
        got = httpx.get(url, headers=headers)
        assert got.content == body
        assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20%22b%22.html"
        assert (
            got.headers["content-type"] == "application/octet-stream"
            and got.headers["x-content-type-options"] == "nosniff"
        )
        assert (
            got.headers["content-security-policy"].startswith("sandbox")
            and "x-cay-uid" not in got.headers
        )
        tag = got.headers["etag"]
        assert httpx.head(url, headers=headers).headers["content-length"] == str(len(body))
        part = httpx.get(url, headers={**headers, "Range": "bytes=256-511", "If-Range": tag})
        assert part.status_code == 206 and part.content == bytes(range(256))
        assert httpx.get(url, headers={**headers, "If-None-Match": tag}).status_code == 304
        assert httpx.get(url, headers={**headers, "Range": "bytes=9999999-"}).status_code == 416
        assert httpx.post(url, headers=headers).status_code == 405
        assert httpx.get(url + "x", headers=headers).status_code == 403
    http.delete(f"/api/v1/sandboxes/{box['id']}/files", params={"path": '/data/a "b".html'})
    assert httpx.get(f"{daemon.url}/dl/{box['id']}/{link['token']}").status_code == 404
    http.post(
        f"/api/v1/sandboxes/{box['id']}/commands", json={"argv": ["mkfifo", "/data/fifo"]}
    ).raise_for_status()
    for path, status in (
        ("/data", 404),
        ("/data/fifo", 404),
        ("/dev/zero", 404),
        ("/data/none", 404),
        ("/proc/self/environ", 403),
        ("/proc/cpuinfo", 200),
    ):
        other = issue(http, box["id"], path=path)
        url = f"{daemon.url}/dl/{box['id']}/{other['token']}"
        got, head = (httpx.request(method, url, timeout=slow(30)) for method in ("GET", "HEAD"))
        assert (got.status_code, head.status_code, head.content) == (status, status, b""), path
        assert status != 200 or (
            got.content and head.headers.get("content-length") == got.headers.get("content-length")
        ), path
    shown = issue(
        http, box["id"], path="/etc/hostname", inline=True, content_type="text/html", expires_in_s=1
    )
    url = f"{daemon.url}/dl/{box['id']}/{shown['token']}"
    got = wait_until(lambda: (got := httpx.get(url)).status_code == 403 and got, "its end", 30)
    assert "expired" in got.text
    assert http.post(f"/api/v1/sandboxes/{box['id']}/stop").status_code < 300
    woken = issue(http, box["id"], path="/etc/hostname", inline=True, content_type="text/html")
    got = httpx.get(f"{daemon.url}/dl/{box['id']}/{woken['token']}", timeout=slow(30))
    assert (
        got.status_code == 200
        and got.headers["content-type"] == "text/html"
        and got.headers["content-disposition"].startswith("inline")
    )
    assert http.delete(f"/api/v1/sandboxes/{box['id']}/links/{woken['id']}").status_code == 204
    assert httpx.get(f"{daemon.url}/dl/{box['id']}/{woken['token']}").status_code == 403


# The command, and the domain.


def test_cay_url(daemon, http, web):
    name = web["name"]
    made = daemon.cli("url", name, PORT, "--expires", "5m")
    assert made.code == 0, made
    for lifetime in ("0", "31d"):
        refused = daemon.cli("url", name, PORT, "--expires", lifetime)
        assert refused.code != 0 and b"from 1 second to 30 days" in refused.err, refused
    token = made.text.strip().split("token=")[1]
    host = f"{web['id']}--{PORT}.localhost:{daemon.port}"
    assert made.text.startswith(f"http://{host}/_svc/auth")
    assert (
        httpx.get(f"{daemon.url}/headers", headers={"Host": host, TOKEN: token}).status_code == 200
    )
    link = json.loads(daemon.cli("url", name, PORT, "--json").text)
    file = daemon.cli("url", name, "--file", "/etc/hostname").text.strip()
    assert httpx.get(f"{daemon.url}/dl/{web['id']}/{file.rsplit('/', 1)[1]}").status_code == 200
    assert daemon.cli("url", name, "--file", "/etc/hosts", "--expires", "never").code == 0
    ends = {
        one["path"]: one["expires_at"]
        for one in json.loads(daemon.cli("url", name, "--json").text)
        if "path" in one
    }
    assert (
        ends["/etc/hosts"] is None and ends["/etc/hostname"] is not None
    ), "a day, unless it is said otherwise"
    listed = daemon.cli("url", name)
    assert (
        listed.code == 0
        and link["id"] in listed.text
        and "/etc/hostname" in listed.text
        and token not in listed.text
    )
    assert len(json.loads(daemon.cli("url", name, "--json").text)) == 4
    assert daemon.cli("url", name, "--withdraw", "--id", link["id"]).code == 0
    assert json.loads(daemon.cli("url", name, PORT, "--withdraw", "--json").text) == {
        "withdrawn": 1
    }
    assert json.loads(daemon.cli("url", name, "--withdraw", "--json").text) == {"withdrawn": 2}
    assert (
        httpx.get(f"{daemon.url}/headers", headers={"Host": host, TOKEN: token}).status_code == 401
    )
    assert daemon.cli("url", "no-such-box", PORT).code == 125
    assert daemon.cli("url", name, "0").code == 125
    assert daemon.cli("url", name, PORT, "--file", "/x").code == 125
    help_text = daemon.cli("url", "--help")
    assert help_text.code == 0 and "Examples" in help_text.text


def test_a_service_domain_and_a_public_url(own_daemon):
    daemon = own_daemon(
        "--public-url",
        "https://cay.example:8443",
        "--service-domain",
        "box.example",
        "--trusted-proxy",
        "127.0.0.1",
    )
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        start_web(http, box["id"])
        link = issue(http, box["id"], port=PORT)
        base = f"https://{box['id']}--{PORT}.box.example:8443"
        assert (link["url"], link["browser_url"]) == (
            base,
            f"{base}/_svc/auth?token={link['token']}",
        )
        host = {
            "Host": f"{box['id']}--{PORT}.box.example:8443",
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "9.9.9.9",
        }
        path, headers = seen(
            httpx.get(f"{daemon.url}/headers", headers={**host, TOKEN: link["token"]})
        )
        assert (headers["x-forwarded-proto"], headers["x-forwarded-for"]) == ("https", "9.9.9.9")
        cookie = httpx.get(
            f"{daemon.url}/_svc/auth", params={"token": link["token"]}, headers=host
        ).headers["set-cookie"]
        assert cookie.startswith("__Host-cay_service=") and cookie.endswith("; Secure")
        # Under the domain there is nothing else, and localhost is no service's domain any more.
        assert (
            httpx.get(f"{daemon.url}/healthz", headers={"Host": "x.box.example"}).status_code == 404
        )
        local = httpx.get(
            f"{daemon.url}/headers",
            headers={"Host": f"{box['id']}--{PORT}.localhost", TOKEN: link["token"]},
        )
        assert local.status_code in (401, 404)
    wrong = new_daemon("--public-url", "https://cay.example", "--service-domain", "example")
    with pytest.raises(RuntimeError, match="may not be in the service domain"):
        wrong.start()
    wrong.process.wait(timeout=60)
    wrong.close()


def test_a_page_of_another_sandbox_has_no_login_over_plain_http(own_daemon):
    """Where browsers do not say who asks (no Sec-Fetch-Site to an untrustworthy origin, no Origin
    at a GET), there is no login."""
    daemon = own_daemon("--service-domain", "box.test", "--trusted-proxy", "127.0.0.1")
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        start_web(http, box["id"])
        link = issue(http, box["id"], port=PORT)
        host = {"Host": f"{box['id']}--{PORT}.box.test"}
        https = {**host, "X-Forwarded-Proto": "https"}

        def log_in(headers):
            return httpx.get(
                f"{daemon.url}/_svc/auth", params={"token": link["token"]}, headers=headers
            )

        told = log_in(host)
        assert (told.status_code, told.headers["x-cay-error"]) == (
            403,
            "login_needs_tls",
        ) and "set-cookie" not in told.headers
        assert "--tls" in told.text and "X-Forwarded-Proto: https" in told.text
        for name in ("cay_service", "__Host-cay_service"):  # what a browser may have from before
            got = httpx.get(
                f"{daemon.url}/headers", headers={**host, "Cookie": f"{name}={link['token']}"}
            )
            assert got.status_code == 401 and "--tls" in got.text, name
        assert (
            httpx.get(f"{daemon.url}/headers", headers={**host, TOKEN: link["token"]}).status_code
            == 200
        )
        # Behind TLS browsers send it, and the login counts.
        cookie = log_in(https).headers["set-cookie"].split(";")[0]
        assert (
            httpx.get(f"{daemon.url}/headers", headers={**https, "Cookie": cookie}).status_code
            == 200
        )
        got = httpx.get(
            f"{daemon.url}/headers",
            headers={
                **https,
                "Cookie": cookie,
                "Sec-Fetch-Site": "same-site",
                "Sec-Fetch-Mode": "no-cors",
            },
        )
        assert got.status_code == 403
