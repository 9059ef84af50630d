"""A stop, in whatever way it is cut short: what a command's output kept is there, and the sandbox
is stopped."""
import contextlib
import os
import random
import signal
import sqlite3
import threading
import time

import httpx
import pytest

from census import launchers_of
from harness import kill_keeper, wait_until
from host_restart import guardian

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0,
    reason="kills the launcher and keepers, which are root's and their own users'",
)

LIMIT = 8192
# By its offset every byte of it is known.
WHOLE = "".join(f"{n}\n" for n in range(1, 30_001)).encode()
# Three that are past their limit. One ended, and one runs. The third has a child that holds the
# output and is slow to die, because it has memory to free.
CHILD = "dd if=/dev/zero of=/dev/null bs=200M & exit 3"
LINES = {
    "ended": "seq 1 30000; exit 3",
    "left": f"seq 1 30000; {CHILD}",
    "open": "seq 1 30000; exec sleep 600",
}
ENDS = {"ended": ("exited", 3), "left": ("exited", 3), "open": ("killed", None)}


def make(http, name):
    made = http.post(
        "/api/v1/sandboxes",
        json={"name": name, "idle_ttl_s": 0, "limits": {"memory_bytes": 1 << 30}},
    )
    assert made.status_code == 201, made.text
    return made.json()["id"]


def begin(http, box):
    for name, line in LINES.items():
        body = {
            "id": name,
            "command": line,
            "wait": False,
            "timeout_s": 0,
            "output_limit_bytes": LIMIT,
        }
        assert http.post(f"/api/v1/sandboxes/{box}/commands", json=body).status_code == 201

    def written():
        got = {name: http.get(f"/api/v1/sandboxes/{box}/commands/{name}").json() for name in LINES}
        return (
            all(one["stdout"]["bytes"] == len(WHOLE) for one in got.values())
            and got["left"]["state"] == "exited"
        )

    wait_until(written, "all of the output")


def state(http, box):
    return http.get(f"/api/v1/sandboxes/{box}").json()["state"]


