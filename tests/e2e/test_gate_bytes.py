"""How many bytes one sandbox may move in all, where the operator says so: not one more goes out or
comes in, over gate, daemon and sandbox."""
import contextlib
import json
import os
import pathlib
import signal
import threading

import outside_world as world_of
import pytest
from harness import new_daemon, slow, wait_until
from outside_world import SETTINGS, V4, World, standing
from test_gate import Box
from vault_box import HEADERS, box, serving, set_secret
from vault_world import VaultWorld

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

MOST, TAKING, GIVING = 300_000, 7012, 7013
SEND = r"""
import socket, sys
streams, said = [], 0
try:
    for _ in range(3): streams.append(socket.create_connection((sys.argv[1], int(sys.argv[2])),
        timeout=20))
    while said < 64_000_000:  # more than buffers hold
        for stream in streams:
            stream.sendall(b"x" * 32768); said += 32768
    print("all")
except OSError: print("cut")
"""
TAKE = r"""
import socket, sys
got = 0
try:
    stream = socket.create_connection((sys.argv[1], int(sys.argv[2])),
        timeout=20)  # all may have come, and it be cut, before this has returned
    while got < 2_000_000:
        part = stream.recv(65536)
        if not part: break
        got += len(part)
except OSError: pass
print(got)
"""
# Slowly, over ever new connections; until 8 in a row are refused.
AGAIN = r"""
import socket, sys, time
refused = 0
while refused < 8:
    try:
        with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20) as stream:
            while True:
                stream.sendall(b"x" * 4096)
                stream.settimeout(0.1)
                try: stream.recv(1); raise OSError
                except TimeoutError: refused = 0
    except OSError: refused += 1; time.sleep(0.1)
print("none")
"""
ECHO = {"host": V4, "port": 7003}


class Counted:
    """A server that takes and one that gives, without end."""

    def __init__(self, world):
        self.taken, self.lock = 0, threading.Lock()
        world.serve(V4, TAKING, self.take)
        world.serve(V4, GIVING, self.give)

    def take(self, stream):
        while part := stream.recv(65536):
            with self.lock:
                self.taken += len(part)

    @staticmethod
    def give(stream):
        while True:
            stream.sendall(bytes(65536))


def no_such_names(at):
    """Says so at once, whatever is asked."""
    with contextlib.suppress(OSError):
        while (got := at.recvfrom(512))[0]:
            at.sendto(got[0][:2] + b"\x81\x83" + got[0][4:], got[1])


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    with standing(World(tmp_path_factory.mktemp("world"))) as world, world.nameserver() as asked:
        threading.Thread(target=no_such_names, args=(asked,), daemon=True).start()
        yield world, Counted(world)


@pytest.fixture
def capped(outside, request, tmp_path):
    world, counted = outside
    config = tmp_path / "bytes.toml"

    def limit(sent, received):
        config.write_text(
            SETTINGS + f"sandbox_sent_bytes = {sent}\nsandbox_received_bytes = {received}\n"
        )

    limit(MOST, MOST)
    daemon = new_daemon("--config", str(config))
    daemon.prefix = world.with_etc(
        "hosts", "resolv.conf"
    )  # this host's own name servers may take seconds for each name
    daemon.start()
    yield daemon, limit, counted
    daemon.close(keep_log=request.session.testsfailed > 0)


def test_not_a_byte_more_goes_out(capped):
    daemon, limit, counted = capped
    box, other = Box(daemon, "open"), Box(daemon, "open")
    before = counted.taken
    assert box.python(SEND, V4, str(TAKING)).text == "cut\n"
    wait_until(lambda: box.net()["sent_bytes"] == MOST, "a count of all that went out")
    assert (
        0 < counted.taken - before <= MOST
    )  # a reset throws away what the server had not read yet
    line = box.line(reason="bytes_used_up", verdict="refused", port=TAKING)
    assert (
        line["in_the_way"] == "limit"
        and "network.sandbox_sent_bytes" in line["advice"]
        and not line["needs"]
    )

    refused = [
        "reset",
        "no name",
        "403 This sandbox has moved all the bytes that the operator gives it.\n",
    ]
    tries = [
        ECHO,
        {"host": "allowed.gate.test", "port": 80, "kind": "http"},
        {"host": V4, "port": 80, "kind": "http"},
    ]
    assert box.attempt(*tries)[0] == refused
    said = daemon.cli("net", box.name).text
    assert (
        "has moved all the bytes that the operator gives it" in said
        and "in all: 293.0 KiB out" in said
    ), said
    assert other.attempt(ECHO)[0] == ["ping"], "each sandbox has its own"

    os.kill(serving(daemon, "gate"), signal.SIGKILL)  # what it counted outlives it
    wait_until(lambda: other.attempt(ECHO)[0] == ["ping"], "another gate", slow(20))
    assert box.attempt(*tries)[0] == refused
    for word in ("stop", "start"):
        assert daemon.cli(word, box.name).code == 0
    assert box.attempt(*tries)[0] == refused

    limit(2 * MOST, 0)  # more, and the other way without end
    daemon.restart()
    wait_until(lambda: box.attempt(ECHO)[0] == ["ping"], "a gate that goes by it", slow(20))
    assert box.python(SEND, V4, str(TAKING)).text == "cut\n"
    wait_until(lambda: box.net()["sent_bytes"] == 2 * MOST, "a count of all that went out")
    limit(0, 0)  # the control
    daemon.restart()
    wait_until(lambda: box.attempt(ECHO)[0] == ["ping"], "a gate that goes by it", slow(20))
    assert box.python(SEND, V4, str(TAKING)).text == "all\n"


