"""A chaos run: the daemon, its clients, and what is done to it meanwhile. Ends with figures and
findings."""
import collections
import dataclasses
import multiprocessing
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import time

import client
import kinds
from census import census
from harness import CAY, new_daemon, slow, wait_until
from service_group import ServiceGroup

HERE = pathlib.Path(__file__).resolve().parent
# Killed and started again, and the milliseconds within which readers are attached again then (p99):
# promised on an idle host. A launcher that died with its daemon looks through what it finds before
# the daemon can take sandboxes over.
RESTARTS = (("the daemon's start", 500), ("the start of daemon and launcher", 1500))
# The limit on a busy host: no benchmark runs there, but nobody is left waiting.
STUCK = 30_000


@dataclasses.dataclass
class Config:
    seed: int = 1
    clients: int = 8
    langsmith_clients: int = 2
    commands: int = 2000
    kills: int = 20  # at least; it goes on until both are reached
    seconds: float = 0  # an end in any case; 0: none
    life: int = 300  # commands of one sandbox
    kill_every: float = 1.0  # seconds between kills of the daemon, on average
    group_kills: float = 0  # the part of them that kills its whole cgroup, with the launcher
    polite_ends: float = 0.1  # of its ends, those by SIGTERM: not counted among the kills
    mischief_every: float = (
        3.0  # seconds between two deeds to one sandbox, on average: by these weights
    )
    stops: float = 2
    pauses: float = 1
    keeper_kills: float = 1
    old: str = ""  # a program that serves first, and is replaced half way under the load
    payload: bytes = b""
    verbose: bool = False


@dataclasses.dataclass
class Shared:
    """What the clients' processes and the nemesis share."""

    port: int
    url: str
    key: str
    commands: object  # the budget that is left
    done: object
    lives: object  # of the daemon
    pauses: object  # whether this daemon can pause
    limits: object  # whether keepers that are made now know of short ttls and of limits of output


class Lives:
    """The daemon's last lives, for all processes: each began with a kill, and then a start."""

    KEPT = 32

    def __init__(self, fork):
        self.lock = fork.Lock()
        self.count = fork.Value("q", 0)
        self.rows = fork.Array(
            "d", 3 * self.KEPT
        )  # killed, started (its program), whether its whole cgroup was killed

    def killed(self, whole=False):
        with self.lock:
            at = 3 * (self.count.value % self.KEPT)
            self.rows[at : at + 3] = [time.monotonic(), float("inf"), float(whole)]
            self.count.value += 1

    def started(self):
        with self.lock:
            if self.count.value:
                self.rows[3 * ((self.count.value - 1) % self.KEPT) + 1] = time.monotonic()

    def read(self):
        """(killed, started, whole), the oldest first; of those that are up."""
        with self.lock:
            count, rows = self.count.value, list(self.rows)
        numbers = range(max(0, count - self.KEPT), count)
        lives = [
            (
                rows[3 * (n % self.KEPT)],
                rows[3 * (n % self.KEPT) + 1],
                int(rows[3 * (n % self.KEPT) + 2]),
            )
            for n in numbers
        ]
        return [life for life in lives if life[1] != float("inf")]


