#!/usr/bin/env python3
"""Prints what Cay takes, as medians and p99, with the machine's load. No pass mark.

    bench/bench.py [--count N] [--services] [--json FILE]     needs a running daemon (CAY_URL,
    CAY_API_KEY)

Measured through the public API over one kept-alive loopback connection, so HTTP, core, keeper and
the guest's own exec are all in it. `bare fork+exec` is the same program started by this process.
"""
import argparse
import http.client
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse

from ways import services


class Api:
    def __init__(self):
        url = urllib.parse.urlsplit(os.environ.get("CAY_URL", "http://127.0.0.1:8787"))
        key = os.environ.get("CAY_API_KEY")
        if not key:
            with open(
                os.path.join(os.environ.get("CAY_DATA", "/var/lib/cay"), "api-key"),
                encoding="ascii",
            ) as file:
                key = file.read().strip()
        self.key, self.connection = key, http.client.HTTPConnection(
            url.hostname, url.port, timeout=120
        )
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, method, path, body=None, raw=None):
        data = raw if raw is not None else (json.dumps(body).encode() if body is not None else None)
        self.connection.request(method, path, body=data, headers={"X-Api-Key": self.key})
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            sys.exit(f"bench: {method} {path}: {answer.status} {content[:300]!r}")
        return content

    def json(self, method, path, body=None):
        return json.loads(self.call(method, path, body))


def summary(name, seconds, unit="ms", scale=1e3):
    values = sorted(seconds)
    row = {
        "name": name,
        "n": len(values),
        "unit": unit,
        "p50": statistics.median(values) * scale,
        "p99": values[min(len(values) - 1, int(len(values) * 0.99))] * scale,
    }
    print(f"{name:<44} p50 {row['p50']:9.3f} {unit}   p99 {row['p99']:9.3f} {unit}   n={row['n']}")
    return row


def timed(function, count, warm=3):
    times = []
    for number in range(count + warm):
        begin = time.perf_counter()
        function(number)
        if number >= warm:
            times.append(time.perf_counter() - begin)
    return times


def memory_of(pids):
    """PSS of these processes in KiB: what each page costs, shared ones divided by their users."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return total


def idle_memory(api, count=20):
    """(KiB of PSS, KiB of kernel memory) for one idle sandbox, as root on the daemon's machine;
    None elsewhere.

    Kernel memory is the growth of unreclaimable slab, stacks and page tables over `count`
    sandboxes: other work on the machine is in it too."""

    def kernel():
        with open("/proc/meminfo", encoding="ascii") as file:
            rows = {line.split(":")[0]: int(line.split()[1]) for line in file}
        return rows["SUnreclaim"] + rows["KernelStack"] + rows["PageTables"]

    before = kernel()
    boxes = [api.json("POST", "/api/v1/sandboxes", {})["id"] for _ in range(count)]
    grown = kernel() - before
    try:
        pids = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
                    if any(box in text for text in [file.read()] for box in boxes):
                        pids.append(pid)
            except OSError:
                continue
        if os.geteuid() != 0 or not pids:
            return None
        return memory_of(pids) / count, grown / count
    finally:
        for box in boxes:
            api.call("DELETE", f"/api/v1/sandboxes/{box}")


# Starts /bin/true many times inside and prints how long each took, from the fork to the wait's
# return.
SPAWNER = """
import json, os, sys, time
times = []
for _ in range(int(sys.argv[1])):
    begin = time.perf_counter()
    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)
    times.append(time.perf_counter() - begin)
