"""What of files holds given bytes."""
import contextlib
import os
import pathlib


def files_below(*tops, without=("layers",)):
    """Regular files, without folders and files of those names. DATA/layers, by default: the host's
    own programs, gigabytes of them."""
    for top in tops:
        for where, folders, names in os.walk(top):
            folders[:] = [name for name in folders if name not in without]
            for name in names:
                path = pathlib.Path(where) / name
                with contextlib.suppress(OSError):
                    if name not in without and path.is_file() and not path.is_symlink():
                        yield path


def holds(path, *needles):
    longest = max(map(len, needles))
    kept = b""
    with open(path, "rb") as file:
        while piece := file.read(4 << 20):
            kept += piece
            if any(needle in kept for needle in needles):
                return True
            kept = kept[-longest:]
    return False


def files_with(needles, files):
    found = []
    for path in files:
        with contextlib.suppress(FileNotFoundError):  # a journal may go meanwhile
            if holds(path, *needles):
                found.append(str(path))
    return found
