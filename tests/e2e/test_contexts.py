"""Contexts: variables that live between calls, and results that are neither lost nor invented."""
import base64
import json
import os
import shutil
import signal
import subprocess
import threading

import pytest
from harness import CAY, slow, wait_until

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nplotted").decode()
SHOWN = """
class Plot:
    def __init__(self, number): self.number = number
    def _repr_png_(self): return b"\\x89PNG\\r\\n\\x1a\\nplotted"
    def _repr_html_(self): return f"<b>{self.number}</b>"
    def __repr__(self): return f"Plot({self.number})"
"""


class Context:
    def __init__(self, http, box, **spec):
        self.http = http
        self.all = f"/api/v1/sandboxes/{box}/contexts"
        made = http.post(self.all, json=spec)
        assert made.status_code == 201, made.text
        self.info = made.json()
        self.path = f"{self.all}/{self.info['id']}"

    def send(self, code, **more):
        return self.http.post(f"{self.path}/run", json={"code": code, **more}, timeout=slow(60))

    def run(self, code, **more):
        got = self.send(code, **more)
        assert got.status_code == 200, got.text
        return got.json()

    def read(self, run, **params):
        got = self.http.get(f"{self.path}/runs/{run}", params=params, timeout=slow(60))
        assert got.status_code == 200, got.text
        return got.json()

    def written(self):
        """What the driver wrote, as it is."""
        driver = self.info["command"]["id"]
        box = self.all.removesuffix("/contexts")
        got = self.http.get(f"{box}/commands/{driver}/output", params={"stream": "stdout"})
        assert got.status_code == 200, got.text
        return got.text

    def post(self, verb):
        return self.http.post(f"{self.path}/{verb}", timeout=slow(60))


def events(got, *kinds):
    return [one for one in got["events"] if one["type"] in kinds]


def value(got):
    assert got["state"] == "ok", got
    (one,) = events(got, "result")
    return one["data"]["text/plain"]


def text(got, kind="stdout"):
    return "".join(one["text"] for one in events(got, kind))


@pytest.fixture
def context(http, box):
    return Context(http, box["id"])


def test_variables_live_between_calls(context):
    assert context.run("x = 1")["events"] == []
    assert value(context.run("x + 1")) == "2"
    assert value(context.run("import asyncio\nawait asyncio.sleep(0)\nx + 2")) == "3"


def test_output_of_python_and_of_its_children_is_caught(context):
    got = context.run(
        "import os, sys, subprocess\n"
        "print('one')\n"
        "os.system('echo two; echo of a child >&2')\n"
        "os.write(1, b'three\\n')\n"
        "print('to stderr', file=sys.stderr)\n"
    )
    assert text(got) == "one\ntwo\nthree\n"
    assert text(got, "stderr") == "of a child\nto stderr\n"
    large = context.run("print('x' * 3_000_000)")
    assert len(text(large)) == 3_000_001
    (event,) = context.run("import os; n = os.write(1, b'\\xff|')")["events"]
    assert event["text"] == "\ufffd|" and base64.b64decode(event["base64"]) == b"\xff|"


def test_values_and_pictures_are_mime_parts(context):
    context.run(SHOWN)
    (shown,) = events(context.run("Plot(7)"), "result")
    assert shown["data"] == {"text/plain": "Plot(7)", "text/html": "<b>7</b>", "image/png": PNG}
    got = context.run("print('before'); display(Plot(1)); print('after')")
    assert [one["type"] for one in got["events"]] == ["stdout", "display", "stdout"]
    (huge,) = events(context.run("'y' * (5 << 20)"), "result")
    assert huge["data"] == {} and huge["omitted"] == {"text/plain": (5 << 20) + 2}


