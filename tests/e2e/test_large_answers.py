"""Answers that a guest could make large: bounded as the JSON that they become, refused by name,
never cut in silence."""
import concurrent.futures
import contextlib
import json
import re
import socket
import subprocess

import httpx
import pytest

from harness import SANITIZED, slow, wait_until
from module_daemon import daemon, http  # noqa: F401 (fixtures)

MIB = 1 << 20


def memory(daemon, which):
    with open(f"/proc/{daemon.process.pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(which))


def peak(daemon):
    return memory(daemon, "VmHWM")


class Unread:
    """Asks, and reads no more of the answer than its head."""

    def __init__(self, daemon, path, body):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        self.socket.settimeout(slow(60))
        self.socket.connect(("127.0.0.1", daemon.port))
        words = json.dumps(body)
        self.socket.sendall(
            f"POST {path} HTTP/1.1\r\n"
            "Host: localhost\r\n"
            f"X-Api-Key: {daemon.key}\r\n"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(words)}\r\n\r\n{words}".encode()
        )
        self.head = b""
        while b"\r\n\r\n" not in self.head and (more := self.socket.recv(1024)):
            self.head += more
        self.status = int(self.head.split()[1])
        while (
            self.status != 200 and not self.head.endswith(b"}") and (more := self.socket.recv(1024))
        ):
            self.head += more
        reason = re.search(rb'"reason": ?"([a-z_]+)"', self.head)
        self.reason = reason.group(1).decode() if reason else ""


def test_collected_output_that_no_answer_holds_is_refused_and_kept(daemon, http, box):
    where = f"/api/v1/sandboxes/{box['id']}/commands"
    ask = {
        "id": "big",
        "command": "head -c 12000000 /dev/zero; exit 3",
        "max_output_bytes": 64 * MIB,
    }
    answer = http.post(where, json=ask)  # 72 MB as JSON
    assert (
        answer.status_code == 400 and answer.json()["error"]["reason"] == "output_too_large"
    ), answer.text[:300]
    assert "commands/big/output" in answer.json()["error"]["message"]
    assert http.get(f"{where}/big").json()["exit_code"] == 3
    assert len(http.get(f"{where}/big/output").content) == 12_000_000
    text = http.post(
        where,
        json={"command": "head -c 12000000 /dev/zero | tr '\\0' x", "max_output_bytes": 64 * MIB},
    ).json()
    assert len(text["stdout"]) == 12_000_000 and not text["truncated"]
    cut = http.post(where, json={"command": "head -c 12000000 /dev/zero"}).json()
    assert len(cut["stdout"]) == MIB and cut["truncated"]


def test_langsmith_execute_is_bounded_as_json(daemon, http, box):
    where = f"/v2/sandboxes/dp/{box['id']}/execute"

    def ask(line):
        return http.post(where, json={"command": line, "timeout": 60, "shell": "/bin/bash"})

    refused = ask("head -c 6000000 /dev/zero; head -c 6000000 /dev/zero >&2")
    assert (
        refused.status_code == 400 and "WebSocket" in refused.json()["detail"]["message"]
    ), refused.text[:300]
    both = ask(
        "head -c 40000000 /dev/zero | tr '\\0' x; head -c 40000000 /dev/zero | tr '\\0' x >&2"
    )
    assert both.status_code == 400, both.text[:300]
    fits = ask("head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2")
    assert fits.status_code == 200 and fits.json()["stderr"] == "\0" * 5_000_000


def test_files_in_a_batch_are_bounded_together(daemon, own_daemon):
    mine = own_daemon()
    with mine.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        got = http.post(
            f"/api/v1/sandboxes/{box['id']}/batch",
            json={
                "command": {
                    "command": "truncate -s 8M /tmp/z; truncate -s 64M /tmp/big; echo here > "
                    "/tmp/small"
                },
                "reads": ["/tmp/z", "/tmp/z", "/tmp/big", "/tmp/big", "/tmp/big", "/tmp/small"],
                "max_read_bytes": 64 * MIB,
            },
        ).json()
    first, *refused, last = got["reads"]
    assert first["content"] == "\0" * (8 * MIB)
    assert [one["error"]["reason"] for one in refused] == ["output_too_large"] * 4
    assert last["content"] == "here\n"
    assert peak(mine) < 600 * MIB


