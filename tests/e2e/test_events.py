"""The journal: every change once, in order, without holes; also over a killed daemon."""
import json
import subprocess

from harness import CAY, wait_until


def journal(http, after=0, **filters):
    page = http.get("/api/v1/events", params={"after": after, "limit": 1000, **filters}).json()
    assert page["gap"] is None, page["gap"]
    return page["items"]


def about(events, box):
    return [
        (e["type"], e.get("command_id"), e.get("state"))
        for e in events
        if e.get("sandbox_id") == box["id"]
    ]


def test_commands_that_end_while_the_daemon_is_dead_are_told_once(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "told", "labels": {"team": "a"}}).json()
        commands = f"/api/v1/sandboxes/{box['id']}/commands"
        for i in range(5):
            http.post(commands, json={"id": f"quick{i}", "argv": ["true"], "wait": i % 2 == 0})
        http.post(
            commands,
            json={"id": "slow", "command": "sleep 2; exit 7", "wait": False, "timeout_s": 0},
        )
        http.post(
            commands, json={"id": "goes-on", "command": "sleep 1000", "wait": False, "timeout_s": 0}
        )
    daemon.kill()
    subprocess.run(["sleep", "3"], check=True)  # the slow one ends meanwhile
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    with daemon.http() as http:
        ended = lambda name: [
            e for e in journal(http) if e["type"] == "command.ended" and e["command_id"] == name
        ]
        wait_until(lambda: ended("slow"), "the end of a command that ended while nobody looked")
        assert (ended("slow")[0]["state"], ended("slow")[0]["exit_code"]) == ("exited", 7)
        http.delete(f"/api/v1/sandboxes/{box['id']}/commands/none")
        http.post(f"{commands}/goes-on/kill", json={})
        wait_until(lambda: ended("goes-on"), "the end of a killed command that nobody waits for")
        assert (ended("goes-on")[0]["state"], ended("goes-on")[0]["by"]) == ("killed", "client")
        assert http.post(f"/api/v1/sandboxes/{box['id']}/stop").status_code < 300
        assert http.delete(f"/api/v1/sandboxes/{box['id']}").status_code == 204
        events = journal(http)
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    told = about(events, box)
    assert len(told) == len(set(told)), f"told twice: {told}"
    for name in [f"quick{i}" for i in range(5)] + ["slow", "goes-on"]:
        assert told.index(("command.started", name, None)) < next(
            i for i, t in enumerate(told) if t[:2] == ("command.ended", name)
        )
    assert [t[0] for t in told if t[0].startswith("sandbox.")] == [
        "sandbox.created",
        "sandbox.started",
        "sandbox.stopped",
        "sandbox.deleting",
        "sandbox.deleted",
    ]
    assert all(e["labels"] == {"team": "a"} for e in events)


def server_sent(lines):
    event = {}
    for line in lines:
        if not line:
            if "data" in event:
                yield event
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = value


def test_a_stream_goes_on_after_the_daemon_was_killed(own_daemon):
    daemon = own_daemon()
    seen = []

    def follow(until):
        headers = {"Accept": "text/event-stream"} | (
            {"Last-Event-ID": seen[-1]["id"]} if seen else {}
        )
        with daemon.http() as http, http.stream("GET", "/api/v1/events", headers=headers) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            for event in server_sent(answer.iter_lines()):
                seen.append(event)
                if event["event"] == until:
                    return

    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
    follow("sandbox.started")
    daemon.restart("kill")
    with daemon.http() as http:
        http.post(f"/api/v1/sandboxes/{box['id']}/stop")
    follow("sandbox.stopped")
    assert [int(e["id"]) for e in seen] == list(range(1, len(seen) + 1))
    assert [e["event"] for e in seen] == ["sandbox.created", "sandbox.started", "sandbox.stopped"]
    assert json.loads(seen[-1]["data"])["sandbox_id"] == box["id"]
    # A stream does not keep the daemon from ending.
    with daemon.http() as http, http.stream(
        "GET", "/api/v1/events", headers={"Accept": "text/event-stream"}
    ) as answer:
        next(answer.iter_lines())
        daemon.process.terminate()
        daemon.process.wait(timeout=4)
    daemon.start()


def test_the_command_line_follows(daemon, http, box):
    following = subprocess.Popen(
        [CAY, "events", "--follow", "--after", "now", "--sandbox", box["id"], "--json"],
        stdout=subprocess.PIPE,
        env={**__import__("os").environ, **daemon.env},
    )
    try:
        seen = []
        # "now" is the moment of the request: events go on until it has seen one.
        while not seen:
            http.post(f"/api/v1/sandboxes/{box['id']}/commands", json={"argv": ["true"]})
            import select

            if select.select([following.stdout], [], [], 0.2)[0]:
                seen.append(json.loads(following.stdout.readline()))
        assert seen[0]["type"] == "command.started" or seen[0]["type"] == "command.ended", seen
        assert seen[0]["sandbox_id"] == box["id"]
    finally:
        following.kill()
        following.wait()
    listed = daemon.cli("events", "--sandbox", box["id"], "--type", "sandbox.")
    assert (
        listed.code == 0 and "sandbox.created" in listed.text and "command." not in listed.text
    ), listed
    ahead = daemon.cli("events", "--after", "99999999")
    assert ahead.code == 125 and b"has not happened" in ahead.err, ahead
