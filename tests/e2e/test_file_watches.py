"""Watched directories: each change is reported or the gap is. What the watcher does with a tree is
tested in src/keeper/file_watch_test.cc."""
import json
import random
import threading
import time

import pytest
from harness import slow, wait_until
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

LINES = {"Accept": "application/x-ndjson"}


@pytest.fixture
def watches(http, box):
    return f"/api/v1/sandboxes/{box['id']}/watches"


def begin(http, watches, path="/srv", **more):
    made = http.post(watches, json={"path": path, **more})
    assert made.status_code == 201, made.text
    return f"{watches}/{made.json()['id']}"


def page(http, watch, after=0, **params):
    answer = http.get(f"{watch}/events", params={"after": after, **params})
    assert answer.status_code == 200, answer.text
    return answer.json()


def events_until(http, watch, count, after=0):
    found = []
    while len(found) < count:
        got = page(http, watch, after, wait_s=20)
        assert got["items"], found
        found += got["items"]
        after = got["next_after"]
    return found


def reason(answer):
    return answer.json()["error"]["reason"]


def test_changes_come_with_numbers_and_wait_for_their_reader(http, watches, run):
    run("mkdir /srv/d")
    watch = begin(http, watches)
    assert page(http, watch) == {"items": [], "next_after": 0}
    run("echo x >/srv/d/f; chmod 600 /srv/d/f; mv /srv/d/f /srv/g; rm /srv/g")
    found = events_until(http, watch, 5)
    assert [(one["seq"], one["kind"], one["path"], one.get("to")) for one in found] == [
        (1, "created", "/srv/d/f", None),
        (2, "modified", "/srv/d/f", None),
        (3, "attributes", "/srv/d/f", None),
        (4, "moved", "/srv/d/f", "/srv/g"),
        (5, "deleted", "/srv/g", None),
    ]
    assert page(http, watch, 3)["items"] == found[3:]
    assert page(http, watch, 0, limit=2)["next_after"] == 2
    assert http.get(f"{watch}/events", params={"after": 6}).status_code == 416
    (shown,) = http.get(watches).json()["items"]
    assert (shown["path"], shown["first"], shown["last"]) == ("/srv", 1, 5)


def test_lines_go_on_until_the_watch_ends(http, watches, run):
    watch = begin(http, watches)
    run("touch /srv/first")
    with http.stream("GET", f"{watch}/events", headers=LINES, timeout=slow(30)) as stream:
        lines = (json.loads(line) for line in stream.iter_lines())
        assert next(lines)["path"] == "/srv/first"
        run("mkdir /srv/second")
        while (line := next(lines))["path"] != "/srv/second":
            assert line["path"] == "/srv/first", line  # its times, by touch
        assert line["kind"] == "created" and line["directory"] is True
        assert http.delete(watch).status_code == 204
        last = [line for line in lines][-1]
    assert last["kind"] == "end" and last["error"]["reason"] == "watch_closed"
    assert reason(http.get(f"{watch}/events")) == "watch_not_found"


def test_a_websocket_has_the_lines_as_messages(daemon, http, watches, run):
    watch = begin(http, watches)
    run("touch /srv/first /srv/second")
    events_until(http, watch, 2)
    with connect(
        f"ws://127.0.0.1:{daemon.port}{watch}/events?after=1",
        additional_headers={"X-Api-Key": daemon.key},
    ) as socket:
        event = json.loads(socket.recv(timeout=slow(20)))
        assert event["seq"] == 2, event
        run("mkdir /srv/third")
        while event["path"] != "/srv/third":
            event = json.loads(socket.recv(timeout=slow(20)))
        assert event["kind"] == "created" and event["directory"] is True
        assert http.delete(watch).status_code == 204
        last = [json.loads(message) for message in socket][-1]
        assert last["kind"] == "end" and last["error"]["reason"] == "watch_closed"
        assert socket.close_code == 1000
    with pytest.raises(InvalidStatus) as refused:
        connect(
            f"ws://127.0.0.1:{daemon.port}{watch}/events",
            additional_headers={"X-Api-Key": daemon.key},
        )
    assert refused.value.response.status_code == 404


