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
        done = http.post(f"/api/v1/sandboxes/{ref}/commands", json={"command": f"echo {number}; exit {number % 100}", "wait": True})
        assert done.status_code == 200, done.text
        got = done.json()
        assert (got["state"], got["exit_code"], got["stdout"]) == ("exited", number % 100, f"{number}\n"), got
        assert http.delete(f"/api/v1/sandboxes/{ref}").status_code == 204


@needs_root
@pytest.mark.heavy
def test_two_hundred_sandboxes_leave_nothing(own_daemon):
    daemon = own_daemon()
    life(daemon, 1)  # what a first use makes once (loops, pool) counts as before
    before = census(daemon)
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
