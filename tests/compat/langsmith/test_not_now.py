"""What cannot be run now is asked again by the unmodified Python client, and is nobody's mistake
(protocol section 4.7)."""
import subprocess
import sys
import threading
import time

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from harness import new_daemon, wait_until


@pytest.fixture(scope="module")
def mine(request):
    """A daemon that is drained here, with nobody else's sandboxes on it."""
    from langsmith.sandbox import SandboxClient

    daemon = new_daemon().start()
    with SandboxClient(api_endpoint=f"{daemon.url}/v2/sandboxes", api_key=daemon.key) as client:
        yield daemon, client
    daemon.close(keep_log=request.session.testsfailed > 0)


class Meanwhile:
    """box.run() in a thread of its own: it waits for what somebody else does."""

    def __init__(self, box, line):
        self.got = None
        self.thread = threading.Thread(target=self._run, args=(box, line))
        self.thread.start()

    def _run(self, box, line):
        try:
            self.got = box.run(line)
        except Exception as error:  # noqa: BLE001 (told by the test)
            self.got = error

    def end(self):
        self.thread.join(timeout=60)
        assert not isinstance(self.got, Exception), repr(self.got)
        return self.got


def drain(daemon, on):
    done = daemon.cli("drain", "--timeout", "0") if on else daemon.cli("drain", "--undo")
    assert done.code in ((0, 124) if on else (0,)), done


def change(daemon, box, verb):
    with daemon.http() as http:
        assert http.post(f"/api/v1/sandboxes/{box.id}/{verb}").status_code == 200


@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
@pytest.mark.parametrize("why", ["drained", "paused"])
def test_a_run_waits_until_it_may(mine, why, used):
    """A fresh box refuses the upgrade; one that has a command, which may be meant, closes before
    `started`."""
    daemon, client = mine
    with client.sandbox() as box:
        if used:
            assert box.run("echo before").stdout == "before\n"
        drain(daemon, True) if why == "drained" else change(daemon, box, "pause")
        try:
            run = Meanwhile(box, "echo ran >> /root/ran; cat /root/ran; exit 4")
            time.sleep(1)
            assert run.thread.is_alive(), run.got
        finally:
            drain(daemon, False) if why == "drained" else change(daemon, box, "resume")
        got = run.end()
        assert (got.stdout, got.exit_code) == ("ran\n", 4)


@pytest.mark.parametrize("why", ["drained", "paused"])
def test_what_runs_is_come_back_to(mine, why):
    daemon, client = mine
    with client.sandbox() as box:
        handle = box.run("echo up; read line; echo $line; exit 5", wait=False, close_input=False)
        assert (
            next(iter(handle)).data == "up\n"
        )  # or a pause may come first, and nothing could be come back to
        drain(daemon, True) if why == "drained" else change(daemon, box, "pause")
        try:
            again = box.reconnect(handle.command_id)
            assert next(iter(again)).data == "up\n"
        finally:
            drain(daemon, False) if why == "drained" else change(daemon, box, "resume")
        handle.send_input("go\n")
        assert (again.result.exit_code, handle.result.stdout) == (5, "up\ngo\n")


@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
def test_one_that_stays_paused_says_so(mine, used):
    """The client's own message for a refused upgrade has the server's words with some releases of
    `websockets` only."""
    from langsmith.sandbox import SandboxConnectionError, SandboxOperationError

    daemon, client = mine
    with client.sandbox() as box:
        if used:
            box.run("true")
        change(daemon, box, "pause")
        assert client.get_sandbox_status(box.name).status == "stopped"
        with pytest.raises(
            SandboxOperationError if used else SandboxConnectionError,
            match="paused" if used else "503",
        ) as refused:
            box.run("true")
        if used:
            assert refused.value.error_type == "NotReady"
        else:
            url = f"ws{box.dataplane_url[4:]}/execute/ws"
            with pytest.raises(InvalidStatus) as raw, connect(
                url, additional_headers={"X-Api-Key": daemon.key}
            ):
                pass
            assert b"is paused: resume it" in bytes(raw.value.response.body)
            assert raw.value.response.headers["Retry-After"] == "1"
        assert (
            client.get_sandbox_status(box.name).status == "stopped"
        ), "no request of an agent's undoes a pause"
        assert client.start_sandbox(box.name).status == "ready"
        assert box.run("echo on").stdout == "on\n"


def test_a_box_that_is_being_stopped_serves_the_next_run(mine):
    _, client = mine
    with client.sandbox() as box:
        for number in range(10):
            stop = threading.Thread(target=client.stop_sandbox, args=(box.name,))
            stop.start()
            time.sleep(0.003 * number)
            try:
                got = box.run(f"echo {number} >> /root/ran; echo {number}")
                assert (got.stdout, got.exit_code) in (
                    (f"{number}\n", 0),
                    ("", 137),
                    (f"{number}\n", 137),
                ), got  # 137: the stop's
            finally:
                stop.join(timeout=60)
        ran = box.run("cat /root/ran").stdout.split()
        assert len(ran) == len(set(ran)), "nothing runs twice"


def test_an_active_command_keeps_its_box_awake(mine):
    """Its caller is gone; the box's idle time begins when the command ends (protocol section 3)."""
    daemon, client = mine
    with client.sandbox(idle_ttl_seconds=60) as box, daemon.http() as http:
        where = f"/api/v1/sandboxes/{box.id}"
        begin = (
            "import os, sys; from langsmith.sandbox import SandboxClient\n"
            "box = SandboxClient(api_endpoint=sys.argv[1], "
            "api_key=sys.argv[2]).get_sandbox(sys.argv[3])\n"
            "how = dict(wait=False, timeout=0, idle_timeout=int(sys.argv[5]), "
            "kill_on_disconnect=sys.argv[6] == '1')\n"
            "print(box.run(sys.argv[4], **how).command_id, flush=True)\n"
            "os._exit(0)"
        )

        def left_alone(line, idle_timeout, kill="0"):
            argv = [
                f"{daemon.url}/v2/sandboxes",
                daemon.key,
                box.name,
                line,
                str(idle_timeout),
                kill,
            ]
            done = subprocess.run(
                [sys.executable, "-c", begin, *argv], capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 0, done.stderr
            return done.stdout.strip()

        http.patch(where, json={"idle_ttl_s": 1})  # the facade's least is a minute
        command = left_alone("sleep 5; echo done; exit 6", -1)
        time.sleep(3.5)
        assert http.get(where).json()["state"] == "ready"
        got = box.reconnect(command).result
        assert (got.stdout, got.exit_code) == ("done\n", 6)
        wait_until(lambda: http.get(where).json()["state"] == "stopped", "idle stop after its end")
        # A command that its own limits end keeps nothing awake.
        for idle_timeout, kill, state in ((1, "0", "idle_killed"), (-1, "1", "killed")):
            command = left_alone("sleep 1000", idle_timeout, kill)
            wait_until(lambda: http.get(where).json()["state"] == "stopped", "idle stop")
            assert http.get(f"{where}/commands/{command}").json()["state"] == state
