"""Runs the rows and prints the table. See `run`, which makes the namespaces that it runs in."""
import collections
import contextlib
import fnmatch
import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time


HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import baits  # noqa: E402
import frame  # noqa: E402
import holes  # noqa: E402
import options as options_of  # noqa: E402
import places  # noqa: E402
import world  # noqa: E402
import harness  # noqa: E402
from harness import new_daemon  # noqa: E402
from measured import head, machine  # noqa: E402

for rows in sorted(HERE.glob("rows_*.py")):
    importlib.import_module(rows.stem)

COMPILER = next(filter(shutil.which, ("clang-19", "clang", "gcc", "cc")), None)
BOXES = {
    "main": {},
    "other": {},
    "open": {"policy": "open"},
    "off": {"policy": "off"},
    "tunnel": {"policy": "*.tunnel.gate.test"},
    "brokered": {},
    "spent": {"policy": "open"},
    "but": {"policy": "open,!other.gate.test"},
    "numbers": {"policy": "198.18.7.1:80,169.254.169.254:80,!other.gate.test"},
    "strict": {"profile": "strict"},
    "nested": {"profile": "nested"},
    "small": {"limits": {"memory_bytes": 64 << 20, "pids": 64, "disk_bytes": 64 << 20}},
    "roomy": {"limits": {"memory_bytes": 64 << 20, "pids": 64, "disk_bytes": 512 << 20}},
}


class Place:
    """A daemon and its sandboxes, made when a row asks for them."""

    patience = 0.5  # seconds that are waited for what should not come

    def __init__(self, daemon=None, prefix="escape", world=None):
        self.daemon, self.prefix, self.boxes, self.world = daemon, prefix, {}, world
        self.http = daemon and daemon.http()

    def box(self, name):
        if name not in self.boxes:
            self.boxes[name] = places.Sandbox(self, f"{self.prefix}-{name}", **BOXES[name])
        return self.boxes[name]

    @contextlib.contextmanager
    def unprotected(self):
        """Within, an attack should succeed: on a busy machine, or right after a restart, late."""
        self.patience = 10
        try:
            yield self
        finally:
            del self.patience

    def comes(self, condition):
        """Whether what reaches a server outside does so."""
        return baits.wait_won(condition, self.patience)

    def widened(self, rule):
        """As `main`, with that rule besides: for controls."""
        if rule not in self.boxes:
            self.boxes[rule] = places.Sandbox(
                self, f"{self.prefix}-wide-{os.urandom(4).hex()}", policy=f"packages,{rule}"
            )
        return self.boxes[rule]


