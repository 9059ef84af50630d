#!/usr/bin/env python3
"""Prints what a large snapshot costs beside a small one: create, capture, fork, `cay run IMAGE`.

    bench/images.py docs/measured/images [--count N] [--mib M] [--files F]

It writes images.txt and images.json there. It starts a daemon of its own. Figures that are compared
are measured in turns, so that what else the machine does falls on both. On a host that did little
else before, an aim that is not reached fails.
"""

import argparse
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from api import Api  # noqa: E402
from figures import summary  # noqa: E402
from harness import CAY, new_daemon  # noqa: E402
from image_root import root_tar  # noqa: E402
from measured import commit, head, machine  # noqa: E402

PROGRAMS = ("sh", "cat", "true", "sleep")
CHANGED = 10 << 20
SANDBOX = {"limits": {"memory_bytes": 256 << 20, "disk_bytes": 4 << 30}}
MANY = 100


def write_root(path, files, size):
    """Writes the tar of a root with so many files of `size` bytes together."""
    noise = random.Random(7).randbytes(1 << 20)
    each = size // files if files else 0
    with open(path, "wb") as out:
        if not files:
            out.write(root_tar(PROGRAMS))
            return
        with tarfile.open(fileobj=out, mode="w") as tar:
            with tarfile.open(fileobj=io.BytesIO(root_tar(PROGRAMS))) as base:
                for entry in base:
                    tar.addfile(entry, base.extractfile(entry) if entry.isfile() else None)
            for number in range(files):
                entry = tarfile.TarInfo(f"data/{number // 100:03d}/{number:05d}")
                entry.size, entry.mode = each, 0o644
                if number % 100 == 0:
                    directory = tarfile.TarInfo(f"data/{number // 100:03d}")
                    directory.type, directory.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(directory)
                at = (number * 4099) % (len(noise) - each)
                tar.addfile(entry, io.BytesIO(noise[at : at + each]))


