"""Debian's packages of the peers, unpacked into a directory of their own: nothing is installed."""

import os
import pathlib
import re
import subprocess

# Packages and root file system are kept here between runs. CAY_BENCH_CACHE names another place.
CACHE = pathlib.Path(os.environ.get("CAY_BENCH_CACHE", "/var/tmp/cay-bench"))


class Skipped(Exception):
    """Why a peer, or a method, is left out."""


def _with_dependencies(package):
    """Returns the package and those that it needs and this machine lacks."""
    done = subprocess.run(
        ["apt-get", "install", "--simulate", "--no-install-recommends", package],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Skipped(f"apt-get knows no package {package}: {done.stderr.strip()[-200:]}")
    return re.findall(r"^Inst (\S+)", done.stdout, re.M) or [package]


def unpacked(package):
    """Returns the directory that has the package's files, and those of its dependencies."""
    tree = CACHE / "debian" / package
    if (tree / "unpacked").exists():
        return tree
    archives = CACHE / "archives" / package
    archives.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["apt-get", "download", "-qq", *_with_dependencies(package)],
        cwd=archives,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Skipped(f"apt-get cannot download {package}: {done.stderr.strip()[-200:]}")
    tree.mkdir(parents=True, exist_ok=True)
    for archive in archives.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", archive, tree], check=True)
    (tree / "unpacked").touch()
    return tree


def environment(tree):
    """Returns the environment in which the programs of that directory run.

    Their libraries are found by a cache of the loader that this mount namespace alone sees: some
    programs start others without an environment."""
    programs = [tree / "usr/bin", tree / "usr/sbin", tree / "sbin"]
    _share_libraries()
    return {**os.environ, "PATH": ":".join([*map(str, programs), os.environ["PATH"]])}


def _share_libraries():
    folders = {path.parent for path in (CACHE / "debian").glob("*/**/*.so.*")}
    settings, cache = CACHE / "ld.so.conf", CACHE / "ld.so.cache"
    words = ["include /etc/ld.so.conf", *sorted(map(str, folders)), ""]
    settings.write_text("\n".join(words), encoding="utf8")
    subprocess.run(["umount", "/etc/ld.so.cache"], check=False, capture_output=True)
    subprocess.run(["ldconfig", "-X", "-f", settings, "-C", cache], check=True, capture_output=True)
    subprocess.run(["mount", "--bind", cache, "/etc/ld.so.cache"], check=True)


def version(argv, env=None):
    """Returns the first line that a program prints about its version."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    return (done.stdout or done.stderr).strip().splitlines()[0] if done.returncode == 0 else ""
