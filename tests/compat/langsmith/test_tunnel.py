"""The tunnel of LangSmith's Python client, unmodified: yamux over a WebSocket."""
import asyncio
import hashlib
import pathlib
import socket
import struct
import threading
import time

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from harness import slow, wait_until

SERVER = (pathlib.Path(__file__).resolve().parents[2] / "inside_server.py").read_text()
FIRST = 7000
ECHO, DIGEST, GREET, STUCK, BROKEN, FLOOD, _, PEER = range(FIRST, FIRST + 8)
NOBODY = FIRST + 99


@pytest.fixture
def served(sandbox):
    sandbox.write("/tmp/server.py", SERVER)
    handle = sandbox.run(
        f"exec python3 /tmp/server.py {FIRST}", wait=False, timeout=0, idle_timeout=-1
    )
    for chunk in handle:
        if "up" in chunk.data:
            break
    yield sandbox


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def dial(tunnel):
    return socket.create_connection(("127.0.0.1", tunnel.local_port), timeout=slow(60))


def block(number):
    return hashlib.sha256(str(number).encode()).digest() * 2048  # 64 KiB


def exchange(tunnel, blocks):
    """Sends and reads back at once; both digests."""
    sent, got, size = hashlib.sha256(), hashlib.sha256(), 0
    with dial(tunnel) as sock:

        def send():
            for number in range(blocks):
                sent.update(block(number))
                sock.sendall(block(number))

        sending = threading.Thread(target=send)
        sending.start()
        while size < blocks << 16:
            data = sock.recv(1 << 18)
            assert data, f"the connection ended after {size} bytes"
            got.update(data)
            size += len(data)
        sending.join()
    return sent.hexdigest(), got.hexdigest()


@pytest.mark.heavy
def test_200_mib_each_way(served):
    with served.tunnel(remote_port=ECHO, local_port=free_port()) as tunnel:
        began = time.monotonic()
        sent, got = exchange(tunnel, 3200)
        took = time.monotonic() - began
    assert sent == got
    print(f"200 MiB each way through the Python client's tunnel: {400 / took:.0f} MiB/s")
    assert took < slow(180)