def test_plain_data_has_json_and_display_shows_each_type(context):
    (shown,) = events(context.run("[{'a': 1}, {'b': [None, 'x']}]"), "result")
    assert json.loads(shown["data"]["application/json"]) == [{"a": 1}, {"b": [None, "x"]}]
    for lossy in ("{1: 2}", "[float('nan')]", "[(1, 2)]", "x = []; x.append(x); x"):
        (shown,) = events(context.run(lossy), "result")
        assert list(shown["data"]) == ["text/plain"], lossy
    code = (
        "display.html('<b>'); display.svg('<svg/>'); display.png(b'\\x89P')\n"
        "display.markdown('# m'); display.json({'k': 1})\n"
        "display.mime({'text/plain': 't', 'text/csv': 'a,b'})"
    )
    assert [one["data"] for one in events(context.run(code), "display")] == [
        {"text/plain": "<HTML>", "text/html": "<b>"},
        {"text/plain": "<SVG>", "image/svg+xml": "<svg/>"},
        {"text/plain": "<PNG>", "image/png": "iVA="},
        {"text/plain": "# m", "text/markdown": "# m"},
        {"text/plain": "{'k': 1}", "application/json": '{"k": 1}'},
        {"text/plain": "t", "text/csv": "a,b"},
    ]


def test_a_warm_context_has_an_interpreter_that_evaluated(http, box):
    """The begin of an evaluation lies in the output of its command when it is answered."""
    commands = f"/api/v1/sandboxes/{box['id']}/commands"
    for language in ("python", "javascript") if shutil.which("node") else ("python",):
        warm = Context(http, box["id"], language=language, warm=True)
        info = http.get(f"{commands}/{warm.info['command']['id']}").json()
        assert info["stdout"]["bytes"] > 0, info
        assert value(warm.run("1 + 1")) == "2"


def test_an_error_has_a_name_and_a_traceback_and_the_context_lives_on(context):
    context.run("x = 5\ndef f():\n    return 1 / 0")
    got = context.run("print('so far')\nf()")
    assert got["state"] == "error" and text(got) == "so far\n"
    (error,) = events(got, "error")
    assert error["name"] == "ZeroDivisionError" and error["value"] == "division by zero"
    assert "return 1 / 0" in error["traceback"] and "<cell 1>" in error["traceback"]
    assert "evaluate" not in error["traceback"], "no frame of the driver"
    assert events(context.run("def broken("), "error")[0]["name"] == "SyntaxError"
    assert context.run("exit(3)")["state"] == "error"
    assert value(context.run("x")) == "5"


def test_an_interrupt_ends_the_evaluation_alone(context):
    context.run("x = 1")
    begun = context.run("print('begun', flush=True)\nwhile True: pass", wait_s=0)
    assert begun["state"] == "running"
    wait_until(lambda: _out(context, begun["id"]) == "begun\n", "it began")
    assert context.post("interrupt").status_code == 204
    got = context.read(begun["id"], wait_s=30)
    assert got["state"] == "interrupted"
    assert events(got, "error")[0]["name"] == "KeyboardInterrupt"
    assert context.post("interrupt").status_code == 204, "with nothing under way, nothing happens"
    assert value(context.run("x")) == "1"


def test_a_fork_has_the_variables_and_changes_none(context):
    context.run("x = [1]\nimport os, subprocess\nparent = os.getpid()")
    code = "x.append(2)\nprint('to stdout')\nsubprocess.run(['echo', 'of a child'])\ndisplay('a')\n"
    got = context.run(code + "print('behind')\n(x, os.getpid() != parent)", fork=True)
    assert value(got) == "([1, 2], True)"
    kinds = [one["type"] for one in got["events"] if one.get("text") != ""]
    assert kinds == ["stdout", "display", "stdout", "result"] or kinds == (
        ["stdout", "stdout", "display", "stdout", "result"]
    ), got
    assert text(got) == "to stdout\nof a child\nbehind\n"
    assert value(context.run("(x, os.getpid() == parent)")) == "([1], True)"
    awaited = "import asyncio\nawait asyncio.sleep(0)\nlen(x)"
    assert value(context.run(awaited)) == "1"
    assert value(context.run(awaited, fork=True)) == "1", "with a loop of its own"
    threads = "import threading, time\nthreading.Thread(target=lambda: print('thread')).start()"
    assert text(context.run(threads, fork=True)) == "thread\n", "its threads are joined"


