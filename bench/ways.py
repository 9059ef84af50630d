"""The ways into a sandbox, each direction: a web service through its link, through `cay tunnel`,
and through LangSmith's tunnel.

Beside each: the same program asked directly over loopback (the plain copy), and through relays that
are as little as a relay can be (bench_splice_relay), once and twice, because a link is one process
in between and `cay tunnel` is two; and through yamux between two programs that do nothing else
(bench_yamux_client, bench_yamux_peer): what that protocol leaves here. In turns and in short runs,
so that what else the machine does falls on all; a share is the median of the runs' own."""

import http.client
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

# The least that HTTP needs: GET /N answers with N bytes, PUT takes what comes. The same program
# here and in a sandbox.
SERVER = r"""
import socket, sys, threading
block = bytes(1 << 18)
def serve(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    asked, buffer = b'', bytearray(1 << 18)
    while True:
        while b'\r\n\r\n' not in asked:
            more = c.recv(65536)
            if not more:
                return
            asked += more
        head, asked = asked.split(b'\r\n\r\n', 1)
        left = 0
        if head.startswith(b'PUT'):
            body = int(head.lower().split(b'content-length: ')[1].split(b'\r\n')[0]) - len(asked)
            asked = b''
            while body > 0:
                got = c.recv_into(buffer)
                if not got:
                    return
                body -= got
        else:
            left = int(head.split(b' ')[1][1:])
        c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % left)
        while left > 0:
            left -= c.send(block[:left])
        if b'connection: close' in head.lower():
            c.shutdown(socket.SHUT_WR)
            return
listener = socket.create_server(('127.0.0.1', int(sys.argv[1])), backlog=128)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

LANGSMITH = """
import socket, sys, time
from langsmith.sandbox import SandboxClient
with socket.create_server(("127.0.0.1", 0)) as one:
    local = one.getsockname()[1]
with SandboxClient(api_endpoint=sys.argv[1], api_key=sys.argv[2]) as client:
    with client.get_sandbox(sys.argv[3]).tunnel(remote_port=int(sys.argv[4]), local_port=local):
        print(local, flush=True)
        sys.stdin.read()
