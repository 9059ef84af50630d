"""The journal against the truth: every command that a client saw accepted is told once each way,
over kills of the daemon."""
import collections
import random
import signal
import threading
import time

import httpx

from harness import kill_keeper, wait_until


def told(http):
    """(starts, ends) by command id, from the whole journal."""
    starts, ends, after = collections.defaultdict(list), collections.defaultdict(list), 0
    while True:
        page = http.get("/api/v1/events", params={"after": after, "limit": 1000}).json()
        assert page["gap"] is None, page["gap"]
        for event in page["items"]:
            if event["type"] == "command.started":
                starts[event["command_id"]].append(event)
            elif event["type"] == "command.ended":
                ends[event["command_id"]].append(event)
        if not page["items"]:
            return starts, ends
        after = page["next_after"]


def compare(http, truth):
    """truth: id -> exit code of accepted commands. Waits for their ends, then compares all that is
    told with it."""
    wait_until(
        lambda: truth.keys() <= told(http)[1].keys() or time.sleep(0.2),
        f"the ends of {len(truth)} commands",
        limit=60,
    )
    starts, ends = told(http)
    for name, code in truth.items():
        assert len(starts[name]) == 1, f"{name} is told to have started {len(starts[name])} times"
        assert [(e["state"], e.get("exit_code")) for e in ends[name]] == [("exited", code)], (
            name,
            ends[name],
        )
        assert starts[name][0]["seq"] < ends[name][0]["seq"], name
    for name in (
        starts.keys() | ends.keys()
    ):  # those whose answer the kill took: all of them true, too
        assert len(starts[name]) == 1 and len(ends[name]) <= 1, (name, starts[name], ends[name])
        assert all(e["state"] == "exited" for e in ends[name]), ends[name]


def test_twenty_kills_during_short_commands(own_daemon):
    daemon = own_daemon()
    rng = random.Random(20)
    with daemon.http() as http:
        boxes = [http.post("/api/v1/sandboxes", json={}).json()["id"] for _ in range(2)]
    truth = {}

    def work(box, round_, stop):
        commands, number = f"/api/v1/sandboxes/{box}/commands", 0
        with daemon.http() as http:
            while not stop.is_set():
                name, code = f"r{round_}n{number}{box[:4]}", number % 7
                number += 1
                body = {
                    "id": name,
                    "argv": ["sh", "-c", f"exit {code}"],
                    "wait": number % 3 == 0,
                    "ttl_s": (0, 600)[number % 2],
                    "timeout_s": 0,
                }
                try:
                    if http.post(commands, json=body).status_code >= 300:
                        continue
                    truth[name] = code
                    if number % 4 == 0:  # one whose record is gone at once
                        http.delete(f"{commands}/{name}")
                except httpx.HTTPError:
                    return

    for round_ in range(20):
        stop = threading.Event()
        workers = [threading.Thread(target=work, args=(box, round_, stop)) for box in boxes]
        for worker in workers:
            worker.start()
        time.sleep(rng.uniform(0.05, 0.3))  # when the kill falls is what varies
        daemon.kill()
        stop.set()
        for worker in workers:
            worker.join()
        daemon.start(listen=f"127.0.0.1:{daemon.port}")
    assert len(truth) > 40, truth
    with daemon.http() as http:
        compare(http, truth)


def test_ends_that_a_stopped_daemon_never_read(own_daemon):
    """They come while it does not run, their commands are not kept, and then it is killed."""
    daemon = own_daemon()
    truth = {}
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        for number in range(12):
            body = {
                "id": f"c{number}",
                "argv": ["sh", "-c", f"sleep 1; exit {number}"],
                "wait": False,
                "ttl_s": 0,
                "timeout_s": 0,
            }
            assert http.post(f"/api/v1/sandboxes/{box}/commands", json=body).status_code < 300
            truth[f"c{number}"] = number
        for number in range(12, 16):  # the last starts are not written yet, maybe
            body = {
                "id": f"c{number}",
                "argv": ["sh", "-c", f"exit {number}"],
                "wait": False,
                "ttl_s": 0,
                "timeout_s": 0,
            }
            assert http.post(f"/api/v1/sandboxes/{box}/commands", json=body).status_code < 300
            truth[f"c{number}"] = number
    daemon.process.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    daemon.kill()
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    with daemon.http() as http:
        compare(http, truth)
    daemon.restart("kill")  # and what was told is not told again
    with daemon.http() as http:
        http.post(
            f"/api/v1/sandboxes/{box}/commands", json={"id": "last", "argv": ["true"], "wait": True}
        )
        compare(http, truth | {"last": 0})


