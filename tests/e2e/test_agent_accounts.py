"""The account of a run: what its subagents spend is in it, whatever ends them, and the limits of
tokens and cost hold for all of them together."""

import json
import signal
import threading

import model_server as ms
from model_server import Call, Turn, model_server
from test_agent import user  # noqa: F401 (a fixture)

STEP = Call("execute", {"command": "true"})
PIECE = {"description": "piece", "subagent_type": "general-purpose"}
EACH = 500  # tokens of an answer


def answers_of(*runs):
    """The tokens of all answers that the runs printed, each once."""
    found = {
        (one["thread"], one["seq"]): one["usage"]["input"] + one["usage"]["output"]
        for run in runs
        for one in run.lines
        if one["type"] == "assistant_message"
    }
    return sum(found.values())


def account_of(usage):
    return usage["input"] + usage["output"]


def looping_subagents(count):
    """The agent starts `count` subagents in one turn, and each loops for ever."""

    def script(request):
        if request.task == "piece":
            return Turn(calls=[STEP], usage=(400, 100, 0))
        if request.results:
            return Turn("all done", usage=(400, 100, 0))
        return Turn(calls=[Call("task", PIECE) for _ in range(count)], usage=(400, 100, 0))

    return script


def test_parallel_subagents_share_the_limit_of_tokens(user):
    at_once, limit = 6, 6000
    with model_server(looping_subagents(at_once)) as model:
        someone = user(model)
        run = someone.run("--max-tokens", limit, "Share it out")
        assert run.code == 1 and run.state == "limit" and run.end["reason"] == "tokens", run
        spent = account_of(run.end["usage"])
        assert limit <= spent < limit + at_once * EACH
        assert spent == answers_of(run) == len(model.requests) * EACH


def test_a_stopped_subagent_is_in_the_account(user):
    def script(request):
        turn = looping_subagents(2)(request)
        if request.task == "piece" and request.turn == 2:
            turn.faults = [ms.held(threading.Event())]
        return turn

    with model_server(script) as model:
        process = user(model).start("Stop me")
        model.wait_for(lambda it: sum(one.turn == 2 for one in it.requests) == 2)
        process.signal(signal.SIGINT)
        run = process.end()
        assert run.code == 130 and run.state == "cancelled", run
        spent = account_of(run.end["usage"])
        assert 5 * EACH <= spent == answers_of(run) <= len(model.requests) * EACH


def test_a_killed_subagent_is_in_the_account_once(user):
    def script(request):
        if request.task == "piece" and request.turn == 2:
            held = [] if request.attempt else [ms.held(threading.Event())]
            return Turn("the piece", usage=(400, 100, 0), faults=held)
        return looping_subagents(1)(request)

    with model_server(script) as model:
        someone = user(model)
        process = someone.start("Kill me")
        model.wait_for(lambda it: any(one.turn == 2 for one in it.requests))
        first = process.kill()
        # Another input than the one that broke off closes the call. Its tokens stay.
        run = someone.run("--resume", first.thread)
        assert run.code == 0 and run.text == "all done", run
        [spent] = run.of("subagent_spent")
        assert account_of(spent["usage"]) == 2 * EACH
        assert account_of(run.end["usage"]) == answers_of(first, run) == 5 * EACH
        [ended] = someone.export(first.thread).of("tool_ended")
        assert account_of(ended["artifact"]["usage"]) == 3 * EACH


def test_prices_give_a_cost_and_bound_it(user):
    with model_server(looping_subagents(3)) as model:
        someone = user(model)
        refused = someone.run("--max-cost", 0.01, "Share it out")
        assert refused.code == 125 and "--input-price" in refused.err, refused
        assert model.requests == []
        prices = ("--input-price", 2, "--output-price", 8)
        each = (400 * 2 + 100 * 8) / 1e6
        run = someone.run(*prices, "--max-cost", 0.02, "Share it out")
        assert run.code == 1 and run.end["reason"] == "cost", run
        assert 0.02 <= run.end["cost"] < 0.02 + 3 * each
        assert abs(run.end["cost"] - len(model.requests) * each) < 1e-9
        assert abs(run.of("assistant_message")[0]["cost"] - each) < 1e-12

    with model_server([Turn("Hello.", usage=(1000, 100, 800))]) as model:
        someone = user(model)
        cheap = {"CAY_INPUT_PRICE": "2", "CAY_OUTPUT_PRICE": "8", "CAY_CACHE_READ_PRICE": "0.5"}
        run = someone.run("Greet", env=cheap)
        assert abs(run.end["cost"] - (200 * 2 + 100 * 8 + 800 * 0.5) / 1e6) < 1e-9, run
        shown = someone.run("--input-price", 2000, "--output-price", 0, "Greet", events=False)
        assert "$2.00" in shown.err, shown
        [thread] = [one for one in someone.threads() if one["id"] == run.thread]
        assert abs(thread["cost"] - run.end["cost"]) < 1e-9 and thread["usage"]["input"] == 1000
        assert "$0.0016" in someone.call("threads")
        unpriced = someone.run("Greet")
        assert "cost" not in unpriced.end
        assert json.loads(someone.call("export", unpriced.thread).splitlines()[-1])["usage"]