def test_the_end_of_a_fork_is_told_and_the_context_lives_on(context):
    context.run("import atexit, os, signal\nx = 1")
    for code, how in [
        ("os.kill(os.getpid(), signal.SIGKILL)", "the process died of signal 9"),
        ("os._exit(0)", "the process ended before the code did"),
        ("os.closerange(3, 100)\nos._exit(7)", "the process exited with code 7"),
    ]:
        got = context.run("print('first')\n" + code, fork=True)
        assert got["state"] == "error" and text(got) == "first\n", got
        (error,) = events(got, "error")
        assert (error["name"], error["value"]) == ("ForkEnded", how)
    assert events(context.run("1 / 0", fork=True), "error")[0]["name"] == "ZeroDivisionError"
    # It ends as any program does: what it wrote is in the file, and its exit handlers run.
    context.run("import atexit\nf = open('/tmp/f', 'w')\nf.write('data')", fork=True)
    assert value(context.run("open('/tmp/f').read()")) == "'data'"
    got = context.run("atexit.register(print, 'at exit')\n1", fork=True)
    assert value(got) == "1" and text(got) == "at exit\n", got
    got = context.run("atexit.register(os.kill, os.getpid(), signal.SIGKILL)\n1", fork=True)
    assert got["state"] == "error" and "signal 9" in events(got, "error")[0]["value"], got
    got = context.run("if os.fork() == 0: raise SystemExit\nos.wait()[1]", fork=True)
    assert value(got) == "0", "a child of the code writes no end"
    begun = context.run("print('begun', flush=True)\nwhile True: pass", fork=True, wait_s=0)
    wait_until(lambda: _out(context, begun["id"]) == "begun\n", "it began")
    assert context.post("interrupt").status_code == 204
    assert context.read(begun["id"], wait_s=30)["state"] == "interrupted"
    assert value(context.run("x")) == "1"


def test_a_context_that_takes_its_children_lives_through_a_fork(context):
    context.run("import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)")
    assert value(context.run("1 + 1", fork=True)) == "2"
    assert value(context.run("2 + 2")) == "4"


@pytest.mark.parametrize("fork", [False, True])
def test_an_interrupt_that_comes_early_is_not_lost(context, fork):
    context.run("1")  # its interpreter is there
    for _ in range(10):
        begun = context.run("while True: pass", fork=fork, wait_s=0)
        line = f'"run":"{begun["id"]}","type":"begin"'
        wait_until(lambda line=line: line in context.written(), "the driver tells of it")
        assert context.post("interrupt").status_code == 204
        assert context.read(begun["id"], wait_s=30)["state"] == "interrupted"


def test_two_contexts_of_a_sandbox_share_no_variables(http, box, context):
    other = Context(http, box["id"], id="other", cwd="/tmp", env={"WHO": "other"})
    context.run("x = 1")
    other.run("x = 2")
    assert value(other.run("import os; (x, os.getcwd(), os.environ['WHO'])")) == (
        "(2, '/tmp', 'other')"
    )
    assert value(context.run("x")) == "1"
    known = {one["id"]: one["state"] for one in http.get(context.all).json()["items"]}
    assert known == {context.info["id"]: "ready", "other": "ready"}
    assert Context(http, box["id"], id="other").info["generation"] == 1, "it is found again"
    assert http.delete(other.path).status_code == 204
    gone = other.send("1")
    assert (gone.status_code, gone.json()["error"]["reason"]) == (404, "unknown_context")
    assert value(context.run("x")) == "1"


def test_a_repeat_with_a_known_id_runs_once(context):
    context.run("n = 0")
    first = context.run("n += 1\nn", id="once")
    assert context.run("n += 1\nn", id="once")["events"] == first["events"]
    assert value(context.run("n")) == "1"
    other = context.send("n += 2", id="once")
    assert (other.status_code, other.json()["error"]["reason"]) == (409, "evaluation_in_use")


def test_code_inside_forges_no_result_of_another_evaluation(context):
    """It holds the driver's own descriptor, and knows the ids of earlier evaluations."""
    first = context.run("'true'")
    forged = '{"run":"%s","type":"%s","status":"error","data":{"text/plain":"forged"},"tag":""}'
    lines = [
        forged % (run, kind)
        for run in (first["id"], "next")
        for kind in ("begin", "result", "done")
    ]
    context.run(
        "import gc\n"
        "driver = next(o for o in gc.get_objects() if type(o).__name__ == 'Driver')\n"
        f"import os; os.write(driver.events.fd, {chr(10).join(['', *lines, '']).encode()!r})"
    )
    assert context.read(first["id"]) == {**first}
    assert value(context.run("'true again'")) == "'true again'"
    # The control: of its own evaluation, code can claim anything.
    own = context.run(
        'line = \'{"run":"%s","type":"result","data":{"text/plain":"claimed"}}\\n\'\n'
        "n = os.write(driver.events.fd, (line % driver.events.run).encode())"
    )
    assert events(own, "result")[0]["data"]["text/plain"] == "claimed"


