"""Output, commands, models and conversations without bounds: the agent's memory stays bounded, its
log says what happened, and the run has a useful end."""
import re
import threading

import pytest

import model_server as ms
from model_server import Call, Turn, looping, model_server
from test_agent import content, in_order, user  # noqa: F401 (fixtures)
from test_agent_tasks import digests, expected, script as task_script, tasks_file

pytestmark = pytest.mark.depth
MIB = 1 << 20


class Peak(threading.Thread):
    """The largest resident memory of a process, in bytes, while it runs."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.pid, self.bytes, self.over = process.pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.01):
            try:
                text = open(f"/proc/{self.pid}/status", encoding="ascii").read()
            except OSError:
                return
            found = re.search(r"VmHWM:\s+(\d+) kB", text)
            if found:
                self.bytes = max(self.bytes, int(found.group(1)) << 10)


def measured(someone, *words, limit=300):
    process = someone.start(*words)
    peak = Peak(process)
    run = process.end(limit)
    peak.over.set()
    peak.join()
    print(f"\n{words[-1]}: {peak.bytes / MIB:.0f} MiB")
    return run, peak.bytes


def test_500_mib_of_output(user):
    """Every line of it is different. The model sees both ends and a path."""
    flood = "seq -f 'line %.0f of a large output that goes on and on' 1 10000000; echo the end"
    with model_server([Turn(calls=[Call("execute", {"command": flood, "timeout": 0})]), "ok"]) as m:
        run, peak = measured(user(m), "Flood me")
        assert run.code == 0 and run.text == "ok", run
        text = m.requests[-1].results[0].text
    assert len(text) < 50_000 and "line 1 of" in text and "the end" in text
    assert "truncated" in text or "large_tool_results" in text
    assert peak < 200 * MIB


def test_a_command_that_never_ends_and_never_stops_printing(user):
    with model_server([Turn(calls=[Call("execute", {"command": "yes", "timeout": 5})]), "ok"]) as m:
        run, peak = measured(user(m), "Print for ever")
        assert run.code == 0 and run.text == "ok", run
        text = m.requests[-1].results[0].text
    assert "124" in text and len(text) < 50_000
    assert peak < 200 * MIB


def test_a_model_that_loops_for_five_hundred_steps(user):
    loop = looping(Call("execute", {"command": "echo again"}))
    with model_server(loop, context_tokens=32_000) as m:
        run, peak = measured(user(m), "--max-steps", 500, "Loop")
        assert run.code == 1 and run.end["reason"] == "steps", run
        assert m.rejected == []
    in_order(run)
    assert peak < 200 * MIB


def test_a_model_whose_answer_never_ends(user):
    with model_server([Turn("more and more words ", faults=[ms.endless()] * 9)]) as m:
        run, peak = measured(user(m), "--timeout", 20, "Talk for ever")
        assert run.code in (1, 124, 125) and run.end["reason"], run
    assert peak < 300 * MIB


def test_a_context_ten_times_the_window(user):
    """Forty results of 8,000 tokens, at a window of 32,000."""
    steps = []

    def script(request):
        if not request.tools:
            return Turn(f"A summary after {len(steps)} results.")
        if len(steps) < 40:
            steps.append(request.tokens)
            number = len(steps)
            return Turn(calls=[Call("execute", {"command": f"seq {number}00000 {number}04500"})])
        return Turn("All forty are read.")

    with model_server(script, context_tokens=32_000) as m:
        run, peak = measured(user(m), "Read everything")
        assert run.code == 0 and run.text == "All forty are read.", run
        assert m.rejected == []
        assert max(one.tokens for one in m.requests) < 64_000
    assert run.of("compacted") and peak < 200 * MIB
    in_order(run)


def test_a_user_message_ten_times_the_window(user):
    """It cannot be cut: the run ends with a reason, or the model gets a preview of it."""
    with model_server(["seen"], context_tokens=8_000) as m:
        run, _ = measured(user(m), "word " * 25_000)
    assert (run.code, run.state) == (0, "done") or run.end["reason"] == "context_overflow", run


def test_forty_tasks_alone_and_by_eight_give_the_same_digests(user, tmp_path):
    tasks = tasks_file(tmp_path / "tasks.jsonl", 40)
    with model_server(task_script) as m:
        for parallel in (1, 8):
            folder = tmp_path / f"out{parallel}"
            someone = user(m)
            run = someone.run(
                *("--tasks", tasks, "--parallel", parallel, "--output", folder), limit=600
            )
            assert run.code == 0, run
            assert digests(folder) == {f"t{number}": expected(number) for number in range(40)}
