"""With policy `off` no address but the sandbox's own loopback; with `packages`, the default, none
either without a name that is allowed (tests/e2e/test_gate.py has the rest)."""
import inspect
import json
import os
import socket
import subprocess
import sys

import pytest

import connection_tracking
from harness import keeper_of, processes_of, slow, wait_until
from inside import Sandbox, sandbox  # noqa: F401 (a fixture)

CONNECT = r"""
import json, socket, sys, time
results = {}
for address in json.loads(sys.argv[1]):
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(5)
    begun = time.monotonic()
    try:
        s.connect((host, port)); word = "connected"
        # The gate may accept a connection before it decides on it. So an answer is what counts.
        if sys.argv[2:]:
            s.sendall(b"GET / HTTP/1.0\r\n\r\n"); got = b"".join(iter(lambda: s.recv(4096), b""))
            said = got.startswith(b"HTTP/1.1 403 ") and any(words in got
                for words in (b"\nThis sandbox's policy does not allow ",
                    b"\nNothing in a sandbox may reach "))
            word = "refused" if said else "answered" if got else "ended"  # by the gate itself
    except socket.timeout: word = "timeout"
    except OSError as error: word = "refused"
    results[host] = [word, time.monotonic() - begun]
print(json.dumps(results))
"""


@pytest.fixture
def host_server():
    """A listener on the host's loopback."""
    server = socket.create_server(("127.0.0.1", 0))
    yield server.getsockname()[1]
    server.close()


def test_only_loopback_is_there(sandbox):
    names = [
        line.split(":")[0].strip() for line in sandbox.sh("cat /proc/net/dev").text.splitlines()[2:]
    ]
    assert names == ["lo"]


