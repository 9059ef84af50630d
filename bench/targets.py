"""The targets of docs/performance.md, and whether the rows of a run reach them.

A target without a row in a run is `not measured`. A promise of tests/promises.toml with a figure is
held to it: on a host that did little else, `bench/run --promises` fails if it is not kept."""

from dataclasses import dataclass


@dataclass
class Aim:
    """One figure of one row, and its limit."""

    row: str
    figure: str
    limit: float
    at_least: bool = False
    unit: str = "ms"
    label: str = ""

    def value(self, rows):
        found = rows.get(self.row, {}).get(self.figure)
        return found[0] if isinstance(found, (list, tuple)) else found

    def reached(self, rows):
        """None: not measured."""
        value = self.value(rows)
        if value is None:
            return None
        return value >= self.limit if self.at_least else value <= self.limit

    def told(self, rows):
        value = self.value(rows)
        shown = "not measured" if value is None else f"{short(value)} {self.unit}".strip()
        return f"{self.label or self.figure} {shown}"


@dataclass
class Target:
    measure: str
    target: str
    floor: str
    elsewhere: str
    aims: list
    method: str
    missing: str = ""  # the part of the target that Cay does not have


def short(value):
    """Three digits that count."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


SEQUENTIAL = "create, sequential: cay"
TARGETS = [
    Target(
        "create → first output (`echo`), no pool",
        "p50 ≤ 4 ms and ≤ 0.9 × bubblewrap, p99 ≤ 15 ms",
        "2.7–2.9 ms",
        "bubblewrap 4.4, crun 9.6, docker 268 ms; 42–48 ms published",
        [
            Aim(SEQUENTIAL, "p50", 4, label="p50"),
            Aim("create, sequential: bubblewrap", "cay_to_it", 0.9, unit="", label="ratio"),
            Aim(SEQUENTIAL, "p99", 15, label="p99"),
        ],
        "create",
    ),
    Target(
        "the same, pooled",
        "p50 ≤ 1.5 ms, p99 ≤ 5 ms",
        "1.0–1.5 ms",
        "0.2–0.7 ms for a claim alone",
        [
            Aim("create, pooled: cay", "p50", 1.5, label="p50"),
            Aim("create, pooled: cay", "p99", 5, label="p99"),
        ],
        "pool",
    ),
    Target(
        "burst of 100, pool full / empty",
        "≤ 300 / ≤ 700 ms, 100 % success",
        "–",
        "101 ms on 20 CPUs",
        [
            Aim("create, pooled burst: cay", "wall_of_100_ms", 300, label="full"),
            Aim("create, pooled burst: cay", "failures", 0, unit="", label="failures"),
            Aim("create, burst: cay", "wall_of_100_ms", 700, label="empty"),
            Aim("create, burst: cay", "failures", 0, unit="", label="failures"),
        ],
        "create",
    ),
    Target(
        "exec of a program, kept connection",
        "≤ 0.3 ms above vfork+exec+wait, p99 ≤ 4 ms",
        "0.9–1.3 ms",
        "nsenter 2.4, crun exec 5.4, docker exec 88 ms",
        [
            Aim("exec: cay above the bare loop", "value", 0.3, label="above"),
            Aim("exec: cay", "p99", 4, label="p99"),
        ],
        "exec",
    ),
    Target(
        "execs a second, 8 clients",
        "≥ 70 % of a bare loop on both CPUs",
        "–",
        "–",
        [Aim("execs a second: cay, share of the bare loop", "value", 70, True, "%", "share")],
        "exec",
    ),
    Target(
        "Python: warm evaluation / fresh process from a warm one",
        "p50 ≤ 0.4 / ≤ 2.5 ms",
        "1.2–1.6 ms forked",
        "1 ms; 10–14 ms cold",
        [
            Aim("warm evaluation: python", "p50", 0.4, label="warm"),
            Aim("warm evaluation: python, forked", "p50", 2.5, label="forked"),
        ],
        "interpreter",
    ),
    Target(
        "sustained create + exec + delete",
        "≥ 300/s for 5 minutes, flat memory and descriptors",
        "~600/s",
        "bubblewrap 250/s; 181/s on 96 threads",
        [
            Aim("create + exec + delete", "value", 300, True, "/s", "rate"),
            Aim("  growth of serve: memory", "value", 16, unit="MiB", label="growth"),
            Aim("  growth of serve: descriptors", "value", 10, unit="", label="descriptors"),
            Aim("  growth of cay-launcher: memory", "value", 16, unit="MiB", label="launcher"),
        ],
        "churn",
    ),
    Target(
        "idle sandbox, N = 1,000",
        "≤ 0.6 MiB, ≤ 0.1 % of a core",
        "< 0.5 MiB",
        "3–12 MiB published",
        [
            Aim("idle sandbox, N = 1000: memory", "value", 0.6, unit="MiB", label="memory"),
            Aim("idle sandboxes, N = 1000: CPU of one", "value", 0.1, unit="%", label="CPU"),
        ],
        "density",
    ),
    Target(
        "wake of a stopped sandbox",
        "p50 ≤ 6 ms",
        "–",
        "–",
        [Aim("wake of a stopped sandbox (/bin/true)", "p50", 6, label="p50")],
        "wake",
    ),
    Target(
        "streamed output, one command",
        "≥ 400 MB/s native, ≥ 100 MB/s LangSmith JSON",
        "–",
        "–",
        [
            Aim("streamed output: native", "mb_per_s", 400, True, "MB/s", "native"),
            Aim("streamed output: LangSmith JSON", "mb_per_s", 100, True, "MB/s", "JSON"),
        ],
        "output",
    ),
    Target(
        "file up and down, 1 GiB / 1 KiB",
        "≥ 1 GB/s / ≤ 0.6 ms",
        "–",
        "–",
        [
            Aim("file upload: 1 GiB", "mb_per_s", 1000, True, "MB/s", "up"),
            Aim("file download: 1 GiB", "mb_per_s", 1000, True, "MB/s", "down"),
            Aim("file upload: 1 KiB", "p50", 0.6, label="up"),
            Aim("file download: 1 KiB", "p50", 0.6, label="down"),
        ],
        "files",
    ),
    Target(
        "real pipelines",
        "≤ 3 % slower than the bare host",
        "–",
        "5–30 %",
        [
            Aim(f"{name}: slower by", "value", 3, unit="%", label=label)
            for name, label in (
                ("pip install of 8 local wheels", "pip"),
                ("a C++ build (6 files, 2 at a time)", "C++"),
                ("a test suite (networkx)", "tests"),
            )
        ],
        "pipelines",
    ),
]

# The promises of tests/promises.toml that have figures.
PROMISES = {
    "L22": [Aim("wake of a stopped sandbox (/bin/true)", "p50", 40)],
    "L31": [
        Aim("  through its link: GET of 2 bytes", "added_p50_ms", 0.3),
        Aim("  through its link: GET of 256 MiB", "share", 0.6, True, ""),
    ],
    "L37": [Aim("  through cay tunnel: GET of 2 bytes", "added_p50_ms", 0.3)],
    "L38": [Aim("  through yamux, a compiled client: GET of 2 bytes", "added_p50_ms", 0.3)],
}
# Aims that are not promised.
UNPROMISED = [
    Aim(f"  {way}: {what}", figure, limit, at_least, unit)
    for way in (
        "through its link",
        "through cay tunnel",
        "through yamux, a compiled client",
        "through yamux, LangSmith's Python",
    )
    for what, figure, limit, at_least, unit in (
        ("GET of 2 bytes", "added_p50_ms", 0.3, False, "ms"),
        ("GET of 256 MiB", "share", 0.6, True, ""),
        ("PUT of 256 MiB", "share", 0.6, True, ""),
    )
]


def by_name(rows):
    return {row["name"]: row for row in rows}


def judged(rows):
    """Returns (a line for each promise that was measured, whether all are kept)."""
    named, lines, kept = by_name(rows), [], True
    for number, aims in PROMISES.items():
        for aim in aims:
            reached = aim.reached(named)
            if reached is None:
                continue
            kept = kept and reached
            how = "at least" if aim.at_least else "at most"
            end = "kept" if reached else "NOT KEPT"
            lines.append(
                f"{number}: {aim.row.strip()}, {aim.figure} {aim.value(named):.3f}, {how} "
                f"{aim.limit}: {end}"
            )
    return lines, kept


def unpromised(rows):
    """Returns a line for each other aim of the ways in that was measured."""
    named = by_name(rows)
    promised = {(aim.row, aim.figure) for aims in PROMISES.values() for aim in aims}
    return [
        f"aim: {aim.row.strip()}, {aim.figure} {aim.value(named):.3f}, limit {aim.limit}: "
        f"{'reached' if aim.reached(named) else 'not reached'}"
        for aim in UNPROMISED
        if (aim.row, aim.figure) not in promised and aim.reached(named) is not None
    ]