class Bench:
    def __init__(self, daemon, count):
        self.daemon, self.count, self.api = daemon, count, None
        os.environ.update(daemon.env)

    def load(self, name, files, size):
        """Imports such a root; gives the seconds."""
        with tempfile.NamedTemporaryFile(dir="/var/tmp", suffix=".tar") as file:
            write_root(file.name, files, size)
            begin = time.perf_counter()
            done = self.daemon.cli("snapshot", "import", file.name, "--name", name, timeout=900)
            assert done.code == 0, done
            took = time.perf_counter() - begin
        self.api = Api()  # an older connection may have been idle for too long
        return took

    def create(self, snapshot):
        """(sandbox, seconds until it ran)."""
        begin = time.perf_counter()
        box = self.api.json("POST", "/api/v1/sandboxes", {"snapshot": snapshot, **SANDBOX})["id"]
        return box, time.perf_counter() - begin

    def remove(self, *boxes):
        for box in boxes:
            self.api.call("DELETE", f"/api/v1/sandboxes/{box}")

    def command(self, box, argv):
        got = self.api.json(
            "POST", f"/api/v1/sandboxes/{box}/commands", {"argv": argv, "wait": True}
        )
        assert got["state"] == "exited" and got["exit_code"] == 0, got

    def creates(self, snapshots):
        times = {name: [] for name in snapshots}
        for number in range(self.count + 3):
            for name in snapshots:
                box, took = self.create(name)
                self.remove(box)
                if number >= 3:
                    times[name].append(took)
        return times

    def captures(self, snapshot):
        """Seconds for each capture of a running sandbox after a change."""
        box, _ = self.create(snapshot)
        times = []
        for number in range(self.count // 4 + 1):
            data = os.urandom(CHANGED)
            self.api.call("PUT", f"/api/v1/sandboxes/{box}/files?path=/changed", raw=data)
            begin = time.perf_counter()
            made = self.api.json(
                "POST",
                f"/api/v1/sandboxes/{box}/snapshot?wait=60",
                {"name": "captured", "tag": f"n{number}"},
            )
            took = time.perf_counter() - begin
            assert made["status"] == "ready", made
            if number:
                times.append(took)
            self.api.call("DELETE", f"/api/v1/snapshots/{made['id']}")
        self.remove(box)
        return times

    def forks(self, snapshot):
        """(seconds for each fork, for each create in turn with it, for MANY forks at once)."""
        box, _ = self.create(snapshot)
        self.command(box, ["/bin/sh", "-c", "echo here > /mark"])
        fork = f"/api/v1/sandboxes/{box}/fork"
        one, made, many = [], [], []
        for number in range(self.count // 2 + 2):
            begin = time.perf_counter()
            copy = self.api.json("POST", fork, {})["items"][0]["id"]
            forked = time.perf_counter() - begin
            if not number:
                self.command(copy, ["/bin/cat", "/mark"])
            new, created = self.create(snapshot)
            self.remove(copy, new)
            if number >= 2:
                one.append(forked)
                made.append(created)
        for _ in range(3):
            begin = time.perf_counter()
            copies = self.api.json("POST", fork, {"count": MANY})["items"]
            many.append(time.perf_counter() - begin)
            assert len(copies) == MANY
            self.remove(*(copy["id"] for copy in copies))
        self.remove(box)
        return one, made, many

    def runs(self, snapshot):
        """Seconds of `cay run` of the image and of the default, in turns."""
        times = {snapshot: [], "": []}
        for number in range(self.count // 2 + 2):
            for name, kept in times.items():
                begin = time.perf_counter()
                done = subprocess.run(
                    [CAY, "run", "--rm", *([name] if name else []), "--", "/bin/true"],
                    env={**os.environ, **self.daemon.env},
                    stdin=subprocess.DEVNULL,
                    check=False,
                )
                assert done.returncode == 0
                if number >= 2:
                    kept.append(time.perf_counter() - begin)
        return times[snapshot], times[""]


def judgement(value, limit):
    return "reached" if value <= limit else "NOT REACHED"


def judged(rows):
    """(a line for each aim, whether all are reached)."""
    p50 = {row["name"]: row["p50"] for row in rows}
    aims = [
        ("create, large / minimal", p50["create, large"] / p50["create, minimal"], 1.2, ""),
        ("capture with 10 MiB changed", p50["capture, 10 MiB changed"], 60, " ms"),
        ("a fork beyond a create", p50["fork"] - p50["  create in turn with it"], 10, " ms"),
        (f"{MANY} forks", p50[f"{MANY} forks"], 1500, " ms"),
        ("cay run IMAGE / cay run", p50["cay run IMAGE"] / p50["cay run"], 1.0, ""),
    ]
    lines = [
        f"{name}: {value:.2f}{unit}, at most {limit}: {judgement(value, limit)}"
        for name, value, limit, unit in aims
    ]
    return lines, all(value <= limit for _, value, limit, _ in aims)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--files", type=int, default=50_000)
    options = parser.parse_args()
    idle = os.getloadavg()[0] <= (os.cpu_count() or 1) / 4
    before = machine()
    print(before)
    daemon = new_daemon().start()
    try:
        bench = Bench(daemon, options.count)
        bench.load("minimal", 0, 0)
        took = bench.load("large", options.files, options.mib << 20)
        print(f"import of {options.mib} MiB in {options.files} files: {took:.1f} s")
        creates = bench.creates(["minimal", "large", "default"])
        rows = [summary(f"create, {name}", creates[name]) for name in creates]
        rows.append(summary("capture, 10 MiB changed", bench.captures("large")))
        one, made, many = bench.forks("large")
        rows += [
            summary("fork", one),
            summary("  create in turn with it", made),
            summary(f"{MANY} forks", many),
        ]
        image, default = bench.runs("large")
        rows += [summary("cay run IMAGE", image), summary("cay run", default)]
    finally:
        daemon.close()
    lines, reached = judged(rows)
    print("\n".join(lines))
    after = f"load after: {' '.join(f'{one:.2f}' for one in os.getloadavg())}"
    print(after)
    figures = [
        f"{row['name']:<32} p50 {row['p50']:9.3f} ms   p99 {row['p99']:9.3f} ms   n={row['n']}"
        for row in rows
    ]
    loaded = f"import of {options.mib} MiB in {options.files} files: {took:.1f} s"
    options.target.with_suffix(".txt").write_text(
        head() + "\n".join([before, loaded, *figures, *lines, after]) + "\n"
    )
    options.target.with_suffix(".json").write_text(
        json.dumps({"commit": commit(), "import_s": took, "rows": rows}, indent=1) + "\n"
    )
    if idle and not reached:
        sys.exit("bench: an aim is not reached")


if __name__ == "__main__":
    main()