def test_pruned_events_never_come_again(own_daemon, tmp_path):
    config = tmp_path / "cay.toml"
    config.write_text("[events]\nkeep = 100\n")
    daemon = own_daemon("--config", str(config))
    seen, after = collections.Counter(), 0

    def follow(http):
        nonlocal after
        while True:
            page = http.get("/api/v1/events", params={"after": after, "limit": 1000}).json()
            assert page["gap"] is None, "the test read too slowly"
            seen.update(
                (e["command_id"], e["type"], e.get("state"))
                for e in page["items"]
                if e["type"].startswith("command.")
            )
            if not page["items"]:
                return
            after = page["next_after"]

    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
    names = []
    for round_ in range(3):
        with daemon.http() as http:
            for number in range(90):
                names.append(f"r{round_}n{number}")
                http.post(
                    f"/api/v1/sandboxes/{box}/commands",
                    json={"id": names[-1], "argv": ["true"], "wait": True},
                ).raise_for_status()
                if number % 20 == 0:
                    follow(http)
        daemon.restart("kill")
        with daemon.http() as http:
            last = (names[-1], "command.ended", "exited")
            wait_until(lambda: follow(http) or seen[last], "the end of the last command")
    with daemon.http() as http:
        # Any repeated event would have come by now, since something newer has.
        http.post(
            f"/api/v1/sandboxes/{box}/commands",
            json={"id": "newer", "argv": ["true"], "wait": True},
        ).raise_for_status()
        wait_until(
            lambda: follow(http) or seen[("newer", "command.ended", "exited")], "the newest end"
        )
        assert (
            http.get("/api/v1/events", params={"after": 0}).json()["gap"] is not None
        ), "nothing was pruned: the test tests nothing"
    expected = {
        (name, kind, state): 1
        for name in [*names, "newer"]
        for kind, state in (("command.started", None), ("command.ended", "exited"))
    }
    assert dict(seen) == expected, {
        key: count for key, count in seen.items() if expected.get(key) != count
    }


def test_daemon_and_keeper_killed_together(own_daemon):
    """Nobody is left who remembers: the spool tells. What ran is lost, what had ended has its end,
    and each is told once."""
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        commands = f"/api/v1/sandboxes/{box}/commands"
        for number in range(8):
            body = {"id": f"done{number}", "argv": ["sh", "-c", f"exit {number}"], "wait": True}
            http.post(commands, json=body).raise_for_status()
        for number in range(4):
            http.post(
                commands,
                json={
                    "id": f"open{number}",
                    "argv": ["sleep", "1000"],
                    "wait": False,
                    "timeout_s": 0,
                },
            ).raise_for_status()
        daemon.kill()
    kill_keeper(daemon, box)
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    with daemon.http() as http:
        names = {f"done{number}" for number in range(8)} | {f"open{number}" for number in range(4)}
        wait_until(lambda: names <= told(http)[1].keys(), "all ends")
        starts, ends = told(http)
    assert {name: len(events) for name, events in starts.items()} == dict.fromkeys(names, 1)
    expected = {f"done{number}": [("exited", number)] for number in range(8)} | {
        f"open{number}": [("lost", None)] for number in range(4)
    }
    assert {
        name: [(e["state"], e.get("exit_code")) for e in events] for name, events in ends.items()
    } == expected
