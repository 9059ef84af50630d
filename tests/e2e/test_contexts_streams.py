"""The events of an evaluation as they come, and readers that come back for the rest."""
import json
import os
import subprocess

from harness import CAY, slow
from test_contexts import Context, text

LINES = {"Accept": "application/x-ndjson"}
GATED = """
import os, time
print('one', flush=True)
while not os.path.exists('/tmp/go'): time.sleep(0.01)
display(2)
print('three')
'last'
"""


def test_events_come_while_the_code_runs(http, box, run):
    context = Context(http, box["id"])
    with http.stream(
        "POST", f"{context.path}/run", json={"code": GATED}, headers=LINES, timeout=slow(60)
    ) as stream:
        assert stream.headers["content-type"] == "application/x-ndjson"
        lines = (json.loads(line) for line in stream.iter_lines())
        begin = next(lines)
        assert (begin["type"], begin["context"]) == ("begin", context.info["id"])
        first = next(lines)
        assert (first["type"], first["text"]) == ("stdout", "one\n")
        run("touch /tmp/go")
        rest = list(lines)
    assert [one["type"] for one in rest] == ["display", "stdout", "result", "end"]
    assert rest[-1]["state"] == "ok" and rest[-1]["interpreter"] is None
    whole = context.read(begin["id"])
    assert [{**one, "next": None} for one in [first, *rest[:-1]]] == [
        {**one, "next": None} for one in whole["events"]
    ]
    again = context.read(begin["id"], **{"from": first["next"]})
    assert again["events"] == whole["events"][1:], "a place lies behind its event"
    end = context.read(begin["id"], **{"from": rest[-1]["next"]})
    assert (end["state"], end["events"]) == ("ok", []), "and the end is read again from its own"


def test_one_event_ends_a_wait(http, box, run):
    context = Context(http, box["id"])
    begun = context.run(GATED, wait_s=0)
    first = context.read(begun["id"], wait_s=60, until="event")
    assert (first["state"], text(first)) == ("running", "one\n")
    run("touch /tmp/go")
    got = []
    while first["state"] == "running":
        first = context.read(begun["id"], wait_s=60, until="event", **{"from": first["next"]})
        got += [one["type"] for one in first["events"]]
    assert got == ["display", "stdout", "result"]
    bad = http.get(f"{context.path}/runs/{begun['id']}", params={"until": "never"})
    assert (bad.status_code, bad.json()["error"]["reason"]) == (400, "invalid_query")


def test_the_stream_of_what_is_not_there_is_refused(http, box):
    context = Context(http, box["id"])
    got = http.get(f"{context.path}/runs/none", headers=LINES)
    assert (got.status_code, got.json()["error"]["reason"]) == (404, "unknown_evaluation")
    died = http.post(f"{context.path}/run", json={"code": "import os; os._exit(5)"}, headers=LINES)
    end = json.loads(died.text.splitlines()[-1])
    assert (end["type"], end["state"]) == ("end", "lost")
    assert end["interpreter"]["exit_code"] == 5
    gone = http.post(f"{context.path}/run", json={"code": "1"}, headers=LINES)
    assert (gone.status_code, gone.json()["error"]["reason"]) == (409, "context_gone")


def test_a_reader_that_comes_back_gets_exactly_the_rest(own_daemon):
    """It goes away every 40 events, and the daemon is killed twice meanwhile."""
    daemon = own_daemon()
    code = "import time\nfor i in range(400):\n    print(i, flush=True); time.sleep(0.002)\n'end'"
    events, state, place, readers = [], "running", None, 0
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "s", "idle_ttl_s": 0}).json()["id"]
        context = Context(http, box, id="main")
        begun = context.run(code, id="all", wait_s=0)
        assert begun["state"] == "running"
    while state == "running":
        readers += 1
        params = {} if place is None else {"from": place}
        with daemon.http() as http, http.stream(
            "GET", f"{context.path}/runs/all", params=params, headers=LINES, timeout=slow(60)
        ) as stream:
            assert stream.status_code == 200
            of_this = 0
            for line in stream.iter_lines():
                got = json.loads(line)
                place = got.get("next", place)
                if got["type"] == "end":
                    state = got["state"]
                elif got["type"] in ("stdout", "result"):
                    events.append(got)
                    of_this += 1
                if of_this == 40:
                    break
        if readers in (2, 4):
            daemon.restart()
    assert state == "ok" and readers > 4
    printed = "".join(one["text"] for one in events if one["type"] == "stdout")
    assert printed == "".join(f"{i}\n" for i in range(400))
    assert [one["data"] for one in events if one["type"] == "result"] == [{"text/plain": "'end'"}]


def test_the_command_line_prints_what_comes(daemon, http, box, run):
    Context(http, box["id"], id="main")
    running = subprocess.Popen(
        [CAY, "context", "run", box["id"], "main", GATED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **daemon.env},
    )
    assert running.stdout.readline() == b"one\n"
    assert running.poll() is None, "before its end"
    run("touch /tmp/go")
    out, err = running.communicate(timeout=slow(60))
    assert (running.returncode, out, err) == (0, b"2\nthree\n'last'\n", b"")
