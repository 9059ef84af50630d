"""Links and keys end, and with them what is open through them; who has one leaves connections to
others."""
import contextlib
import datetime
import json
import socket
import subprocess
import time

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from harness import AS_ROOT, CAY, slow, wait_until
from service_links import (
    PORT,
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


def test_an_expired_link_says_so(daemon, http, web):
    link = issue(http, web["id"], port=PORT, expires_in_s=1)
    with client(daemon, link) as service:

        def ended():
            with contextlib.suppress(
                httpx.TransportError
            ):  # an answer that is under way at the end is cut
                return (got := service.get("/headers")).status_code != 200 and got

        got = wait_until(ended, "its end", 30)
        assert got.status_code == 403 and got.text.startswith("Service link has expired")
    assert http.get(f"/api/v1/sandboxes/{web['id']}/links").json()["items"] == []


def test_a_withdrawal_ends_it_and_cuts_what_is_open(daemon, http, link, service):
    other = issue(http, link["sandbox_id"], port=PORT)
    with websocket(daemon, link) as cut, websocket(daemon, other) as stays:
        with service.stream("GET", f"/bytes?{4 << 30}") as down:
            pieces = down.iter_raw()
            next(pieces)
            assert (
                http.delete(
                    f"/api/v1/sandboxes/{link['sandbox_id']}/links/{link['id']}"
                ).status_code
                == 204
            )
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                for _ in pieces:
                    pass
        with pytest.raises(ConnectionClosed):
            cut.recv(timeout=slow(30))
        assert service.get("/headers").status_code == 401
        stays.send("still")
        assert stays.recv(timeout=slow(30)) == "still"
        assert http.delete(
            f"/api/v1/sandboxes/{link['sandbox_id']}/links", params={"port": PORT}
        ).json() == {"withdrawn": 1}
        with pytest.raises(ConnectionClosed):
            stays.recv(timeout=slow(30))


def ended(ws):
    """The close that ends it: code and words."""
    with pytest.raises(ConnectionClosed) as end:
        while True:
            ws.recv(timeout=slow(30))
    assert end.value.rcvd is not None, "a close frame, not a broken connection"
    return end.value.rcvd.code, end.value.rcvd.reason


def test_what_is_open_ends_when_its_link_expires(daemon, http, web):
    short, long = (
        issue(http, web["id"], port=PORT, expires_in_s=seconds) for seconds in (int(slow(10)), 600)
    )  # long enough to open all these first
    ends = datetime.datetime.fromisoformat(short["expires_at"]).timestamp()
    with websocket(daemon, short) as ws, websocket(daemon, long) as stays, client(
        daemon, short
    ) as service, client(daemon, long) as other:
        ws.send("hello")
        assert ws.recv(timeout=slow(30)) == "hello"
        # One that is read, one of which nobody reads, and one whose service is silent.
        with service.stream("GET", f"/bytes?{1 << 42}") as down, service.stream(
            "GET", f"/bytes?{1 << 42}"
        ) as unread, service.stream("GET", "/events") as silent, other.stream(
            "GET", "/events"
        ) as stays_silent:
            next(stays_silent.iter_raw())
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                for _ in down.iter_raw():
                    pass
            assert -1 < time.time() - ends < slow(3)
            assert ended(ws) == (1008, "this link has expired: ask for a new one")
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                for _ in silent.iter_raw():
                    pass
            taken = 0
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                for piece in unread.iter_raw():
                    taken += len(piece)
            assert taken < LIMIT, "what its sockets held, and no more"
        assert time.time() - ends < slow(5)
        stays.send("still")  # the control
        assert stays.recv(timeout=slow(30)) == "still"


def test_a_withdrawal_tells_a_websocket_so(daemon, http, link):
    with websocket(daemon, link) as ws:
        http.delete(f"/api/v1/sandboxes/{link['sandbox_id']}/links/{link['id']}").raise_for_status()
        assert ended(ws) == (1008, "the link was withdrawn")


@pytest.fixture
def lent(own_daemon):
    """A daemon, a client with a second key, and what takes that key away."""
    daemon = own_daemon()

    def key(*words):
        return subprocess.run(
            [*AS_ROOT, CAY, "key", "--data", daemon.data, *words],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout.strip()

    with httpx.Client(
        base_url=daemon.url,
        headers={"X-Api-Key": key("create", "lent", "--tenant", "default")},
        timeout=slow(60),
    ) as http:
        yield daemon, http, lambda: key("remove", "lent")


def test_what_is_open_ends_with_its_key(lent):
    daemon, http, remove = lent
    box = http.post("/api/v1/sandboxes", json={}).json()
    ref = f"/api/v1/sandboxes/{box['id']}"
    start_web(http, box["id"])
    link = issue(http, box["id"], port=PORT)
    with daemon.http() as owner, contextlib.ExitStack() as open_:

        def by_key(key):
            return open_.enter_context(
                connect(
                    f"ws://127.0.0.1:{daemon.port}{ref}/tunnel?port={PORT}",
                    additional_headers={"X-Api-Key": key},
                    compression=None,
                    open_timeout=slow(30),
                )
            )

        mine, others = by_key(http.headers["X-Api-Key"]), by_key(daemon.key)
        by_link = open_.enter_context(websocket(daemon, link))
        ticking = http.post(
            f"{ref}/commands",
            json={
                "argv": ["sh", "-c", "while sleep 0.1; do echo tick; done"],
                "wait": False,
                "timeout_s": 0,
            },
        ).json()
        output = open_.enter_context(
            http.stream(
                "GET",
                f"{ref}/commands/{ticking['id']}/output",
                params={"stream": "stdout", "follow": "true"},
            )
        )
        pieces = output.iter_raw()
        next(pieces)
        events = open_.enter_context(
            http.stream("GET", "/api/v1/events", headers={"Accept": "text/event-stream"})
        )
        began = time.monotonic()
        remove()
        assert ended(mine) == (1008, "the API key was removed, or its time is over")
        assert ended(by_link) == (1008, "the key that made this link was removed")
        for stream in (pieces, events.iter_raw()):
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                for _ in stream:
                    pass
        assert time.monotonic() - began < slow(5)
        # The control: another's right, and the command itself.
        others.send(b"GET /headers HTTP/1.0\r\n\r\n")
        assert b"200 OK" in others.recv(timeout=slow(30))
        assert owner.get(f"{ref}/commands/{ticking['id']}").json()["state"] == "running"


def test_a_link_ends_when_the_daemons_own_key_is_replaced(own_daemon):
    """DATA/api-key and CAY_API_KEY have no line among the keys; what they made ends with them all
    the same."""
    daemon = own_daemon()

    def make():
        with daemon.http() as http:
            return issue(http, box["id"], port=PORT), issue(http, box["id"], path="/etc/hostname")

    def answers(made):
        by_host, file = made
        with client(daemon, by_host) as service:
            return (
                service.get("/headers").status_code,
                httpx.get(
                    f"{daemon.url}/dl/{box['id']}/{file['token']}", timeout=slow(60)
                ).status_code,
            )

    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        start_web(http, box["id"])
    first = make()
    daemon.restart()
    assert answers(first) == (200, 200), "the control: it is the same key"
    own = daemon.key
    (daemon.data / "api-key").write_text("cay_another\n")
    daemon.restart()
    assert answers(first) == (401, 403)
    second = make()
    assert answers(second) == (200, 200)
    daemon.prefix = ["env", "CAY_API_KEY=cay_given"]
    daemon.restart().key = "cay_given"
    assert answers(second) == (401, 403)
    third = make()
    daemon.restart().key = "cay_given"
    assert answers(third) == (200, 200)
    daemon.prefix = []
    (daemon.data / "api-key").write_text(f"{own}\n")
    daemon.restart()
    assert [answers(made) for made in (first, second, third)] == [
        (401, 403)
    ] * 3, "a key that comes back brings no link back"


def test_a_request_that_waits_is_told_that_its_key_is_gone(lent):
    daemon, http, remove = lent
    box = http.post("/api/v1/sandboxes", json={}).json()
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=slow(30)) as sock:
        body = json.dumps({"argv": ["sleep", "600"], "timeout_s": 0}).encode()
        sock.sendall(
            (
                f"POST /api/v1/sandboxes/{box['id']}/commands HTTP/1.1\r\n"
                "Host: localhost\r\n"
                "Content-Type: application/json\r\n"
                f"X-Api-Key: {http.headers['X-Api-Key']}\r\nContent-Length: {len(body)}\r\n\r\n"
            ).encode()
            + body
        )
        with daemon.http() as owner:
            wait_until(
                lambda: owner.get(f"/api/v1/sandboxes/{box['id']}/commands").json()["items"],
                "the command",
                30,
            )
        remove()
        answer = b""
        while data := sock.recv(65536):
            answer += data
    assert b" 401 " in answer.split(b"\r\n")[0] and b"the API key was removed" in answer


def test_a_links_holder_leaves_connections_to_others(daemon, http, link):
    """One link has 512 of the daemon's 4096 connections; without a bound it had them all."""
    most, other = 512, issue(http, link["sandbox_id"], port=PORT)

    def status(sock, one=link):
        sock.sendall(
            f"GET /_svc/auth?token={one['token']} HTTP/1.1\r\nHost: {host_of(one)}\r\n\r\n".encode()
        )
        return sock.recv(65536)

    with contextlib.ExitStack() as held:

        def dial():
            return held.enter_context(
                socket.create_connection(("127.0.0.1", daemon.port), timeout=slow(30))
            )

        kept = [dial() for _ in range(most)]
        assert all(status(sock).startswith(b"HTTP/1.1 303 ") for sock in kept)
        for _ in range(20):
            answer = status(dial())
            assert (
                answer.startswith(b"HTTP/1.1 429 ")
                and b"this link has 512 connections open" in answer
            )
        assert status(kept[0]).startswith(b"HTTP/1.1 303 "), "what it has goes on"
        assert status(dial(), other).startswith(b"HTTP/1.1 303 "), "the control: another link"
        assert (
            httpx.get(f"{daemon.url}/api/v1/version", headers={"X-Api-Key": daemon.key}).status_code
            == 200
        )
    wait_until(lambda: status(dial_once(daemon)).startswith(b"HTTP/1.1 303 "), "room again", 30)


def dial_once(daemon):
    return socket.create_connection(("127.0.0.1", daemon.port), timeout=slow(30))


def test_a_link_outlives_the_daemon_and_ends_with_its_key(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        start_web(http, box["id"])
        link = issue(http, box["id"], port=PORT)
        made = subprocess.run(
            [*AS_ROOT, CAY, "key", "--data", daemon.data, "create", "lent", "--tenant", "default"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        lent = issue(
            httpx.Client(base_url=daemon.url, headers={"X-Api-Key": made.stdout.strip()}),
            box["id"],
            port=PORT,
        )
        daemon.restart()
        for one in (link, lent):
            with client(daemon, one) as service:
                assert service.get("/headers").status_code == 200
        subprocess.run(
            [*AS_ROOT, CAY, "key", "--data", daemon.data, "remove", "lent"], check=True, timeout=60
        )
        with client(daemon, lent) as service:
            assert service.get("/headers").status_code == 401
        with client(daemon, link) as service:
            assert service.get("/headers").status_code == 200
            began = time.monotonic()
            with websocket(daemon, link) as ws:
                daemon.terminate()
                with pytest.raises(ConnectionClosed):
                    ws.recv(timeout=slow(30))
            assert time.monotonic() - began < slow(4)  # what is open does not hold up the end
        daemon.start(listen=f"127.0.0.1:{daemon.port}")