def test_an_upload_is_one_change_of_its_file(http, box, watches, run):
    """No temporary name is seen, although an upload over a file has one for a moment."""
    watch = begin(http, watches)
    files = f"/api/v1/sandboxes/{box['id']}/files"
    for content in (b"new", b"other"):
        put = http.put(files, params={"path": "/srv/f"}, content=content)
        assert put.status_code == 201, put.text
    edit = {"path": "/srv/f", "text": "other", "replacement": "edited"}
    assert http.post(f"{files}/replace", json=edit).status_code == 200
    run("touch /srv/last")
    found = [(one["kind"], one["path"]) for one in events_until(http, watch, 4)]
    assert found[:4] == [
        ("created", "/srv/f"),
        ("modified", "/srv/f"),
        ("modified", "/srv/f"),
        ("created", "/srv/last"),
    ]
    assert http.get(files, params={"path": "/srv/f"}).content == b"edited"


def test_a_stop_ends_it_and_says_so(http, box, watches, run):
    watch = begin(http, watches)
    run("touch /srv/f")
    events_until(http, watch, 1)
    assert http.post(f"/api/v1/sandboxes/{box['id']}/stop").status_code == 200
    wait_until(lambda: "ended" in http.get(watches).json()["items"][0], "its end is known")
    last = page(http, watch, http.get(watches).json()["items"][0]["last"])
    assert last["ended"]["message"], last
    # Another run has watches of its own.
    assert http.post(watches, json={"path": "/srv"}).status_code == 201


def test_it_ends_when_nobody_reads(http, watches):
    watch = begin(http, watches, idle_s=1)
    wait_until(lambda: "ended" in http.get(watches).json()["items"][0], "it ended by itself")
    assert page(http, watch)["ended"]["reason"] == "watch_idle"


def test_what_cannot_be_watched(http, watches, run):
    run("touch /srv/f; mkdir -m 700 /srv/private; ln -s /srv/private /srv/link")
    for path, status, word in (
        ("/none", 404, "file_not_found"),
        ("/srv/f", 400, "not_a_directory"),
        ("", 400, "invalid_path"),
    ):
        refused = http.post(watches, json={"path": path})
        assert refused.status_code == status and reason(refused) == word, refused.text
    refused = http.post(watches, json={"path": "/srv/private", "user": "daemon"})
    assert (refused.status_code, reason(refused)) == (403, "permission_denied")
    # A part that the user may not see is a gap from the start.
    watch = begin(http, watches, user="daemon")
    assert [(one["kind"], one["path"]) for one in events_until(http, watch, 1)] == [
        ("gap", "/srv/private")
    ]
    made = [http.post(watches, json={"path": "/srv"}) for _ in range(16)]
    assert [one.status_code for one in made] == [201] * 15 + [429]
    assert reason(made[-1]) == "too_many_watches"