NAMES = r"""
import socket
for number in range(300):
    try: socket.getaddrinfo(f"{number:060}.of.gate.test", 80)
    except OSError: pass
print("asked")
"""


@pytest.mark.depth
def test_names_that_are_looked_up_are_bytes_that_go_out(capped):
    """The one who answers for a domain reads what is asked of it."""
    daemon, limit, _ = capped
    limit(20_000, 0)
    daemon.restart()
    box = Box(daemon, "open")
    assert box.python(NAMES).text == "asked\n"
    assert (
        box.line(
            reason="bytes_used_up", verdict="refused", host=f"{20_000 // 73:060}.of.gate.test"
        )["port"]
        == 0
    )
    wait_until(lambda: box.net()["sent_bytes"] > 20_000 - 73, "a count of all that was asked")
    assert box.net()["sent_bytes"] <= 20_000
    limit(0, 0)  # the control
    daemon.restart()
    other = Box(daemon, "open")
    assert other.python(NAMES).text == "asked\n"
    wait_until(lambda: other.net()["sent_bytes"] == 300 * 73, "a count of all that was asked")


@pytest.mark.depth
def test_a_gate_that_is_killed_in_the_middle_gives_no_more(capped):
    """What it moved within its last second is in no count, but was set aside before it went."""
    daemon, _, counted = capped
    box, before = Box(daemon, "open"), counted.taken
    command = daemon.cli(
        "exec", "-d", box.name, "--", "python3", "-c", AGAIN, V4, str(TAKING)
    ).text.strip()
    for _ in range(5):
        was = counted.taken
        wait_until(
            lambda was=was: counted.taken > was
            or daemon.cli("logs", box.name, command).text == "none\n",
            "more, or the end",
            slow(30),
        )
        os.kill(serving(daemon, "gate"), signal.SIGKILL)
    wait_until(lambda: daemon.cli("logs", box.name, command).text == "none\n", "the end", slow(60))
    assert 0 < counted.taken - before <= MOST
    box.line(reason="bytes_used_up", verdict="refused", port=TAKING)


@pytest.mark.depth
def test_not_a_byte_more_comes_in(capped):
    daemon, limit, _ = capped
    box = Box(daemon, "open")
    assert int(box.python(TAKE, V4, str(GIVING)).text) <= MOST
    wait_until(lambda: box.net()["received_bytes"] == MOST, "a count of all that came in")
    assert box.attempt(ECHO)[0] == ["reset"]
    limit(MOST, 0)
    daemon.restart()
    wait_until(lambda: box.attempt(ECHO)[0] == ["ping"], "a gate that goes by it", slow(20))
    assert int(box.python(TAKE, V4, str(GIVING)).text) >= 2_000_000, "the control"


@pytest.mark.depth
def test_what_goes_by_a_secret_counts_too(request, tmp_path):
    with standing(VaultWorld(tmp_path, "sk-live-" + os.urandom(24).hex())) as world:
        config = pathlib.Path(tmp_path / "net.toml")
        config.write_text(
            config.read_text().replace(
                "[network]\n",
                "[network]\nsandbox_received_bytes = 5000\nsandbox_sent_bytes = 30000\n",
            )
        )
        daemon = new_daemon(*world.settings)
        daemon.prefix = world.prefix
        daemon.start()
        try:
            set_secret(daemon, "api", world.secret, "api.vault.test")
            with box(daemon, HEADERS) as one:
                for asked in range(100):
                    status, _ = one.curl("https://api.vault.test/x", "-m", "10")
                    if status != 200:
                        break
                assert 2 < asked < 60, asked
                one.line(host="api.vault.test", verdict="refused", reason="bytes_used_up")
                moved = json.loads(daemon.cli("net", "--json", one.name).text)["received_bytes"]
                assert 5000 <= moved < 5000 + 4096, moved  # the broker tells of an answer behind it
                seen = len(world.seen)
                assert (
                    one.curl("https://api.vault.test/x", "-m", "10")[0] != 200
                    and len(world.seen) == seen
                )
            with box(daemon, HEADERS) as sender:  # headers carry as much as bodies do
                for asked in range(100):
                    status, _ = sender.curl(
                        "https://api.vault.test/x", "-m", "10", "-H", "X-Much: " + "x" * 8000
                    )
                    if status != 200:
                        break
                assert 1 < asked < 8, asked
                sender.line(host="api.vault.test", verdict="refused", reason="bytes_used_up")
            with box(daemon, HEADERS) as another:
                assert another.json("https://api.vault.test/x")["how"] == "Authorization"
        finally:
            daemon.close(keep_log=request.session.testsfailed > 0)