def test_a_driver_that_dies_takes_its_evaluation_along_and_says_how(context):
    context.run("import os; x = 1")
    got = context.run("print('last words', flush=True); os._exit(7)")
    assert got["state"] == "lost" and got["interpreter"]["exit_code"] == 7
    later = context.send("1")
    assert (later.status_code, later.json()["error"]["reason"]) == (409, "context_gone")
    assert "exited with code 7" in later.json()["error"]["message"]
    restarted = context.post("restart").json()
    assert (restarted["generation"], restarted["state"]) == (2, "ready")
    assert context.run("x")["state"] == "error", "its variables are gone"
    assert context.read(got["id"])["state"] == "lost", "and the earlier result is not"


def test_a_restart_loses_what_is_under_way(context):
    code = "import time; print('begun', flush=True); time.sleep(1000)"
    under_way = context.run(code, wait_s=0)
    wait_until(lambda: _out(context, under_way["id"]) == "begun\n", "it began")
    assert context.post("restart").json()["generation"] == 2
    got = context.read(under_way["id"], wait_s=30)
    assert got["state"] == "lost" and got["interpreter"]["state"] == "killed"
    assert value(context.run("2")) == "2"


def test_a_restart_loses_what_waits_and_says_so(context):
    """It was sent, and had not begun: it is lost with the interpreter's end, and runs nowhere."""
    under_way = context.run("print('begun', flush=True)\nwhile True: pass", wait_s=0)
    wait_until(lambda: _out(context, under_way["id"]) == "begun\n", "it began")
    waits = context.run("print('never')", id="waits", wait_s=0)
    assert (waits["state"], waits["events"]) == ("running", [])
    assert context.post("restart").json()["generation"] == 2
    for got in (context.read("waits", wait_s=30), context.run("print('never')", id="waits")):
        assert (got["state"], got["events"]) == ("lost", [])
        assert got["interpreter"]["state"] == "killed"
    assert context.post("restart").json()["generation"] == 3
    assert context.http.get(f"{context.path}/runs/waits").status_code == 404, "two are kept"


def test_a_restart_keeps_directory_and_variables_of_the_environment(http, box):
    env = {"WHO": 'me\n"too"', "EMPTY": ""}
    context = Context(http, box["id"], id="kept", cwd="/tmp", env=env)
    ask = "import os; [os.getcwd(), os.environ['WHO'], os.environ['EMPTY']]"
    before = value(context.run(ask))
    assert before == repr(["/tmp", env["WHO"], ""])
    context.run("os.environ['WHO'] = 'of the code'")
    assert context.post("restart").json()["state"] == "ready"
    assert value(context.run(ask)) == before
    assert http.post(f"/api/v1/sandboxes/{box['id']}/stop").status_code == 200
    assert context.post("restart").json()["generation"] == 3
    assert value(context.run(ask)) == before, "after a stop, too"
    big = http.post(context.all, json={"id": "big", "env": {"BIG": "x" * 17000}})
    assert (big.status_code, big.json()["error"]["reason"]) == (400, "invalid_context")
    fits = Context(http, box["id"], id="fits", env={"BIG": "x" * 16000})
    assert value(fits.run("import os; len(os.environ['BIG'])")) == "16000"


def test_a_context_is_gone_after_a_stop(http, box):
    context = Context(http, box["id"], id="kept")
    done = context.run("41 + 1")
    assert http.post(f"/api/v1/sandboxes/{box['id']}/stop").status_code == 200
    assert http.get(context.path).json()["state"] == "gone"
    for answer in (
        context.send("1"),
        context.post("interrupt"),
        http.post(context.all, json={"id": "kept"}),
    ):
        assert (answer.status_code, answer.json()["error"]["reason"]) == (409, "context_gone")
    assert context.read(done["id"]) == done, "a result is read without waking the sandbox"
    assert http.get(f"/api/v1/sandboxes/{box['id']}").json()["state"] == "stopped"
    assert context.post("restart").json()["state"] == "ready"
    assert value(context.run("1")) == "1"


