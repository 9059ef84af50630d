"""Checks that the sources still have the code that the escape suite and the fuzzers replace.

The escape suite removes protections in a copy of the sources (escape/holes.py). Each fuzz
target has a planted bug (fuzz/planted.py). Both name the code that they replace. This check
needs no build.
"""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS), str(TESTS / "escape"), str(TESTS / "fuzz")]

import holes  # noqa: E402
import planted  # noqa: E402
import source_patch  # noqa: E402


def main():
    holes.patched()  # exits with words if the code of a hole is not there once
    bad = 0
    for target, name, _, old, _ in planted.BUGS:
        found = source_patch.count_of((TESTS.parent / "src" / name).read_text("utf-8"), old)
        if found != 1:
            print(f"tests/fuzz/planted.py: src/{name} has the code of {target}'s bug {found} times")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