class Host(Place):
    """The daemon under test, and others that are as it is but for a protection."""

    def __init__(self, with_holes=False):
        super().__init__()
        self.seeded, self.careless, self.leaky, self.born = frozenset(), None, None, {}
        self.program_with_holes = holes.build(harness.BUILD) if with_holes else None
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="cay-escape-", dir="/var/tmp"))
        self.directory.chmod(0o755)
        tempfile.tempdir = str(self.directory)
        harness.spare_snapshots = self.directory / "snapshots"  # shared with no other tests
        self.world = world.World(self.directory)
        self.stand_in = self.directory / "stand_in"
        subprocess.run([COMPILER, "-O1", "-o", self.stand_in, HERE / "stand_in.c"], check=True)

    def start(self):
        self.world.start()
        self.daemon = new_daemon(*self.world.settings)
        self.daemon.prefix = self.world.prefix
        self.daemon.start()
        self.http = self.daemon.http()
        # Controls that keep the caller's directory start from one whose parents everybody may pass
        # through.
        os.chdir("/var/tmp")
        return self

    def holed(self, asked):
        """The same of a build without these checks (holes.py). There is one at a time."""
        words, inside = ";".join(sorted(asked - holes.ITS_OWN)), self.directory / "holes"
        holes.ask_inside(inside, asked)
        if self.leaky is None:
            daemon = new_daemon(
                *self.world.settings, env={"CAY_HOLES": words, "CAY_HOLES_INSIDE": str(inside)}
            )
            daemon.prefix, daemon.program = self.world.prefix, self.program_with_holes
            self.leaky = Place(daemon.start(), world=self.world)
        born = frozenset(asked & holes.FROM_BIRTH)
        self.leaky.boxes = self.born.setdefault(born, {})
        self.leaky.prefix = "-".join(
            [
                "escape",
                *(
                    str(number)
                    for number, name in enumerate(sorted(holes.FROM_BIRTH))
                    if name in born
                ),
            ]
        )
        daemon = self.leaky.daemon
        if daemon.extra["CAY_HOLES"] != words:
            daemon.extra["CAY_HOLES"] = words
            daemon.kill()
            # They outlive the daemon, with its chosen holes.
            for role in ("gate", "broker"):
                subprocess.run(
                    [daemon.program, role, "--data", daemon.data, "--stop"],
                    check=True,
                    capture_output=True,
                )
            daemon.start(listen=f"127.0.0.1:{daemon.port}")
        return self.leaky

    def opened(self, name):
        """The same, of a daemon whose operator has opened special addresses: for controls."""
        if self.careless is None:
            daemon = new_daemon("--config", str(self.world.directory / "opened.toml"))
            daemon.prefix = self.world.prefix
            self.careless = Place(daemon.start(), "opened", self.world)
        return self.careless.box(name)

    def close(self):
        for place in filter(None, (self, self.careless, self.leaky)):
            if place.daemon:
                place.daemon.close()
        self.world.stop()
        harness.remove_in_background(self.directory)


# Walls taken away in a sandbox itself, and rows that must find it; then what a product without one
# wall would be like.
DAMAGED = (
    ("mask:/proc/cmdline", "proc-cmdline"),
    ("mask:/proc/partitions", "proc-partitions"),
    ("nosuid:/tmp", "set-id-in-tmp"),
    ("noexec:/dev", "program-in-dev"),
    ("host:/var/tmp=/var/tmp", "host-file"),
)
SEEDED = (
    ("pid", "kill-a-guests-uid"),
    ("filter", "io-uring"),
    ("net", "loopback"),
    ("ipc", "system-v-memory"),
    ("time", "host-uptime"),
    ("caps", "raise-capabilities"),
    ("cgroup", "many-processes"),
)


def prove(host):
    """Complaints where a hole stays unseen, or one is seen that is not there."""
    whole = host.boxes.get("main")
    for number, (wall, name) in enumerate(DAMAGED):
        host.boxes["main"] = places.Sandbox(host, f"escape-damaged-{number}")
        host.boxes["main"].sh("mkdir -p /var/tmp")
        places.damage(host.boxes["main"], wall)
        yield from complaints(host, name, f"a sandbox without '{frame.told_of(wall)}'")
        host.boxes["main"].close()
    host.boxes["main"] = whole
    for wall, name in SEEDED:
        host.seeded = frozenset([wall])
        yield from complaints(host, name, f"a product without '{frame.told_of(wall)}'")
    host.seeded = frozenset()


def complaints(host, name, what):
    seen, untouched = (
        frame.verdict(host, frame.ROWS[name])[0],
        frame.verdict(host, frame.ROWS["no-key"])[0],
    )
    red = exit_code([seen]) == 1
    print(f"{'red' if red and seen == 'ESCAPED' else 'UNSEEN':10} {name}: {what}", flush=True)
    if seen != "ESCAPED" or not red:
        yield f"escape: {what} goes unseen: {name} says {seen}"
    if untouched != "HELD":
        yield f"escape: {what} disturbs others"


def exit_code(words):
    """0: every attack was held, and each control that this machine can show succeeded."""
    return 1 if {"ESCAPED", "DEFECT"} & set(words) else 0