def test_only_python_forks(http, box):
    shell = Context(http, box["id"], id="shell", language="bash")
    got = shell.send("true", fork=True)
    assert got.status_code == 400 and got.json()["error"]["reason"] == "invalid_context", got.text
    assert "python" in got.json()["error"]["message"]


def test_bad_requests_are_typed(http, box, context):
    for spec, reason in (
        ({"language": "cobol"}, "unknown_language"),
        ({"id": "../x"}, "invalid_context"),
        ({"id": "x" * 65}, "invalid_context"),
        ({"lang": "python"}, "invalid_field"),
    ):
        got = http.post(context.all, json=spec)
        assert (got.status_code, got.json()["error"]["reason"]) == (400, reason), spec
    assert context.send("1", id="a b").json()["error"]["reason"] == "invalid_context"
    assert context.send("#" * ((1 << 20) + 1)).json()["error"]["reason"] == "code_too_large"
    assert value(context.run("#" * ((1 << 20) - 2) + "\n1")) == "1"
    unknown = http.get(f"{context.path}/runs/none")
    assert (unknown.status_code, unknown.json()["error"]["reason"]) == (404, "unknown_evaluation")


def test_200_calls_with_a_killed_daemon_lose_and_invent_nothing(own_daemon):
    """Pictures, errors, an interrupt, and a kill -9 of the daemon during an evaluation."""
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "calls", "idle_ttl_s": 0}).json()["id"]
        context = Context(http, box, id="main")
        context.run(SHOWN + "\ncalls = []")
    seen = {}

    def calls(begin, end):
        with daemon.http() as http:
            context.http = http
            for i in range(begin, end):
                if i % 7 == 3:
                    code, state = f"calls.append({i})\nraise ValueError({i})", "error"
                else:
                    code, state = f"calls.append({i})\nprint('call', {i})\nPlot({i})", "ok"
                got = context.run(code, id=f"call-{i}")
                assert got["state"] == state, got
                seen[i] = got

    calls(0, 100)
    with daemon.http() as http:
        context.http = http
        endless = "calls.append(100)\nprint('begun', flush=True)\nwhile True: pass"
        context.run(endless, id="call-100", wait_s=0)
        wait_until(lambda: _out(context, "call-100") == "begun\n", "it is under way")
        context.post("interrupt")
        seen[100] = context.read("call-100", wait_s=30)
        assert seen[100]["state"] == "interrupted"
        slow_code = (
            "import time\ncalls.append(101)\nprint('first half', flush=True)\ntime.sleep(1)\n"
            "print('second half')\nPlot(101)"
        )
        waiting = threading.Thread(target=_ignore, args=(context, slow_code, "call-101"))
        waiting.start()
        wait_until(lambda: "first half\n" == _out(context, "call-101"), "it is under way")
        daemon.kill()
        waiting.join()
    daemon.start()
    with daemon.http() as http:
        context.http = http
        seen[101] = context.read("call-101", wait_s=30)
        assert text(seen[101]) == "first half\nsecond half\n"
        assert value(seen[101]) == "Plot(101)"
        assert context.run(slow_code, id="call-101") == seen[101], "a repeat runs nothing"
    calls(102, 200)
    with daemon.http() as http:
        context.http = http
        assert value(context.run("calls == list(range(200))")) == "True"
        for i, got in seen.items():
            assert context.read(f"call-{i}") == got, "each result is read again as it was"
            if i in (100, 101):
                continue
            if i % 7 == 3:
                assert events(got, "error")[0]["value"] == str(i)
            else:
                assert text(got) == f"call {i}\n"
                (shown,) = events(got, "result")
                assert shown["data"]["text/html"] == f"<b>{i}</b>"
                assert shown["data"]["image/png"] == PNG
        assert http.get(f"{context.path}/runs/call-200").status_code == 404, "none is invented"


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_a_new_daemon_knows_evaluations_that_the_ledger_has_not(own_daemon, language):
    """The ledger of a driver is behind, and its last lines never come."""
    daemon = own_daemon()
    leaves = {"python": "import os; os._exit(3)", "javascript": "process.kill(process.pid, 9)"}
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "calls"}).json()["id"]
        context = Context(http, box, id="main", language=language)
        large = {"python": "print('x' * 20000)", "javascript": "console.log('x'.repeat(20000))"}
        codes = ["1 + 1", large[language], "2 + 2", "3 + 3", leaves[language]]
        seen = [context.run(code, id=f"call-{i}") for i, code in enumerate(codes)]
        assert [one["state"] for one in seen] == ["ok"] * 4 + ["lost"]
        driver = context.info["command"]["id"]
        path = f"/api/v1/sandboxes/{box}/commands/{driver}/output"
        ledger = http.get(path, params={"stream": "stderr"}).text
        assert '"call-1"' in ledger and '"call-4"' not in ledger, ledger
    daemon.kill()
    daemon.start()
    with daemon.http() as http:
        context.http = http
        for i, code in enumerate(codes):
            assert context.read(f"call-{i}") == seen[i]
            assert context.run(code, id=f"call-{i}") == seen[i], "a repeat runs nothing"
        other = context.send("0", id="call-4")
        assert (other.status_code, other.json()["error"]["reason"]) == (409, "evaluation_in_use")
        assert http.get(f"{context.path}/runs/call-5").status_code == 404, "none is invented"
        never = context.send("5 + 5", id="call-5")
        assert (never.status_code, never.json()["error"]["reason"]) == (409, "context_gone")


