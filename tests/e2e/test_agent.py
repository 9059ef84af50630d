"""`cay agent` with a scripted model behind each wire format: the code runs in a sandbox, and the
answers are those of the real runs."""
import json
import sqlite3
import stat

import pytest

from agent_runs import AgentUser
from model_server import Call, Turn, by_word, model_server
from scripted_model import QUESTIONS, printed, tutorial

WIRES = ("chat", "responses", "anthropic")
HELLO = "Create a hello world Python script and run it"
PROOF = "/tmp/proof"
PROGRAM = f"""import uuid
proof = uuid.uuid4().hex
open("{PROOF}", "w").write(proof)
print("Hello, world!", proof)
"""


def hello(request):
    """The model cannot have the number that the program draws, but by its output."""
    if request.turn == 0:
        write = Call("write_file", {"file_path": "/tmp/hello.py", "content": PROGRAM})
        return Turn("I write the script.", [write], thinking="A file first.")
    if request.turn == 1:
        return Turn(calls=[Call("execute", {"command": "python3 /tmp/hello.py"})])
    return Turn("The script printed: " + printed(request.results[0]))


@pytest.fixture
def user(daemon, http, tmp_path):
    """user(model, wire) -> a new user of `cay agent`. Their sandboxes go with the test."""
    made = []

    def make(model, wire="chat"):
        made.append(AgentUser(tmp_path / f"home{len(made)}", daemon, model, wire))
        return made[-1]

    yield make
    for box in http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]:
        if box["claim"].startswith("thread:") or box["name"].startswith("thread-"):
            http.delete(f"/api/v1/sandboxes/{box['id']}")


@pytest.fixture
def content(http):
    """content(sandbox, path) -> the text of a file there."""

    def read(box, path):
        answer = http.get(f"/api/v1/sandboxes/{box}/files", params={"path": path})
        assert answer.status_code == 200, answer.text
        return answer.text

    return read


def in_order(run):
    """The log of a run has no hole, and each effect follows its own announcement."""
    assert [one["seq"] for one in run.events] == list(range(1, len(run.events) + 1))
    kinds = [one["type"] for one in run.events]
    assert kinds[0] == "thread_created" and kinds[-1] == "run_ended"
    for call in run.results:
        begun = [at for at, one in enumerate(run.events) if one.get("call_id") == call]
        assert [kinds[at] for at in begun] == ["tool_started", "tool_ended"]
    return kinds


@pytest.mark.parametrize("wire", WIRES)
def test_hello_world_is_written_and_run(user, content, wire):
    with model_server(hello) as model:
        run = user(model, wire).run(HELLO)
        assert run.code == 0 and run.state == "done", run
        assert run.text == "The script printed: Hello, world! " + content(run.box, PROOF)
        assert content(run.box, "/tmp/hello.py") == PROGRAM
        assert model.rejected == [] and {one.wire for one in model.requests} == {wire}
        assert all(one.stream for one in model.requests)
        texts = [one.text for one in model.requests[1].results]
        assert texts == ["Updated file /tmp/hello.py"]
    kinds = in_order(run)
    assert kinds.count("model_called") == kinds.count("assistant_message") == 3
    assert run.end["steps"] == 3
    assert run.end["usage"]["input"] > run.end["usage"]["output"] > 0


@pytest.mark.parametrize("wire", WIRES)
def test_the_four_inputs_of_the_tutorial_have_the_answers_of_the_real_runs(user, wire):
    with model_server(tutorial) as model:
        someone = user(model, wire)
        runs = [one.end() for one in [someone.start(text) for text in QUESTIONS]]
        assert model.rejected == []
    assert [run.code for run in runs] == [0] * 4, runs
    pi, *exact = [run.text for run in runs]
    assert 3.1 < float(pi) < 3.2
    assert exact == ["2432902008176640000", "0 1 1 2 3 5 8 13 21 34", "50005000"]
    assert len({run.box for run in runs}) == 4


