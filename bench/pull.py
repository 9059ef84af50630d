#!/usr/bin/env python3
"""Compares the pull of a 1 GB image with `skopeo copy` to a directory and `umoci unpack`, in turns.

    bench/pull.py docs/measured/pull [--rounds N] [--mib M]      writes pull.txt and pull.json there

A docker-registry on loopback serves the image, whose layers are parts of this host's /usr. The
daemon is one of its own. Each round begins without blobs and layers. It ends 1 if the daemon took
more than 128 MiB, and on an idle host if it was slower by more than 20 %.
"""
import argparse
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import images  # noqa: E402
from harness import new_daemon, wait_until  # noqa: E402
from image_root import root_tar  # noqa: E402
from measured import commit, head, machine  # noqa: E402

LAYERS = 4
LARGEST = 16 << 20  # larger files are left out: a root of Debian has few
MOST_DAEMON_KIB = 128 << 10
SLOWER = 1.2


class Hashed:
    """A file that is written, with the digest and the length of what was."""

    def __init__(self, file):
        self.file, self.hash, self.size = file, hashlib.sha256(), 0

    def write(self, data):
        self.hash.update(data)
        self.size += len(data)
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def files_of_host(limit):
    """Paths of /usr of so many bytes together, in the order of their names."""
    total = 0
    for top in ("/usr/lib", "/usr/share", "/usr/bin", "/usr/include"):
        for root, folders, names in os.walk(top):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(root, name)
                if not os.path.isfile(path) and not os.path.islink(path):
                    continue
                size = os.lstat(path).st_size
                if size > LARGEST:
                    continue
                total += size
                if total > limit:
                    return
                yield path


def make_layout(folder, size):
    """An OCI layout of LAYERS layers of the host's files; (files, bytes) of it."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)
    paths = list(files_of_host(size))
    image = images.Image(root_tar(("sh", "true")))
    diff_ids, layers, content = list(image.diff_ids), list(image.layers), 0
    for digest, data in image.blobs.items():
        (blobs / digest.split(":")[1]).write_bytes(data)
    bounds = [len(paths) * part // LAYERS for part in range(LAYERS + 1)]
    for begin, end in zip(bounds, bounds[1:]):
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            packed = Hashed(file)
            with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=4, mtime=0) as zipped:
                plain = Hashed(zipped)
                with tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                    for path in paths[begin:end]:
                        tar.add(path, recursive=False)
        os.chmod(file.name, 0o644)
        os.rename(file.name, blobs / packed.hash.hexdigest())
        diff_ids.append("sha256:" + plain.hash.hexdigest())
        content += plain.size
        layers.append(
            {
                "mediaType": images.LAYER,
                "digest": "sha256:" + packed.hash.hexdigest(),
                "size": packed.size,
            }
        )
    whole = images.Image()
    described = {
        "os": "linux",
        "architecture": json.loads(image.blobs[json.loads(image.manifest)["config"]["digest"]])[
            "architecture"
        ],
        "config": {"Cmd": ["/bin/sh"]},
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    }
    whole.blobs = {}
    whole.manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": images.MANIFEST,
            "config": whole.add(images.CONFIG, json.dumps(described).encode()),
            "layers": layers,
        }
    ).encode()
    shutil.move(blobs, folder / "kept")
    whole.layout(folder)
    for blob in (folder / "kept").iterdir():
        blob.rename(blobs / blob.name)
    return len(paths), content


def timed(*words):
    begin = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


class Bench:
    def __init__(self, daemon, reference, folder):
        self.daemon, self.reference, self.folder = daemon, reference, folder

    def forget(self):
        """Begins anew: no snapshot, no layer, no blob."""
        with self.daemon.http() as http:
            for one in http.get("/api/v1/snapshots").json()["items"]:
                if one["origin"] != "host":
                    http.delete(f"/api/v1/snapshots/{one['id']}")
        layers = self.daemon.data / "layers"
        wait_until(
            lambda: not [one for one in layers.iterdir() if not (one / "root").exists()],
            "the layers are collected",
            limit=120,
        )
        for blob in (self.daemon.data / "images/blobs").iterdir():
            blob.unlink()
        os.sync()

    def by_cay(self):
        self.forget()
        begin = time.perf_counter()
        done = self.daemon.cli("snapshot", "pull", self.reference, timeout=1200)
        took = time.perf_counter() - begin
        assert done.code == 0, done
        return took

    def by_others(self):
        layout, root = self.folder / "copied", self.folder / "unpacked"
        for one in (layout, root):
            shutil.rmtree(one, ignore_errors=True)
        os.sync()
        took = timed(
            "skopeo",
            "--insecure-policy",
            "copy",
            "--src-tls-verify=false",
            f"docker://{self.reference}",
            f"oci:{layout}:1",
        )
        return took + timed("umoci", "unpack", "--image", f"{layout}:1", root)

    def daemon_kib(self):
        with open(f"/proc/{self.daemon.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mib", type=int, default=1024)
    options = parser.parse_args()
    if missing := [one for one in ("docker-registry", "skopeo", "umoci") if not shutil.which(one)]:
        print(f"SKIPPED not installed: {' and '.join(missing)}")
        sys.exit(77)
    idle = os.getloadavg()[0] <= (os.cpu_count() or 1) / 4
    lines = [machine()]
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="cay-pull-") as place:
        folder = pathlib.Path(place)
        files, content = make_layout(folder / "layout", options.mib << 20)
        lines.append(f"{files} files, {content >> 20} MiB of tar in {LAYERS + 1} layers")
        print("\n".join(lines), flush=True)
        with images.registry(folder / "registry") as host:
            reference = f"{host}/big:1"
            timed(
                "skopeo",
                "--insecure-policy",
                "copy",
                "--dest-tls-verify=false",
                f"oci:{folder / 'layout'}",
                f"docker://{reference}",
            )
            shutil.rmtree(folder / "layout")
            daemon = new_daemon().start()
            try:
                bench = Bench(daemon, reference, folder)
                ours, theirs = [], []
                for number in range(options.rounds):
                    ours.append(bench.by_cay())
                    theirs.append(bench.by_others())
                    lines.append(
                        f"round {number + 1}: cay {ours[-1]:.1f} s, others {theirs[-1]:.1f} s"
                    )
                    print(lines[-1], flush=True)
                peak = bench.daemon_kib()
            finally:
                daemon.close()
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    verdict = "reached" if ratio <= SLOWER else "NOT REACHED"
    lines += [
        f"median of the rounds' ratios: {ratio:.2f}, at most {SLOWER}: {verdict}",
        f"daemon's peak memory: {peak >> 10} MiB, at most {MOST_DAEMON_KIB >> 10}",
        f"load after: {' '.join(f'{one:.2f}' for one in os.getloadavg())}",
    ]
    print("\n".join(lines[-3:]))
    options.target.with_suffix(".txt").write_text(head() + "\n".join(lines) + "\n")
    options.target.with_suffix(".json").write_text(
        json.dumps(
            {"commit": commit(), "cay_s": ours, "others_s": theirs, "daemon_kib": peak}, indent=1
        )
        + "\n"
    )
    if peak > MOST_DAEMON_KIB or (idle and ratio > SLOWER):
        sys.exit("bench: an aim is not reached")


if __name__ == "__main__":
    main()
