"""Scripted runs while the agent, the daemon and the sandbox are killed at random points. Each
thread comes to the same end or stops with a true reason, and no call runs twice.

CAY_AGENT_RUNS: how many (200). CAY_AGENT_SEED: the random numbers of an earlier run."""
import collections
import concurrent.futures
import os
import random
import re
import signal
import subprocess
import threading
import time

import pytest

from agent_runs import AgentUser
from harness import kill_keeper
from model_server import Call, Turn, model_server

pytestmark = pytest.mark.depth
RUNS = int(os.environ.get("CAY_AGENT_RUNS", "200"))
STEPS = 4
WORKERS = 6
RESUMES = 25  # at most, of one thread
KINDS = {"agent": 11, "keeper": 3, "stop": 2, "delete": 2, "nothing": 2}  # of 20
LOG = "/srv/steps"
DEAD = ("sandbox_lost",)


def script(request):
    """Each step appends a line of its own. The last one reads them, and the answer is what it
    read."""
    task = re.search(r"task-\d+", request.task).group()
    number = request.turn
    if number < STEPS:
        return Turn(
            f"step {number}",
            [
                Call("execute", {"command": f"echo {task} {number} a >> {LOG}; sleep 0.05"}),
                Call("execute", {"command": f"echo {task} {number} b >> {LOG}"}),
            ],
        )
    if number == STEPS:
        return Turn(calls=[Call("execute", {"command": f"sort {LOG}"})])
    lines = [one for one in request.results[0].text.splitlines() if one.startswith("task-")]
    return Turn("; ".join(lines))


def whole(task):
    return [f"{task} {number} {half}" for number in range(STEPS) for half in "ab"]


class Victim:
    """One thread with the kills that it meets."""

    def __init__(self, number, rng, user, daemon, http, model):
        self.task, self.user, self.daemon = f"task-{number}", user, daemon
        self.http, self.model = http, model
        self.kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        self.moments = sorted(
            (rng.randrange(STEPS + 2), rng.random() * 0.08) for _ in range(rng.randint(1, 3))
        )
        self.kills = self.resumes = 0
        self.deeds, self.problems = [], []
        self.deleted, self.thread, self.ending = False, None, "without an end"

    def find(self, text):
        self.problems.append(f"{self.task} ({self.kind}): {text}")

    def own_requests(self):
        return sum(self.task + "." in one.task for one in self.model.requests)

    def box(self):
        log = self.logged()
        bound = log.of("sandbox_bound") if log else []
        return bound[0]["id"] if bound else None

    def call(self, *words, **more):
        """One answer of the daemon, which may be down just then."""
        for _ in range(100):
            try:
                return self.http.request(*words, **more)
            except Exception:
                time.sleep(0.1)
        return None

    def strike(self, process, moment):
        """Waits for the request of the model, and a random time longer."""
        wanted, delay = moment
        limit = time.monotonic() + 30
        while self.own_requests() <= wanted and process.process.poll() is None:
            with self.model.changed:
                self.model.changed.wait(0.05)
            if time.monotonic() > limit:
                return
        time.sleep(delay)
        if process.process.poll() is not None:
            return
        if self.kind == "agent":
            process.signal(signal.SIGKILL)
        elif self.kind != "nothing":
            self.thread = self.thread or process.thread
            box = self.box()
            if box is None:
                return
            self.deleted = self.deleted or self.kind in ("delete", "keeper")
            if self.kind == "delete":
                self.call("DELETE", f"/api/v1/sandboxes/{box}")
            elif self.kind == "stop":
                self.call("POST", f"/api/v1/sandboxes/{box}/stop", json={})
            else:
                try:
                    kill_keeper(self.daemon, box)
                except (AssertionError, ProcessLookupError):
                    return
        self.kills += 1

    def run(self):
        # "task-1." is in no other task's text.
        words = [f"Do the steps of {self.task}."]
        run = None
        for _ in range(RESUMES):
            process = self.user.start(*words)
            if self.moments:
                moment = self.moments.pop(0)
                striker = threading.Thread(target=self.strike, args=(process, moment))
                striker.start()
                run = self.end_of(process)
                striker.join()
            else:
                run = self.end_of(process)
            self.deeds.append((run.code, run.of("run_ended")[-1:]))
            self.thread = self.thread or run.thread
            ended = run.of("run_ended")
            if ended and (ended[-1]["state"] == "done" or ended[-1]["state"] in DEAD):
                break
            self.resumes += 1
            # Before its first event there is nothing to resume.
            log = self.logged()
            if log and log.of("user_message"):
                words = ["--resume", self.thread]
        self.judge(run)
        box = self.box()
        if box:
            self.call("DELETE", f"/api/v1/sandboxes/{box}")
        return self

    def end_of(self, process):
        try:
            return process.end(120)
        except AssertionError as error:
            self.find(str(error)[:2000])
            return process.result()

    def logged(self):
        try:
            return self.user.export(self.thread) if self.thread else None
        except subprocess.CalledProcessError:
            return None

    def judge(self, run):
        log = self.logged()
        if log is None:
            self.find(f"no log: {run}")
            return
        if [one["seq"] for one in log.events] != list(range(1, len(log.events) + 1)):
            self.find("its log has a hole")
        boxes = {one["id"] for one in log.of("sandbox_bound")}
        if len(boxes) > 1:
            self.find(f"its sandbox was replaced: {boxes}")
        state = log.end["state"] if log.of("run_ended") else None
        self.ending = state or self.ending
        if state == "sandbox_lost":
            if not self.deleted:
                self.find(
                    f"lost, though nobody removed it or killed its keeper: {log.of('sandbox_lost')}"
                )
            return
        if state != "done":
            self.find(f"no end after {self.resumes} resumes: {self.deeds}, {run}")
            return
        lines = log.end["text"].split("; ")
        if self.kind == "stop" and "[Command succeeded" not in list(log.results.values())[-1]:
            # The stop met the command that reads the lines, and not those that wrote them.
            at = f"/api/v1/sandboxes/{self.box()}/files"
            read = self.call("GET", at, params={"path": LOG})
            lines = read.text.splitlines() if read is not None else []
        twice = [line for line, times in collections.Counter(lines).items() if times > 1]
        if twice:
            self.find(f"ran twice: {twice}")
        missing = sorted(set(whole(self.task)) - set(lines))
        unknown = self.unknown(log)
        if missing and (self.kind in ("agent", "nothing") or len(missing) > unknown):
            self.find(f"missing {missing}, and {unknown} results had no known outcome")
        self.unknowns = unknown

    def unknown(self, log):
        """The number of results by which the model knows that a call has no known end."""
        texts = [text for text in log.results.values()]
        return sum("[Command succeeded" not in text for text in texts)


