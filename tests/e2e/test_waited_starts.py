"""POST .../commands with wait_s: one request for a short command, and a long one is followed."""

import json
import threading

import httpx
import pytest

from harness import kill_keeper, wait_until


def start(http, box, **body):
    return http.post(f"/api/v1/sandboxes/{box}/commands", json=body)


def new_box(http):
    return http.post("/api/v1/sandboxes", json={}).json()["id"]


def test_a_command_that_ends_in_time_is_answered_with_its_result(daemon):
    with daemon.http() as http:
        box = new_box(http)
        got = start(http, box, id="c1", command="echo out; echo err >&2; exit 3", wait_s=30)
        assert got.status_code == 200, got.text
        result = got.json()
        assert (result["stdout"], result["stderr"], result["exit_code"]) == ("out\n", "err\n", 3)
        shown = http.get(f"/api/v1/sandboxes/{box}/commands/c1").json()
        assert {**result["command"], "known": shown["known"]} == shown
        again = start(http, box, id="c1", command="echo out; echo err >&2; exit 3", wait_s=30)
        assert not result["command"]["known"] and again.json()["command"]["known"]
        long = start(http, box, command="seq 1 400000", wait_s=30)
        assert long.status_code == 200 and long.json()["truncated"], long.text[:300]
        assert long.json()["stdout_gap"]["length"] > 0
        whole = http.get(
            f"/api/v1/sandboxes/{box}/commands/{long.json()['command_id']}/output"
        ).text
        assert whole == "".join(f"{n}\n" for n in range(1, 400001))
        http.delete(f"/api/v1/sandboxes/{box}")


def test_one_that_does_not_goes_on_and_is_read_from_its_first_byte(daemon):
    with daemon.http() as http:
        box = new_box(http)
        begun = start(
            http,
            box,
            command="echo first; read line; echo got $line; exit 4",
            wait_s=0.05,
            close_stdin=False,
        )
        assert begun.status_code == 201 and begun.json()["state"] == "running", begun.text
        command = begun.json()["id"]
        at = f"/api/v1/sandboxes/{box}/commands/{command}"
        assert http.post(f"{at}/stdin", content=b"word\n").status_code == 204
        out = http.get(f"{at}/output", params={"follow": "true"}).text
        assert out == "first\ngot word\n"
        assert http.get(at).json()["exit_code"] == 4
        for more in ({"wait": False}, {"stdin": "eA=="}, {"kill_on_disconnect": True}):
            assert start(http, box, command="true", wait_s=1, **more).status_code == 400, more
        http.delete(f"/api/v1/sandboxes/{box}")


@pytest.mark.parametrize("method", ["kill", "stop"])
def test_an_answer_that_is_lost_with_its_daemon_runs_nothing_twice(own_daemon, method):
    daemon = own_daemon()
    body = {"id": "once", "command": "echo ran >> /root/ran; read x; exit 5", "wait_s": 60}
    with daemon.http() as http:
        box = new_box(http)
        failed = []

        def ask():
            try:
                failed.append(start(http, box, **body, close_stdin=False).status_code)
            except httpx.HTTPError as error:
                failed.append(error)

        waiting = threading.Thread(target=ask)
        waiting.start()
        ran = {"path": "/root/ran"}
        wait_until(
            lambda: http.get(f"/api/v1/sandboxes/{box}/files", params=ran).text == "ran\n",
            "the command has begun",
        )
        daemon.restart(method)
        waiting.join(20)
        assert len(failed) == 1 and failed[0] != 200, failed
    with daemon.http() as http:
        http.post(f"/api/v1/sandboxes/{box}/commands/once/stdin", content=b"x\n").raise_for_status()
        again = start(http, box, **body, close_stdin=False)
        assert again.status_code == 200, again.text
        assert (again.json()["state"], again.json()["exit_code"]) == ("exited", 5)
        assert http.get(f"/api/v1/sandboxes/{box}/files", params=ran).text == "ran\n"


def test_a_lost_keeper_is_an_error_and_no_end(daemon):
    with daemon.http() as http:
        box = new_box(http)
        answers = []
        body = {"id": "lost", "command": "sleep 600", "wait_s": 60}
        waiting = threading.Thread(target=lambda: answers.append(start(http, box, **body)))
        waiting.start()
        wait_until(
            lambda: http.get(f"/api/v1/sandboxes/{box}/commands/lost").status_code == 200,
            "the command has begun",
        )
        kill_keeper(daemon, box)
        waiting.join(20)
        assert len(answers) == 1
        if answers[0].status_code == 200:  # read from what is kept: it has no code of its own
            result = json.loads(answers[0].text)
            assert (result["state"], result["exit_code"]) == ("lost", None), result
        else:
            assert answers[0].json()["error"]["code"] in ("lost", "unavailable"), answers[0].text
        http.delete(f"/api/v1/sandboxes/{box}")