def test_a_keeper_that_was_taken_over_reaches_nothing_of_the_host(daemon, sandbox, host_server):
    """What it could do is done in its namespace; the control in the daemon's."""
    attempt = f"""
import socket
said = []
for address in (("127.0.0.1", {host_server}), ("127.0.0.1", {daemon.port}), ("8.8.8.8", 53)):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM if address[1] == 53 else \
socket.SOCK_STREAM).connect(address); said.append("reached")
    except OSError as error:
        said.append(error.strerror)
print(said, [name for _, name in socket.if_nameindex()])
"""

    def done_at(pid):
        return subprocess.run(
            ["nsenter", "-n", "-t", str(pid), sys.executable, "-c", attempt],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    with daemon.http() as http:
        keeper = keeper_of(daemon, http.get(f"/api/v1/sandboxes/{sandbox.name}").json()["id"])
    assert (
        done_at(keeper)
        == "['Network is unreachable', 'Network is unreachable', 'Network is unreachable'] ['lo']"
    )
    assert done_at(daemon.process.pid).startswith("['reached', 'reached', ")


@pytest.fixture(scope="module")
def cut_off(daemon):
    made = Sandbox(daemon, "--policy", "off")
    yield made
    made.close()


TARGETS = [
    ["127.0.0.1", 0],
    ["169.254.169.254", 80],
    ["8.8.8.8", 80],
    ["10.0.0.1", 80],
    ["192.168.0.1", 80],
    ["fd00:ec2::254", 80],
    ["2001:4860:4860::8888", 80],
    ["::ffff:169.254.169.254", 80],
]


def test_nothing_outside_is_reached_by_address_with_packages(sandbox, host_server):
    socket.create_connection(
        ("127.0.0.1", host_server), timeout=5
    ).close()  # positive control: the host reaches it
    targets = [[host, port or host_server] for host, port in TARGETS]
    got = json.loads(sandbox.python(CONNECT, json.dumps(targets), "ask").text)
    assert {host: word for host, (word, _) in got.items() if word != "refused"} == {}
    assert max(seconds for _, seconds in got.values()) < slow(
        4
    )  # what is waited for in vain takes 5 s


def test_nothing_outside_is_reached_and_nothing_hangs(cut_off, host_server):
    sandbox = cut_off
    socket.create_connection(
        ("127.0.0.1", host_server), timeout=5
    ).close()  # positive control: the host reaches it
    targets = [
        ["127.0.0.1", host_server],
        ["169.254.169.254", 80],
        ["8.8.8.8", 53],
        ["10.0.0.1", 80],
        ["192.168.0.1", 80],
        ["fd00:ec2::254", 80],
        ["2001:4860:4860::8888", 53],
        ["::ffff:169.254.169.254", 80],
    ]
    got = json.loads(sandbox.python(CONNECT, json.dumps(targets)).text)
    assert {host: word for host, (word, _) in got.items() if word != "refused"} == {}
    assert max(seconds for _, seconds in got.values()) < slow(
        4
    )  # what is waited for in vain takes 5 s


def test_its_own_loopback_works(sandbox):
    program = r"""
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname(), timeout=5)
peer, _ = server.accept(); peer.sendall(b"hello"); print(client.recv(5).decode())
"""
    assert sandbox.python(program).text == "hello\n"


FILL = r"""
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0), backlog=200)
kept, sent = [], 0
for _ in range(150):
    one = socket.create_connection(server.getsockname()); other, _ = server.accept()
    one.setblocking(False); kept += [one, other]
    try:
        while True: sent += one.send(bytes(1 << 20))
    except BlockingIOError: pass
print(sent >> 20, flush=True)
time.sleep(60)
"""


def tcp_bytes():
    """Held by all TCP sockets of the host."""
    line = next(line for line in open("/proc/net/sockstat") if line.startswith("TCP:"))
    return int(line.split()[-1]) * os.sysconf("SC_PAGESIZE")


def test_buffers_of_tcp_are_within_the_memory_limit(http):
    made = http.post("/api/v1/sandboxes", json={"limits": {"memory_bytes": 64 << 20}}).json()
    url = f"/api/v1/sandboxes/{made['id']}"
    try:
        before = tcp_bytes()
        command = http.post(
            f"{url}/commands", json={"argv": ["python3", "-c", FILL], "wait": False}
        ).json()
        ref = f"{url}/commands/{command['id']}"
        wait_until(
            lambda: http.get(f"{ref}/output", params={"stream": "stdout"}).content
            or http.get(ref).json()["state"] != "running",
            "the buffers are full",
            limit=60,
        )
        held = tcp_bytes() - before
    finally:
        http.delete(url)
    assert held < 80 << 20, f"{held >> 20} MiB"


def test_abstract_sockets_of_the_host_are_not_there(sandbox):
    name = "cay-attack-" + os.urandom(4).hex()
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0" + name)
    server.listen()
    connect = (
        "import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect('\\0' + sys.argv[1]); "
        "print('connected')"
    )
    client = socket.socket(socket.AF_UNIX)
    client.connect("\0" + name)  # positive control
    got = sandbox.python(connect, name)
    assert got.code != 0 and "connected" not in got.text
    client.close()
    server.close()


def test_udp_goes_nowhere(sandbox):
    host = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    host.bind(("127.0.0.1", 0))
    host.settimeout(0.2)
    port = host.getsockname()[1]
    send = (
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'out', "
        f"('127.0.0.1', {port}))"
    )
    exec(send)  # positive control: from the host it arrives
    assert host.recv(16) == b"out"
    sandbox.python(send)
    with pytest.raises(TimeoutError):
        host.recv(16)
    host.close()


@pytest.mark.parametrize("flood", [connection_tracking.flood, connection_tracking.flood_outwards])
def test_few_connections_are_remembered(daemon, http, flood):
    made = {}
    for bounded in (True, False):  # the control
        box = Sandbox(daemon, "--policy", "open")
        try:
            pids = processes_of(http.get(f"/api/v1/sandboxes/{box.name}").json()["id"])
            pid = next(
                pid
                for pid in pids
                if os.readlink(f"/proc/{pid}/ns/user") != os.readlink("/proc/self/ns/user")
            )  # not its keeper
            if not bounded:
                connection_tracking.unbound(pid)
            assert (
                box.python(f"{inspect.getsource(flood)}\nprint({flood.__name__}())").text
                == "True\n"
            )
            made[bounded] = connection_tracking.entries(pid)
        finally:
            box.close()
    assert made[True] <= (
        100 if flood is connection_tracking.flood else connection_tracking.MOST
    ), made
    assert made[False] > connection_tracking.MOST, made
