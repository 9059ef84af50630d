"""Kills of the agent and of its sandbox: a thread goes on where it was, no call runs twice, and a
lost sandbox is loud."""
import concurrent.futures
import shutil
import socket
import threading

import model_server as ms
from harness import kill_keeper, slow, wait_until
from model_server import Call, Turn, model_server
from scripted_model import printed
from test_agent import content, in_order, user  # noqa: F401 (fixtures)

COUNT = "echo ran >> /tmp/count"


def two_steps(request):
    if request.turn == 0:
        return Turn(calls=[Call("execute", {"command": COUNT})])
    if request.turn == 1:
        return Turn(calls=[Call("execute", {"command": "wc -l < /tmp/count"})])
    return Turn("It ran " + printed(request.results[0]) + " time")


def test_killed_while_the_model_answers(user, content):
    def script(request):
        turn = two_steps(request)
        if request.turn == 1:
            turn.faults = [ms.held(threading.Event())]
        return turn

    with model_server(script) as model:
        someone = user(model)
        process = someone.start("Count once")
        model.wait_for(lambda it: len(it.requests) == 2)
        first = process.kill()
        run = someone.run("--resume", first.thread)
        assert run.code == 0 and run.text == "It ran 1 time", run
        assert model.rejected == []
        box = first.box
        assert content(box, "/tmp/count") == "ran\n"
        whole = someone.export(first.thread)
    in_order(whole)
    assert len(whole.of("sandbox_bound")) >= 1
    assert {one["id"] for one in whole.of("sandbox_bound")} == {box}


def test_killed_while_a_command_runs(user, http, content):
    """The command goes on without its agent, and the next agent gets its output and its end."""
    wait = "until [ -e /tmp/go ]; do sleep 0.01; done"
    command = f"{COUNT}; {wait}; echo the end of $(wc -l < /tmp/count)"

    def script(request):
        if request.results:
            return Turn(printed(request.results[0]))
        return Turn(calls=[Call("execute", {"command": command})])

    with model_server(script) as model:
        someone = user(model)
        process = someone.start("Wait for me")
        process.wait_for("tool_started")
        box = process.wait_for("sandbox_bound")["id"]
        files, counted = f"/api/v1/sandboxes/{box}/files", {"path": "/tmp/count"}
        wait_until(lambda: http.get(files, params=counted).status_code == 200, "the command")
        first = process.kill()
        http.put(files, params={"path": "/tmp/go"}, content=b"").raise_for_status()
        run = someone.run("--resume", first.thread)
        assert run.code == 0 and run.text == "the end of 1", run
        assert content(box, "/tmp/count") == "ran\n"
        whole = someone.export(first.thread)
    attempts = [(one["call_id"], one["attempt"]) for one in whole.of("tool_started")]
    assert [attempt for _, attempt in attempts] == [1, 2] and len(set(dict(attempts))) == 1
    assert len({one["execution_id"] for one in whole.of("tool_started")}) == 1
    assert len(whole.of("tool_ended")) == 1


def test_killed_before_its_sandbox_was_there(user):
    """A resume at the very beginning, with nothing but the user's message in the log."""
    with model_server([Turn("hello", faults=[ms.held(threading.Event())])]) as model:
        someone = user(model)
        process = someone.start("Hello")
        model.wait_for(lambda it: it.requests)
        first = process.kill()
        run = someone.run("--resume", first.thread)
        assert run.code == 0 and run.text == "hello", run


def test_ten_agents_of_one_thread_have_one_sandbox(user, http):
    """On ten machines, as it were: each has a copy of the log, which has no sandbox yet."""
    with model_server(["done"]) as model, socket.create_server(("127.0.0.1", 0)) as silent:
        first = user(model)
        port = silent.getsockname()[1]
        process = first.start("Count", env={"CAY_URL": f"http://127.0.0.1:{port}"})
        silent.settimeout(slow(30))
        connection, _ = silent.accept()  # the agent wants its sandbox, and gets no answer
        process.kill()
        connection.close()
        [thread] = [one["id"] for one in first.threads()]
        users = [user(model) for _ in range(10)]
        for one in users:
            shutil.copytree(first.home / "state", one.home / "state")
        begun = [one.start("--thread", thread, "Begin") for one in users]
        runs = [process.end() for process in begun]
    assert [run.code for run in runs] == [0] * 10, runs
    [box] = {run.box for run in runs}
    answer = http.get("/api/v1/sandboxes", params={"claim": f"thread:{thread}"}).json()
    assert [one["id"] for one in answer["items"]] == [box]


def test_one_process_at_a_time_runs_a_thread(user):
    go = threading.Event()
    with model_server([Turn("first", faults=[ms.held(go)])]) as model:
        someone = user(model)
        process = someone.start("Hello")
        model.wait_for(lambda it: it.requests)
        busy = someone.run("--thread", process.thread, "Me too")
        assert busy.code == 125 and "thread_busy" in busy.out, busy
        go.set()
        assert process.end().text == "first"


def lost(user, content, http, daemon, lose):
    go = threading.Event()

    def script(request):
        turn = two_steps(request)
        if request.turn == 1:
            turn.faults = [ms.held(go)]
        return turn

    with model_server(script) as model:
        someone = user(model)
        process = someone.start("Count once")
        model.wait_for(lambda it: len(it.requests) == 2)
        box = process.wait_for("sandbox_bound")["id"]
        lose(box)
        go.set()
        run = process.end()
        assert run.box == box
        return run, someone


def test_a_removed_sandbox_is_loud_and_keeps_the_thread(user, content, http, daemon):
    run, someone = lost(
        user, content, http, daemon, lambda box: http.delete(f"/api/v1/sandboxes/{box}")
    )
    assert run.code == 125 and run.state == "sandbox_lost", run
    [event] = run.of("sandbox_lost")
    assert event["id"] == run.box and event["reason"]
    again = someone.run("--resume", run.thread)
    assert again.code == 125 and f"the sandbox {run.box} of this thread is gone" in again.err
    whole = someone.export(run.thread)
    assert {one["id"] for one in whole.of("sandbox_bound")} == {run.box}, "never another one"
    assert whole.of("user_message") and whole.of("tool_ended")


def test_a_killed_keeper_is_no_lost_sandbox(user, content, http, daemon):
    """Its disk is there: the sandbox starts again, and the file with it."""
    run, _ = lost(user, content, http, daemon, lambda box: kill_keeper(daemon, box))
    assert run.code in (0, 125), run
    if run.code == 0:
        assert run.text == "It ran 1 time", run
    else:
        assert run.end["reason"], run


def test_many_threads_at_once_in_one_log(user):
    """A log that eight processes write at once has each thread whole."""

    def script(request):
        if request.results:
            return Turn(printed(request.results[0]))
        return Turn(calls=[Call("execute", {"command": f"echo {request.task}"})])

    with model_server(script) as model:
        someone = user(model)
        words = [f"word{number}" for number in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            runs = list(pool.map(someone.run, words))
    assert [run.text for run in runs] == words
    for run in runs:
        in_order(run)
