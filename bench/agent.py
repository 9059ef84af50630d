#!/usr/bin/env python3
"""Measures what `cay agent` adds to a model's time, against a daemon of its own.

    bench/agent.py docs/measured/agent [--steps N] [--agents N]     writes agent.txt there

Overhead of a step: from the last byte of the model's answer to the first byte of the next request,
as the model's server sees them. The tool call is in it. Beside it is the same command through the
API, by one kept connection. It ends 1 on an idle host if a limit is not kept.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from agent_runs import AgentUser  # noqa: E402
from harness import new_daemon  # noqa: E402
from measured import head, machine  # noqa: E402
from model_server import Call, Turn, model_server  # noqa: E402
from processes import busy_seconds  # noqa: E402

MOST_MS = 2.0  # p50 of a step
MOST_RATIO = 1.3
MEMORY = 128 << 20  # of a sandbox: 100 of them fit a small host
TOOLS = {
    "execute /bin/true": Call("execute", {"command": "/bin/true"}),
    "read_file of 100 lines": Call("read_file", {"file_path": "/srv/lines"}),
    "write_file of 1 KiB": Call("write_file", {"file_path": "/srv/new", "content": "x" * 1024}),
    "ls of a directory": Call("ls", {"path": "/srv"}),
}
PAUSE = 0.3  # seconds of each answer of the model, where many agents run
TURNS = 5


def percentiles(seconds):
    values = sorted(seconds)
    last = values[min(len(values) - 1, int(len(values) * 0.99))]
    return statistics.median(values) * 1e3, last * 1e3


def gaps(requests):
    return [after.at - before.done for before, after in zip(requests, requests[1:])]


def steps_of(daemon, home, name, call, count, wire):
    def script(request):
        if request.turn == 0:
            return Turn(calls=[Call("execute", {"command": "seq 1 100 > /srv/lines"})])
        return Turn(calls=[call]) if request.turn <= count else Turn("done")

    with model_server(script) as model:
        run = AgentUser(home, daemon, model, wire).run(f"Do {name}", limit=600)
        assert run.code == 0, run
        # The first step makes the sandbox, and the last has no call.
        found = gaps(model.requests)[1:]
    return found


def plain(daemon, count):
    """The same command through the API."""
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        times = []
        for number in range(count + 5):
            begun = time.monotonic()
            http.post(
                f"/api/v1/sandboxes/{box}/commands", json={"command": "/bin/true", "wait": True}
            ).raise_for_status()
            if number >= 5:
                times.append(time.monotonic() - begun)
        http.delete(f"/api/v1/sandboxes/{box}")
    return times


def paced(request):
    """A model with the pace of a real one."""
    if request.turn < TURNS:
        command = f"echo {request.turn} >> /srv/out"
        turn = Turn(f"step {request.turn}", [Call("execute", {"command": command})])
    else:
        turn = Turn("done")
    time.sleep(PAUSE)
    return turn


def many(daemon, folder, count):
    """(seconds of one agent alone, seconds of all, CPU seconds of the host meanwhile)."""
    lines = [json.dumps({"id": f"t{one}", "prompt": f"Do task {one}"}) for one in range(count)]
    with model_server(paced) as model:
        user = AgentUser(folder / "many", daemon, model)
        for name, kept in (("one", lines[:1]), ("all", lines)):
            (folder / name).write_text("\n".join(kept) + "\n")

        def seconds(name, parallel):
            begun = time.monotonic()
            words = ["--tasks", folder / name, "--parallel", parallel]
            run = user.run(*words, "--output", folder / f"{name}.out", limit=900)
            assert run.code == 0, run
            return time.monotonic() - begun

        alone = seconds("one", 1)
        before = busy_seconds()
        together = seconds("all", count)
        return alone, together, busy_seconds() - before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target", nargs="?", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--agents", type=int, default=100)
    args = parser.parse_args()
    idle = os.getloadavg()[0] <= (os.cpu_count() or 1) / 4
    lines, kept = [f"cay agent; {machine()}"], True
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "cay.toml").write_text(f"[defaults]\nmemory_bytes = {MEMORY}\n")
        os.chmod(home, 0o755)
        daemon = new_daemon("--config", home / "cay.toml").start()
        try:
            p50, p99 = percentiles(plain(daemon, args.steps))
            lines.append(
                f"  {'/bin/true by the API alone':<44} p50 {p50:7.3f} ms   p99 {p99:7.3f} ms"
            )
            for number, (name, call) in enumerate(TOOLS.items()):
                found = steps_of(daemon, home / f"s{number}", name, call, args.steps, "chat")
                p50, p99 = percentiles(found)
                row = f"  {'step with ' + name:<44} p50 {p50:7.3f} ms   p99 {p99:7.3f} ms"
                lines.append(f"{row}   n={len(found)}")
                kept = kept and p50 <= MOST_MS
            alone, together, cpu = many(daemon, home, args.agents)
            floor = max(cpu / (os.cpu_count() or 1), alone)
            ratio = together / floor
            lines.append(
                f"  {args.agents} agents of {TURNS} steps, {PAUSE} s of model each: "
                f"{together:.2f} s; one alone {alone:.2f} s; CPU of the host {cpu:.2f} s"
            )
            lines.append(f"  that is {ratio:.2f} x max(CPU / cores, one alone)")
            kept = kept and ratio <= MOST_RATIO
        finally:
            daemon.close()
    lines.append(
        f"limits: p50 of a step at most {MOST_MS} ms, ratio at most {MOST_RATIO}: "
        f"{'kept' if kept else 'NOT KEPT'}"
    )
    text = head() + "".join(f"{line}\n" for line in lines)
    print(text, end="")
    if args.target:
        args.target.with_suffix(".txt").write_text(text)
    if not kept and idle:
        sys.exit("bench/agent.py: a limit is not kept")


if __name__ == "__main__":
    main()
