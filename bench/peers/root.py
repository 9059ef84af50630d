"""The root file system that all peers and Cay run in: programs of this host, and its Python."""

import os
import pathlib
import shutil
import subprocess
import tarfile

from debian import CACHE
from image_root import root_tar

PROGRAMS = ("sh", "echo", "true", "cat", "sleep", "head", "dd")
PYTHON = pathlib.Path("/usr/bin/python3")


def _add_python(tree):
    """Copies the interpreter, its libraries and its modules, with the compiled ones."""
    real = PYTHON.resolve()
    listed = subprocess.run(["ldd", real], capture_output=True, text=True, check=True).stdout
    words = [word for word in listed.split() if word.startswith("/")]
    for path in [str(real), *words]:
        target = tree / path[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy2(path, target)
    modules = pathlib.Path("usr/lib") / real.name
    shutil.copytree(
        "/" / modules,
        tree / modules,
        symlinks=True,
        ignore=shutil.ignore_patterns("test", "idlelib", "dist-packages", "config-*"),
        dirs_exist_ok=True,
    )
    if not (tree / "usr/bin/python3").exists():
        (tree / "usr/bin/python3").symlink_to(real.name)


def made():
    """Returns (directory, tar) of the root. The first call of a machine makes them."""
    tree, archive = CACHE / "root", CACHE / "root.tar"
    if archive.exists():
        return tree, archive
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    packed = CACHE / "small.tar"
    packed.write_bytes(root_tar(PROGRAMS))
    with tarfile.open(packed) as tar:
        tar.extractall(tree)
    packed.unlink()
    if PYTHON.exists():
        _add_python(tree)
    for path in ("tmp", "var/tmp"):
        (tree / path).mkdir(parents=True, exist_ok=True)
        os.chmod(tree / path, 0o1777)
    whole = CACHE / "root.tar.new"
    subprocess.run(["tar", "-C", tree, "-cf", whole, "."], check=True)
    whole.rename(archive)
    return tree, archive