def kept_whole(http, box, names=tuple(LINES)):
    for name in names:
        path = f"/api/v1/sandboxes/{box}/commands/{name}"
        told = http.get(path).json()
        stream = told["stdout"]
        assert (stream["bytes"], stream["gap_begin"], stream["gap_end"]) == (
            len(WHOLE),
            LIMIT // 2,
            len(WHOLE) - LIMIT // 2,
        ), (name, told)
        assert (told["state"], told["exit_code"]) == ENDS[name], told
        end = http.get(f"{path}/output", params={"offset": stream["gap_end"]})
        assert end.content == WHOLE[-LIMIT // 2 :], name


@contextlib.contextmanager
def asked_to_stop(daemon, box):
    """While somebody waits for the answer."""

    def ask():
        with contextlib.suppress(httpx.HTTPError), daemon.http() as http:
            http.post(f"/api/v1/sandboxes/{box}/stop")

    asking = threading.Thread(target=ask)
    asking.start()
    yield
    asking.join()


def asked_of_store(daemon, question):
    with contextlib.closing(
        sqlite3.connect(f"file:{daemon.data / 'state.db'}?mode=ro", uri=True)
    ) as store:
        return store.execute(question).fetchone()[0]


def on_record(daemon):
    """The stops that are under way."""
    return asked_of_store(daemon, "SELECT value FROM meta WHERE key = 'stopping'")


def test_the_kept_end_is_there_after_every_kind_of_stop(own_daemon):
    daemon = own_daemon()

    def plain(http, box):
        assert http.post(f"/api/v1/sandboxes/{box}/stop").status_code == 200

    def paused(http, box):
        assert http.post(f"/api/v1/sandboxes/{box}/pause").status_code == 200
        plain(http, box)

    def without_launcher(http, box):
        with asked_to_stop(daemon, box):
            os.kill(guardian(daemon), signal.SIGKILL)
        plain(http, box)

    def without_worker(http, box):
        workers = [
            int(proc.name)
            for proc in launchers_of((daemon.data / "instance").read_text().strip())
            if (proc / "comm").read_text() == "cay-launcher-w\n"
        ]
        with asked_to_stop(daemon, box):
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
        plain(http, box)

    with daemon.http() as http:
        for way in (plain, paused, without_launcher, without_worker):
            box = make(http, way.__name__.replace("_", "-"))
            begin(http, box)
            way(http, box)
            wait_until(lambda of=box: state(http, of) == "stopped", way.__name__)
            kept_whole(http, box)
            assert http.delete(f"/api/v1/sandboxes/{box}").status_code == 204


def test_the_kept_end_of_what_had_ended_outlives_a_killed_keeper(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        box = make(http, "box")
        begin(http, box)
        kill_keeper(daemon, box)
        wait_until(lambda: state(http, box) == "failed", "it has failed")
        kept_whole(http, box, ("ended", "left"))
        assert http.get(f"/api/v1/sandboxes/{box}/commands/open").json()["state"] == "lost"
        assert http.post(f"/api/v1/sandboxes/{box}/start").status_code in (200, 202)
        wait_until(lambda: state(http, box) == "ready", "it is back")
        kept_whole(http, box, ("ended", "left"))


def test_a_stop_that_a_killed_daemon_had_begun_is_finished(own_daemon):
    """Killed at any moment of it: the next daemon leaves it stopped, not running and not failed, or
    it had not begun."""
    daemon = own_daemon()
    rng, finished = random.Random(7), 0
    for number in range(10):
        with daemon.http() as http:
            box = make(http, f"box-{number}")
            begin(http, box)
        with asked_to_stop(daemon, box), daemon.http() as http:
            if number % 2:
                time.sleep(rng.uniform(0, 0.03))
            else:
                wait_until(
                    lambda of=box: of in on_record(daemon) or state(http, of) == "stopped",
                    "it has begun",
                )
            daemon.kill()
        daemon.start(listen=f"127.0.0.1:{daemon.port}")
        with daemon.http() as http:
            wait_until(
                lambda of=box: state(http, of) in ("stopped", "ready"),
                "it is known what became of it",
            )
            running = (
                http.get(f"/api/v1/sandboxes/{box}/commands/open").json()["state"] == "running"
            )
            if running:  # the request had not come so far
                assert http.post(f"/api/v1/sandboxes/{box}/stop").status_code == 200
            wait_until(lambda of=box: state(http, of) == "stopped", "it is stopped")
            finished += not running
            assert on_record(daemon) == ""
            told = [
                event.get("state")
                for event in http.get(
                    "/api/v1/events", params={"sandbox": f"box-{number}", "type": "sandbox."}
                ).json()["items"]
            ]
            assert "failed" not in told, told
            kept_whole(http, box)
            assert http.delete(f"/api/v1/sandboxes/{box}").status_code == 204
    assert finished > 0, "no kill came in the middle of a stop"


def test_a_start_that_was_killed_halfway_forgets_no_command(own_daemon):
    """The spool goes over to the next keeper's user command by command: as it is left by a launcher
    that was killed between two."""
    daemon = own_daemon()
    with daemon.http() as http:
        box = make(http, "halfway")
        path = f"/api/v1/sandboxes/{box}/commands"
        for name in ("c1", "c2", "c3"):
            assert (
                http.post(path, json={"id": name, "command": f"echo {name}"}).json()["exit_code"]
                == 0
            )
        assert http.post(f"/api/v1/sandboxes/{box}/stop").status_code == 200
        spool = daemon.data / "spool" / box
        keeper = spool.stat().st_uid
        os.chown(spool, 0, -1)
        for one in (spool / "c2", *(spool / "c2").iterdir()):
            os.chown(one, keeper + 1, -1)
        assert http.post(f"/api/v1/sandboxes/{box}/start").status_code in (200, 202)
        wait_until(lambda: state(http, box) == "ready", "it is up")
        assert {one["id"] for one in http.get(path).json()["items"]} == {"c1", "c2", "c3"}
        assert http.get(f"{path}/c2/output").content == b"c2\n"
        assert (
            {one.stat().st_uid for one in (spool, *spool.rglob("*"))}
            == {spool.stat().st_uid}
            != {0}
        )
