"""What the gate's sockets hold in the kernel, which counts it for no sandbox: bounded for one
sandbox and for all, whatever is left unread."""
import contextlib
import os
import re
import socket
import subprocess
import threading

import outside_world as world_of
import pytest
from harness import new_daemon, processes_of, slow, wait_until
from outside_world import SETTINGS, V4, World, standing
from test_gate import Box

pytestmark = [
    pytest.mark.depth,
    pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing()),
]

PROMISED = 384 << 20  # SPEC.md C25
FLOOD, SMALL = 7010, 7011
UNREAD = r"""
import resource, socket, sys, time
address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
all = []
for _ in range(count):
    s = socket.create_connection((address, port), timeout=60); all.append(s)
    for _ in range(int(sys.argv[4])): s.recv(65536)  # a little, so that the way is warm
print("open", flush=True)
time.sleep(600)
"""


class Pouring:
    """Sends for as long as it is let, and keeps nothing of its own: the sockets' buffers are small
    here."""

    def __init__(self):
        self.servers = []
        self.serve(FLOOD, self.pour)
        self.serve(SMALL, lambda peer: peer.sendall(b"x" * 12_000))

    def serve(self, port, handle):
        server = socket.create_server((V4, port), backlog=1024)
        self.servers.append(server)

        def one(peer):
            with peer, contextlib.suppress(OSError):
                handle(peer)

        def loop():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=one, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=loop, daemon=True).start()

    @staticmethod
    def pour(peer):
        chunk = bytes(1 << 20)
        while True:
            peer.sendall(chunk)

    def stop(self):
        for server in self.servers:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            server.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with standing(World(tmp_path_factory.mktemp("world"))) as made:
        pouring = Pouring()
        try:
            yield made
        finally:
            pouring.stop()


@pytest.fixture
def serving(world, request):
    daemons = []

    def start(more=""):
        config = world.directory / f"memory-{len(daemons)}-{os.urandom(3).hex()}.toml"
        config.write_text(SETTINGS + more)
        daemon = new_daemon("--config", str(config))
        daemon.prefix = world.prefix
        daemons.append(daemon)
        daemon.start()
        return daemon

    yield start
    for daemon in daemons:
        daemon.close(keep_log=request.session.testsfailed > 0)


def held(lines):
    """Bytes that sockets hold, by `ss -m`: received and unread, on their way out, and set aside for
    either."""
    total = 0
    for found in re.finditer(r"skmem:\(r(\d+),rb\d+,t\d+,tb\d+,f(\d+),w(\d+)", lines):
        total += sum(int(number) for number in found.groups())
    return total


def ss(*words):
    return subprocess.run([*words], capture_output=True, text=True, check=True, timeout=60).stdout


def memory_of_gate(box, ports=(FLOOD,)):
    """Of all of its sockets: those outside, by the port that they dialled, and those inside, by the
    gate's own."""
    init = next(
        pid
        for pid, group in processes_of(box.id).items()
        if open(f"/proc/{pid}/comm").read().strip() == "cay-init"
    )
    inside = ss("nsenter", "-t", str(init), "-n", "ss", "-tmnO", "state", "all", "sport = :62617")
    outside = "".join(
        ss("ss", "-tmnO", "state", "all", "dst", V4, "dport", "=", f":{port}") for port in ports
    )
    return held(inside) + held(outside), inside.count("skmem") + outside.count("skmem")


def unread(daemon, box, count, warm=0):
    command = daemon.cli(
        "exec", "-d", box.name, "--", "python3", "-c", UNREAD, V4, str(FLOOD), str(count), str(warm)
    ).text.strip()
    wait_until(
        lambda: daemon.cli("logs", box.name, command).text.strip() == "open",
        "the downloads",
        slow(120),
    )
    settled = [0, -1]

    def still():
        settled.append(memory_of_gate(box)[0])
        return abs(settled[-1] - settled[-2]) < 1 << 20 and abs(settled[-2] - settled[-3]) < 1 << 20

    wait_until(still, "what they hold to stay", slow(60))
    bytes_held, sockets = memory_of_gate(box)
    assert sockets >= 2 * count, sockets
    daemon.cli("kill", box.name, command)
    return bytes_held


def test_unread_downloads_hold_no_more_than_is_promised(serving):
    """Also those that were read for a while first, so that the kernel widened their buffers. The
    control: without the bound it is more."""
    daemon = serving()
    box = Box(daemon, "open")
    cold, warm = unread(daemon, box, 200), unread(daemon, box, 200, 40)
    lifted = serving(
        "socket_memory_bytes = 1099511627776\nsocket_memory_total_bytes = 1099511627776\n"
    )
    control = unread(lifted, Box(lifted, "open"), 200)
    print(
        f"200 unread downloads of one sandbox: {cold >> 20} MiB; read for a while first: "
        f"{warm >> 20} MiB; without the bound {control >> 20} MiB"
    )
    assert max(cold, warm) < PROMISED and control > 2 * cold, (cold, warm, control)


HALF_CLOSED = r"""
import socket, sys, time
address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
all, refused = [], 0
for _ in range(count):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048); s.settimeout(60)
    try: s.connect((address, port)); s.recv(1); s.shutdown(socket.SHUT_WR); all.append(s)
    except OSError: refused += 1
print(len(all), refused, flush=True)
time.sleep(600)
"""
HURRY = r"""
import socket, sys
for _ in range(4000):
    s = socket.socket()
    try: s.connect((sys.argv[1], 7003))
    except OSError: pass
    s.close()
print("done")
"""


def test_what_is_left_half_closed_counts_and_so_does_a_hurry(serving):
    """16 MiB are enough for about 70 connections. Those whose server has ended, and whose client
    reads nothing more, are among them."""
    daemon = serving("socket_memory_bytes = 16777216\n")
    box, other = Box(daemon, "open"), Box(daemon, "packages")
    command = daemon.cli(
        "exec", "-d", box.name, "--", "python3", "-c", HALF_CLOSED, V4, str(SMALL), "150"
    ).text.strip()
    opened, refused = map(
        int,
        wait_until(
            lambda: daemon.cli("logs", box.name, command).text.split(), "the connections", slow(60)
        ),
    )
    assert 20 < opened < 100 and refused == 150 - opened, (opened, refused)
    # The line is there with the first of them, and counts the others as they are reported.
    wait_until(
        lambda: box.line(reason="too_many_connections", verdict="refused")["count"] == refused,
        "a count of all that were refused",
    )
    echo = {"host": V4, "port": 7003}
    assert other.attempt(echo)[0] == ["ping"]
    daemon.cli("kill", box.name, command)
    wait_until(lambda: box.attempt(echo)[0] == ["ping"], "room again")
    assert box.python(HURRY, V4, timeout=120).text == "done\n"
    assert box.line(reason="too_many_new_connections", verdict="refused")["count"] > 0
    assert other.attempt(echo)[0] == ["ping"]
