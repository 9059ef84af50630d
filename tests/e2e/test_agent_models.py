"""Troubles of models: a passing one is tried again, a lasting one has its reason and exit code."""
import signal
import socket

import pytest

import model_server as ms
from agent_runs import AgentUser
from model_server import Call, Turn, by_word, model_server
from test_agent import WIRES, user  # noqa: F401 (fixture)

ANSWER = "an answer of several pieces, each in an event of its own"
PASSING = {
    "429": ms.rate_limited(0),
    "500": ms.failing(500),
    "529": ms.failing(529),
    "early cut": ms.cut(40),
    "late cut": ms.cut(900),
    "reset": ms.cut(300, reset=True),
    "unfinished": ms.unfinished(),
    "malformed": ms.malformed(),
    "wrong type": ms.wrong_type(),
    "error event": ms.error_in_stream(),
}


@pytest.mark.parametrize("wire", WIRES)
def test_a_passing_trouble_is_tried_again_and_the_answer_is_whole(user, wire):
    """Each in a run of its own, all at once."""
    scripts = {f"[{name}]": [Turn(ANSWER, faults=[fault])] for name, fault in PASSING.items()}
    with model_server(by_word(scripts)) as model:
        someone = user(model, wire)
        begun = {name: someone.start(f"Answer me [{name}]") for name in PASSING}
        runs = {name: one.end() for name, one in begun.items()}
        tries = {name: sum(f"[{name}]" in one.task for one in model.requests) for name in PASSING}
        assert model.rejected == []
    assert {name: (run.code, run.text) for name, run in runs.items()} == dict.fromkeys(
        PASSING, (0, ANSWER)
    )
    assert tries == dict.fromkeys(PASSING, 2)
    assert [len(run.of("assistant_message")) for run in runs.values()] == [1] * len(PASSING)


def test_a_call_that_was_cut_never_ran(user):
    """The first answer breaks in the middle of the arguments: they make no call."""
    calls = [Call("execute", {"command": "echo once >> /tmp/count; cat /tmp/count"})]
    turns = [Turn("x" * 200, calls=calls, faults=[ms.cut(4000), ms.unfinished()]), "done"]
    with model_server(turns) as model:
        run = user(model).run("Count")
        assert run.code == 0, run
        assert model.requests[-1].results[0].text.splitlines()[0] == "once"
        assert len(model.requests) == 4
    assert len(run.of("tool_started")) == 1


def test_retry_after_is_honoured(user):
    with model_server([Turn("fine", faults=[ms.rate_limited(2)])]) as model:
        run = user(model).run("Hello")
        assert run.code == 0 and run.text == "fine", run
        first, second = model.requests
        assert second.at - first.at >= 2


LASTING = {
    "no key": (ms.Fault(401, error=("authentication_error", "invalid_api_key", "no")), 1),
    "no credit": (ms.out_of_quota(), 1),
    "refused": (ms.Fault(400, error=("invalid_request_error", "bad", "no such thing")), 1),
    "down": (ms.failing(500), 3),
    "cut": (ms.cut(100), 3),
}


def test_a_lasting_trouble_has_its_reason_and_its_exit_code(user):
    scripts = {
        f"[{name}]": [Turn(ANSWER, faults=[fault] * 9)] for name, (fault, _) in LASTING.items()
    }
    with model_server(by_word(scripts)) as model:
        someone = user(model)
        begun = {name: someone.start(f"Answer me [{name}]") for name in LASTING}
        runs = {name: one.end() for name, one in begun.items()}
        tries = {name: sum(f"[{name}]" in one.task for one in model.requests) for name in LASTING}
    assert tries == {name: times for name, (_, times) in LASTING.items()}
    assert {name: run.end["reason"] for name, run in runs.items()} == {
        "no key": "model_key_refused",
        "no credit": "model_quota",
        "refused": "model_request_refused",
        "down": "model_overloaded",
        "cut": "model_cut",
    }
    assert {run.state for run in runs.values()} == {"failed"}
    codes = {name: run.code for name, run in runs.items()}
    assert codes == {**dict.fromkeys(LASTING, 125), "refused": 1}, runs


def test_a_model_that_cannot_be_reached(user):
    with model_server(["x"]) as model:
        someone = user(model)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    run = someone.run("Hello", env={"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"})
    assert run.code == 125 and run.end["reason"] == "model_unreachable", run


def test_without_a_key_the_first_words_name_the_setting(daemon, tmp_path):
    class NoModel:
        env = {}

    run = AgentUser(tmp_path, daemon, NoModel()).run("Hello")
    assert run.code == 125 and "OPENAI_API_KEY" in run.err, run


def test_a_model_in_doubt_is_cancelled_in_mid_stream(user):
    """Ctrl-C: the connection to the model ends, and the run has an end in the log."""
    for fault in (ms.endless(), ms.silent(4)):
        with model_server([Turn("word " * 40, faults=[fault])]) as model:
            someone = user(model)
            process = someone.start("--stream", "Talk")
            process.wait_for("delta")
            process.signal(signal.SIGINT)
            run = process.end()
            assert run.code == 130 and run.state == "cancelled", run
            model.wait_for(lambda it: it.gone, "the end of the connection")
