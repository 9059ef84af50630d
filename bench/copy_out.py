#!/usr/bin/env python3
"""Copying out of a sandbox: the CLI against curl on the same route, in turns, as medians.

    CAY_URL=… CAY_DATA=… bench/copy_out.py [--bytes N] [--rounds N] CAY [CAY…]

Each CAY is a program to measure (say, one from before and one from after a change), against one
daemon that runs. The tunnel's counterpart is a plain socket, for curl does not speak its upgrade.
"""
import argparse
import hashlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.parse

SERVER = """
import socket
listener = socket.create_server(("127.0.0.1", 9000))
while True:
    peer, _ = listener.accept()
    with peer, open("/root/r", "rb") as file:
        try:
            peer.sendfile(file)
        except OSError:
            pass  # it only looked whether somebody listens
"""


def loads():
    return " ".join(f"{one:.1f}" for one in os.getloadavg())


def read_all(peer, into):
    with peer, open(into, "wb") as file:
        while piece := peer.recv(1 << 16):
            file.write(piece)


class Bench:
    def __init__(self, programs, size, rounds):
        self.programs, self.size, self.rounds = programs, size, rounds
        self.url = os.environ.get("CAY_URL", "http://127.0.0.1:8787")
        key_file = pathlib.Path(os.environ["CAY_DATA"]) / "api-key"
        self.key = key_file.read_text().strip()
        self.box = self.cay("create").stdout.strip()
        self.where = pathlib.Path(tempfile.mkdtemp(prefix="copy-out."))

    def cay(self, *args, program=None, **more):
        words = [program or self.programs[0], *args]
        return subprocess.run(words, check=True, text=True, **{"stdout": subprocess.PIPE, **more})

    def inside(self, line):
        return self.cay("exec", self.box, "--", "sh", "-c", line).stdout

    def target(self, rest):
        return f"/api/v1/sandboxes/{self.box}/{rest}"

    def curl(self, rest, into):
        key = f"X-Api-Key: {self.key}"
        url = self.url + self.target(rest)
        subprocess.run(["curl", "-sf", "-H", key, url, "-o", into], check=True)

    def plain_tunnel(self, into):
        host = urllib.parse.urlparse(self.url)
        peer = socket.create_connection((host.hostname, host.port))
        own = "{}:{}".format(*peer.getsockname())
        lines = (
            f"GET {self.target('tunnel?port=9000')} HTTP/1.1",
            f"Host: {host.netloc}",
            f"X-Api-Key: {self.key}",
            "Connection: Upgrade",
            "Upgrade: cay-tunnel",
            f"Cay-Tunnel-From: {own}",
            "",
            "",
        )
        peer.sendall("\r\n".join(lines).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += peer.recv(1)
        assert b" 101 " in head, head
        peer.shutdown(socket.SHUT_WR)
        read_all(peer, into)

    def cli_tunnel(self, program, into):
        words = [program, "tunnel", "--json", self.box, "0:9000"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as forward:
            port = int(json.loads(forward.stdout.readline())["local_port"])
            began = time.monotonic()
            peer = socket.create_connection(("127.0.0.1", port))
            peer.shutdown(socket.SHUT_WR)
            read_all(peer, into)
            took = time.monotonic() - began
            forward.terminate()
        return took

    def prepare(self):
        each = self.size // 300
        self.inside(
            f"head -c {each * 300} /dev/urandom > /root/r && mkdir /root/t && "
            f"split -b {each} -a 3 /root/r /root/t/f"
        )
        self.cay("cp", "-", f"{self.box}:/root/server.py", input=SERVER)
        self.cay("exec", "-d", self.box, "--", "python3", "/root/server.py")
        dial = 'import socket; socket.create_connection(("127.0.0.1", 9000))'
        self.inside(f"until python3 -c '{dial}'; do sleep .1; done")
        self.command = self.cay("exec", "-d", self.box, "--", "cat", "/root/r").stdout.split()[-1]
        self.cay("logs", "-f", self.box, self.command, stdout=subprocess.DEVNULL)
        self.digest = self.inside("sha256sum /root/r").split()[0]

    def ways(self):
        """Name, what takes it by the CLI, and the same without."""
        out = self.where / "out"
        cli = lambda *args: lambda program: self.cay(*args, program=program)

        def logs(program):
            with open(out, "wb") as file:
                words = [program, "logs", "--stream", "stdout", self.box, self.command]
                subprocess.run(words, stdout=file, check=True)

        yield (
            "file",
            cli("cp", f"{self.box}:/root/r", str(out)),
            lambda: self.curl("files?path=/root/r", out),
        )
        yield (
            "tree of 300 files",
            cli("cp", f"{self.box}:/root/t", str(self.where / "tree")),
            lambda: self.curl("files/tree?path=/root/t", out),
        )
        yield "logs", logs, lambda: self.curl(f"commands/{self.command}/output?stream=stdout", out)
        yield (
            "tunnel",
            lambda program: self.cli_tunnel(program, out),
            lambda: self.plain_tunnel(out),
        )

    def check(self, name):
        """A copy that is quick and wrong is no copy."""
        tree = sorted((self.where / "tree").rglob("f*"))
        files = tree if name.startswith("tree") else [self.where / "out"]
        digest = hashlib.sha256()
        for file in files:
            digest.update(file.read_bytes())
        assert digest.hexdigest() == self.digest, name

    def clear(self):
        subprocess.run(["rm", "-rf", self.where / "out", self.where / "tree"], check=True)

    def run(self):
        heads = "".join(f"`{one}`, s | to the plain copy | " for one in self.programs)
        print(f"| | {heads}plain copy, s |")
        print("|---|" + "---|" * (2 * len(self.programs) + 1))
        for name, cli, plain in self.ways():
            took = {program: [] for program in [*self.programs, None]}
            for _ in range(self.rounds):
                for program in took:
                    self.clear()
                    began = time.monotonic()
                    own = cli(program) if program else plain()
                    whole = time.monotonic() - began
                    took[program].append(own if isinstance(own, float) else whole)
                    if program:
                        self.check(name)
            medians = {program: statistics.median(all_) for program, all_ in took.items()}
            row = "".join(
                f"{medians[one]:.2f} | {medians[one] / medians[None]:.2f} × | "
                for one in self.programs
            )
            print(f"| {name} | {row}{medians[None]:.2f} |", flush=True)

    def close(self):
        self.clear()
        os.rmdir(self.where)
        self.cay("rm", self.box)


def main():
    parser = argparse.ArgumentParser(description="Time copies out of a sandbox.")
    parser.add_argument("--bytes", type=int, default=300_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("programs", nargs="+", metavar="CAY")
    asked = parser.parse_args()
    bench = Bench(asked.programs, asked.bytes, asked.rounds)
    try:
        bench.prepare()
        print(f"{os.uname().release}, {os.cpu_count()} CPUs, load {loads()}")
        bench.run()
        print(f"load after: {loads()}")
    finally:
        bench.close()


main()
