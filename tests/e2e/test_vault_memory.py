"""What one sandbox makes the broker hold: idle WebSockets, requests that nobody answers, and heads
full of stand-ins."""
import contextlib
import os
import re
import socket
import threading

import outside_world as world_of
import pytest
from harness import SANITIZED, slow, wait_until
from vault_box import (
    STAND_IN,
    box,
    serving,
    set_secret,
    vaulted,
    world,
)  # noqa: F401  (fixtures too)
from vault_world import ADDRESS, NAMES

pytestmark = [
    pytest.mark.depth,
    pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing()),
]

PORT, MOST = 9557, 256
PROMISED = 64 << 20  # SPEC.md C140
# Opens so many WebSockets, sends so many requests that nobody answers, or heads full of stand-ins,
# and stays.
ASK = r"""
import base64, os, resource, socket, ssl, sys, time
websockets, waiting, full = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
token, port = sys.argv[4], int(sys.argv[5])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
context, all, lost = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"]), [], 0
HEAD = f"Host: api.vault.test:{port}\r\n"
UPGRADE = ("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode() + "\r\n")
FIELD = "Authorization: " + token * 20 + "\r\n"
STAND_INS = FIELD * (60_000 // len(FIELD))
answers = {}
def open_one(head, answered):
    global lost
    try:
        one = context.wrap_socket(socket.create_connection(("api.vault.test", port), timeout=60),
            server_hostname="api.vault.test")
        one.sendall(head.encode() + b"\r\n")
        if answered:
            status = one.recv(65536).split(b" ")[1:2]
            if not status: raise OSError
            answers[status[0].decode()] = answers.get(status[0].decode(), 0) + 1
        all.append(one)
    except OSError: lost += 1
for _ in range(websockets): open_one("GET /socket HTTP/1.1\r\n" + HEAD + UPGRADE, True)
for _ in range(waiting): open_one("GET /silent HTTP/1.1\r\n" + HEAD, False)
for _ in range(full): open_one("GET /silent HTTP/1.1\r\n" + HEAD + STAND_INS,
    "answered" in sys.argv)
print("open", len(all), lost, answers, flush=True)
time.sleep(600)
"""


class Silent:
    """Says yes to a WebSocket, and nothing else ever; of heads that go on and on it reads no more
    than their beginning."""

    def __init__(self, context):
        self.context, self.asked, self.peers = context, 0, []
        self.server = socket.create_server((ADDRESS, PORT), backlog=1024)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(
                    target=self.one, args=(self.server.accept()[0],), daemon=True
                ).start()

    def one(self, peer):
        with contextlib.suppress(OSError):
            stream = self.context.wrap_socket(peer, server_side=True)
            self.peers.append(stream)
            if b"/socket" in stream.recv(4096):
                stream.sendall(
                    b"HTTP/1.1 101 Switching Protocols\r\n"
                    b"Upgrade: websocket\r\n"
                    b"Connection: Upgrade\r\n"
                    b"\r\n"
                )
            self.asked += 1

    def stop(self):
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        for one in self.peers:
            with contextlib.suppress(OSError):
                one.close()


@pytest.fixture
def silent(vaulted, world):  # noqa: F811
    set_secret(vaulted, "long", "sk-long-" + "x" * 2040, f"api.vault.test:{PORT}")
    made = Silent(world.leaf("silent", NAMES))
    yield made
    made.stop()
    vaulted.cli("secret", "rm", "long")


def held(daemon):
    """Of the part that serves."""
    with open(f"/proc/{serving(daemon, 'broker')}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) << 10


def asks(one, token, *counts, words=()):
    command = one.daemon.cli(
        "exec",
        "-d",
        one.name,
        "--",
        "python3",
        "-c",
        ASK,
        *map(str, counts),
        token,
        str(PORT),
        *words,
    ).text.strip()
    line = wait_until(
        lambda: one.daemon.cli("logs", one.name, command).text.strip(), "what it opened", slow(240)
    )
    assert line.startswith("open "), line
    _, opened, lost, answers = line.split(" ", 3)
    return int(opened), int(lost), answers


@pytest.fixture
def one(vaulted, silent):  # noqa: F811
    with box(vaulted, {**STAND_IN, "secret": "long", "hosts": [f"api.vault.test:{PORT}"]}) as made:
        yield made


@pytest.mark.skipif(SANITIZED, reason="a sanitizer has memory of its own, and keeps what was freed")
def test_what_waits_holds_little_of_the_broker(vaulted, one, silent):  # noqa: F811
    token, before = one.token(), held(vaulted)
    opened, lost, answers = asks(one, token, 200, 50, 0)
    assert (opened, lost, answers) == (250, 0, "{'101': 200}"), "the control: all of them are open"
    wait_until(lambda: silent.asked >= 250, "all that was asked", slow(60))
    grown = held(vaulted) - before
    print(
        f"200 idle WebSockets and 50 requests without an answer hold {grown >> 20} MiB of the "
        "broker"
    )
    assert grown < PROMISED, grown


def test_so_many_connections_are_at_work_for_one_sandbox_and_no_more(vaulted, one):  # noqa: F811
    opened, lost, _ = asks(one, one.token(), MOST + 40, 0, 0)
    assert (opened, lost) == (MOST, 40)
    wait_until(
        lambda: one.line(reason="too_many_connections", verdict="refused")["count"] == 40,
        "a count of those",
    )
    with box(vaulted, {**STAND_IN, "secret": "long", "hosts": [f"api.vault.test:{PORT}"]}) as other:
        assert asks(other, other.token(), 2, 0, 0)[:2] == (2, 0), "another sandbox has its own"


def test_a_head_full_of_stand_ins_is_refused_before_it_is_written(
    vaulted, one, silent
):  # noqa: F811
    token, before = one.token(), held(vaulted)
    opened, lost, answers = asks(one, token, 0, 0, 40, words=["answered"])
    assert (opened, lost, answers) == (40, 0, "{'400': 40}") and silent.asked == 0
    one.line(reason="bad_request", verdict="refused")
    grown = held(vaulted) - before
    print(f"40 heads full of stand-ins: {grown >> 20} MiB")
    assert grown < PROMISED / 2, grown


@pytest.mark.skipif(
    "CAY_FIGURES" not in os.environ,
    reason="figures for docs/measured/vault.txt (CAY_FIGURES=1, with CAY_BUILD of another state, "
    "too)",
)
@pytest.mark.parametrize(
    "counts",
    [(1000, 0, 0), (0, 300, 0), (0, 0, 40)],
    ids=["1000 idle WebSockets", "300 unanswered requests", "40 heads full of stand-ins"],
)
def test_figures(vaulted, one, silent, counts):  # noqa: F811
    token, before = one.token(), held(vaulted)
    opened, lost, answers = asks(one, token, *counts)
    most = [held(vaulted)]
    with contextlib.suppress(AssertionError):
        wait_until(lambda: most.append(held(vaulted)) or False, "nothing", 5)
    print(
        "\n"
        f"FIGURES {counts}: {before >> 20} -> {max(most) >> 20} MiB; opened {opened}, refused "
        f"{lost}"
    )
