#!/usr/bin/env python3
"""All inputs of the fuzz targets: inputs.py DIRECTORY makes DIRECTORY/TARGET/….

They are the seeds (seeds.py), what once broke a target (corpus/TARGET/), and what its runs found
(corpus/TARGET.zip, made by `tests/fuzz/run --keep`: the fewest inputs that reach what all of them
reach)."""
import hashlib
import pathlib
import shutil
import sys
import zipfile

import seeds

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


def write(target, place, kept=True):
    """Makes `place` hold the target's inputs; without `kept` the seeds alone."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for number, data in enumerate(seeds.ALL[target]()):
        (place / f"seed-{number:03}").write_bytes(data)
    if not kept:
        return
    for path in sorted((CORPUS / target).glob("*")):
        shutil.copyfile(path, place / f"broke-{path.name}")
    packed = CORPUS / f"{target}.zip"
    if packed.exists():
        with zipfile.ZipFile(packed) as archive:
            archive.extractall(place)


def pack(target, place):
    """Makes corpus/TARGET.zip of a directory: the same bytes for the same inputs."""
    files = {
        hashlib.sha1(data).hexdigest()[:16]: data
        for data in (path.read_bytes() for path in place.iterdir())
    }
    with zipfile.ZipFile(
        CORPUS / f"{target}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9
    ) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    for one in seeds.ALL:
        write(one, pathlib.Path(sys.argv[1]) / one)
