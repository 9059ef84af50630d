"""What a host gives is never more than it has, however many ask at once: counted exactly, over
HTTP."""
import collections
import concurrent.futures
import contextlib
import os
import threading

from harness import slow, wait_until

MIB = 1 << 20
HOST = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
ROOM = 8  # sandboxes of 128 MiB
SETTINGS = """[host]
max_sandboxes = {most}
memory_reserve_bytes = {reserve}
memory_overcommit = 1.0
[defaults]
memory_bytes = {each}
cpu_millicores = 50
"""


def settings(most, room):
    return SETTINGS.format(most=most, reserve=HOST - room, each=128 * MIB)


def listed(http):
    return http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]


@contextlib.contextmanager
def asking(daemon, threads, **body):
    """So many threads ask for a sandbox each, at once; gives what is answered, as it comes."""
    together, answers = threading.Barrier(threads), []

    def ask():
        with daemon.http() as http:
            together.wait()
            answers.append(http.post("/api/v1/sandboxes", json=body, timeout=slow(200)))

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        begun = [pool.submit(ask) for _ in range(threads)]
        yield answers
        for one in begun:
            one.result()


def waiting_for_room(http):
    return next(
        float(line.split()[1])
        for line in http.get("/metrics").text.splitlines()
        if line.startswith('cay_queue_length{for="host_room"}')
    )


def counted(answers):
    """(status, reason) -> how many."""
    return collections.Counter(
        (one.status_code, one.json()["error"]["reason"] if one.status_code != 201 else "")
        for one in answers
    )


def test_many_that_ask_at_once_get_what_there_is_and_no_more(own_daemon, tmp_path):
    config = tmp_path / "quotas.toml"
    config.write_text(settings(5, ROOM * 128 * MIB))
    daemon = own_daemon("--config", str(config))
    # By their number.
    with asking(daemon, 24, wait=False) as answers:
        pass
    assert counted(answers) == {(201, ""): 5, (429, "quota_sandboxes"): 19}
    assert all(
        "sandbox limit reached: 5" in one.json()["error"]["message"]
        for one in answers
        if one.status_code == 429
    )
    with daemon.http() as http:
        wait_until(
            lambda: [one["state"] for one in listed(http)] == ["ready"] * 5, "all of them", 60
        )
        http.delete(f"/api/v1/sandboxes/{listed(http)[0]['id']}")
        with asking(daemon, 8, wait=False) as again:
            pass
        assert counted(again) == {
            (201, ""): 1,
            (429, "quota_sandboxes"): 7,
        }, "what was given back is given once"
        for one in listed(http):
            http.delete(f"/api/v1/sandboxes/{one['id']}")

    # By their memory. Those who find none wait until three are removed, and who comes after them to
    # their end. Room is given in turn.
    config.write_text(settings(1000, ROOM * 128 * MIB + 127 * MIB))
    daemon.restart("terminate")
    most, looks = 0, 0
    with daemon.http() as http, asking(
        daemon, ROOM + 3, timeout_s=slow(150)
    ) as answers, contextlib.ExitStack() as later:

        def given():
            nonlocal most, looks
            ready = [one for one in listed(http) if one["state"] == "ready"]
            most, looks = max(most, sum(one["limits"]["memory_bytes"] for one in ready)), looks + 1
            return ready

        wait_until(
            lambda: len(given()) == ROOM and waiting_for_room(http) == 3,
            "as many as there is memory for",
            60,
        )
        late = later.enter_context(asking(daemon, 24 - ROOM - 3, timeout_s=slow(15)))
        wait_until(lambda: given() and waiting_for_room(http) > 3 or late, "others who ask", 60)
        for one in given()[:3]:
            assert http.delete(f"/api/v1/sandboxes/{one['id']}").status_code == 204
        wait_until(lambda: len(given()) == ROOM and len(answers) >= ROOM + 3, "as many again", 60)
        wait_until(lambda: given() and len(late) == 24 - ROOM - 3, "all answers", 60)
    assert (counted(answers), counted(late)) == (
        {(201, ""): ROOM + 3},
        {(429, "quota_memory"): 24 - ROOM - 3},
    )
    refused = [one.json()["error"]["message"] for one in late]
    assert all(
        "memory is exhausted: requested 128 MiB" in one
        and "(1024 MiB of 1151 MiB are given to running sandboxes)" in one
        for one in refused
    ), refused
    assert most == ROOM * 128 * MIB and looks > 3
    with daemon.http() as http:
        assert len(listed(http)) == ROOM, "who was refused left nothing"
        last = http.post("/api/v1/sandboxes", json={"limits": {"memory_bytes": 127 * MIB}})
        assert last.status_code == 201, "the control: it is given to the last MiB"
        more = http.post(
            "/api/v1/sandboxes", json={"limits": {"memory_bytes": 16 * MIB}, "timeout_s": 0.2}
        )
        assert (more.status_code, more.json()["error"]["reason"]) == (429, "quota_memory")


def test_limits_that_are_changed_count_from_the_next_start_and_no_sooner(own_daemon, tmp_path):
    """A PATCH while a sandbox waits for room, and one while it runs: what is given is what runs,
    before and after the daemon is killed."""
    config = tmp_path / "quotas.toml"
    config.write_text(settings(100, ROOM * 128 * MIB))
    daemon = own_daemon("--config", str(config))

    def create(name, mib, **more):
        return http.post(
            "/api/v1/sandboxes",
            json={"name": name, "limits": {"memory_bytes": mib * MIB}, **more},
            timeout=slow(120),
        )

    def given():
        return http.get("/api/v1/usage").json()["memory_used_bytes"] // MIB

    def change(name, mib):
        changed = http.patch(
            f"/api/v1/sandboxes/{name}", json={"limits": {"memory_bytes": mib * MIB}}
        )
        assert (changed.status_code, changed.json()["limits"]["memory_bytes"]) == (
            200,
            mib * MIB,
        ), changed.text

    with daemon.http() as http:
        assert create("all", ROOM * 128).status_code == 201
        assert create("grows", 64, wait=False).status_code == 201  # waits: nothing is left
        change("grows", 900)
        assert http.delete("/api/v1/sandboxes/all").status_code == 204
        wait_until(
            lambda: http.get("/api/v1/sandboxes/grows").json()["state"] == "ready", "it came up"
        )
        assert given() == 64
        eats = daemon.cli(
            "exec", "grows", "--", "python3", "-c", "b'x' * (300 << 20)", timeout=slow(60)
        )
        assert eats.code not in (0, 125), ("it has what was admitted", eats)
        assert create("large", 900).status_code == 201, "the rest is there"
        change("large", 16)
    daemon.restart("kill")
    with daemon.http() as http:
        wait_until(
            lambda: [one["state"] for one in listed(http)] == ["ready"] * 2, "both are taken back"
        )
        assert given() == 964
        refused = create("more", 128, timeout_s=0.2)
        assert (refused.status_code, refused.json()["error"]["reason"]) == (429, "quota_memory")
        for name in ("large", "grows"):
            assert http.post(f"/api/v1/sandboxes/{name}/stop").status_code == 200
        assert http.post("/api/v1/sandboxes/large/start").status_code in (200, 202)
        assert http.post("/api/v1/sandboxes/grows/start").status_code in (200, 202)
        wait_until(
            lambda: [one["state"] for one in listed(http)] == ["ready"] * 2, "both run again"
        )
        assert given() == 916
        fits = daemon.cli(
            "exec", "grows", "--", "python3", "-c", "b'x' * (300 << 20)", timeout=slow(60)
        )
        assert fits.code == 0, fits