def test_two_tunnels_at_once_with_several_connections_each(served):
    with served.tunnel(remote_port=ECHO, local_port=free_port()) as one, served.tunnel(
        remote_port=ECHO, local_port=free_port()
    ) as other:
        results = []
        threads = [
            threading.Thread(target=lambda t=tunnel: results.append(exchange(t, 64)))
            for tunnel in (one, other)
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 6 and all(sent == got for sent, got in results)


def test_connections_whose_first_frames_cross(served):
    """The client numbers a stream under a lock, and sends its first frame after it: of two threads
    the later may be first."""
    with served.tunnel(remote_port=ECHO, local_port=free_port()) as tunnel:
        assert exchange(tunnel, 1)
        session, crossed, results = tunnel._yamux, threading.Event(), []
        first, send = session._next_stream_id, session._send_frame

        def send_frame(kind, flags, stream, length):
            opens = kind == 1 and flags & 1
            if opens and stream == first:
                assert crossed.wait(slow(60))
            send(kind, flags, stream, length)
            if opens and stream == first + 2:
                crossed.set()

        session._send_frame = send_frame
        threads = [
            threading.Thread(target=lambda: results.append(exchange(tunnel, 4))) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert crossed.is_set() and len(results) == 2 and all(sent == got for sent, got in results)
        assert tunnel._yamux is session  # and it was not broken off and made again


def test_all_that_was_sent_before_the_end_arrives(served):
    with served.tunnel(remote_port=GREET, local_port=free_port()) as tunnel:
        for _ in range(20):
            with dial(tunnel) as sock:
                got = b""
                while data := sock.recv(100):
                    got += data
                assert got == b"good day\n"


def test_a_refused_port_closes_the_connection_and_not_the_tunnel(served):
    with served.tunnel(remote_port=NOBODY, local_port=free_port()) as tunnel:
        for _ in range(3):
            with dial(tunnel) as sock:
                assert sock.recv(1) == b""


def test_into_a_paused_sandbox_a_connection_ends_at_once(daemon, served, caplog):
    ref = f"{daemon.url}/api/v1/sandboxes/{served.name}"
    with served.tunnel(remote_port=ECHO, local_port=free_port()) as tunnel:
        assert exchange(tunnel, 1)
        httpx.post(f"{ref}/pause", headers={"X-Api-Key": daemon.key}).raise_for_status()
        with dial(tunnel) as sock:
            assert sock.recv(1) == b""
        wait_until(
            lambda: "tunnel: nothing listening" in caplog.text, "the client's words for the status"
        )
        with pytest.raises(InvalidStatus) as refused, served.tunnel(
            remote_port=ECHO, local_port=free_port()
        ):
            pass
        assert (
            refused.value.response.status_code == 503
            and b"is paused: resume it" in refused.value.response.body
        )
        httpx.post(f"{ref}/resume", headers={"X-Api-Key": daemon.key}).raise_for_status()
        sent, got = exchange(tunnel, 1)  # the same tunnel goes on
        assert sent == got


def test_a_stuck_connection_holds_up_no_other(served):
    with served.tunnel(remote_port=STUCK, local_port=free_port()) as stuck, served.tunnel(
        remote_port=ECHO, local_port=free_port()
    ) as fine:
        with dial(stuck) as sock:
            sock.settimeout(slow(1))
            with pytest.raises(TimeoutError):
                while True:
                    sock.send(bytes(65536))
            sent, got = exchange(fine, 16)
            assert sent == got


def test_the_program_sees_its_own_loopback(served):
    with served.tunnel(remote_port=PEER, local_port=free_port()) as tunnel, dial(tunnel) as sock:
        assert sock.recv(100) == b"127.0.0.1"


def test_async_client(daemon, served):
    from langsmith.sandbox import AsyncSandboxClient

    async def story():
        async with AsyncSandboxClient() as client:
            box = await client.get_sandbox(served.name)
            async with await box.tunnel(remote_port=PEER, local_port=free_port()) as tunnel:
                reader, writer = await asyncio.open_connection("127.0.0.1", tunnel.local_port)
                got = await reader.read(100)
                writer.close()
                return got

    assert asyncio.run(story()) == b"127.0.0.1"


def test_it_wakes_a_stopped_sandbox_and_comes_back_after_a_restart(own_daemon):
    from langsmith.sandbox import SandboxClient

    daemon = own_daemon()
    with SandboxClient(
        api_endpoint=f"{daemon.url}/v2/sandboxes", api_key=daemon.key
    ) as client, client.sandbox() as box:
        client.stop_sandbox(box.name)
        with box.tunnel(remote_port=PEER, local_port=free_port()) as tunnel:
            assert client.get_sandbox(box.name).status == "ready"
            box.write("/tmp/server.py", SERVER)
            handle = box.run(
                f"exec python3 /tmp/server.py {FIRST}", wait=False, timeout=0, idle_timeout=-1
            )
            for chunk in handle:
                if "up" in chunk.data:
                    break
            with dial(tunnel) as sock:
                assert sock.recv(100) == b"127.0.0.1"
            daemon.restart()
            with dial(tunnel) as sock:
                assert sock.recv(100) == b"127.0.0.1"


# By hand: what other clients do.


def frame(kind, flags, stream, length, payload=b""):
    return struct.pack(">BBHII", 0, kind, flags, stream, length) + payload


class Yamux:
    def __init__(self, daemon, box):
        url = box.dataplane_url.replace("http://", "ws://") + "/tunnel"
        self.ws = connect(
            url, additional_headers={"X-Api-Key": daemon.key}, compression=None, max_size=1 << 20
        )
        self.buffer = b""

    def send(self, *frames):
        for one in frames:
            self.ws.send(one)

    def read(self, size):
        while len(self.buffer) < size:
            self.buffer += self.ws.recv(timeout=slow(30))
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def frame(self):
        _, kind, flags, stream, length = struct.unpack(">BBHII", self.read(12))
        return kind, flags, stream, length, self.read(length) if kind == 0 else b""


def test_header_and_payload_in_messages_of_their_own_half_close_and_ping(daemon, served):
    yamux = Yamux(daemon, served)
    with yamux.ws:
        yamux.send(frame(1, 1, 1, 0), frame(0, 0, 1, 3), struct.pack(">BH", 1, DIGEST))
        assert yamux.frame() == (1, 2, 1, 0, b"")
        assert yamux.frame() == (0, 0, 1, 1, b"\0")
        yamux.send(frame(2, 1, 0, 77))
        assert yamux.frame() == (2, 2, 0, 77, b"")
        yamux.send(frame(0, 0, 1, 3), b"abc", frame(0, 4, 1, 0))
        wanted = hashlib.sha256(b"abc").hexdigest().encode()
        assert yamux.frame() == (0, 0, 1, len(wanted), wanted)
        assert yamux.frame() == (0, 4, 1, 0, b"")
        yamux.send(frame(1, 1, 3, 0), frame(0, 0, 3, 3, struct.pack(">BH", 1, NOBODY)))
        assert [yamux.frame()[4], yamux.frame()[4]] == [b"", b"\2"]


def test_a_flood_stops_at_the_clients_window(daemon, served):
    yamux = Yamux(daemon, served)
    with yamux.ws:
        yamux.send(frame(1, 1, 1, 0), frame(0, 0, 1, 3, struct.pack(">BH", 1, FLOOD)))
        got = 0
        while got < 256 << 10:
            got += len(yamux.frame()[4])
        assert got == 256 << 10
        with pytest.raises(TimeoutError):
            yamux.ws.recv(timeout=0.3)
        yamux.send(frame(1, 0, 1, 10))
        got = 0
        while got < 10:
            got += len(yamux.frame()[4])
        assert got == 10


def test_nonsense_ends_the_session_with_a_go_away(daemon, served):
    yamux = Yamux(daemon, served)
    with yamux.ws:
        yamux.send(b"GET / HTTP/1.1\r\n\r\n")
        assert yamux.frame() == (3, 0, 0, 1, b"")
    assert served.run("echo fine").stdout == "fine\n"
