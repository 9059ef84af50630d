"""How commands of the Daytona facade end: the record of it stays, and nobody invents one."""

import json
import threading

import pytest
from websockets.exceptions import ConnectionClosed

import harness
from test_daytona_toolbox_wire import Toolbox, code_of, followed, until


@pytest.fixture(scope="module")
def ends(daemon):
    made = Toolbox(daemon)
    yield made
    made.close()


def test_an_end_outlives_dropped_output(own_daemon):
    daemon = own_daemon()
    box = Toolbox(daemon)
    box("POST", "/process/session", 201, json={"sessionId": "big"})

    def ran(command):
        body = {"command": command, "runAsync": True}
        return box("POST", "/process/session/big/exec", 202, json=body)["cmdId"]

    def told(command):
        return box("GET", f"/process/session/big/command/{command}")

    # A session keeps the first and the last 128 MiB.
    large = "head -c 140M /dev/zero | tr '\\0' x"
    first = ran("echo first; (exit 3)")
    ran(large)
    middle = ran("echo middle; (exit 4)")
    last = ran(large + "; (exit 5)")
    until(lambda: "exitCode" in told(last))
    for again in (False, True):
        if again:
            daemon.restart("kill")
        listed = box("GET", "/process/session/big")["commands"]
        assert [one["exitCode"] for one in listed] == [3, 0, 4, 5]
        assert told(middle)["exitCode"] == 4
        assert box("GET", f"/process/session/big/command/{first}/logs")["stdout"] == "first\n"
        logs = box("GET", f"/process/session/big/command/{middle}/logs")
        assert logs["stdout"] == "" and "bytes of output were dropped]" in logs["stderr"]
        assert b"bytes of output were dropped]" in followed(box, "big", middle)
    box.close()


def test_jobs_write_to_the_log_of_their_own_command(ends):
    box = ends
    box("POST", "/process/session", 201, json={"sessionId": "jobs"})
    job = "(for i in 1 2 3; do sleep 0.05; echo out$i; echo err$i >&2; done) & echo begun"
    first = box("POST", "/process/session/jobs/exec", json={"command": job})
    assert first["stdout"] == "begun\n"

    def log_of(command):
        return box("GET", f"/process/session/jobs/command/{command}/logs")

    # No other command is sent meanwhile.
    until(lambda: "err3" in log_of(first["cmdId"])["stderr"])
    all_of_it = log_of(first["cmdId"])
    assert all_of_it["stdout"] == "begun\nout1\nout2\nout3\n"
    assert all_of_it["stderr"] == "err1\nerr2\nerr3\n"
    second = box("POST", "/process/session/jobs/exec", json={"command": "echo second"})
    assert log_of(second["cmdId"]) == {
        "output": "\1\1\1second\n",
        "stdout": "second\n",
        "stderr": "",
    }
    assert log_of(first["cmdId"]) == all_of_it
    shown = followed(box, "jobs", first["cmdId"])
    assert shown.startswith(b"\1\1\1begun\n") and shown.count(b"out") == 3
    box("DELETE", "/process/session/jobs", 204)


class Answers:
    """Requests that wait while something ends them."""

    def __init__(self, box):
        self.box = box
        self.answers = {}
        self.threads = []

    def ask(self, name, path, body):
        def run():
            self.answers[name] = self.box.client.post(self.box.base + path, json=body)

        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def all(self):
        for one in self.threads:
            one.join(harness.slow(60))
        return self.answers


def begin_three(box):
    box("POST", "/process/session", 201, json={"sessionId": "s"})
    waiting = Answers(box)
    waiting.ask("execute", "/process/execute", {"command": "touch /tmp/one; sleep 600"})
    waiting.ask("session", "/process/session/s/exec", {"command": "touch /tmp/two; sleep 600"})
    until(lambda: box.run("ls /tmp/one /tmp/two")["exitCode"] == 0)
    terminal = box.socket("/process/pty/create-connect?id=t")
    assert json.loads(terminal.recv())["status"] == "connected"
    return waiting, terminal


def end_of(terminal):
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            terminal.recv(timeout=harness.slow(60))
    return closed.value.rcvd


def test_a_stop_is_no_exit_code(daemon):
    box = Toolbox(daemon)
    waiting, terminal = begin_three(box)
    stopped = box.client.post(f"{daemon.url}/daytona/sandbox/{box.id}/stop")
    assert stopped.status_code == 200, stopped.text
    for answer in waiting.all().values():
        assert answer.status_code == 410, answer.text
        assert code_of(answer.json()) == "SANDBOX_STOPPED"
    end = end_of(terminal)
    assert end.code == 1011 and "sandbox stop" in json.loads(end.reason)["error"]
    assert "exitCode" not in json.loads(end.reason)
    box.close()


def test_a_lost_keeper_is_no_exit_code(own_daemon):
    daemon = own_daemon()
    box = Toolbox(daemon)
    waiting, terminal = begin_three(box)
    harness.kill_keeper(daemon, box.id)
    for name, answer in waiting.all().items():
        assert answer.status_code == 500, (name, answer.text)
        assert code_of(answer.json()) == "INFRASTRUCTURE_FAILURE"
    end = end_of(terminal)
    assert end.code == 1011 and "exitCode" not in end.reason
    box.close()
