#!/usr/bin/env python3
"""What containment costs, in one run: bytes and connections through the gate, and the filter of
system calls on a build.

    bench/walls.py docs/measured/walls [--rounds N] [--mib N] [--without-filter]
        root; starts a daemon of its own; writes walls.txt and walls.json there

The gate: the same client inside a sandbox and outside of it, asking one server of this process on
198.18.7.1, in turns. Bytes for each core are those that the gate moved for each second of CPU that
it took, the kernel's work on its behalf included; so another load changes them little. First with
the policy `open`; then by rules that name a host, so that each connection has its ClientHello or
its requests read and judged: `http`, `hello` (a ClientHello, and the first bytes of what the server
answers) and `tls` (the whole of it:
handshake, request, answer; a handshake outside and inside costs the client the same). That goes
through whatever stands in between four times, so beside it stands what the least relay of all adds
to it (splice_relay.cc, outside). The filter: a build (compile, archive, link, and a shell that
starts programs) in processes that are as a command in a sandbox is, but for the filter in every
other one (tests/escape/stand_in.c, which reads that very filter from the kernel), in turns; what is
compared is the CPU time of both. It runs in a network and mount namespace of its own.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/escape")]

import places  # noqa: E402
from harness import new_daemon  # noqa: E402
from loopback import ADDRESS, echo, serve  # noqa: E402
from measured import commit, head, machine  # noqa: E402

# Name, figure, comparison, and aim. One of the first two is enough.
AIMS = [
    ("gate", "gbit_per_core", "at least", 5.0),
    ("gate", "share", "at least", 0.5),
    ("gate", "added_p50_ms", "at most", 0.2),
    ("http", "gbit_per_core", "at least", 5.0),
    ("http", "added_p50_ms", "at most", 0.2),
    ("tls", "gbit_per_core", "at least", 5.0),
    ("hello", "added_p50_ms", "at most", 0.2),
    ("filter", "overhead_at_most", "at most", 0.05),
]
CLIENT = r"""
import json, socket, sys, time
address, bulk, echo, size, count = sys.argv[1], *map(int, sys.argv[2:])
times = []
for _ in range(count):
    begun = time.perf_counter(); s = socket.create_connection((address, echo)); s.sendall(b"x")
    s.recv(1)
    times.append(time.perf_counter() - begun); s.close()
    time.sleep(0.006)  # the gate takes 200 new ones a second
seconds = 0
if size:
    s = socket.create_connection((address, bulk)); s.sendall(b"%d\n" % size); got = 0
    buffer = bytearray(1 << 20); begun = time.perf_counter()
    while got < size:
        n = s.recv_into(buffer)
        if not n: sys.exit("short")
        got += n
    seconds = time.perf_counter() - begun
print(json.dumps([times, seconds]))
"""
# About two seconds of a compiler, a linker and a shell; all its system calls are its own.
BUILD = r"""
set -e
where=$(mktemp -d /tmp/build-XXXXXX); cd $where
for i in 1 2 3 4 5 6; do
  printf '#include <%s.h>\n' stdio stdlib string sys/socket >f$i.c
  printf 'int f%d(int a){char b[64];snprintf(b,64,"%%d",a);return (int)strlen(b);}\n' $i >>f$i.c
  gcc -O1 -c f$i.c -o f$i.o
done
ar rcs libf.a f*.o
printf 'int f1(int);int main(void){return f1(7)==1?0:1;}\n' >main.c
gcc main.c -L. -lf -o main && ./main
for i in $(seq 150); do cat f1.c >/dev/null; done
find /usr/include -name '*.h' | xargs grep -l socket >/dev/null || true
tar cf - /usr/include/linux 2>/dev/null | tar tf - >/dev/null
cd /; rm -rf $where
"""


NAME = "walls.cay.test"  # /etc/hosts of this namespace has it
# How, whom, a port, bytes, and how many times: a connection for each, with a byte of an answer; and
# one with that many bytes.
ASKING = r"""
import json, socket, ssl, sys, time
how, address, name, port, size, count = sys.argv[1], *sys.argv[2:4], *map(int, sys.argv[4:])
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
if sys.argv[2] != sys.argv[3]: socket.getaddrinfo(name, port)
if how == "hello":
    said = ssl.MemoryBIO(); client = context.wrap_bio(ssl.MemoryBIO(), said, server_hostname=name)
    try: client.do_handshake()
    except ssl.SSLWantReadError: hello = said.read()
