"""One client of the chaos test: a process with a sandbox at a time and a few threads that use
it."""
import collections
import os
import sys
import threading
import time
import traceback

import kinds
from cutting_proxy import CuttingProxy
from mischief import Mischief
from native import BROKEN, GaveUp, Native, Refused, Unsure, Wire, milliseconds_now
from sandboxes import Box

THREADS = 3


class Client:
    """`shared` is the runner's."""

    def __init__(self, number, seed, shared, config):
        self.number, self.seed, self.shared, self.config = number, seed, shared, config
        self.figures = collections.Counter()
        self.attached_ms, self.wrong = (
            [],
            [],
        ), []  # after a kill of the daemon, of its whole cgroup
        self.lock = threading.Lock()
        self.proxy = CuttingProxy(shared.port, self.cut)
        self.cuts = kinds.seeded(seed, number, "cuts")
        self.langsmith = None
        if number < config.langsmith_clients:
            from facade import Langsmith

            # Through the proxy: half of its connections are cut.
            self.langsmith = Langsmith(self.proxy.url, shared.key)

    def cut(self):
        return self.cuts.choice(
            (None, None, self.cuts.randrange(100, 3000), self.cuts.randrange(1000, 200_000))
        )

    def wire(self, rng):
        def stall():
            return rng.uniform(0.1, 0.6) if rng.random() < 0.003 else 0.0

        def port():
            return self.proxy.port if rng.random() < 0.4 else self.shared.port

        return Wire(
            host_port=port,
            key=self.shared.key,
            rng=rng,
            stall=stall,
            attached=self.attached,
            owed=self.owed,
        )

    def attached(self, cut_at):
        """A reader is attached again: how long daemons had served meanwhile, if a kill had cut it
        off.

        It may have been killed again before it could: then the time of each counts.
        """
        now = time.monotonic()
        cut, up, again, whole = False, 0.0, -1, 0
        lives = self.shared.lives.read()
        for life, (killed, started, group) in enumerate(lives):
            cut = cut or killed - 0.05 <= cut_at <= started
            if cut:
                end = lives[life + 1][0] if life + 1 < len(lives) else now
                up, again, whole = up + min(end, now) - started, again + 1, whole or group
        if cut and not self.box_trouble:
            with self.lock:
                self.attached_ms[whole].append(up * 1000)
                self.figures["readers cut off again before they were back"] += again > 0

    def owed(self, cut_at, port):
        """Whether a reader that was cut off then was cut off by a kill: its command is kept until
        it is back."""
        lives = self.shared.lives.read()
        by_kill = any(killed <= cut_at <= started for killed, started, _ in lives)
        back = bool(lives) and time.monotonic() - lives[-1][1] < 8
        return (
            by_kill
            and back
            and port == self.shared.port
            and not self.box_trouble
            and self.trouble_ended < cut_at - 1
        )

    def count(self, name):
        with self.lock:
            self.figures[name] += 1

    def take_budget(self):
        with self.shared.commands.get_lock():
            if self.shared.commands.value <= 0 or self.shared.done.is_set():
                return False
            self.shared.commands.value -= 1
            return True

    # ---- one sandbox's life ----

    def life(self, number):
        rng = kinds.seeded(self.seed, self.number, number)
        self.box_trouble, self.trouble_ended = False, 0.0
        native = Native(self.wire(rng))
        limits = bool(self.shared.limits.value)  # before it is made
        box = Box(native, f"chaos-{self.seed}-{self.number}-{number}", self.config.payload, rng)
        box.limits = limits
        left = [rng.randrange(self.config.life // 2, self.config.life + 1)]
        over = threading.Event()
        threads = [
            threading.Thread(
                target=self.use,
                args=(box, left, kinds.seeded(self.seed, self.number, number, t), t),
            )
            for t in range(THREADS)
        ]
        mischief = Mischief(self, box, over, kinds.seeded(self.seed, self.number, number, "m"))
        for thread in [*threads, mischief]:
            thread.start()
        for thread in threads:
            thread.join()
        over.set()
        mischief.join()
        self.wrong += box.judge()
        self.figures["sandboxes"] += 1
        self.figures["stops"] += len(box.faults.stops)
        self.figures["observations"] += sum(map(len, box.seens.values()))

    def use(self, box, left, rng, thread):
        native = Native(self.wire(rng))
        number = 0
        while True:
            with self.lock:
                if left[0] <= 0 or not self.take_budget():
                    left[0] = 0
                    return
                left[0] -= 1
            asked = kinds.draw(rng, f"{thread}-{number}")
            asked.asked_ms = milliseconds_now()
            number += 1
            with box.lock:
                box.asked[asked.id] = asked
            try:
                self.one(native, box, asked, rng)
            except Unsure:
                self.count("commands of which it was not known whether they had begun")
            except (GaveUp, Refused) as trouble:
                box.find(f"{asked.id} ({asked.kind}: {' '.join(asked.script)}): {trouble}")
            except Exception:
                box.find(f"{asked.id} ({asked.kind}): the client failed: {traceback.format_exc()}")
                left[0] = 0
            self.count("commands")
            self.count(asked.kind)

    def one(self, native, box, asked, rng):
        way = rng.choices(("ws", "wait", "batch", "background"), (50, 20, 10, 20))[0]
        killer = None
        if asked.kind == "killed":
            way = rng.choice(("ws", "background"))

            def strike():
                time.sleep(rng.uniform(0.0, 0.3))
                native.kill(box.name, asked)

            killer = threading.Thread(target=strike)
        elif self.langsmith is not None:
            way = "langsmith"
        asked.way = way
        if way != "langsmith" and box.limits:
            kinds.limit_more(asked, rng)
            if asked.ttl_ms >= 0:
                self.count("commands with a short ttl")
            if asked.limit:
                self.count("commands with an output limit")
        if way == "langsmith":
            seens = self.langsmith.run(box.name, asked)
            self.count("langsmith commands")
            if isinstance(seens, Exception):
                self.count("langsmith errors")
                self.count(f"langsmith errors: {type(seens).__name__}")
                if self.config.verbose:
                    print(f"langsmith: {seens!r}", file=sys.stderr)
                seens = []
            box.saw(asked, seens)
            return
        if way == "ws":
            seens = native.follow(
                box.name, asked, on_started=(lambda _ws: killer.start()) if killer else None
            )
        elif way == "background":

            def meanwhile():
                if killer:
                    killer.start()
                else:
                    time.sleep(rng.uniform(0, 0.05))

            seens = native.run_background(box.name, asked, meanwhile)
        else:
            seens = (native.run_waiting if way == "wait" else native.run_batch)(box.name, asked)
        if killer:
            killer.join()
        if any(seen.forgotten_ms is not None for seen in seens):
            self.count("commands that were gone after their ttl")
        box.saw(asked, seens)

    def run(self):
        number = 0
        while self.shared.commands.value > 0 and not self.shared.done.is_set():
            try:
                self.life(number)
            except (GaveUp, Refused, *BROKEN):
                self.wrong.append(
                    f"client {self.number}, sandbox {number}: {traceback.format_exc()}"
                )
            number += 1
            if len(self.wrong) > 50:
                break
        self.figures["cuts"] += self.proxy.cuts
        self.proxy.close()
        return {"figures": dict(self.figures), "attached_ms": self.attached_ms, "wrong": self.wrong}


def main(number, seed, shared, config, queue):
    os.environ["LANGSMITH_TRACING"] = "false"
    try:
        queue.put(Client(number, seed, shared, config).run())
    except BaseException:
        queue.put(
            {
                "figures": {},
                "attached_ms": ([], []),
                "wrong": [f"client {number} failed: {traceback.format_exc()}"],
            }
        )
