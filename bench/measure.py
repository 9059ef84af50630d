#!/usr/bin/env python3
"""Runs bench.py against a daemon of its own and keeps the figures, with the commit they are of.

    bench/measure.py docs/measured/bench [BENCH ARGUMENTS]      writes bench.txt and bench.json there
"""
import datetime
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from harness import new_daemon  # noqa: E402


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!docs")
    return (git("rev-parse", "--short=12", "HEAD") or "no commit") + (" with changes" if changed else "")


def main():
    target = pathlib.Path(sys.argv[1]).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    figures = target.with_suffix(".json")
    daemon = new_daemon().start()
    try:
        done = subprocess.run([sys.executable, ROOT / "bench/bench.py", "--json", figures, *sys.argv[2:]],
                              env={**os.environ, **daemon.env}, stdout=subprocess.PIPE, text=True, check=False)
    finally:
        daemon.close()
    head = f"commit {commit()}, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC\n"
    print(head + done.stdout, end="")
    if done.returncode != 0:
        sys.exit(done.returncode)
    target.with_suffix(".txt").write_text(head + done.stdout)
    figures.write_text(json.dumps({"commit": commit(), **json.loads(figures.read_text())}, indent=1) + "\n")


if __name__ == "__main__":
    main()