def test_a_killed_daemon_forgets_it_and_says_so(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        ref = f"/api/v1/sandboxes/{http.post('/api/v1/sandboxes', json={}).json()['id']}"
        watch = begin(http, f"{ref}/watches")
    daemon.restart()
    with daemon.http() as http:
        gone = http.get(f"{watch}/events")
        assert (gone.status_code, reason(gone)) == (404, "watch_not_found")
        begin(http, f"{ref}/watches")  # the sandbox lives, and can be watched again


PROGRAM = """
import os, sys
many, seed = int(sys.argv[1]), 0
for i in range(many):
    seed = (seed * 1103515245 + 12345) % (1 << 31)
    path = "/srv/t"
    for level in range(seed % 7):
        path += "/d%d" % ((seed >> (3 * level)) % 4)
    os.makedirs(path, exist_ok=True)
    with open("%s/f%d" % (path, i), "x"):
        pass
print(sum(len(files) for _, _, files in os.walk("/srv/t")))
"""


class Reader(threading.Thread):
    """Reads the lines of a watch, and leaves and comes back again and again."""

    def __init__(self, daemon, watch, seed):
        super().__init__()
        self.daemon_, self.watch, self.random = daemon, watch, random.Random(seed)
        self.seen, self.after, self.gaps, self.ended = {}, 0, [], None

    def run(self):
        with self.daemon_.http() as http:
            while self.ended is None:
                patience = self.random.randint(1, 2000)
                params = {"after": self.after}
                events = f"{self.watch}/events"
                with http.stream("GET", events, params=params, headers=LINES) as stream:
                    if stream.status_code == 404:  # it came back after the end
                        self.ended = "watch_closed"
                        return
                    for line in stream.iter_lines():
                        self.take(json.loads(line))
                        patience -= 1
                        if patience == 0 or self.ended is not None:
                            break

    def take(self, event):
        if event["kind"] == "end":
            self.ended = event["error"]["reason"]
        elif event["kind"] == "gap" and "from" in event:
            assert event["from"] == self.after + 1, event
            self.gaps.append(event["seq"])
        elif event["kind"] != "quiet":
            assert event["seq"] == self.after + 1, (event, self.after)
            if event["kind"] == "gap":
                self.gaps.append(event["seq"])
            if event["kind"] == "created" and not event["directory"]:
                self.seen[event["path"]] = event["seq"]
        self.after = event["seq"]


# Files of a directory that is new come in the order in which the watcher finds them, so neighbours
# may have changed places.
NEIGHBOURS = 1000


def unexcused(seen, gaps, many):
    """The files, by their numbers, that no event reported and that no gap excuses. A gap excuses
    those that were made before it. One that was made after a file of a later event was not."""
    numbers = {}
    for path, seq in seen.items():
        name = path.rsplit("/", 1)[-1]
        numbers[many if name == "last" else int(name[1:])] = seq
    last_gap = max(gaps, default=0)
    after_it = min((number for number, seq in numbers.items() if seq > last_gap), default=many + 1)
    begin = after_it + NEIGHBOURS if gaps else 0
    return [number for number in range(begin, many + 1) if number not in numbers]


def test_a_gap_excuses_only_what_was_made_before_it():
    """The control of what follows."""
    seen = {f"/srv/t/f{number}": number + 1 for number in range(5000)}
    seen["/srv/t/last"] = 5001
    assert unexcused(seen, [], 5000) == []
    del seen["/srv/t/f1500"], seen["/srv/t/f4500"]
    assert unexcused(seen, [], 5000) == [1500, 4500]
    assert unexcused(seen, [1501], 5000) == [4500]
    assert unexcused(seen, [1501, 4501], 5000) == []
    del seen["/srv/t/last"]
    assert unexcused(seen, [1501], 5000) == [4500, 5000]


def follow(daemon, http, box, many):
    """`many` files come into a deep tree while readers come and go."""
    ref = f"/api/v1/sandboxes/{box['id']}"
    watch = begin(http, f"{ref}/watches")
    readers = [Reader(daemon, watch, seed) for seed in range(3)]
    for one in readers:
        one.start()
    http.put(f"{ref}/files", params={"path": "/root/make.py"}, content=PROGRAM.encode())
    command = {"argv": ["python3", "/root/make.py", str(many)], "timeout_s": slow(600)}
    made = http.post(f"{ref}/commands", json=command, timeout=slow(600)).json()
    assert made["stdout"] == f"{many}\n", made
    # The last change of all: whoever has it has come to the end.
    http.put(f"{ref}/files", params={"path": "/srv/t/last"}, content=b"")
    wait_until(
        lambda: all("/srv/t/last" in one.seen or one.gaps for one in readers)
        and all(
            one.after >= http.get(f"{ref}/watches").json()["items"][0]["last"] for one in readers
        ),
        "every reader has come to the last event",
        slow(120),
    )
    assert http.delete(watch).status_code == 204
    for one in readers:
        one.join(slow(30))
        assert one.ended == "watch_closed"
        # Each is reported, or the gap is.
        missed = unexcused(one.seen, one.gaps, many)
        assert missed == [], (missed[:10], len(missed), one.gaps)
    return readers


def test_each_change_is_reported_while_readers_come_and_go(daemon, http, box):
    readers = follow(daemon, http, box, 3000)
    assert [one.gaps for one in readers] == [[], [], []]  # so few fit into every queue


@pytest.mark.depth
def test_a_hundred_thousand_changes(daemon, http, box):
    begun = time.monotonic()
    readers = follow(daemon, http, box, 100_000)
    taken = time.monotonic() - begun
    for one in readers:  # for docs/measured/watches.txt, with -s
        print(f"{one.after} events, {len(one.gaps)} gaps, {len(one.seen)} files, {taken:.1f} s")