def test_threads_outlive_kills_of_the_agent_the_daemon_and_the_sandbox(own_daemon, tmp_path):
    seed = int(os.environ.get("CAY_AGENT_SEED", "0")) or random.randrange(1 << 31)
    rng = random.Random(seed)
    daemon, over, restarts = own_daemon(), threading.Event(), [0]

    def killer():
        own = random.Random(seed + 1)
        while not over.wait(own.uniform(0.5, 3)):
            daemon.restart("kill")
            restarts[0] += 1

    with model_server(script) as model, daemon.http() as http:
        user = AgentUser(tmp_path / "home", daemon, model)
        victims = [Victim(number, rng, user, daemon, http, model) for number in range(RUNS)]
        thread = threading.Thread(target=killer)
        thread.start()
        try:
            with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
                list(pool.map(Victim.run, victims))
        finally:
            over.set()
            thread.join()
        rejected = model.rejected
    kinds = collections.Counter(one.kind for one in victims)
    print(f"\nagent kills: seed {seed}")
    print(f"  runs: {RUNS} ({', '.join(f'{kind} {count}' for kind, count in kinds.items())})")
    print(f"  kills: {sum(one.kills for one in victims)}, and {restarts[0]} of the daemon")
    print(f"  resumes: {sum(one.resumes for one in victims)}")
    print(f"  their sandbox was taken: {sum(one.deleted for one in victims)}")
    endings = collections.Counter(f"{one.kind} {one.ending}" for one in victims)
    print(f"  ended: {', '.join(f'{what} {count}' for what, count in sorted(endings.items()))}")
    problems = [text for one in victims for text in one.problems]
    print(f"  findings: {len(problems)}")
    assert not rejected, rejected[:3]
    assert not problems, "\n".join(problems)
    assert sum(one.kills for one in victims) > RUNS // 2 and restarts[0] > 5