MEET = "echo {own} > /tmp/{own}; until [ -e /tmp/{other} ]; do sleep 0.01; done; cat /tmp/{other}"


@pytest.mark.parametrize("wire", WIRES)
def test_calls_of_one_turn_run_beside_each_other(user, wire):
    """Each of two commands ends only when the other one has begun."""
    commands = [MEET.format(own="left", other="right"), MEET.format(own="right", other="left")]
    calls = [Call("execute", {"command": one, "timeout": 20}) for one in commands]
    with model_server([Turn(calls=calls), "both"]) as model:
        run = user(model, wire).run("Let two commands meet")
        assert run.code == 0 and run.text == "both", run
        first, second = model.requests[-1].results
        assert (printed(first), printed(second)) == ("right", "left")
        ids = [call.id for call in model.requests[-1].messages[-3].calls]
        assert [first.call_id, second.call_id] == ids, "in the order of the calls"


def test_a_thread_goes_on_in_the_same_sandbox(user, content):
    def script(request):
        if request.results:
            return Turn(printed(request.results[0]))
        text = request.users[-1].text
        command = "date +%s%N > /tmp/when; cat /tmp/when" if "Note" in text else "cat /tmp/when"
        return Turn(calls=[Call("execute", {"command": command})])

    with model_server(script) as model:
        someone = user(model)
        first = someone.run("Note the time")
        thread = first.thread
        second = someone.run("--thread", thread, "Read it again")
        assert (first.code, second.code) == (0, 0), (first, second)
        assert first.text == second.text == content(first.box, "/tmp/when").strip()
        said = [(one.role, one.text) for one in model.requests[-1].users]
        assert said == [("user", "Note the time"), ("user", "Read it again")]
        assert model.rejected == []
        whole = someone.export(thread)
    in_order(whole)
    assert whole.events[: len(first.events)] == first.events
    assert whole.events[-len(second.events) :] == second.events


def test_a_tool_that_does_not_exist_and_broken_arguments_come_back_to_the_model(user):
    calls = [Call("fly", {}), Call("execute", '{"command": "echo'), Call("execute", {})]
    with model_server([Turn(calls=calls), "I see"]) as model:
        run = user(model).run("Try strange calls")
        assert run.code == 0 and run.text == "I see", run
        fly, cut, empty = [one.text for one in model.requests[-1].results]
        assert model.rejected == [], "the broken arguments went back as an object"
    assert "fly" in fly and "malformed" in cut and "command" in empty
    assert all(one["message"]["failed"] for one in run.of("tool_ended"))


def test_a_command_that_failed_is_no_failure_of_the_run(user):
    with model_server(
        [Turn(calls=[Call("execute", {"command": "echo no >&2; exit 3"})]), "It failed."]
    ) as model:
        run = user(model).run("Run what fails")
        assert run.code == 0 and run.state == "done", run
        assert model.requests[-1].results[0].text.splitlines() == [
            "no",
            "",
            "[Command failed with exit code 3]",
        ]
    [ended] = run.of("tool_ended")
    assert ended["artifact"]["exit_code"] == 3 and not ended["message"].get("failed")


def test_the_key_is_in_no_log_and_the_log_is_its_users_alone(user):
    key = "sk-canary-0123456789abcdef"
    look = Call("execute", {"command": "env; cat /proc/*/environ | tr '\\0' '\\n'"})
    with model_server([Turn(calls=[look]), "done"], key=key) as model:
        someone = user(model)
        run = someone.run("Look for keys")
        assert run.code == 0, run
        assert [one.key for one in model.requests] == [key, key]
        seen = model.requests[-1].results[0].text
    assert "PATH=" in seen and key not in seen and someone.daemon.key not in seen
    assert key not in run.out + run.err
    files = [one for one in someone.home.rglob("*") if one.is_file()]
    [log] = [one for one in files if one.name == "threads.db"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
    for one in files:
        assert key.encode() not in one.read_bytes()
    assert b"Look for keys" in b"".join(one.read_bytes() for one in files), "the control"
    with sqlite3.connect(f"file:{log}?mode=ro", uri=True) as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)