def _ignore(context, code, run):
    try:
        context.send(code, id=run)
    except Exception:
        pass  # the daemon is killed meanwhile


def _out(context, run):
    got = context.http.get(f"{context.path}/runs/{run}")
    return text(got.json()) if got.status_code == 200 else ""


def test_the_command_line(daemon, box):
    def cli(action, *args, **more):
        return daemon.cli("context", action, box["id"], *args, **more)

    assert cli("create", "main").out == b"main\n"
    assert cli("run", "main", "x = 20 + 1").out == b""
    assert cli("run", "main", "print('seen'); 2 * x").out == b"seen\n42\n"
    assert cli("run", "main", "-", stdin=b"x - 1").out == b"20\n"
    failed = cli("run", "main", "1 / 0")
    assert failed.code == 1 and b"ZeroDivisionError: division by zero" in failed.err
    got = json.loads(cli("run", "--json", "main", "x").out)
    assert value(got) == "21" and got["context"] == "main"
    assert [line.split() for line in cli("ls").out.decode().splitlines()[1:]] == [
        ["main", "python", "ready", "1"]
    ]
    lost = cli("run", "main", "import os; os._exit(3)")
    assert lost.code == 125 and b"cay context restart" in lost.err
    assert cli("restart", "main").out == b"main\n"
    killed = cli("run", "main", "import os; os.kill(os.getpid(), 9)")
    assert killed.code == 125 and b"SIGKILL" in killed.err, "it says how the interpreter ended"
    assert cli("restart", "main").out == b"main\n"
    assert cli("interrupt", "main").code == 0
    assert cli("rm", "main").code == 0
    assert b"no context 'main'" in cli("run", "main", "1").err
    assert b"CODE" in cli("run", "main").err


def _take_sigint():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_interrupts_the_code_and_a_second_one_leaves(daemon, box, context):
    def run(code):
        process = subprocess.Popen(
            [CAY, "context", "run", box["id"], context.info["id"], code],
            env={**os.environ, **daemon.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_take_sigint,
        )
        limit = threading.Timer(slow(30), process.kill)  # then what is read ends
        limit.start()
        assert process.stdout.readline() == b"begun\n"
        return process, limit

    begin = "import time; x = 5; print('begun', flush=True)\n"
    process, limit = run(begin + "try: time.sleep(1000)\nfinally: print('ended', flush=True)")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    limit.cancel()
    assert (process.returncode, out) == (130, b"ended\n"), (out, err)
    assert value(context.run("x")) == "5", "nothing is under way, and the variables stay"
    deaf = (
        begin + "while True:\n try: time.sleep(1000)\n"
        " except KeyboardInterrupt: print('heard', flush=True)"
    )
    process, limit = run(deaf)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == b"heard\n", "the client is there until the code ends"
    process.send_signal(signal.SIGINT)
    process.communicate()
    limit.cancel()
    assert process.returncode == 130
    assert context.post("restart").status_code == 200
