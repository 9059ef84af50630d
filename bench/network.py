#!/usr/bin/env python3
"""What the way out costs: creation with policy off and packages in turn, connections, bytes. No
pass mark.

    bench/network.py [--count N]     needs a running daemon (CAY_URL, CAY_API_KEY) whose operator
    lists 198.18.7.1 (network.networks)

Bytes and connections go to a server of this process on 198.18.7.1, which is added to lo for the
time (root).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from bench import Api, summary
from loopback import ADDRESS, echo, serve

BYTES = 1 << 30
INSIDE = r"""
import json, socket, sys, time
address, bulk, echo, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
times = []
for _ in range(200):
    begun = time.perf_counter(); s = socket.create_connection((address, echo)); s.sendall(b"x")
    s.recv(1)
    times.append(time.perf_counter() - begun); s.close()
s = socket.create_connection((address, bulk)); got = 0; buffer = bytearray(1 << 20)
begun = time.perf_counter()
while got < size:
    n = s.recv_into(buffer)
    if not n: sys.exit("short")
    got += n
print(json.dumps([times, time.perf_counter() - begun]))
"""


def bulk(peer):
    chunk, left = bytes(1 << 20), BYTES
    while left > 0:
        peer.sendall(chunk)
        left -= len(chunk)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    count = parser.parse_args().count
    api = Api()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs")
    took = {"off": [], "packages": [], "open": []}
    for number in range(count + 3):
        for policy, times in took.items():
            begun = time.perf_counter()
            box = api.json("POST", "/api/v1/sandboxes", {"policy": policy})
            if number >= 3:
                times.append(time.perf_counter() - begun)
            api.call("DELETE", f"/api/v1/sandboxes/{box['id']}")
    for policy, times in took.items():
        summary(f"create, policy {policy}", times)
    print(
        "the way out adds "
        f"{(statistics.median(took['packages']) - statistics.median(took['off'])) * 1e3:.3f} ms "
        "(medians)"
    )
    if os.geteuid() != 0:
        sys.exit("bench: the rest needs root, for an address on lo")
    subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=False)
    try:
        bulk_port, echo_port = serve(bulk), serve(echo)
        words = [ADDRESS, str(bulk_port), str(echo_port), str(BYTES)]
        plain = json.loads(
            subprocess.run(
                [sys.executable, "-c", INSIDE, *words], check=True, capture_output=True
            ).stdout
        )
        box = api.json("POST", "/api/v1/sandboxes", {"policy": "open"})
        done = api.json(
            "POST",
            f"/api/v1/sandboxes/{box['id']}/commands",
            {"argv": ["python3", "-c", INSIDE, *words], "wait": True, "timeout_s": 300},
        )
        if done["exit_code"] != 0:
            sys.exit(f"bench: {done}")
        through = json.loads(done["stdout"])
        api.call("DELETE", f"/api/v1/sandboxes/{box['id']}")
    finally:
        subprocess.run(["ip", "address", "del", f"{ADDRESS}/32", "dev", "lo"], check=False)
    summary("connect, one byte and back: plain loopback", plain[0])
    summary("connect, one byte and back: through the gate", through[0])
    for name, (_, seconds) in (("plain loopback", plain), ("through the gate", through)):
        print(f"1 GiB, {name}: {BYTES * 8 / seconds / 1e9:.2f} Gbit/s")
    print(f"through the gate: {plain[1] / through[1] * 100:.0f} % of plain loopback")


if __name__ == "__main__":
    main()
