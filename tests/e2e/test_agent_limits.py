"""Bounds of the agent: steps, tokens and time, large output, and conversations that outgrow the
model's window."""

import re
import resource
import signal
import time

import pytest

from model_server import Call, Turn, looping, model_server
from scripted_model import printed
from test_agent import content, in_order, user  # noqa: F401 (fixtures)

STEP = Call("execute", {"command": "echo once more"})


def test_a_model_that_loops_meets_the_limit_of_steps(user):
    with model_server(looping(STEP)) as model:
        run = user(model).run("--max-steps", 4, "Go on for ever")
        assert run.code == 1 and run.state == "limit" and run.end["reason"] == "steps", run
        assert len(model.requests) == 4 and run.end["steps"] == 4
    in_order(run)


def test_a_limit_of_tokens_ends_the_run(user):
    def script(request):
        return Turn(calls=[STEP], usage=(400, 100, 0))

    with model_server(script) as model:
        run = user(model).run("--max-tokens", 1400, "Go on for ever")
        assert run.code == 1 and run.state == "limit" and run.end["reason"] == "tokens", run
        assert len(model.requests) == 3


ENDLESS = Call("execute", {"command": "echo begun; sleep 1000; echo late", "timeout": 0})


def sleepers(daemon, box):
    """The processes of the endless command that are left in the sandbox."""
    found = daemon.cli("exec", box, "--", "sh", "-c", "pgrep -cx sleep").text
    return int(found)


@pytest.mark.parametrize("provider", ["cay", "langsmith", "daytona"])
def test_a_limit_of_time_ends_a_run_and_its_command(daemon, user, provider):
    """The log has the command's end with its output, and a resume goes on behind it."""
    with model_server([Turn(calls=[ENDLESS]), "I stop here."]) as model:
        someone = user(model)
        begun = time.monotonic()
        run = someone.run("--sandbox", provider, "--timeout", 2, "Sleep")
        assert run.code == 124 and run.state == "limit" and run.end["reason"] == "time", run
        assert time.monotonic() - begun < 30
        [ended] = run.of("tool_ended")
        assert ended["artifact"]["exit_code"] == 137 and not run.of("tool_left"), run
        text = run.results[ended["call_id"]]
        assert text.startswith("begun\n") and "late" not in text, text
        assert provider != "cay" or "Command ended as killed: the run was stopped" in text, text
        assert sleepers(daemon, run.box) == 0
        more = someone.run("--resume", run.thread)
        assert more.code == 0 and more.text == "I stop here.", more
        assert len(someone.export(run.thread).of("tool_started")) == 1


def test_an_interrupt_ends_the_command_of_a_subagent_too(daemon, user):
    def script(request):
        if request.task == "part":
            return Turn(calls=[ENDLESS])
        task = {"description": "part", "subagent_type": "general-purpose"}
        return Turn(calls=[Call("task", task)])

    with model_server(script) as model:
        process = user(model).start("--stream", "Sleep")
        box = process.wait_for("sandbox_bound")["id"]
        process.wait_for("tool_output")
        process.signal(signal.SIGINT)
        run = process.end()
        assert run.code == 130 and run.state == "cancelled", run
        ended = [one for one in run.lines if one["type"] == "tool_ended"]
        assert [one["artifact"]["state"] for one in ended] == ["killed"], run
        assert sleepers(daemon, box) == 0


def test_a_run_without_isolation_says_so(user):
    with model_server(["Hello."]) as model:
        someone = user(model)
        run = someone.run("--sandbox", "local", "Hello")
        assert run.code == 0, run
        [warning] = [one for one in run.lines if one["type"] == "warning"]
        assert warning["reason"] == "not_isolated" and warning["thread"] == run.thread
        assert "nothing is isolated" in run.err
        more = someone.run("--resume", run.thread, "Again")
        assert "nothing is isolated" in more.err


def test_the_time_limit_of_a_command_comes_back_to_the_model(user):
    turns = [Turn(calls=[Call("execute", {"command": "echo begun; sleep 60", "timeout": 1})]), "ok"]
    with model_server(turns) as model:
        run = user(model).run("Sleep")
        assert run.code == 0 and run.text == "ok", run
        text = model.requests[-1].results[0].text
        assert text.startswith("begun") and "124" in text


def test_a_large_result_is_a_file_with_a_preview(user, content):
    """The model gets both ends, and finds any other part by the path."""

    def script(request):
        if request.turn == 0:
            return Turn(calls=[Call("execute", {"command": "seq 1 300000"})])
        if request.turn == 1:
            text = request.results[0].text
            path = re.search(r"\S*/large_tool_results/[\w-]+", text).group()
            return Turn(calls=[Call("grep", {"pattern": "123456", "path": path})])
        return Turn(request.results[0].text)

    with model_server(script) as model:
        run = user(model).run("Count")
        assert run.code == 0, run
        preview = model.requests[1].results[0].text
        assert len(preview) < 20_000
        assert re.search(r"\b5\b", preview) and "300000" in preview
        path = re.search(r"\S*/large_tool_results/[\w-]+", preview).group()
        assert "123456" in content(run.box, path).splitlines()
        assert path in run.text and model.rejected == []


def test_a_conversation_that_outgrows_the_window_is_compacted(user):
    """The server counts: a longer request is refused. The model's window is in no setting, so the
    first refusal is what the agent learns it by."""
    marks = []

    def script(request):
        if not request.tools:  # the request for a summary
            return Turn("So far the model printed many numbers.")
        if len(marks) < 12:
            marks.append(request)
            return Turn(
                calls=[Call("execute", {"command": f"seq {len(marks)}000 {len(marks)}999"})]
            )
        return Turn("enough")

    with model_server(script, context_tokens=16_000) as model:
        run = user(model).run("Print numbers")
        assert run.code == 0 and run.text == "enough", run
        assert model.rejected == []
    assert run.of("compacted"), run
    assert all(one["summary"] and one["path"] for one in run.of("compacted"))


@pytest.mark.heavy
def test_endless_output_takes_bounded_memory(user):
    """Thirty megabytes of output, and of a model that never ends its answer the first megabytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    flood = Call("execute", {"command": "head -c 30000000 /dev/zero | tr '\\0' x; echo; echo end"})
    with model_server([Turn(calls=[flood]), "done"]) as model:
        run = user(model).run("Flood")
        assert run.code == 0 and run.text == "done", run
        assert "end" in printed(model.requests[-1].results[0])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert max(before, peak) < 400 << 10 or peak == before, "KiB of the largest child"