def table(host, results):
    """Lines: attack, class, attackers, protection, what came of it, of what kind the control is,
    and the control."""
    for one, word, how in results:
        control = {"HELD": one.proof_on(host.program_with_holes), "NO CONTROL": f"none: {how}"}.get(
            word, "-"
        )
        means = one.means_on(host.program_with_holes) if word == "HELD" else "-"
        result = {"HELD": f"held: {how}", "NO CONTROL": "not shown"}.get(word, f"{word}: {how}")
        yield (
            f"| {one.name} | {one.attack} | {one.kind} | {one.by} | {one.wall} | {result} | "
            f"{means} | {control} |"
        ).replace("\r", "").replace("\n", "; ")


def main():
    options = options_of.parsed()

    def named(one, pattern):
        return fnmatch.fnmatch(one.name, pattern) or one.kind == pattern

    if strange := [
        pattern
        for pattern in options.rows
        if not any(named(one, pattern) for one in frame.ROWS.values())
    ]:
        print(f"escape: no row or class {', '.join(strange)}: --list names them", file=sys.stderr)
        return 2
    if options.holes is None:
        options.holes = not options.short
    chosen = [
        one
        for one in frame.ROWS.values()
        if not (options.short and not one.short)
        and not (options.core and one.name not in frame.core())
        and (not options.rows or any(named(one, pattern) for pattern in options.rows))
    ]
    if options.list:
        print(
            *(f"{one.name}: {one.attack} [{one.kind}]" for one in chosen),
            f"{len(chosen)} rows",
            sep="\n",
        )
        return 0
    if not chosen:
        print("escape: --short leaves all of these out", file=sys.stderr)
        return 2
    if left_out := [
        one.name
        for one in frame.ROWS.values()
        if options.short
        and options.rows
        and not one.short
        and any(named(one, pattern) for pattern in options.rows)
    ]:
        print(f"escape: --short leaves out {', '.join(left_out)}", file=sys.stderr)
    host, results, unproved, begun, on = Host(options.holes), [], [], time.monotonic(), machine()
    try:
        host.start()
        for one in chosen:
            at = time.monotonic()
            word, how = frame.verdict(host, one)
            how = how.replace(str(host.daemon.data), "DATA").replace(
                str(host.directory), "DIRECTORY"
            )
            how = re.sub(r"[^ -~]+", " ", how)
            results.append((one, word, how))
            print(
                f"{word:10} {one.name:34} {how[:300]}  [{time.monotonic() - at:.1f} s]", flush=True
            )
        unproved = list(prove(host)) if options.prove else []
    finally:
        host.close()
    text = [
        "| Name | Attack | Class | By | Protection | Result | Kind of control | Control |",
        "|---|---|---|---|---|---|---|---|",
        *table(host, results),
    ]
    counts = collections.Counter(word for _, word, _ in results)
    kinds = collections.Counter(one.kind for one, word, _ in results if word == "HELD")
    means = collections.Counter(
        one.means_on(host.program_with_holes) for one, word, _ in results if word == "HELD"
    )
    summary = [
        f"escape: {len(results)} attacks: "
        + ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        + f" [{time.monotonic() - begun:.0f} s]",
        "",
        "held, with a control, of each class: "
        + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())),
        "",
        "their controls: "
        + ", ".join(f"{kind} {count}" for kind, count in means.most_common())
        + ", of which "
        + f"{sum(means[kind] for kind in frame.EXACT)} take the protection itself away",
    ]
    if unshown := [part for one, word, _ in results if word == "HELD" for part in one.unshown]:
        summary += ["", "not shown here, of rows that are several together: " + ", ".join(unshown)]
    print(*text, "", *summary, sep="\n")
    if options.report:
        options.report.write_text(
            "\n".join(
                [
                    "# The escape suite's last long run (`tests/long escape`)"
                    if not options.short and not options.rows
                    else "# The escape suite: "
                    f"{'its short form' if not options.rows else 'some of its rows'}",
                    "",
                    f"{head().rstrip()}; {on}",
                    "",
                    *(textwrap.fill(line, 100, break_on_hyphens=False) for line in summary),
                    "",
                    *text,
                ]
            )
            + "\n"
        )
    print(*unproved, sep="\n")
    return exit_code(word for _, word, _ in results) or (1 if unproved else 0)


if __name__ == "__main__":
    sys.exit(main())