def greeted():
    s = socket.create_connection((address, port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(hello)
    s.recv(1) == b"\x16" or sys.exit("no handshake")
    s.close()
def asked(bytes):
    s = socket.create_connection((address, port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if how == "tls": s = context.wrap_socket(s, server_hostname=name)
    s.sendall(b"GET /%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (bytes, name.encode(), port))
    got, wanted, buffer = b"", None, bytearray(1 << 20)
    while b"\r\n\r\n" not in got: got += s.recv(4096) or sys.exit("short: %r" % got)
    had = len(got.partition(b"\r\n\r\n")[2])
    while had < bytes: had += s.recv_into(buffer) or sys.exit("short")
    s.close()
times = []
for _ in range(count):
    begun = time.perf_counter(); greeted() if how == "hello" else asked(1)
    times.append(time.perf_counter() - begun)
    time.sleep(0.006)  # the gate takes 200 new ones a second
begun = time.perf_counter()
if size: asked(size)
print(json.dumps([times, time.perf_counter() - begun if size else 0]))
"""


class Servers:
    def __init__(self):
        self.bulk, self.echo = serve(self.send), serve(echo)

    def begin_asked(self, directory):
        """Ports by how they are asked; and one on 127.0.0.1 that is asked as "tls" is."""
        words = [
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            f"/CN={NAME}",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ]
        subprocess.run(["openssl", "req", *words], check=True, capture_output=True, cwd=directory)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / "cert.pem", directory / "key.pem")

        def answer_tls(peer):
            with contextlib.suppress(OSError):  # who said a ClientHello alone is gone
                self.answer(context.wrap_socket(peer, server_side=True))

        tls = serve(answer_tls)
        return {"http": serve(self.answer), "hello": tls, "tls": tls}, serve(
            answer_tls, "127.0.0.1"
        )

    @staticmethod
    def answer(peer):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        got, chunk = b"", bytes(1 << 20)
        while b"\r\n\r\n" not in got:
            got += peer.recv(4096) or b"\r\n\r\n"
        left = int(got.partition(b"/")[2].partition(b" ")[0] or 0)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % left)
        while left > 0:
            left -= peer.send(chunk[:left])
        peer.close()

    @staticmethod
    def send(peer):
        chunk, left = bytes(1 << 20), int(peer.makefile().readline())
        while left > 0:
            left -= peer.send(chunk[:left])


def tenth(values):
    """The 10th percentile: what it takes when nothing else has the processors."""
    return sorted(values)[len(values) // 10]


def cpu_of(pids):
    """Seconds of CPU that these processes took so far."""
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def gates_of(daemon):
    """The processes of the gate that serves this data directory."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"gate" in words[1:2] and str(daemon.data).encode() in path.read_bytes():
            found.append(int(path.parent.name))
    return found


def in_turns(host, box, rounds, size, outside, one, many):
    """Words of Python's: many connections `outside`; then inside one with `size` bytes, and `many`.
    Gives the gate's figures, and what outside and that one told, of each turn."""
    plain, through, told, cpu = [], [], [], 0.0
    for turn in range(rounds + 1):
        direct = json.loads(
            subprocess.run([sys.executable, *outside], check=True, capture_output=True).stdout
        )
        pids = gates_of(host.daemon)
        if not pids:
            sys.exit("bench: no gate of this daemon's is found")
        box.command(["true"])
        before = cpu_of(pids)
        alone = box.command(["python3", *one])
        took = cpu_of(pids) - before
        connecting = box.command(["python3", *many])
        if alone["exit_code"] != 0 or connecting["exit_code"] != 0:
            sys.exit(f"bench: {alone} {connecting}")
        if turn == 0:
            continue
        cpu += took
        plain += direct[0]
        through += json.loads(connecting["stdout"])[0]
        told.append((direct, json.loads(alone["stdout"])))
    moved = rounds * size
    return {
        "bytes": moved,
        "gate_cpu_s": cpu,
        "gbit_per_core": moved * 8 / max(cpu, 0.01) / 1e9,
        "plain_p50_ms": statistics.median(plain) * 1e3,
        "gate_p50_ms": statistics.median(through) * 1e3,
        "added_p50_ms": (statistics.median(through) - statistics.median(plain)) * 1e3,
        "plain_p10_ms": tenth(plain) * 1e3,
        "gate_p10_ms": tenth(through) * 1e3,
        "connections": len(through),
    }, told


def gate_figures(host, rounds, size):
    servers, box = Servers(), places.Sandbox(host, "bench-gate", policy="open")
    words = ["-c", CLIENT, ADDRESS, str(servers.bulk), str(servers.echo)]
    found, told = in_turns(
        host,
        box,
        rounds,
        size,
        [*words, str(size), "200"],
        [*words, str(size), "0"],
        [*words, "0", "200"],
    )
    box.close()
    return {**found, "share": statistics.median(direct[1] / alone[1] for direct, alone in told)}


def asked_figures(host, rounds, size):
    """As gate_figures, by rules that name the host."""
    ports, local = Servers().begin_asked(host.directory)
    box = places.Sandbox(
        host, "bench-asked", policy=f"http://{NAME}:{ports['http']},https://{NAME}:{ports['tls']}"
    )
    found = {}
    for how, port in ports.items():
        size_of = {"http": size, "hello": 0, "tls": size // 4}[
            how
        ]  # TLS's own work is the client's and the server's
        count = (
            "80" if how == "hello" else "200"
        )  # a sandbox opens so many a second, and these take little time
        many = ["-c", ASKING, how, ADDRESS, NAME, str(port), "0", count]
        found[how], _ = in_turns(
            host,
            box,
            rounds,
            size_of,
            many,
            ["-c", ASKING, how, NAME, NAME, str(port), str(size_of), "0"],
            many,
        )
    # The control: the names are what counts.
    refused = box.command(
        ["python3", "-c", ASKING, "http", ADDRESS, "other.cay.test", str(ports["http"]), "0", "1"]
    )
    if refused["exit_code"] == 0 and "403" not in refused["stdout"]:
        sys.exit(f"bench: another name goes through, too: {refused}")
    box.close()
    return {**found, "relay": relay_figures(host, rounds, ports["tls"], local)}


def relay_figures(host, rounds, direct, local):
    """What "tls" takes outside, directly and through a bare relay."""
    program = host.directory / "relay"
    compiler = next(filter(shutil.which, ("clang++-19", "clang++", "g++")))
    subprocess.run(
        [compiler, "-O2", "-std=c++20", "-pthread", "-o", program, ROOT / "bench/splice_relay.cc"],
        check=True,
    )
    took = {}
    with subprocess.Popen([program, str(local)], stdout=subprocess.PIPE, text=True) as relay:
        ways = {"plain": (ADDRESS, direct), "relay": ("127.0.0.1", int(relay.stdout.readline()))}
        for _ in range(rounds):
            for way, (address, port) in ways.items():
                done = subprocess.run(
                    [sys.executable, "-c", ASKING, "tls", address, NAME, str(port), "0", "200"],
                    check=True,
                    capture_output=True,
                )
                took.setdefault(way, []).extend(json.loads(done.stdout)[0])
        relay.kill()
    plain, relayed = (statistics.median(took[way]) * 1e3 for way in ways)
    return {"plain_p50_ms": plain, "relay_p50_ms": relayed, "added_p50_ms": relayed - plain}


def build_once(box, lifted):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*places.StandIn(box, lifted).words(), "sh", "-c", BUILD],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"bench: the build ended with {done.returncode}: {done.stderr[-500:]!r}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def filter_figures(host, rounds):
    box = places.Sandbox(host, "bench-filter", limits={"memory_bytes": 1 << 30})
    kinds = {
        "with": (),
        "without": ("filter",),
        "again": (),
    }  # "again": the same against the same, which tells what this run can tell at all
    took = {kind: [] for kind in kinds}
    for turn in range(rounds + 1):
        for kind in random.sample(list(kinds), 3):
            seconds = build_once(box, kinds[kind])
            if turn:
                took[kind].append(seconds)
    # The control: that the filter is there, and that it is gone.
    seccomp = {
        lifted: subprocess.run(
            [*places.StandIn(box, lifted).words(), "grep", "^Seccomp:", "/proc/self/status"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[1]
        for lifted in kinds.values()
    }
    if seccomp != {(): "2", ("filter",): "0"}:
        sys.exit(f"bench: the two are not what they should be: {seccomp}")
    box.close()

    def beyond(one, other):
        return statistics.median(took[one]) / statistics.median(took[other]) - 1

    ratios = [one / other for one, other in zip(took["with"] + took["again"], 2 * took["without"])]
    noise = abs(beyond("with", "again"))
    overhead = (
        statistics.median(took["with"] + took["again"]) / statistics.median(took["without"]) - 1
    )
    return {
        "with_s": statistics.median(took["with"] + took["again"]),
        "without_s": statistics.median(took["without"]),
        "overhead": overhead,
        "overhead_paired": statistics.median(ratios) - 1,
        "noise": noise,
        "overhead_at_most": overhead + noise,
        "rounds": rounds,
    }


def judged(found):
    """A line for each aim."""
    lines = []
    by_core = found["gate"]["gbit_per_core"] >= AIMS[0][3]
    for which, what, how, limit in AIMS:
        value = found[which][what]
        reached = value <= limit if how == "at most" else value >= limit
        either = " (the one above is enough)" if what == "share" and by_core else ""
        lines.append(
            f"aim: {which}, {what} {value:.3f}, {how} {limit}: "
            f"{'reached' if reached else 'not reached'}{either}"
        )
    return lines


def told(found):
    gate, call = found["gate"], found["filter"]
    bulk = {
        how: f"{one['bytes'] >> 20} MiB, {one['gbit_per_core']:.2f} Gbit/s for each core of the "
        f"gate's ({one['gate_cpu_s']:.2f} s of CPU); "
        for how, one in found.items()
        if how in ("http", "tls")
    }
    asked = [
        f"by rules that name the host, {how}: {bulk.get(how, '')}a connection with "
        f"a byte of an answer, {one['connections']} times: plain p50 {one['plain_p50_ms']:.3f} "
        f"ms, through the gate p50 {one['gate_p50_ms']:.3f} ms; "
        f"p10 {one['plain_p10_ms']:.3f} and {one['gate_p10_ms']:.3f} ms"
        for how, one in found.items()
        if how in ("http", "hello", "tls")
    ]
    relay = found["relay"]
    asked += [
        f"tls, outside: plain p50 {relay['plain_p50_ms']:.3f} ms, through a bare relay p50 "
        f"{relay['relay_p50_ms']:.3f} ms: it adds {relay['added_p50_ms']:.3f} ms"
    ]
    return [
        f"gate, {gate['bytes'] >> 20} MiB in one connection at a time: "
        f"{gate['gbit_per_core']:.2f} Gbit/s for each core of the gate's "
        f"({gate['gate_cpu_s']:.2f} s of CPU), {gate['share'] * 100:.0f} % of plain loopback",
        f"connect, one byte and back, {gate['connections']} times: plain p50 "
        f"{gate['plain_p50_ms']:.3f} ms, through the gate p50 {gate['gate_p50_ms']:.3f} ms; "
        f"p10 {gate['plain_p10_ms']:.3f} and {gate['gate_p10_ms']:.3f} ms",
        *asked,
        f"a build, {call['rounds']} rounds each: CPU with the filter {call['with_s']:.3f} s, "
        f"without {call['without_s']:.3f} s: "
        f"{call['overhead'] * 100:+.1f} % (pair by pair {call['overhead_paired'] * 100:+.1f} %; "
        f"the same against the same {call['noise'] * 100:.1f} %)",
    ]


class Host:
    """What tests/escape/places.py asks of one."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="cay-bench-", dir="/var/tmp"))
        self.directory.chmod(0o755)
        tempfile.tempdir = str(self.directory)
        self.stand_in = self.directory / "stand_in"
        compiler = next(filter(shutil.which, ("clang-19", "clang", "gcc", "cc")))
        subprocess.run(
            [compiler, "-O1", "-o", self.stand_in, ROOT / "tests/escape/stand_in.c"], check=True
        )
        settings = self.directory / "cay.toml"
        settings.write_text('[network]\nnetworks = ["198.18.7.1"]\n')
        self.daemon = new_daemon("--config", str(settings))
        self.daemon.start()
        self.http = self.daemon.http()

    def close(self):
        self.daemon.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--without-filter", action="store_true", help="the gate alone, as JSON")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench: needs root: an address on lo, and processes without the filter")
    if "CAY_BENCH_WALLS" not in os.environ:
        os.environ["CAY_BENCH_WALLS"] = "1"
        handle, hosts = tempfile.mkstemp(prefix="cay-bench-hosts-")
        os.chmod(hosts, 0o644)
        os.execvp(
            "unshare",
            [
                "unshare",
                "--net",
                "--mount",
                "sh",
                "-c",
                f"ip link set lo up && ip address add {ADDRESS}/32 dev lo && "
                f'grep -v {NAME} /etc/hosts >"$1" && echo {ADDRESS} {NAME} >>"$1" && mount --bind '
                '"$1" /etc/hosts && shift && exec "$@"',
                "sh",
                hosts,
                sys.executable,
                *sys.argv,
            ],
        )
    before = machine()
    host = Host()
    try:
        found = {
            "gate": gate_figures(host, arguments.rounds, arguments.mib << 20),
            **asked_figures(host, arguments.rounds, arguments.mib << 20),
        }
        if not arguments.without_filter:
            found["filter"] = filter_figures(host, arguments.rounds)
    finally:
        host.close()
    arguments.target.with_suffix(".json").write_text(
        json.dumps({"commit": commit(), **found}, indent=1) + "\n"
    )
    if arguments.without_filter:
        return
    text = (
        head()
        + before
        + "\n"
        + "\n".join([*told(found), *judged(found)])
        + f"\nload after: {' '.join(f'{one:.2f}' for one in os.getloadavg())}\n"
    )
    print(text, end="")
    arguments.target.with_suffix(".txt").write_text(text)


if __name__ == "__main__":
    main()
