#!/usr/bin/env python3
"""Runs bench.py against a daemon of its own and keeps the figures, with the commit they are of.

    bench/measure.py docs/measured/bench [BENCH ARGUMENTS]      writes bench.txt and bench.json
    there

Figures that tests/promises.toml promises are held to it: on a host that did little else before, one
that is not reached fails.
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


# The promises of tests/promises.toml that have figures: number, the figure's name, the statistic,
# and the promise.
PROMISES = [
    ("L22", "wake of a stopped sandbox (/bin/true)", "p50", "at most", 40),
    ("L31", "  through its link: GET of 2 bytes", "added_p50_ms", "at most", 0.3),
    ("L31", "  through its link: GET of 256 MiB", "share", "at least", 0.6),
    ("L37", "  through cay tunnel: GET of 2 bytes", "added_p50_ms", "at most", 0.3),
    ("L38", "  through yamux, a compiled client: GET of 2 bytes", "added_p50_ms", "at most", 0.3),
]
# Aims that are not promised yet: they are printed, and never a failure.
AIMS = [
    ("uploads", "  through its link: PUT of 256 MiB", "share", "at least", 0.6),
    ("cay tunnel", "  through cay tunnel: GET of 256 MiB", "share", "at least", 0.6),
    ("cay tunnel", "  through cay tunnel: PUT of 256 MiB", "share", "at least", 0.6),
    ("yamux", "  through yamux, a compiled client: GET of 256 MiB", "share", "at least", 0.6),
    ("yamux", "  through yamux, a compiled client: PUT of 256 MiB", "share", "at least", 0.6),
    (
        "yamux",
        "  through yamux, LangSmith's Python: GET of 2 bytes",
        "added_p50_ms",
        "at most",
        0.3,
    ),
    ("yamux", "  through yamux, LangSmith's Python: GET of 256 MiB", "share", "at least", 0.6),
    ("yamux", "  through yamux, LangSmith's Python: PUT of 256 MiB", "share", "at least", 0.6),
]


def judged(rows):
    """(a line for each promise that was measured, whether all are kept)."""
    by_name, lines, kept = {row["name"]: row for row in rows}, [], True
    for promise in PROMISES + AIMS:
        number, name, what, how, limit = promise
        if name not in by_name:
            continue
        value = by_name[name][what]
        holds = value <= limit if how == "at most" else value >= limit
        told = f"{name.strip()}, {what} {value:.3f}, {how} {limit}"
        if promise in PROMISES:
            kept = kept and holds
            lines.append(f"{number}: {told}: {'kept' if holds else 'NOT KEPT'}")
        else:
            lines.append(f"aim of {number}: {told}: {'reached' if holds else 'not reached'}")
    return lines, kept


def main():
    idle = os.getloadavg()[0] <= (os.cpu_count() or 1) / 4
    target = pathlib.Path(sys.argv[1]).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    figures = target.with_suffix(".json")
    daemon = new_daemon().start()
    try:
        done = subprocess.run(
            [sys.executable, ROOT / "bench/bench.py", "--json", figures, *sys.argv[2:]],
            env={**os.environ, **daemon.env, "CAY_PROGRAM": str(CAY)},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        daemon.close()
    if done.returncode != 0:
        print(done.stdout, end="")
        sys.exit(done.returncode)
    found = json.loads(figures.read_text())
    lines, kept = judged(found["rows"])
    text = head() + done.stdout + "".join(f"{line}\n" for line in lines)
    print(text, end="")
    target.with_suffix(".txt").write_text(text)
    figures.write_text(json.dumps({"commit": commit(), **found}, indent=1) + "\n")
    if not kept and idle:
        sys.exit("bench: a promise of tests/promises.toml is not kept")


if __name__ == "__main__":
    main()
