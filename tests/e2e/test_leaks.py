"""Must show 5: two hundred sandboxes by eight clients leave nothing."""
import concurrent.futures

import pytest

from census import census
from harness import needs_root, wait_until


def life(daemon, number):
    with daemon.http() as http:
        made = http.post("/api/v1/sandboxes", json={"timeout_s": 60})
        assert made.status_code == 201, made.text
        ref = made.json()["id"]
        done = http.post(
            f"/api/v1/sandboxes/{ref}/commands",
            json={"command": f"echo {number}; exit {number % 100}", "wait": True},
        )
        assert done.status_code == 200, done.text
        got = done.json()
        assert (got["state"], got["exit_code"], got["stdout"]) == (
            "exited",
            number % 100,
            f"{number}\n",
        ), got
        assert http.delete(f"/api/v1/sandboxes/{ref}").status_code == 204


def sees_what_a_sandbox_is(daemon, before):
    """Positive control: each count but those of what all sandboxes share rises by a living one."""
    assert (
        before["mounts"] + before["loops"] >= 2 or before["loops"] == 0
    ), before  # the pool, or plain directories
    with daemon.http() as http:
        ref = http.post("/api/v1/sandboxes", json={}).json()["id"]
        during = census(daemon)
        http.delete(f"/api/v1/sandboxes/{ref}")
    for kind in (
        "processes",
        "cgroups",
        "namespaces",
        "disks",
        "held by the launcher",
        "data files",
    ):
        assert during[kind] > before[kind], (kind, before, during)
    assert during["rows"]["sandbox"] == before["rows"]["sandbox"] + 1, during["rows"]
    wait_until(lambda: census(daemon) == before, "it is gone")


@needs_root
@pytest.mark.heavy
def test_two_hundred_sandboxes_leave_nothing(own_daemon):
    daemon = own_daemon()
    life(daemon, 1)  # what a first use makes once (loops, pool) counts as before
    before = census(daemon)
    sees_what_a_sandbox_is(daemon, before)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(life, daemon, n) for n in range(200)]:
            done.result()
    seen = {}

    def same():
        seen.update(census(daemon))
        return seen == before

    try:
        wait_until(same, "the machine as before", limit=15)
    except AssertionError:
        assert seen == before