@dataclasses.dataclass
class Outcome:
    figures: collections.Counter
    wrong: list
    attached_ms: tuple  # after a kill of the daemon, of its whole cgroup
    load: float = 0  # of the host when the run began: others'

    def idle_host(self):
        return self.load <= (os.cpu_count() or 1) / 4

    def reattach_limit(self, of):
        """Milliseconds for the 99th percentile: the promise on an idle host; on a busy one only
        what is stuck is a finding."""
        return slow(RESTARTS[of][1] if self.idle_host() else STUCK)

    def late(self):
        """A sentence if readers were not back in time."""
        return "; ".join(
            f"readers were attached again within {self.percentile(0.99, of):.0f} ms (p99) of "
            f"{what}, with a limit of "
            f"{self.reattach_limit(of):.0f} ms"
            for of, (what, _) in enumerate(RESTARTS)
            if self.percentile(0.99, of) > self.reattach_limit(of)
        )

    def silent_facade(self):
        """An error says nothing that could be judged: where most are, the facade was not tested, or
        is broken. (Its client gives up after a few attempts, which a busy host, that starts the
        daemon slowly, uses up more often.)
        """
        asked, errors = self.figures["langsmith commands"], self.figures["langsmith errors"]
        return (
            [f"{errors} of {asked} commands of LangSmith's client ended in an error"]
            if asked >= 20 and errors > asked * (0.5 if self.idle_host() else 0.8)
            else []
        )

    def percentile(self, part, of):
        ordered = sorted(self.attached_ms[of])
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0

    def text(self):
        lines = [f"  {name}: {count}" for name, count in sorted(self.figures.items())]
        for of, (what, _) in enumerate(RESTARTS):
            if self.attached_ms[of]:
                lines.append(
                    f"  readers attached again after {what}: {len(self.attached_ms[of])}, p50 "
                    f"{self.percentile(0.5, of):.0f} ms, "
                    f"p99 {self.percentile(0.99, of):.0f} ms, longest "
                    f"{self.percentile(1, of):.0f} ms; p99 was held to "
                    f"{self.reattach_limit(of):.0f} ms"
                )
        lines.append(f"  load of the host before: {self.load:.2f}")
        lines.append(f"  findings: {len(self.wrong)}")
        return "\n".join(lines + [f"  FINDING {sentence}" for sentence in self.wrong[:50]])


def build_payload():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "payload"
        subprocess.run(["clang-19", "-O2", "-static", "-o", out, HERE / "payload.c"], check=True)
        return out.read_bytes()


class Run:
    def __init__(self, config, daemon, group):
        self.config, self.daemon, self.group = config, daemon, group
        # Forked before any thread is there; what they share is in memory.
        self.fork = fork = multiprocessing.get_context("fork")
        self.rng = kinds.seeded(config.seed, "nemesis")
        self.figures = collections.Counter()
        self.owed_again = 0
        self.old_launcher = bool(config.old)
        self.shared = Shared(
            port=daemon.port,
            url=daemon.url,
            key=daemon.key,
            commands=fork.Value("q", config.commands),
            done=fork.Event(),
            lives=Lives(fork),
            pauses=fork.Value("i", not config.old),
            limits=fork.Value("i", not config.old),
        )

    # ---- what is done to the daemon ----

    def kill(self):
        # A launcher of before src/launcher/clone_probe.h boots nothing any more in a group that was
        # killed whole.
        polite = (
            not self.config.old and self.rng.random() < self.config.polite_ends
        )  # older ones were not as polite
        whole = not polite and self.rng.random() < self.config.group_kills and not self.old_launcher
        self.shared.lives.killed(whole)
        if polite:
            self.daemon.terminate()
        elif whole:
            self.group.kill()
            self.daemon.process.wait()
        else:
            self.daemon.kill()
        if self.rng.random() < 0.2:
            time.sleep(self.rng.uniform(0, 0.3))  # away for a while
        self.start()
        self.figures["polite ends" if polite else "kills"] += 1
        self.figures["kills of the whole cgroup"] += whole

    def start(self):
        self.shared.lives.started()
        self.daemon.start(listen=f"127.0.0.1:{self.daemon.port}")

    def replace(self):
        """By today's build, with SIGTERM as an upgrade does it; its launcher and its keepers stay,
        and are of then."""
        self.shared.lives.killed()
        self.daemon.terminate()
        self.daemon.program = CAY
        self.start()
        self.shared.pauses.value = 1
        self.figures["replaced by today's build"] += 1

    def replace_launcher(self):
        self.shared.lives.killed(whole=True)
        self.group.kill()
        self.daemon.process.wait()
        self.start()
        self.old_launcher = False
        self.shared.limits.value = 1
        self.figures["launcher replaced by today's build"] += 1

    # ---- the run ----

    def left(self):
        """The part of the budget that is left."""
        return self.shared.commands.value / self.config.commands

    def owe(self):
        """Where kills are owed the clients go on."""
        if (
            self.figures["kills"] < self.config.kills
            and self.shared.commands.value < 300
            and not self.shared.done.is_set()
        ):
            with self.shared.commands.get_lock():
                self.shared.commands.value += 300
            self.owed_again += 300

    def run(self):
        config, shared = self.config, self.shared
        queue = self.fork.Queue()
        processes = [
            self.fork.Process(target=client.main, args=(number, config.seed, shared, config, queue))
            for number in range(config.clients)
        ]
        steps = [(0.7, self.replace), (0.45, self.replace_launcher)] if config.old else []
        begun = told = time.monotonic()
        for process in processes:
            process.start()
        results = []
        while len(results) < len(processes):
            while not queue.empty():
                results.append(queue.get())
            if any(p.exitcode for p in processes) and queue.empty():
                break
            self.owe()
            if config.seconds and time.monotonic() - begun > config.seconds:
                shared.done.set()
            time.sleep(min(3.0, self.rng.expovariate(1 / config.kill_every)))
            if steps and self.left() < steps[0][0]:
                steps.pop(0)[1]()
            elif len(results) < len(processes):
                self.kill()
            if config.verbose and time.monotonic() - told > 15:
                told = time.monotonic()
                print(
                    f"  {told - begun:.0f} s: {self.figures['kills']} kills, "
                    f"{config.commands + self.owed_again - shared.commands.value} commands",
                    flush=True,
                )
        for process in processes:
            process.join(10)
        outcome = Outcome(self.figures, [], ([], []))
        for result in results:
            outcome.figures.update(result["figures"])
            outcome.wrong += result["wrong"]
            for mine, theirs in zip(outcome.attached_ms, result["attached_ms"]):
                mine += theirs
        if len(results) < len(processes):
            outcome.wrong.append(f"{len(processes) - len(results)} clients ended without a word")
        outcome.wrong += [f"the step {step.__name__} was not reached" for _, step in steps]
        outcome.figures["seconds"] = round(time.monotonic() - begun)
        return outcome


