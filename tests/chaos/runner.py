"""A chaos run: the daemon, its clients, and what is done to it meanwhile. Ends with figures and findings."""
import collections
import dataclasses
import multiprocessing
import pathlib
import subprocess
import tempfile
import time

import client
import kinds
from census import census
from harness import new_daemon, wait_until

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Config:
    seed: int = 1
    clients: int = 8
    langsmith_clients: int = 2
    commands: int = 2000
    kills: int = 20          # at least; it goes on until both are reached
    seconds: float = 0       # an end in any case; 0: none
    life: int = 300          # commands of one sandbox
    stop_every: float = 6.0  # seconds between stops of a sandbox, on average
    kill_every: float = 1.0  # seconds between kills, on average
    payload: bytes = b""
    verbose: bool = False


@dataclasses.dataclass
class Shared:
    port: int
    url: str
    key: str
    commands: object
    done: object
    started_at: object
    killed_at: object


@dataclasses.dataclass
class Outcome:
    figures: collections.Counter
    wrong: list
    attached_ms: list

    def percentile(self, part):
        ordered = sorted(self.attached_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0

    def text(self):
        lines = [f"  {name}: {count}" for name, count in sorted(self.figures.items())]
        lines.append(f"  attached again after the daemon's start: {len(self.attached_ms)} times, "
                     f"p50 {self.percentile(0.5):.0f} ms, p99 {self.percentile(0.99):.0f} ms")
        lines.append(f"  findings: {len(self.wrong)}")
        return "\n".join(lines + [f"  FINDING {sentence}" for sentence in self.wrong[:50]])


def build_payload():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "payload"
        subprocess.run(["clang-19", "-O2", "-static", "-o", out, HERE / "payload.c"], check=True)
        return out.read_bytes()


class Run:
    def __init__(self, config, daemon):
        self.config, self.daemon = config, daemon
        # Forked before any thread is there; what they share is in memory.
        self.fork = multiprocessing.get_context("fork")
        self.rng = kinds.seeded(config.seed, "nemesis")
        self.kills = self.added = 0

    def kill_daemon(self, shared):
        shared.killed_at.value = time.monotonic()
        shared.started_at.value = 0.0
        self.daemon.kill()
        if self.rng.random() < 0.2:
            time.sleep(self.rng.uniform(0, 0.3))  # away for a while
        begun = time.monotonic()
        self.daemon.start(listen=f"127.0.0.1:{self.daemon.port}")
        shared.started_at.value = begun
        self.kills += 1

    def run(self):
        config, daemon = self.config, self.daemon
        fork = self.fork
        shared = Shared(port=daemon.port, url=daemon.url, key=daemon.key, commands=fork.Value("q", config.commands),
                        done=fork.Event(), started_at=fork.Value("d", 0.0), killed_at=fork.Value("d", 0.0))
        queue = fork.Queue()
        processes = [fork.Process(target=client.main, args=(number, config.seed, shared, config, queue))
                     for number in range(config.clients)]
        begun = time.monotonic()
        for process in processes:
            process.start()
        results, told = [], begun
        while len(results) < len(processes):
            while not queue.empty():
                results.append(queue.get())
            if any(p.exitcode for p in processes) and queue.empty():
                break
            if self.kills < config.kills and shared.commands.value < 300 and not shared.done.is_set():
                with shared.commands.get_lock():  # kills are owed: the clients go on
                    shared.commands.value += 300
                self.added += 300
            if config.seconds and time.monotonic() - begun > config.seconds:
                shared.done.set()
            time.sleep(min(3.0, self.rng.expovariate(1 / config.kill_every)))
            if len(results) < len(processes):
                self.kill_daemon(shared)
            if config.verbose and time.monotonic() - told > 15:
                told = time.monotonic()
                print(f"  {told - begun:.0f} s: {self.kills} kills, {config.commands + self.added - shared.commands.value} commands", flush=True)
        for process in processes:
            process.join(10)
        outcome = Outcome(collections.Counter(), [], [])
        for result in results:
            outcome.figures.update(result["figures"])
            outcome.wrong += result["wrong"]
            outcome.attached_ms += result["attached_ms"]
        if len(results) < len(processes):
            outcome.wrong.append(f"{len(processes) - len(results)} clients ended without a word")
        outcome.figures["kills"] = self.kills
        outcome.figures["seconds"] = round(time.monotonic() - begun)
        return outcome


def settled_census(daemon, before):
    """What is left on the machine that was not there before; {} when nothing is."""
    seen = {}

    def same():
        seen.update(census(daemon))
        return all(seen[name] == before[name] for name in before)

    try:
        wait_until(same, "the machine as before", limit=20)
        return {}
    except AssertionError:
        return {name: (before[name], seen[name]) for name in before if seen[name] != before[name]}


def chaos(config, daemon=None):
    config.payload = config.payload or build_payload()
    own = daemon is None
    daemon = daemon or new_daemon().start()
    try:
        with daemon.http() as http:  # what a first use makes once counts as before
            first = http.post("/api/v1/sandboxes", json={}).json()
            http.delete(f"/api/v1/sandboxes/{first['id']}")
        before = census(daemon)
        outcome = Run(config, daemon).run()
        left = settled_census(daemon, before)
        if left:
            outcome.wrong.append(f"left behind (before, after): {left}")
        return outcome
    finally:
        if own:
            daemon.close()
