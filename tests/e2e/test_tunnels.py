"""Tunnels: `cay tunnel` and the native WebSocket; bytes, ends, refusals, and programs inside that
misbehave."""
import contextlib
import hashlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from file_daemon import daemon, http  # noqa: F401 (fixtures)
from harness import CAY, SANITIZED, keeper_of, slow, wait_until
from service_links import start_server

SERVER = (pathlib.Path(__file__).resolve().parent.parent / "inside_server.py").read_text()
FIRST = 7000
ECHO, DIGEST, GREET, STUCK, BROKEN, FLOOD, ACCEPTS_NOBODY, PEER = range(FIRST, FIRST + 8)
NOBODY = FIRST + 99


@pytest.fixture
def served(http, box):
    start_server(http, box["id"], SERVER, FIRST)
    return box


@contextlib.contextmanager
def tunnel(daemon, ref, *ports):
    """`cay tunnel`; gives the local ports in order, and the process."""
    process = subprocess.Popen(
        [CAY, "tunnel", "--json", ref, *map(str, ports)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **daemon.env},
    )
    try:
        lines = [json.loads(process.stdout.readline()) for _ in ports]
        yield [line["local_port"] for line in lines], process
    finally:
        process.kill()
        process.wait()


def dial(port):
    return socket.create_connection(("127.0.0.1", port), timeout=slow(60))


def read_all(sock):
    out = b""
    while data := sock.recv(65536):
        out += data
    return out


def block(number):
    return hashlib.sha256(str(number).encode()).digest() * 2048  # 64 KiB


def exchange(port, blocks):
    """Sends and reads back at once; returns both digests and the bytes that came."""
    sent, got, size = hashlib.sha256(), hashlib.sha256(), 0
    with dial(port) as sock:

        def send():
            for number in range(blocks):
                sent.update(block(number))
                sock.sendall(block(number))
            sock.shutdown(socket.SHUT_WR)

        sending = threading.Thread(target=send)
        sending.start()
        while data := sock.recv(1 << 18):
            got.update(data)
            size += len(data)
        sending.join()
    return sent.hexdigest(), got.hexdigest(), size