def test_pieces_are_shown_with_stream_alone(user):
    slow = Call("execute", {"command": "echo one; echo two"})
    with model_server([Turn("I look.", [slow]), "That is all."]) as model:
        someone = user(model)
        plain, streamed = someone.run("Look"), someone.run("--stream", "Look")
    assert len(plain.lines) == len(plain.events)
    deltas = [one for one in streamed.lines if one["type"] == "delta"]
    text = "".join(one["text"] for one in deltas if one["kind"] == "text")
    assert text == "I look.That is all."
    output = "".join(one["text"] for one in streamed.lines if one["type"] == "tool_output")
    assert output == "one\ntwo\n"
    assert [one["type"] for one in streamed.events] == [one["type"] for one in plain.events]


@pytest.mark.parametrize("provider", ["langsmith", "daytona"])
def test_another_provider_changes_nothing_else(user, content, provider):
    """The vendor's own API, as this daemon serves it."""
    with model_server(hello) as model:
        run = user(model).run("--sandbox", provider, HELLO)
        assert run.code == 0, run
        assert run.of("sandbox_bound")[0]["provider"] == provider
        assert run.text == "The script printed: Hello, world! " + content(run.box, PROOF)
        assert model.rejected == []


def test_the_local_provider_warns_that_nothing_is_isolated(user, tmp_path):
    touch = Call("execute", {"command": f"echo here > {tmp_path}/made"})
    with model_server([Turn(calls=[touch]), "done"]) as model:
        words = ("--sandbox", "local", "--approve", "allow", "Make a file")
        run = user(model).run(*words, events=False)
    assert run.code == 0 and run.out == "done\n", run
    assert (tmp_path / "made").read_text() == "here\n"
    assert "nothing is isolated" in run.err


def test_the_local_provider_waits_for_an_approval_of_each_call(user, tmp_path):
    touch = Call("execute", {"command": f"echo here > {tmp_path}/made"})
    with model_server([Turn(calls=[touch]), "done"]) as model:
        someone = user(model)
        run = someone.run("--sandbox", "local", "Make a file")
        assert run.code == 3 and run.state == "waiting", run
        [waiting] = run.of("approval_requested")[0]["calls"]
        assert waiting["name"] == "execute" and not (tmp_path / "made").exists()
        resumed = ("--sandbox", "local", "--resume", run.thread)
        rejected = someone.run(*resumed, "--decide", "reject=Not today")
        assert rejected.code == 0 and model.requests[-1].results[0].text == "Not today"
        assert not (tmp_path / "made").exists() and model.rejected == []
        run = someone.run("--sandbox", "local", "Make a file")
        again = someone.run("--sandbox", "local", "--resume", run.thread, "--decide", "approve")
        assert again.code == 0 and (tmp_path / "made").read_text() == "here\n", again


def test_a_subagent_returns_its_last_text_alone(user):
    task = {"description": "Count the planets", "subagent_type": "general-purpose"}

    def planets(request):
        if request.results:
            return Turn("Counted: " + printed(request.results[0]))
        return Turn(calls=[Call("execute", {"command": "echo 8"})])

    def parent(request):
        if request.results:
            return Turn("The subagent wrote: " + request.results[0].text)
        return Turn(calls=[Call("task", task)])

    with model_server(by_word({"Count": planets, "Delegate": parent})) as model:
        run = user(model).run("Delegate it")
        assert run.code == 0 and run.text == "The subagent wrote: Counted: 8", run
        [first] = [one for one in model.requests if one.task.startswith("Count")][:1]
        assert [one.text for one in first.users] == ["Count the planets"]
        assert model.rejected == []


def test_the_log_of_a_run_is_what_json_printed(user):
    with model_server(hello) as model:
        someone = user(model)
        run = someone.run(HELLO)
        thread = run.thread
        assert someone.export(thread).events == run.events
        assert json.loads(run.out.splitlines()[-1])["type"] == "run_ended"
