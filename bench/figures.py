"""Figures from samples: medians, percentiles, and how two ways that took turns compare."""

import statistics
import time


def percentile(values, share):
    """`values` are sorted. Of fewer than a hundred, the 99th is the greatest."""
    return values[min(len(values) - 1, int(len(values) * share))]


def summary(name, seconds, unit="ms", scale=1e3, told=print):
    """Prints and returns one row of figures."""
    values = sorted(seconds)
    row = {
        "name": name,
        "n": len(values),
        "unit": unit,
        "p50": statistics.median(values) * scale,
        "p95": percentile(values, 0.95) * scale,
        "p99": percentile(values, 0.99) * scale,
        "min": values[0] * scale,
        "max": values[-1] * scale,
        "spread": [[share, percentile(values, share / 100) * scale] for share in range(0, 100, 2)],
    }
    told(
        f"{name:<52} p50 {row['p50']:9.3f}  p95 {row['p95']:9.3f}  p99 {row['p99']:9.3f} {unit}"
        f"  n={row['n']}"
    )
    return row


def ratio(ours, theirs):
    """Returns (median, first and third quartile) of the ratio of each round's medians.

    `ours` and `theirs` are lists of rounds: each round has both, one after the other, so that what
    else the machine does falls on both."""
    each = sorted(
        statistics.median(one) / statistics.median(other) for one, other in zip(ours, theirs)
    )
    if len(each) < 3:
        return statistics.median(each), each[0], each[-1]
    quartiles = statistics.quantiles(each, n=4, method="inclusive")
    return statistics.median(each), quartiles[0], quartiles[2]


def now():
    return time.perf_counter()