print(json.dumps(times))
"""


def program_record(api, count):
    """fork+exec+exit inside: without a record on the host, with one, and beside a sandbox that has
    one.

    In turns, so that what else the machine does falls on all; the record's part in the kernel goes
    10 s after the last sandbox that has one, so the first turn is by itself."""

    def spawns(box):
        got = api.json(
            "POST",
            f"/api/v1/sandboxes/{box}/commands",
            {"argv": ["python3", "-c", SPAWNER, str(count)], "wait": True, "timeout_s": 300},
        )
        return json.loads(got["stdout"])[3:]

    boxes = [api.json("POST", "/api/v1/sandboxes", {})["id"]]
    times = {"without": spawns(boxes[0]) + spawns(boxes[0]), "with": [], "beside": []}
    boxes.append(api.json("POST", "/api/v1/sandboxes", {"record_programs": True})["id"])
    for _ in range(2):
        times["beside"] += spawns(boxes[0])
        times["with"] += spawns(boxes[1])
    for box in boxes:
        api.call("DELETE", f"/api/v1/sandboxes/{box}")
    names = {
        "without": "fork+exec+exit inside (no record on the host)",
        "with": "  with a program record",
        "beside": "  beside a sandbox with one",
    }
    return [summary(names[key], times[key]) for key in names]


def sandboxes(api, count):
    """What it takes to make, use and wake one."""
    rows = []

    def life(argv, warm=3):
        times = []
        for number in range(count + warm):
            begin = time.perf_counter()
            box = api.json("POST", "/api/v1/sandboxes", {})
            got = api.json(
                "POST", f"/api/v1/sandboxes/{box['id']}/commands", {"argv": argv, "wait": True}
            )
            took = time.perf_counter() - begin
            assert got["state"] == "exited" and got["exit_code"] == 0, got
            api.call("DELETE", f"/api/v1/sandboxes/{box['id']}")
            if number >= warm:
                times.append(took)
        return times

    rows.append(summary("create -> first output (echo)", life(["/bin/echo", "hi"])))
    box = api.json("POST", "/api/v1/sandboxes", {})["id"]
    run = lambda argv: lambda _: api.json(
        "POST", f"/api/v1/sandboxes/{box}/commands", {"argv": argv, "wait": True}
    )
    rows.append(summary("command round trip (/bin/true)", timed(run(["/bin/true"]), count * 3)))
    rows.append(
        summary(
            "command round trip (python3 -c pass)", timed(run(["python3", "-c", "pass"]), count)
        )
    )

    def wake(_):
        api.json("POST", f"/api/v1/sandboxes/{box}/commands", {"argv": ["/bin/true"], "wait": True})

    def stopped(function):
        def call(number):
            api.call("POST", f"/api/v1/sandboxes/{box}/stop")
            begin = time.perf_counter()
            function(number)
            spent.append(time.perf_counter() - begin)

        return call

    spent = []
    timed(stopped(wake), count)
    rows.append(summary("wake of a stopped sandbox (/bin/true)", spent[3:]))
    pauses, resumes = [], []
    for _ in range(count):
        for verb, times in (("pause", pauses), ("resume", resumes)):
            begin = time.perf_counter()
            api.call("POST", f"/api/v1/sandboxes/{box}/{verb}")
            times.append(time.perf_counter() - begin)
    rows.append(summary("pause", pauses))
    rows.append(summary("resume", resumes))
    bare = timed(lambda _: subprocess.run(["/bin/true"], check=True, close_fds=False), count * 3)
    rows.append(summary("bare fork+exec (/bin/true), same machine", bare))
    rows.append(
        summary(
            "GET one sandbox (API alone)",
            timed(lambda _: api.json("GET", f"/api/v1/sandboxes/{box}"), count * 3),
        )
    )
    small = b"x" * 1024
    path = f"/api/v1/sandboxes/{box}/files?path=/tmp/f"
    rows.append(
        summary("write 1 KiB file", timed(lambda _: api.call("PUT", path, raw=small), count))
    )
    rows.append(summary("read 1 KiB file", timed(lambda _: api.call("GET", path), count)))
    big = os.urandom(64 << 20)
    for name, call in (
        ("write 64 MiB file", lambda _: api.call("PUT", path, raw=big)),
        ("read 64 MiB file", lambda _: api.call("GET", path)),
    ):
        times = timed(call, 5, warm=1)
        row = summary(name, times)
        row["mib_per_s"] = 64 / statistics.median(times)
        print(f"{'':<44} {row['mib_per_s']:.0f} MiB/s")
        rows.append(row)
    api.call("DELETE", f"/api/v1/sandboxes/{box}")
    rows += program_record(api, count * 10)
    return rows


def idle_sandbox(api):
    idle = idle_memory(api)
    if not idle:
        print("idle sandbox: not measured (run this as root on the daemon's machine)")
        return []
    print(
        f"{'idle sandbox, user memory (PSS)':<44}     {idle[0]:9.0f} KiB   kernel memory "
        f"{idle[1]:.0f} KiB"
    )
    return [{"name": "idle sandbox", "unit": "KiB", "pss": idle[0], "kernel": idle[1]}]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--json", help="write the figures there too")
    parser.add_argument("--services", action="store_true", help="web services and tunnels alone")
    options = parser.parse_args()
    api, rows = Api(), []
    print(
        f"{platform.release()}, {os.cpu_count()} CPUs, load "
        f"{' '.join(f'{x:.2f}' for x in os.getloadavg())}"
    )

    if not options.services:
        rows += sandboxes(api, options.count)
    rows += services(api, options.count)
    if not options.services:
        rows += idle_sandbox(api)
    print(f"load after: {' '.join(f'{x:.2f}' for x in os.getloadavg())}")
    if options.json:
        with open(options.json, "w", encoding="utf8") as file:
            json.dump(
                {
                    "kernel": platform.release(),
                    "cpus": os.cpu_count(),
                    "load": os.getloadavg(),
                    "rows": rows,
                },
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
