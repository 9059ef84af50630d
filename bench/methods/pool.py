"""Create to first output of `echo` from a full pool of sandboxes that are booted ahead: one after
the other, and all at once. Then lives (create, `echo`, delete) with pauses, from a small pool."""

import statistics
import sys
import time

from create import COMMAND

# Room for the pool beside as many sandboxes that run.
ROOM = "[host]\nmemory_overcommit = 100.0\ncpu_overcommit = 1000.0\npool = {}\n"
FILL_LIMIT_S = 120


def spares(at):
    text = at.fresh_api().call("GET", "/metrics").decode()
    return next(
        float(line.split()[1])
        for line in text.splitlines()
        if line.startswith("cay_pool_spares ")
    )


def fill(at, count):
    """Waits until the pool has so many. A burst of as many before it has shown the need."""
    end = time.monotonic() + FILL_LIMIT_S
    while spares(at) < count:
        if time.monotonic() > end:
            sys.exit(f"bench: the pool has {spares(at)} spares of {count}")
        time.sleep(0.2)


def _full(at, count):
    took, ready, failures, why = [], [], 0, ""
    at.client("create", count=count, mode="burst", warm=0, command=COMMAND)
    for _ in range(at.count(5, 1)):
        fill(at, count)
        got = at.client("create", count=count, warm=0, command=COMMAND)
        took += got["microseconds"]
        ready += got["ready"]["microseconds"]
        failures += got["failures"]
        why = why or got["why"]
    at.add("create, pooled: cay", took, failures=failures, why=why)
    at.add("  of it the creation", ready)


def _burst(at, count):
    took, walls, failures, why = [], [], 0, ""
    for _ in range(at.count(5, 1)):
        fill(at, count)
        got = at.client("create", count=count, mode="burst", warm=0, command=COMMAND)
        took += got["microseconds"]
        walls.append(got["wall_us"] / 1e3)
        failures += got["failures"]
        why = why or got["why"]
    wall = statistics.median(walls)
    at.add(
        "create, pooled burst: cay",
        took,
        failures=failures,
        why=why,
        walls_ms=walls,
        **{f"wall_of_{count}_ms": wall},
    )
    at.told(f"  all of {count} in {wall:.0f} ms, {failures} failures")


def measure(at):
    count = at.count(100, 20)
    with at.started(ROOM.format(count)):
        _full(at, count)
        _burst(at, count)
    with at.started(ROOM.format(4)):
        gap = 100 if not at.quick else 30
        got = at.client(
            "create", count=count, mode="staggered", gap_ms=gap, warm=8, command=COMMAND
        )
        at.add(
            f"create, {gap} ms apart, a pool of 4: cay",
            got["microseconds"],
            failures=got["failures"],
            why=got["why"],
        )