def time_of_timers(daemon):
    """How far the time that timers go by is from the host's since its boot, in milliseconds
    (src/core/timeline.h): the same for ever."""
    db = sqlite3.connect(f"file:{daemon.data}/state.db?mode=ro", uri=True)
    try:
        ((text,),) = db.execute("select value from meta where key = 'timeline'")
    finally:
        db.close()
    _, since_boot, _, now = text.split()[:4]
    return int(now) - int(since_boot)


def settled_census(daemon, before, limit=20):
    """What is left on the machine that was not there before; {} when nothing is."""
    seen = {}

    def same():
        seen.update(census(daemon))
        return all(seen[name] == before[name] for name in before)

    try:
        wait_until(same, "the machine as before", limit=limit)
        return {}
    except AssertionError:
        return {name: (before[name], seen[name]) for name in before if seen[name] != before[name]}


def chaos(config, daemon=None, group=None):
    """Under this daemon in its group, or under one of its own."""
    config.payload = config.payload or build_payload()
    load = os.getloadavg()[0]
    own = None
    if daemon is None:
        own = daemon = new_daemon()
        daemon.program = config.old or CAY
        group = ServiceGroup(daemon)
    try:
        if own:
            daemon.start()
        with daemon.http() as http:  # what a first use makes once counts as before
            first = http.post("/api/v1/sandboxes", json={}).json()
            http.delete(f"/api/v1/sandboxes/{first['id']}")
        before = census(daemon)
        timers = None if config.old else time_of_timers(daemon)  # those of before the mend moved it
        outcome = Run(config, daemon, group).run()
        if config.old:
            del before["rows"]  # of tables that are others now
        left = settled_census(daemon, before)
        outcome.load = load
        outcome.wrong += outcome.silent_facade()
        if timers is not None and (moved := time_of_timers(daemon) - timers):
            outcome.wrong.append(f"the timers of all sandboxes were moved by {moved} ms")
        if left:
            outcome.wrong.append(f"left behind (before, after): {left}")
        return outcome
    finally:
        if own:
            daemon.close()
            group.remove()
