"""What must hold while the keeper has far more to do than it can do at once."""
import concurrent.futures
import socket

import pytest

from harness import SANITIZED, slow, wait_until

WRITERS = 45  # more ready descriptors than the keeper takes up in one turn
STARTS = 16


def test_a_program_that_stops_itself_is_started_once(daemon, http):
    box = http.post("/api/v1/sandboxes", json={"limits": {"cpu_millicores": 4000}}).json()
    url = f"/api/v1/sandboxes/{box['id']}/commands"

    def start(number):
        with daemon.http() as client:
            body = {
                "argv": ["/bin/sh", "-c", f"echo x >> /root/ran-{number}; kill -STOP $$"],
                "user": "root",
                "timeout_s": 0.3,
            }
            answer = client.post(url, json=body)
            return answer.json().get("state", answer.text)

    try:
        for _ in range(WRITERS):
            assert (
                http.post(url, json={"argv": ["yes"], "timeout_s": 60, "wait": False}).status_code
                == 201
            )
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            ends = list(pool.map(start, range(STARTS)))
        assert ends == ["timed_out"] * STARTS
        ran = http.post(url, json={"command": "cat /root/ran-*", "user": "root"}).json()["stdout"]
        assert ran == "x\n" * STARTS
    finally:
        http.delete(f"/api/v1/sandboxes/{box['id']}")


@pytest.mark.skipif(
    SANITIZED,
    reason="UBSan takes an object for broken when it gets no descriptor to look at it with",
)
def test_a_daemon_without_descriptors_says_so_and_recovers(own_daemon):
    """Nothing of it is told as a command's own failure, and nothing is left of what could not be
    made."""
    daemon = own_daemon()
    daemon.prefix = ["sh", "-c", 'ulimit -n 48; exec "$@"', "sh"]
    daemon.restart()
    with daemon.http() as http:
        made = []
        while True:
            answer = http.post("/api/v1/sandboxes", json={"timeout_s": slow(20)})
            if answer.status_code != 201:
                break
            made.append(answer.json()["id"])
            assert len(made) < 48
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["reason"]) == (
            503,
            "unavailable",
            "no_descriptors",
        ), error
        assert len(made) >= 8, made
        url = f"/api/v1/sandboxes/{made[0]}/commands"

        def runs():
            got = http.post(url, json={"command": "echo out; exit 3"})
            assert got.status_code == 200, got.text
            return (got.json()["state"], got.json()["exit_code"], got.json()["stdout"]) == (
                "exited",
                3,
                "out\n",
            )

        assert runs()  # who is in is served
        idle = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(100)]
        assert runs()
        for one in idle:
            one.close()
        listed = {
            box["id"]
            for box in http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]
        }
        assert listed == set(made)
        http.delete(f"/api/v1/sandboxes/{made.pop()}")
        wait_until(
            lambda: http.post("/api/v1/sandboxes", json={"timeout_s": slow(20)}).status_code == 201,
            "there is room again",
        )
        assert runs()