@pytest.mark.skipif(SANITIZED, reason="a sanitizer has memory of its own, and keeps what was freed")
def test_answers_that_nobody_reads_are_bounded_together(own_daemon):
    """Without a bound each of these holds 60 MB of the daemon for as long as its reader likes."""
    daemon = own_daemon()
    with daemon.http() as http, contextlib.ExitStack() as left:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        where = f"/api/v1/sandboxes/{box}/commands"
        large = {
            "argv": ["sh", "-c", "echo >> /tmp/ran; head -c 60000000 /dev/zero | tr '\\0' x"],
            "max_output_bytes": 60_000_000,
        }

        def ask(_=None):
            one = Unread(daemon, where, large)
            left.callback(one.socket.close)
            return one

        def ran():
            return len(
                http.get(f"/api/v1/sandboxes/{box}/files", params={"path": "/tmp/ran"}).content
            )

        before = memory(daemon, "VmRSS")
        asked = [ask() for _ in range(8)]
        held = [one for one in asked if one.status == 200]
        assert 2 <= len(held) <= 4 and asked[: len(held)] == held, [one.head for one in asked]
        for one in asked[len(held) :]:
            assert (one.status, one.reason) == (
                429,
                "too_many_answers",
            ) and b"Retry-After: 1" in one.head, one.head
        assert ran() == len(held), "what was refused was not begun"
        grown = memory(daemon, "VmRSS") - before
        print(f"{len(held)} answers of 60 MB that nobody reads hold {grown >> 20} MiB")
        assert grown < 420 * MIB, grown
        # Small requests go on, and so does another tenant.
        assert http.post(where, json={"argv": ["true"]}).status_code == 200
        made = subprocess.run(
            [daemon.program, "key", "--data", daemon.data, "create", "other", "--tenant", "other"],
            capture_output=True,
            text=True,
            check=True,
        )
        with httpx.Client(
            base_url=daemon.url, headers={"X-Api-Key": made.stdout.strip()}, timeout=slow(60)
        ) as other:
            theirs = other.post("/api/v1/sandboxes", json={}).json()["id"]
            got = other.post(f"/api/v1/sandboxes/{theirs}/commands", json=large)
            assert got.status_code == 200 and len(got.json()["stdout"]) == 60_000_000
            other.delete(f"/api/v1/sandboxes/{theirs}")
        left.close()
        wait_until(lambda: http.post(where, json=large).status_code == 200, "the readers have left")

        # All at once: they are begun before there is any output, and what finds no room then is
        # kept.
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            asked = list(pool.map(ask, range(24)))
        assert {(one.status, one.reason) for one in asked} <= {
            (200, ""),
            (429, "too_many_answers"),
            (409, "output_not_held"),
        }, [one.head for one in asked]
        assert 0 < sum(one.status == 200 for one in asked) <= 4
        print(f"at most {peak(daemon) >> 20} MiB")
        assert peak(daemon) < 900 * MIB
        left.close()
        wait_until(lambda: http.post(where, json=large).status_code == 200, "the readers have left")


def test_output_that_is_dropped_under_a_reader_breaks_its_connection(daemon, http, box, run):
    where = f"/api/v1/sandboxes/{box['id']}/commands"
    line = (
        "echo begun; until [ -e /tmp/go ]; do sleep 0.05; done; head -c 60000000 /dev/zero | tr "
        "'\\0' x; touch /tmp/done"
    )
    http.post(
        where,
        json={
            "id": "c1",
            "command": line,
            "wait": False,
            "timeout_s": 0,
            "output_limit_bytes": 65536,
        },
    )
    with http.stream("GET", f"{where}/c1/output", params={"follow": "true"}) as answer:
        assert answer.status_code == 200 and "X-Cay-Gap" not in answer.headers
        pieces = answer.iter_raw()
        assert next(pieces) == b"begun\n"
        run("touch /tmp/go; until [ -e /tmp/done ]; do sleep 0.05; done")
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            for _ in pieces:
                pass
    wait_until(lambda: http.get(f"{where}/c1").json()["state"] == "exited", "the command has ended")
    whole = http.get(
        f"{where}/c1/output", params={"follow": "true"}
    )  # the gap is told: this body is whole but for it
    begin, end = map(int, whole.headers["X-Cay-Gap"].split("-"))
    assert len(whole.content) == 60_000_006 - (end - begin)


def test_labels_fill_neither_the_disk_nor_an_answer(own_daemon):
    """Each event has a copy of its sandbox's labels: 16 KiB of them, twice that as JSON."""
    daemon = own_daemon()
    labels = {f"{i:02}": '"' * 1022 for i in range(16)}
    with daemon.http() as http:
        for more in ({"more": ""}, {"00": "\x01"}):
            refused = http.post("/api/v1/sandboxes", json={"name": "box", "labels": labels | more})
            assert (
                refused.status_code == 400 and refused.json()["error"]["reason"] == "invalid_labels"
            ), refused.text
        assert (
            http.post("/api/v1/sandboxes", json={"name": "box", "labels": labels}).status_code
            == 201
        )
        for i in range(2200):  # 72 MB of text
            assert (
                http.patch("/api/v1/sandboxes/box", json={"idle_ttl_s": 1000 + i}).status_code
                == 200
            )
        after, seqs, kept = 0, [], 0
        while True:
            answer = http.get("/api/v1/events", params={"after": after, "limit": 1000})
            page = answer.json()
            assert len(answer.content) < 5 * MIB and page["items"], len(answer.content)
            if after == 0:
                assert page["gap"] == {"from": 1, "to": page["oldest"] - 1}, page["gap"]
            seqs += [event["seq"] for event in page["items"]]
            kept += len(answer.content)
            after = page["next_after"]
            if after == page["last"]:
                break
    assert seqs == list(range(page["oldest"], page["last"] + 1)) and page["last"] > 2200
    assert 56 * MIB < kept < 66 * MIB, kept
    listed = daemon.cli("events")
    assert listed.code == 0 and len(listed.out.splitlines()) == len(seqs)


def test_a_listing_that_no_answer_holds_is_refused(http, box, run):
    """60,000 names of control characters, each six bytes as JSON."""
    run(
        "mkdir /srv/names && cd /srv/names && x=$(printf '\\001%.0s' $(seq 240)) && seq 60000 | "
        'sed "s/^/$x/" | xargs touch'
    )
    where = f"/api/v1/sandboxes/{box['id']}/files"
    refused = [
        http.get(f"{where}/list", params={"path": "/srv/names"}),
        http.post(f"{where}/glob", json={"path": "/srv/names", "pattern": "*", "limit": 100_000}),
    ]
    for answer in refused:
        assert (
            answer.status_code == 429 and answer.json()["error"]["reason"] == "listing_too_large"
        ), answer.text[:300]
    part = http.post(
        f"{where}/glob", json={"path": "/srv/names", "pattern": "*", "limit": 1000}
    ).json()
    assert len(part["items"]) == 1000 and part["truncated"]