"""

PLAIN = "web service, plain loopback"
PORT = 8080
SIZE = 256 << 20
BLOCK = bytes(1 << 18)
ROUNDS = 7


class Way:
    """One kept-alive connection through which the program is asked."""

    def __init__(self, name, host, port, headers=None):
        self.name, self.headers = name, headers or {}
        self.connection = http.client.HTTPConnection(host, port, timeout=120)

    def get(self, size):
        self.connection.request("GET", f"/{size}", headers=self.headers)
        answer = self.connection.getresponse()
        buffer, got = bytearray(len(BLOCK)), 0
        while n := answer.readinto(buffer):
            got += n
        if answer.status == 200 and got != size:
            sys.exit(f"bench:{self.name}: {got} bytes of {size}")
        return answer.status

    def put(self, size):
        self.connection.putrequest("PUT", "/", skip_host="Host" in self.headers)
        for name, value in {"Content-Length": str(size), **self.headers}.items():
            self.connection.putheader(name, value)
        self.connection.endheaders()
        for _ in range(size // len(BLOCK)):
            self.connection.send(BLOCK)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status

    def ready(self):
        for _ in range(400):
            try:
                if self.get(1) == 200:
                    return self
            except (OSError, http.client.HTTPException):
                pass
            self.connection.close()
            time.sleep(0.05)
        sys.exit(f"bench:{self.name}: the program does not answer")


class Programs:
    """Those that were started, each with the port that it printed."""

    def __init__(self):
        self.all = []

    def start(self, *argv, env=None):
        one = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        )
        self.all.append(one)
        line = one.stdout.readline().strip()
        if not line:
            sys.exit(f"bench: {argv[0]} told no port")
        said = json.loads(line)
        return said["local_port"] if isinstance(said, dict) else said

    def end(self):
        for one in self.all:
            one.kill()
            one.wait()


def ways_of(api, box, programs):
    """The ways that can be had here, the plain copy first."""
    host, port = api.connection.host, api.connection.port
    url = f"http://{host}:{port}"
    cay = os.environ.get("CAY_PROGRAM") or shutil.which("cay")
    own = pathlib.Path(cay or "cay").resolve().parent / "bench"
    local = lambda name, *argv, **more: Way(
        name, "127.0.0.1", programs.start(*argv, **more)
    ).ready()

    out = [local(PLAIN, sys.executable, "-c", SERVER, "0")]
    if (own / "bench_splice_relay").exists():
        out.append(
            local(
                "  through one bare splice relay",
                own / "bench_splice_relay",
                str(out[0].connection.port),
            )
        )
        out.append(
            local(
                "  through two bare splice relays",
                own / "bench_splice_relay",
                str(out[1].connection.port),
            )
        )
    if (own / "bench_yamux_peer").exists():
        peer = programs.start(own / "bench_yamux_peer", str(out[0].connection.port))
        out.append(
            local(
                "  through yamux alone",
                own / "bench_yamux_client",
                str(peer),
                "/",
                "none",
                str(PORT),
            )
        )
    api.json(
        "POST",
        f"/api/v1/sandboxes/{box}/commands",
        {
            "argv": ["python3", "-c", SERVER, str(PORT)],
            "wait": False,
            "timeout_s": 0,
            "idle_timeout_s": -1,
        },
    )
    link = api.json("POST", f"/api/v1/sandboxes/{box}/links", {"port": PORT})
    out.append(
        Way(
            "  through its link",
            host,
            port,
            {"Host": f"{box}--{PORT}.localhost", "X-Cay-Service-Token": link["token"]},
        ).ready()
    )
    if cay:
        out.append(
            local(
                "  through cay tunnel",
                cay,
                "tunnel",
                "--json",
                box,
                f"0:{PORT}",
                env={**os.environ, "CAY_URL": url, "CAY_API_KEY": api.key},
            )
        )
    if (own / "bench_yamux_client").exists():
        out.append(
            local(
                "  through yamux, a compiled client",
                own / "bench_yamux_client",
                str(port),
                f"/v2/sandboxes/dp/{box}/tunnel",
                api.key,
                str(PORT),
            )
        )
    if importlib.util.find_spec("langsmith"):
        out.append(
            local(
                "  through yamux, LangSmith's Python",
                sys.executable,
                "-c",
                LANGSMITH,
                f"{url}/v2/sandboxes",
                api.key,
                box,
                str(PORT),
                env={**os.environ, "LANGSMITH_TRACING": "false"},
            )
        )
    return out


def services(api, count, rounds=ROUNDS, told=print):
    """Measures all ways into one sandbox. Returns the rows, the plain copy first."""
    box = api.json("POST", "/api/v1/sandboxes", {})["id"]
    programs = Programs()
    try:
        ways = ways_of(api, box, programs)
        small, large = {}, {}
        for _ in range(rounds):
            for way in ways:
                small.setdefault(way, []).extend(times(lambda: way.get(2), count, warm=10))
            for verb in ("GET", "PUT"):
                for way in ways:
                    ask = way.get if verb == "GET" else way.put
                    large.setdefault((verb, way), []).extend(times(lambda: ask(SIZE), 1))
        rows = []
        for way in ways:
            values = sorted(small[way])
            row = {
                "name": f"{way.name}: GET of 2 bytes",
                "n": len(values),
                "unit": "ms",
                "p50": statistics.median(values) * 1e3,
                "p99": values[min(len(values) - 1, int(len(values) * 0.99))] * 1e3,
            }
            row["added_p50_ms"] = row["p50"] - rows[0]["p50"] if rows else 0.0
            told(
                f"{row['name']:<52} p50 {row['p50']:8.3f} ms, added {row['added_p50_ms']:6.3f}   "
                f"p99 {row['p99']:8.3f} ms   n={row['n']}"
            )
            rows.append(row)
        for verb in ("GET", "PUT"):
            for way in ways:
                rate = SIZE / statistics.median(large[verb, way]) / (1 << 20)
                share = statistics.median(
                    plain / this for plain, this in zip(large[verb, ways[0]], large[verb, way])
                )
                rows.append(
                    {
                        "name": f"{way.name}: {verb} of 256 MiB",
                        "unit": "MiB/s",
                        "value": rate,
                        "share": share,
                    }
                )
                told(
                    f"{rows[-1]['name']:<52} {rate:8.0f} MiB/s, {100 * share:3.0f} % of the plain "
                    "copy"
                )
        return rows
    finally:
        programs.end()
        api.call("DELETE", f"/api/v1/sandboxes/{box}")


def times(function, count, warm=0):
    out = []
    for number in range(count + warm):
        begin = time.perf_counter()
        function()
        if number >= warm:
            out.append(time.perf_counter() - begin)
    return out
