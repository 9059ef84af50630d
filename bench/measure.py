#!/usr/bin/env python3
"""Runs bench.py against a daemon of its own and keeps the figures, with the commit they are of.

    bench/measure.py docs/measured/bench [BENCH ARGUMENTS]      writes bench.txt and bench.json there
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from harness import CAY, new_daemon  # noqa: E402
from measured import commit, head  # noqa: E402


def main():
    target = pathlib.Path(sys.argv[1]).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    figures = target.with_suffix(".json")
    daemon = new_daemon().start()
    try:
        done = subprocess.run([sys.executable, ROOT / "bench/bench.py", "--json", figures, *sys.argv[2:]],
                              env={**os.environ, **daemon.env, "CAY_PROGRAM": str(CAY)}, stdout=subprocess.PIPE, text=True, check=False)
    finally:
        daemon.close()
    text = head() + done.stdout
    print(text, end="")
    if done.returncode != 0:
        sys.exit(done.returncode)
    target.with_suffix(".txt").write_text(text)
    figures.write_text(json.dumps({"commit": commit(), **json.loads(figures.read_text())}, indent=1) + "\n")


if __name__ == "__main__":
    main()
