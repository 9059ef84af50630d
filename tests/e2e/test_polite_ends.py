"""A daemon that is ended politely, as by an upgrade, costs nobody a sandbox: nor does one that is
killed."""
import pytest

from harness import wait_until


@pytest.fixture(params=["terminate", "kill"])
def how(request):
    return request.param


def states(http, ids):
    rows = {
        box["id"]: box
        for box in http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]
    }
    return [(rows[one]["state"], rows[one]["reason"]) if one in rows else "gone" for one in ids]


def test_starts_under_way_fail_nothing(own_daemon, how):
    daemon = own_daemon()
    with daemon.http() as http:
        ids = [http.post("/api/v1/sandboxes", json={}).json()["id"] for _ in range(12)]
        for one in ids:
            assert http.post(f"/api/v1/sandboxes/{one}/stop").status_code == 200
        for one in ids:
            assert http.post(f"/api/v1/sandboxes/{one}/start").status_code == 202
    daemon.restart(how)
    with daemon.http() as http:
        assert set(states(http, ids)) <= {("ready", ""), ("stopped", "")}
        for one in ids:  # whatever it is: a request wakes it
            assert (
                http.get(
                    f"/api/v1/sandboxes/{one}/files/list", params={"path": "/root"}
                ).status_code
                == 200
            )


def test_creations_that_were_answered_are_made(own_daemon, how):
    daemon = own_daemon()
    with daemon.http() as http:
        made = [http.post("/api/v1/sandboxes", json={"wait": False}) for _ in range(20)]
        assert {one.status_code for one in made} == {201}
        ids = [one.json()["id"] for one in made]
    daemon.restart(how)
    with daemon.http() as http:
        wait_until(lambda: set(states(http, ids)) == {("ready", "")}, "all of them", 60)
        for one in ids:
            ran = http.post(
                f"/api/v1/sandboxes/{one}/commands", json={"command": "echo $((6*7))"}
            ).json()
            assert (ran["exit_code"], ran["stdout"]) == (0, "42\n"), ran