@pytest.mark.heavy
def test_200_mib_each_way_through_two_tunnels_at_once(daemon, served):
    blocks = 3200  # 200 MiB
    with tunnel(daemon, served["name"], f"0:{ECHO}", f"0:{ECHO}") as (ports, _):
        results = [None, None]

        def one(i):
            results[i] = exchange(ports[i], blocks if i == 0 else blocks // 10)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(2)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
    for (sent, got, size), wanted in zip(results, (blocks << 16, (blocks // 10) << 16)):
        assert size == wanted and sent == got
    print(f"440 MiB in all through two tunnels: {440 / took:.0f} MiB/s")
    assert took < slow(120)
    limit = 64 << 20
    if not SANITIZED:
        assert (
            resident_peak(keeper_of(daemon, served["id"])) < limit
            and resident_peak(daemon.process.pid) < limit
        )


def resident_peak(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def test_each_side_ends_for_itself(daemon, served):
    with tunnel(daemon, served["name"], f"0:{DIGEST}", f"0:{GREET}") as (ports, _):
        with dial(ports[0]) as sock:
            sock.sendall(b"x" * 100_000)
            sock.shutdown(socket.SHUT_WR)  # the answer comes only once the program has seen the end
            assert read_all(sock).decode() == hashlib.sha256(b"x" * 100_000).hexdigest()
        with dial(ports[1]) as sock:
            assert read_all(sock) == b"good day\n"
            sock.sendall(b"thanks")  # the other direction is open yet


def test_a_refused_port_is_a_reset_here_and_a_sentence(daemon, served):
    with tunnel(daemon, served["name"], f"0:{NOBODY}") as (ports, process):
        with pytest.raises(ConnectionResetError), dial(ports[0]) as sock:
            sock.recv(1)
        assert f"nothing listens on port {NOBODY}" in process.stderr.readline().decode()


def test_a_connection_broken_inside_is_a_reset_here(daemon, served):
    with tunnel(daemon, served["name"], f"0:{BROKEN}") as (ports, process):
        with pytest.raises(ConnectionResetError), dial(ports[0]) as sock:
            sock.sendall(b"x")
            sock.recv(1)
        assert "broke the connection" in process.stderr.readline().decode()


def test_programs_that_flood_or_never_read_hold_up_nobody_else(daemon, served, run):
    with tunnel(daemon, served["name"], f"0:{STUCK}", f"0:{FLOOD}", f"0:{ECHO}") as (ports, _):
        with dial(ports[0]) as stuck, dial(ports[1]) as flood:
            stuck.settimeout(slow(1))
            sent = 0
            with pytest.raises(TimeoutError):  # back-pressure: it does not vanish into memory
                while True:
                    sent += stuck.send(bytes(65536))
            assert sent < 64 << 20
            assert flood.recv(10) == bytes(10)  # and then nobody reads it
            for number in range(20):
                with dial(ports[2]) as sock:
                    sock.sendall(b"hello")
                    sock.shutdown(socket.SHUT_WR)
                    assert read_all(sock) == b"hello"
            assert run("echo fine")["stdout"] == "fine\n"
    limit = 64 << 20
    if not SANITIZED:
        assert resident_peak(keeper_of(daemon, served["id"])) < limit
        assert resident_peak(daemon.process.pid) < limit


def test_many_connections_at_once(daemon, served):
    with tunnel(daemon, served["name"], f"0:{ECHO}") as (ports, _):
        socks = [dial(ports[0]) for _ in range(100)]
        for number, sock in enumerate(socks):
            sock.sendall(str(number).encode())
        for number, sock in enumerate(socks):
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock) == str(number).encode()
            sock.close()


def test_only_the_sandboxs_own_loopback(daemon, served):
    """The host listens on a port where nothing listens inside; the control is a program inside on
    another."""
    with socket.create_server(("127.0.0.1", 0)) as host:
        host.settimeout(0.2)
        port = host.getsockname()[1]
        with tunnel(daemon, served["name"], f"0:{port}", f"0:{PEER}") as (ports, _):
            with pytest.raises(ConnectionResetError), dial(ports[0]) as sock:
                sock.recv(1)
            with dial(ports[1]) as sock:
                assert read_all(sock) == b"127.0.0.1"
        with pytest.raises(TimeoutError):
            host.accept()


def test_a_restarted_daemon_breaks_what_is_open_and_serves_what_comes(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        start_server(http, box["id"], SERVER, FIRST)
        with tunnel(daemon, box["name"], f"0:{ECHO}") as (ports, _):
            old = dial(ports[0])
            old.sendall(b"x")
            assert old.recv(1) == b"x"
            daemon.kill()
            with pytest.raises(ConnectionResetError):
                old.recv(1)
            waiting = dial(ports[0])  # no daemon: it waits for one
            waiting.sendall(b"later")
            daemon.start(listen=f"127.0.0.1:{daemon.port}")
            waiting.shutdown(socket.SHUT_WR)
            assert read_all(waiting) == b"later"


def test_a_connection_wakes_a_stopped_sandbox(daemon, http, served):
    ref = f"/api/v1/sandboxes/{served['id']}"
    with tunnel(daemon, served["name"], f"0:{ECHO}") as (ports, process):
        assert http.post(f"{ref}/stop").status_code < 300
        with pytest.raises(ConnectionResetError), dial(ports[0]) as sock:
            sock.recv(1)  # awake, but its programs ended with the stop
        assert "nothing listens" in process.stderr.readline().decode()
        assert http.get(ref).json()["state"] == "ready"
        start_server(http, served["id"], SERVER, FIRST)
        with dial(ports[0]) as sock:
            sock.sendall(b"again")
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock) == b"again"


def test_into_a_paused_sandbox_a_connection_is_refused_at_once(daemon, http, served):
    ref = f"/api/v1/sandboxes/{served['id']}"
    with tunnel(daemon, served["name"], f"0:{ECHO}") as (ports, process), dial(ports[0]) as before:
        before.sendall(b"a")
        assert before.recv(1) == b"a"
        assert http.post(f"{ref}/pause").json()["state"] == "paused"
        with pytest.raises(ConnectionResetError), dial(ports[0]) as sock:
            sock.recv(1)
        sentence = process.stderr.readline().decode()
        assert "is paused: resume it" in sentence, sentence
        assert refusal(daemon, served["id"], ECHO) == (409, "sandbox_paused")
        before.sendall(b"b")  # waits with its program
        assert http.post(f"{ref}/resume").json()["state"] == "ready"
        assert before.recv(1) == b"b"
        with dial(ports[0]) as sock:
            sock.sendall(b"again")
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock) == b"again"


def test_a_stop_ends_open_connections(daemon, http, served):
    with tunnel(daemon, served["name"], f"0:{ECHO}") as (ports, _):
        with dial(ports[0]) as sock:
            sock.sendall(b"x")
            assert sock.recv(1) == b"x"
            assert http.post(f"/api/v1/sandboxes/{served['id']}/stop").status_code < 300
            with contextlib.suppress(
                ConnectionResetError
            ):  # or the end, which the kernel tells for a killed program
                assert sock.recv(1) == b""


def test_a_connection_is_use(daemon, http):
    box = http.post("/api/v1/sandboxes", json={"idle_ttl_s": 2}).json()
    ref = f"/api/v1/sandboxes/{box['id']}"
    try:
        start_server(http, box["id"], SERVER, FIRST)
        with tunnel(daemon, box["name"], f"0:{ECHO}") as (ports, _):
            with dial(ports[0]) as sock:
                began = time.monotonic()
                wait_until(lambda: time.monotonic() - began > 5, "more than twice its idle time")
                sock.sendall(b"still")
                assert sock.recv(5) == b"still"
        wait_until(
            lambda: http.get(ref).json()["state"] == "stopped",
            "idle once the connection is closed",
            30,
        )
    finally:
        http.delete(ref)


def test_wrong_use_is_told_at_once(daemon, served):
    got = daemon.cli("tunnel", "no-such-box", "5432")
    assert got.code == 125 and b"no sandbox" in got.err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        got = daemon.cli("tunnel", served["name"], f"{taken.getsockname()[1]}:{ECHO}")
    assert got.code == 125 and b"in use" in got.err
    assert daemon.cli("tunnel", served["name"], "web").code == 125


# The native WebSocket.


def open_socket(daemon, ref, port):
    return connect(
        f"ws://127.0.0.1:{daemon.port}/api/v1/sandboxes/{ref}/tunnel?port={port}",
        additional_headers={"X-Api-Key": daemon.key},
        compression=None,
        max_size=1 << 20,
        open_timeout=slow(60),
    )


def refusal(daemon, ref, port):
    with pytest.raises(InvalidStatus) as refused:
        open_socket(daemon, ref, port)
    return (
        refused.value.response.status_code,
        json.loads(refused.value.response.body)["error"]["reason"],
    )


def test_the_websocket_by_hand(daemon, served):
    with open_socket(daemon, served["id"], DIGEST) as ws:
        ws.send(b"abc")
        ws.send(json.dumps({"type": "eof"}))
        assert ws.recv(timeout=slow(30)).decode() == hashlib.sha256(b"abc").hexdigest()
        assert json.loads(ws.recv(timeout=slow(30))) == {"type": "eof"}
    with open_socket(daemon, served["id"], FLOOD) as ws:
        got = 0
        while got < 256 << 10:
            got += len(ws.recv(timeout=slow(30)))
        assert got == 256 << 10
        with pytest.raises(TimeoutError):
            ws.recv(timeout=0.3)  # no more without credit
        ws.send(json.dumps({"type": "credit", "bytes": 5}))
        assert ws.recv(timeout=slow(30)) == bytes(5)


def test_a_polite_end_is_told_to_a_websocket_that_is_sent_to_all_the_while(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        start_server(http, box["id"], SERVER, FIRST)
    codes = []

    def read():
        with open_socket(daemon, box["id"], FLOOD) as ws, pytest.raises(ConnectionClosed) as closed:
            while True:
                ws.send(json.dumps({"type": "credit", "bytes": len(ws.recv(timeout=slow(30)))}))
                under_way.set()
        codes.append(closed.value.rcvd.code if closed.value.rcvd else None)

    for _ in range(5):
        under_way = threading.Event()
        reader = threading.Thread(target=read)
        reader.start()
        assert under_way.wait(slow(30))
        daemon.restart("terminate")
        reader.join(slow(30))
    assert codes == [1001] * 5


def test_refusals_of_the_websocket_are_typed_answers(daemon, http, served):
    assert refusal(daemon, served["id"], NOBODY) == (409, "connect_refused")
    assert refusal(daemon, served["id"], 0) == (400, "invalid_query")
    assert refusal(daemon, "none", ECHO) == (404, "sandbox_not_found")
    assert (
        http.get(f"/api/v1/sandboxes/{served['id']}/tunnel", params={"port": 80}).status_code == 426
    )


def test_a_program_that_accepts_nobody_is_told_in_time(daemon, served):
    """The kernel completes a few connects for it and lets the rest wait."""
    with contextlib.ExitStack() as held, pytest.raises(InvalidStatus) as refused:
        for _ in range(8):
            held.enter_context(open_socket(daemon, served["id"], ACCEPTS_NOBODY))
    assert json.loads(refused.value.response.body)["error"]["reason"] == "connect_timed_out"


# Without frames.


def ask_unframed(daemon, ref, port, sock, claimed=None, key=None):
    """The first line of the answer, its body, and what came behind a 101."""
    own = ":".join(map(str, sock.getsockname())) if claimed is None else claimed
    sock.sendall(
        (
            f"GET /api/v1/sandboxes/{ref}/tunnel?port={port} HTTP/1.1\r\n"
            "Host: localhost\r\n"
            f"X-Api-Key: {key or daemon.key}\r\n"
            f"Connection: Upgrade\r\nUpgrade: cay-tunnel\r\nCay-Tunnel-From: {own}\r\n\r\n"
        ).encode()
    )
    got = b""
    while b"\r\n\r\n" not in got:
        got += sock.recv(65536)
    head, _, rest = got.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), rest


def test_the_unframed_tunnel_is_the_connection_itself(daemon, served):
    with dial(daemon.port) as sock:
        assert "101" in ask_unframed(daemon, served["id"], DIGEST, sock)[0]
        sock.sendall(b"abc")
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock).decode() == hashlib.sha256(b"abc").hexdigest()
    with dial(daemon.port) as sock:
        assert "101" in ask_unframed(daemon, served["id"], BROKEN, sock)[0]
        with pytest.raises(ConnectionResetError):
            sock.sendall(b"x")
            sock.recv(1)
    with dial(daemon.port) as sock:
        line, rest = ask_unframed(daemon, served["id"], NOBODY, sock)
        assert " 409 " in line and b"connect_refused" in rest
    with dial(daemon.port) as sock:
        assert " 401 " in ask_unframed(daemon, served["id"], ECHO, sock, key="cay_wrong")[0]


def test_a_client_that_resets_is_gone_though_the_program_reads_nothing(daemon, http):
    """Its sandbox is in use until then, and not for as long as the program sits there."""
    box = http.post("/api/v1/sandboxes", json={"idle_ttl_s": 2}).json()
    ref = f"/api/v1/sandboxes/{box['id']}"
    try:
        start_server(http, box["id"], SERVER, FIRST)
        sock = dial(daemon.port)
        assert "101" in ask_unframed(daemon, box["id"], STUCK, sock)[0]
        sock.settimeout(slow(1))
        with contextlib.suppress(TimeoutError):
            while True:
                sock.sendall(bytes(1 << 20))  # until nothing takes any more
        began = time.monotonic()
        wait_until(lambda: time.monotonic() - began > 5, "more than twice its idle time")
        assert http.get(ref).json()["state"] == "ready", "the control: a client that waits is there"
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()
        wait_until(
            lambda: http.get(ref).json()["state"] == "stopped", "idle once the client is gone", 30
        )
    finally:
        http.delete(ref)


def test_where_something_stands_in_between_there_is_none(daemon, served):
    for claimed in ("127.0.0.1:1", "", "localhost:80"):
        with dial(daemon.port) as sock:
            line, rest = ask_unframed(daemon, served["id"], ECHO, sock, claimed)
            assert " 400 " in line and b"tunnel_not_direct" in rest, claimed


class Relay:
    """What a port forwarding does: another connection for each; what passed first is kept."""

    def __init__(self, target):
        self.target, self.seen = target, []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                here = self.listening.accept()[0]
                there = socket.create_connection(("127.0.0.1", self.target))
                self.seen.append(b"")
                threading.Thread(
                    target=self.pump, args=(here, there, len(self.seen) - 1), daemon=True
                ).start()
                threading.Thread(target=self.pump, args=(there, here, None), daemon=True).start()

    def pump(self, source, sink, number):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if number is not None:
                    self.seen[number] += data[:2000]
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


def test_cay_tunnel_takes_frames_where_it_must(daemon, served):
    """Through a forwarded port it comes to a WebSocket; the control is the direct way, which has
    none."""
    relay = Relay(daemon.port)
    env = {**daemon.env, "CAY_URL": f"http://127.0.0.1:{relay.port}"}
    process = subprocess.Popen(
        [CAY, "tunnel", "--json", served["name"], f"0:{DIGEST}"],
        stdout=subprocess.PIPE,
        env={**os.environ, **env},
    )
    try:
        port = json.loads(process.stdout.readline())["local_port"]
        with dial(port) as sock:
            sock.sendall(b"abc")
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock).decode() == hashlib.sha256(b"abc").hexdigest()
    finally:
        process.kill()
        process.wait()
    upgrades = b"".join(relay.seen).lower()
    assert upgrades.index(b"upgrade: cay-tunnel") < upgrades.index(b"upgrade: websocket")


def test_a_killed_side_is_no_end(daemon, served):
    """Neither `cay tunnel` killed nor the program's side ended by force looks like an end that was
    meant."""
    with tunnel(daemon, served["name"], f"0:{ECHO}") as (ports, process):
        with dial(ports[0]) as sock:
            sock.sendall(b"x")
            assert sock.recv(1) == b"x"
            process.kill()
            with pytest.raises(ConnectionResetError):
                sock.recv(1)
