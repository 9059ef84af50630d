"""What is written down of every request, and that nobody pushes it out."""
import http.client as http_client
import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import threading
import time
import urllib.request

import httpx
import pytest
from websockets.sync.client import connect

from harness import needs_root, slow, wait_until
from keys_made import ask, audit, boxes, cay_key, host, key, keys, last_line_is  # noqa: F401


def test_the_audit_tells_what_lasts_when_it_begins(host, boxes, keys):
    """Who had opened what is on record though the daemon is killed."""
    before = len(audit(host).read_text().splitlines())

    def lines(event):
        told = [json.loads(line) for line in audit(host).read_text().splitlines()[before:]]
        return [
            one
            for one in told
            if one.get("event") == event
            and one["key"] == "k-use"
            and one["target"].endswith("/commands/ws")
        ]

    def opened():
        return connect(
            f"{host.url.replace('http', 'ws', 1)}/api/v1/sandboxes/{boxes['mine']}/commands/ws",
            additional_headers={"X-Api-Key": keys["use"]},
        )

    with opened() as socket:
        socket.send(json.dumps({"type": "start", "argv": ["cat"], "pty": {"rows": 10, "cols": 10}}))
        begun = wait_until(lambda: lines("begin"), "its beginning is written down")[-1]
        assert (
            begun["status"] == 101
            and "ms" not in begun
            and begun["from"].startswith("127.0.0.1")
            and lines("end") == []
        )
    ended = wait_until(lambda: lines("end"), "its end is written down")[-1]
    assert (
        ended["request_id"] == begun["request_id"]
        and ended["ms"] > 0
        and ended["ended"].startswith("the client closed it with")
    ), ended
    with opened() as socket:
        socket.send(json.dumps({"type": "start", "argv": ["cat"]}))
        wait_until(lambda: len(lines("begin")) == 2, "the second is written down")
        host.restart("kill")
        assert len(lines("begin")) == 2 and len(lines("end")) == 1


def test_a_killed_daemon_leaves_who_had_asked_for_what(host, boxes):
    """What a call had done is done; that it was asked for, and by whom, is on record."""
    url = f"{host.url}/api/v1/sandboxes/{boxes['mine']}"

    def told(request):
        lines = [json.loads(line) for line in audit(host).read_text().splitlines()]
        return [
            (line.get("event"), line.get("status"), line["key"], line["method"])
            for line in lines
            if line.get("request_id") == request
        ]

    def run(request, script):
        body = json.dumps({"argv": ["sh", "-c", script], "wait": True, "timeout_s": 600}).encode()
        headers = {
            "X-Api-Key": host.key,
            "Content-Type": "application/json",
            "X-Request-Id": request,
        }
        try:
            urllib.request.urlopen(
                urllib.request.Request(
                    f"{url}/commands", method="POST", headers=headers, data=body
                ),
                timeout=slow(120),
            ).read()
        except OSError:
            return False
        return True

    # The control: a call that comes to its end has both, and one that only looks has one line.
    assert run("whole-1", "true")
    wait_until(
        lambda: told("whole-1")
        == [("begin", None, "default", "POST"), ("end", 200, "default", "POST")],
        "both are written down",
    )
    request = urllib.request.Request(
        f"{url}/commands", headers={"X-Api-Key": host.key, "X-Request-Id": "look-1"}
    )
    urllib.request.urlopen(request, timeout=slow(60)).read()
    wait_until(lambda: told("look-1") == [(None, 200, "default", "GET")], "a look has one line")

    answered = []
    caller = threading.Thread(
        target=lambda: answered.append(run("killed-1", "touch /tmp/ran; exec sleep 600"))
    )
    caller.start()
    try:
        wait_until(
            lambda: ask(
                host, "GET", f"/api/v1/sandboxes/{boxes['mine']}/files?path=/tmp/ran", host.key
            )[0]
            == 200,
            "it takes effect",
        )
    finally:
        host.kill()
        caller.join()
        host.start(listen=f"127.0.0.1:{host.port}")
    assert answered == [False]
    assert (
        ask(host, "GET", f"/api/v1/sandboxes/{boxes['mine']}/files?path=/tmp/ran", host.key)[0]
        == 200
    )
    assert told("killed-1") == [("begin", None, "default", "POST")], "no end: the daemon was killed"
    with host.http() as http:  # what became of it, the command itself tells
        left = [
            one
            for one in http.get(f"{url}/commands").json()["items"]
            if "touch /tmp/ran" in json.dumps(one)
        ]
        assert [one["state"] for one in left] == ["running"], left


@needs_root
def test_a_full_disk_stops_no_request_and_is_told(own_daemon):
    """audit.log on a file system of its own, which only this daemon sees."""
    daemon = own_daemon()
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]).returncode != 0
    ):
        pytest.skip("no file system of a test's own can be mounted here")
    daemon.terminate()
    small = daemon.data / "small"
    small.mkdir()
    owner = audit(daemon).stat()
    script = (
        f"mount -t tmpfs -o size=64k none {small} && touch {small}/log && chmod 600 {small}/log "
        f"&& chown {owner.st_uid}:{owner.st_gid} {small}/log"
        f' && mount --bind {small}/log {audit(daemon)} && exec "$@"'
    )
    daemon.prefix = ["unshare", "-m", "sh", "-c", script, "sh"]
    daemon.start()
    seen = pathlib.Path(f"/proc/{daemon.process.pid}/root{small}")

    def lines():
        return [json.loads(line) for line in (seen / "log").read_text().splitlines()]

    asked = 0
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "first"}).status_code == 201
        wait_until(
            lambda: [line.get("event") for line in lines()] == ["begin", "end"], "there is room"
        )
        with open(seen / "fill", "wb", buffering=0) as fill:
            with pytest.raises(OSError):
                while fill.write(bytes(4096)):
                    pass
        while "lines are missing from now on" not in daemon.log.read_text():
            assert (
                http.patch(
                    "/api/v1/sandboxes/first", json={"labels": {"asked": str(asked)}}
                ).status_code
                == 200
            )
            asked += 1
            assert asked < 100
        for _ in range(5):
            assert (
                http.patch(
                    "/api/v1/sandboxes/first", json={"labels": {"asked": str(asked)}}
                ).status_code
                == 200
            )
            asked += 1
        assert http.get("/api/v1/sandboxes/first").json()["labels"] == {
            "asked": str(asked - 1)
        }, "what was asked for was done"
        os.unlink(seen / "fill")
        assert http.get("/api/v1/version").status_code == 200
        after = wait_until(
            lambda: (got := lines()) and got[-1].get("target") == "/api/v1/version" and got,
            "it is written again",
        )
    missing = [line["lines_missing"] for line in after if "lines_missing" in line]
    written = sum(line.get("target") == "/api/v1/sandboxes/first" for line in after)
    # Each line is whole, and each is there or counted: two for each call, one for the look.
    assert missing and written + sum(missing) == 2 * asked + 1, (asked, after)
    wait_until(
        lambda: f"audit.log is written again: {missing[-1]} lines are missing"
        in daemon.log.read_text(),
        "the daemon's log says so",
    )


def test_the_audit_tells_what_was_refused_before_it_was_understood(host, keys):
    path = audit(host)
    before = len(path.read_text().splitlines())
    good = f"Host: 127.0.0.1\r\nX-Api-Key: {keys['read']}\r\n"
    sent = {
        "bad_host": f"GET /secret-path?q HTTP/1.1\r\nX-Api-Key: {keys['read']}\r\n\r\n",
        "bad_request": "nonsense\r\n\r\n",
        "head_too_large": f"GET / HTTP/1.1\r\n{good}X: {'a' * 20000}\r\n\r\n",
        "bad_expectation": f"GET / HTTP/1.1\r\n{good}Expect: x\r\n\r\n",
        "request_timeout": f"GET / HTTP/1.1\r\n{good}",
        "wrong_host": "GET /secret-path HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "cross_origin": "GET /healthz HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\n"
        "Origin: http://evil.example\r\n"
        "\r\n",
    }
    statuses = {}
    for reason, text in sent.items():
        with socket.create_connection(("127.0.0.1", host.port), timeout=60) as sock:
            sock.sendall(text.encode())
            statuses[reason] = int(sock.recv(65536).split()[1])

    def told():
        lines = [json.loads(line) for line in path.read_text().splitlines()[before:]]
        return {line["reason"]: line["status"] for line in lines if line.get("reason") in sent}

    assert (
        wait_until(lambda: len(told()) == len(sent) and told(), "all are written down") == statuses
    )
    assert statuses["request_timeout"] == 408 and statuses["head_too_large"] == 431
    text = "\n".join(path.read_text().splitlines()[before:])
    assert "secret-path" not in text and keys["read"] not in text


def test_what_was_deleted_and_run_is_named(host, keys):
    """Where the path does not say what was acted on, its line does, and the events say who."""
    before = len(
        audit(host).read_text().splitlines()
    )  # the daemon is others' too, and what they asked stands there

    def line_of(target):
        return next(
            (
                one
                for one in map(json.loads, audit(host).read_text().splitlines()[before:])
                if one.get("target") == target and one.get("event") == "end"
            ),
            None,
        )

    with host.http() as http:
        for name in ("gone-1", "gone-2"):
            assert (
                http.post(
                    "/api/v1/sandboxes",
                    json={"name": name, "labels": {"gone": ""}},
                    headers={"X-Api-Key": keys["create"]},
                ).status_code
                == 201
            )
        after = http.get("/api/v1/events", params={"after": "now"}).json()["next_after"]
        ran = http.post(
            "/api/v1/sandboxes/gone-1/commands",
            json={"id": "named-1", "argv": ["true"]},
            headers={"X-Api-Key": keys["create"]},
        )
        assert ran.status_code == 200
        assert (
            wait_until(lambda: line_of("/api/v1/sandboxes/gone-1/commands"), "it is written down")[
                "subject"
            ]
            == "command named-1"
        )
        box = http.get("/api/v1/sandboxes/gone-2").json()["id"]
        for target, body, named in (
            (
                "/api/v1/sandboxes/gone-1/batch",
                {"command": {"id": "named-3", "argv": ["true"]}},
                "command named-3",
            ),
            (f"/v2/sandboxes/dp/{box}/execute", {"command": "true"}, "command "),
            (
                f"/v2/sandboxes/dp/{box}/execute/stream/start",
                {"command": "true", "command_id": "named-4"},
                "command named-4",
            ),
        ):
            assert (
                http.post(target, json=body, headers={"X-Api-Key": keys["create"]}).status_code
                == 200
            )
            assert wait_until(lambda: line_of(target), "it is written down")["subject"].startswith(
                named
            ), target
        with pytest.raises(httpx.ReadTimeout):
            http.post(
                "/api/v1/sandboxes/gone-2/commands",
                json={"id": "left-1", "argv": ["sleep", "600"]},
                headers={"X-Api-Key": keys["create"]},
                timeout=slow(3),
            )
        left = wait_until(
            lambda: line_of("/api/v1/sandboxes/gone-2/commands"), "it is written down"
        )
        assert left["subject"] == "command left-1" and left["status"] == 0, left
        with connect(
            f"{host.url.replace('http', 'ws', 1)}/api/v1/sandboxes/gone-2/commands/ws",
            additional_headers={"X-Api-Key": keys["create"]},
        ) as socket:
            socket.send(json.dumps({"type": "start", "id": "named-2", "argv": ["true"]}))
            assert json.loads(socket.recv(timeout=slow(30)))["type"] == "started"
        assert (
            wait_until(
                lambda: line_of("/api/v1/sandboxes/gone-2/commands/ws"), "its end is written down"
            )["subject"]
            == "command named-2"
        )
        gone = http.post(
            "/api/v1/sandboxes/batch-delete",
            json={"labels": ["gone"]},
            headers={"X-Api-Key": keys["admin"]},
        )
        assert gone.json() == {"deleted": ["gone-1", "gone-2"], "failed": []}
        assert (
            wait_until(lambda: line_of("/api/v1/sandboxes/batch-delete"), "it is written down")[
                "subject"
            ]
            == "deleted 2: gone-1, gone-2"
        )
        events = http.get("/api/v1/events", params={"after": after}).json()["items"]
        who = {(one["type"], one["sandbox"]): one.get("by") for one in events}
        for name in ("gone-1", "gone-2"):
            assert [
                who[kind, name]
                for kind in ("command.started", "sandbox.deleting", "sandbox.deleted")
            ] == ["k-create", "k-admin", "k-admin"], who


def test_what_was_changed_is_written_down(host, keys):
    """A policy, a rule, a link: the path says of which sandbox, the subject what. No value, header
    or token is in it."""
    before = len(audit(host).read_text().splitlines())

    def subject_of(request):
        line = wait_until(
            lambda: next(
                (
                    one
                    for one in map(json.loads, audit(host).read_text().splitlines()[before:])
                    if one.get("request_id") == request and one.get("event") != "begin"
                ),
                None,
            ),
            f"{request} is written down",
        )
        return line["status"], line.get("subject")

    box = "/api/v1/sandboxes/changed-1"
    with host.http() as http:

        def ask_as(request, with_key, method, path, body=None):
            return http.request(
                method, path, json=body, headers={"X-Api-Key": with_key, "X-Request-Id": request}
            )

        ask_as(
            "made-1",
            keys["create"],
            "POST",
            "/api/v1/sandboxes",
            {"name": "changed-1", "policy": "off", "env": {"TOKEN": "hidden-env"}},
        )
        assert subject_of("made-1") == (201, "sandbox changed-1; policy: off")
        after = http.get("/api/v1/events", params={"after": "now"}).json()["next_after"]
        ask_as(
            "secret-1",
            keys["admin"],
            "PUT",
            "/api/v1/secrets/changed-key",
            {"value": "hidden-value", "hosts": ["api.vault.test"]},
        )
        assert subject_of("secret-1") == (200, "version 1; hosts 1: api.vault.test")
        rule = {
            "name": "model",
            "secret": "changed-key",
            "way": "headers",
            "headers": [{"name": "X-Key", "value": "hidden-word ${SECRET}"}],
        }
        ask_as("proxy-1", keys["create"], "PATCH", box, {"proxy": [rule]})
        assert subject_of("proxy-1") == (200, "proxy 1: model with secret changed-key")
        ask_as(
            "policy-1",
            keys["admin"],
            "PATCH",
            box,
            {
                "rules": ["pypi.org", "!evil.test"],
                "labels": {"team": "hidden-label"},
                "limits": {"cpu_millicores": 500},
            },
        )
        assert subject_of("policy-1") == (
            200,
            "policy: pypi.org, !evil.test; labels 1: team; cpu_millicores: 500",
        )
        assert host.cli("policy", "set", "changed-1", "off").code == 0
        ask_as(
            "policy-2", keys["create"], "PATCH", box, {"policy": "no such policy\n" + "x" * 1000}
        )
        status, said = subject_of("policy-2")
        assert (
            status == 400 and said.startswith("policy: no such policy, xxx") and len(said) == 200
        ), "what is refused is bounded"
        link = ask_as(
            "link-1", keys["create"], "POST", f"{box}/links", {"port": 8080, "expires_in_s": 90}
        ).json()
        assert subject_of("link-1") == (201, f"link {link['id']} port 8080 for 90 s")
        ask_as("file-1", keys["create"], "PUT", f"{box}/files?path=/tmp/written&user=root")
        assert subject_of("file-1") == (201, "/tmp/written")
        patched = ask_as(
            "lang-1",
            keys["create"],
            "PATCH",
            "/v2/sandboxes/boxes/changed-1",
            {"proxy_config": {"access_control": {"allow_list": ["pypi.org"]}}},
        )
        assert patched.status_code == 200 and subject_of("lang-1") == (200, "policy: pypi.org")
        events = http.get(
            "/api/v1/events", params={"after": after, "type": "sandbox.updated"}
        ).json()["items"]
        by = [one.get("by") for one in events if one["sandbox"] == "changed-1"]
        assert by == ["k-create", "k-admin", "default", "k-create"], events
        assert http.delete(box).status_code == 204
        assert http.delete("/api/v1/secrets/changed-key").status_code == 204
    written = "\n".join(audit(host).read_text().splitlines()[before:])
    assert "hidden" not in written and link["token"] not in written
    changes = [
        json.loads(line)
        for line in (host.data / "audit-changes/default/create.log").read_text().splitlines()
    ]
    assert any(
        line.get("request_id") == "lang-1" and line["subject"] == "policy: pypi.org"
        for line in changes
    ), "where it is kept longest, too"


def test_what_is_done_with_keys_is_written_down(host):
    before = len(audit(host).read_text().splitlines())
    key(host, "create", "noted", "--tenant", "other", "--scope", "read", "--expires", "1h")
    key(host, "rotate", "noted", "--grace", "1m")
    assert cay_key(host, "rm", "noted").returncode == 0
    assert cay_key(host, "rm", "noted").returncode == 125  # what was refused changed nothing
    assert ask(host, "GET", "/api/v1/version", host.key)[0] == 200
    last_line_is(host, "/api/v1/version")  # the daemon writes on, in the same file
    lines = [json.loads(line) for line in audit(host).read_text().splitlines()[before:]]
    noted = [line for line in lines if line.get("name") == "noted"]
    assert [line["event"] for line in noted] == ["key_created", "key_rotated", "key_removed"]
    user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    assert all(line["local_user"] == user and line["at"] for line in noted)
    assert (
        (noted[0]["tenant"], noted[0]["scope"]) == ("other", "read")
        and noted[0]["expires"] > noted[0]["at"]
        and noted[1]["old_one_until"]
    )
    assert "cay_" not in "".join(map(json.dumps, noted)), "no key"


@needs_root
def test_a_line_about_a_key_is_the_daemons_file(own_daemon):
    """Whoever writes first: root's command makes it so that the daemon can open it."""
    daemon = own_daemon()
    daemon.terminate()
    audit(daemon).unlink()
    made = key(daemon, "create", "first")
    owner, directory = audit(daemon).stat(), daemon.data.stat()
    assert (owner.st_uid, owner.st_gid, stat.S_IMODE(owner.st_mode)) == (
        directory.st_uid,
        directory.st_gid,
        0o600,
    )
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    assert ask(daemon, "GET", "/api/v1/version", made)[0] == 200
    last_line_is(daemon, "/api/v1/version")
    assert json.loads(audit(daemon).read_text().splitlines()[0])["event"] == "key_created"


def test_a_download_that_the_daemons_end_cuts_is_on_record(host, boxes):
    box = f"/api/v1/sandboxes/{boxes['mine']}"
    assert host.cli("exec", "mine", "--", "truncate", "-s", "256M", "/tmp/large").code == 0
    request = urllib.request.Request(
        f"{host.url}{box}/files?path=/tmp/large",
        headers={"X-Api-Key": host.key, "X-Request-Id": "download-1"},
    )

    def told():
        lines = [json.loads(line) for line in audit(host).read_text().splitlines()]
        return [
            (line.get("event"), line["status"], line["key"])
            for line in lines
            if line.get("request_id") == "download-1"
        ]

    with urllib.request.urlopen(request, timeout=slow(60)) as answer:
        assert len(answer.read(1 << 16)) == 1 << 16
        assert wait_until(told, "its beginning is written down") == [("begin", 200, "default")]
        host.restart("kill")
    assert told() == [("begin", 200, "default")], "no end: the daemon was killed"
    assert host.cli("exec", "mine", "--", "rm", "/tmp/large").code == 0


def test_what_was_asked_is_written_down(host, keys):
    ask(host, "DELETE", "/api/v1/sandboxes/no-such", keys["create"])
    ask(host, "DELETE", "/api/v1/sandboxes/no-such", keys["read"])
    ask(host, "GET", "/api/v1/sandboxes", "cay_wrong")
    assert ask(host, "GET", "/metrics?token=secret-in-query", keys["monitor"])[0] == 200
    path = audit(host)
    last_line_is(host, "/metrics")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    told = [
        (line["key"], line["method"], line["status"])
        for line in lines
        if line.get("target") == "/api/v1/sandboxes/no-such" and line.get("event") != "begin"
    ]
    assert told == [("k-create", "DELETE", 404), ("k-read", "DELETE", 403)]
    assert any(
        line.get("status") == 401 and line["key"] == "" and line["from"].startswith("127.0.0.1")
        for line in lines
    )
    assert "secret-in-query" not in text and not any(
        one in text for one in (*keys.values(), "cay_wrong")
    )


def omitted_in(lines):
    total = 0
    for line in lines:
        if line.get("event") == "omitted":
            assert (
                line["message"]
                == f"{line['omitted']} request{'' if line['omitted'] == 1 else 's'} omitted"
            ), line
            total += line["omitted"]
    return total


def lines_of_a_flood(host, key, before, count, is_of_flood):
    """The lines behind `before` once each of `count` requests is written or counted. The count
    comes before a later line, once a second."""

    def all_there():
        ask(host, "GET", "/api/v1/snapshots", key)
        lines = [json.loads(line) for line in audit(host).read_text().splitlines()[before:]]
        return lines if sum(map(is_of_flood, lines)) + omitted_in(lines) == count else None

    return wait_until(all_there, "each is written or counted", interval=0.1)


def all_counted(host, key):
    """Waits until the record counts nothing of an earlier test. Returns its number of lines.

    A count comes before a later line, at most once a second. So no count within two lines that are
    a second apart means that nothing is left to count.
    """
    quiet_since = time.monotonic()
    seen = len(audit(host).read_text().splitlines())

    def is_quiet():
        nonlocal quiet_since, seen
        ask(host, "GET", "/api/v1/snapshots", key)
        lines = audit(host).read_text().splitlines()
        if omitted_in(map(json.loads, lines[seen:])):
            quiet_since = time.monotonic()
        seen = len(lines)
        return time.monotonic() > quiet_since + 1.5

    wait_until(is_quiet, "nothing is left to count", interval=0.1)
    return seen


def test_a_flood_of_strangers_is_counted_not_written(host, keys):
    before, begun = all_counted(host, keys["read"]), time.monotonic()
    for number in range(300):
        path_of = ("/api/v1/sandboxes", "/healthz", "/dl/none/cayl_token", "/svc/none/1/")[
            number % 4
        ]
        ask(host, "GET", path_of, "cay_wrong")
    seconds = time.monotonic() - begun
    lines = lines_of_a_flood(host, keys["read"], before, 300, lambda line: line.get("key") == "")
    assert "cayl_token" not in audit(host).read_text()
    assert (
        sum(line.get("key") == "" for line in lines) <= 20 * (seconds + 2) and omitted_in(lines) > 0
    )


def test_a_flood_with_a_small_key_pushes_out_nothing(host, boxes, keys):
    """Nor one by a link: what is refused, and what only looks, is bounded for each; what changed
    something stands in a file of its own."""

    def lines(name="audit.log"):
        return list(map(json.loads, (host.data / name).read_text().splitlines()))

    changes = host.data / "audit-changes.log"
    key(host, "create", "made-before-the-flood")
    with host.http() as http:
        assert (
            http.post(
                "/api/v1/sandboxes",
                json={"name": "before-flood"},
                headers={"X-Request-Id": "before-flood-1"},
            ).status_code
            == 201
        )
        link = http.post(
            f"/api/v1/sandboxes/{boxes['mine']}/links", json={"path": "/etc/hostname"}
        ).json()["url"]
    wait_until(
        lambda: any(
            line.get("request_id") == "before-flood-1" for line in lines("audit-changes.log")
        ),
        "it is written down",
    )
    counted, size, kept, begun = (
        len(lines()),
        audit(host).stat().st_size,
        changes.stat().st_size,
        time.monotonic(),
    )
    asked = 3000
    connection = http_client.HTTPConnection("127.0.0.1", host.port, timeout=slow(60))
    seen = set()
    for number in range(asked):
        method, target = (
            ("GET", '/api/v1/"' + '"' * 7900),
            ("DELETE", "/api/v1/sandboxes/mine"),
            ("M" * 2000, "/api/v1/sandboxes"),
            ("GET", "/metrics"),
        )[number % 4]
        connection.putrequest(method, target, skip_accept_encoding=True)
        connection.putheader("X-Api-Key", keys["monitor"])
        connection.endheaders()
        answer = connection.getresponse()
        answer.read()
        seen.add(answer.status)
    connection.close()
    assert {200, 403, 405} <= seen, seen
    for _ in range(300):
        httpx_status = httpx.post(link).status_code
        assert httpx_status in (405, 429), httpx_status
    with host.http() as http:
        assert http.delete("/api/v1/sandboxes/before-flood").status_code == 204
    seconds = time.monotonic() - begun
    wait_until(
        lambda: lines("audit-changes.log")[-1].get("target", "").endswith("/before-flood"),
        "what was done after it is written down",
    )
    after = lines()[counted:]
    of_key = [line for line in after if line.get("key") == "k-monitor"]
    assert len(of_key) <= 200 * (seconds + 3)
    assert all(len(line["target"]) <= 200 and len(line["method"]) <= 32 for line in of_key)
    assert audit(host).stat().st_size - size <= 800 * len(after)
    # The other file has only the removal of all this, beside its earlier lines.
    told = [
        (line.get("event"), line.get("name"), line.get("method"))
        for line in lines("audit-changes.log")
    ]
    assert ("key_created", "made-before-the-flood", None) in told and told[-1] == (
        "end",
        None,
        "DELETE",
    ), told[-3:]
    assert changes.stat().st_size - kept < 1000 and not any(
        line.get("key") == "k-monitor" for line in lines("audit-changes.log")
    )
    assert stat.S_IMODE(changes.stat().st_mode) == 0o600


def test_a_flood_of_changes_pushes_out_no_other_tenants(host, boxes, keys):
    """Who may act has a line for each thing that he did: in his tenant's files, and what a key of
    one sandbox did apart from what made it."""

    def changed(name):
        path = host.data / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def sizes(*names):
        return [(host.data / name).stat().st_size for name in names]

    of_tenant, of_use, of_host, of_other = (
        "audit-changes/default/create.log",
        "audit-changes/default/use.log",
        "audit-changes.log",
        "audit-changes/others/create.log",
    )
    other = key(host, "create", "k-others", "--tenant", "others")
    for with_key, file, path in (
        (keys["admin"], of_host, "/api/v1/sandboxes"),
        (keys["create"], of_tenant, "/api/v1/sandboxes"),
        (other, of_other, "/api/v1/sandboxes"),
        (keys["use"], of_use, f"/api/v1/sandboxes/{boxes['mine']}/commands"),
    ):
        body = (
            {"argv": ["true"], "wait": True}
            if path.endswith("commands")
            else {"name": f"made-by-{file.split('/')[-2:][0]}".replace(".", "-")}
        )
        had_lines = len(changed(file))
        status = ask(host, "POST", path, with_key, json.dumps(body).encode())
        assert status[0] in (200, 201), status
        line = wait_until(
            lambda: next((one for one in changed(file)[had_lines:] if one["target"] == path), None),
            f"{file} has it",
        )
        assert line["event"] == "end" and line["status"] in (200, 201), line
    assert (
        stat.S_IMODE((host.data / of_use).stat().st_mode) == 0o600
        and stat.S_IMODE((host.data / "audit-changes/default").stat().st_mode) == 0o700
    )
    before, had = sizes(of_tenant, of_host, of_other), len(changed(of_use))
    connection = http_client.HTTPConnection("127.0.0.1", host.port, timeout=slow(60))
    for number in range(200):
        connection.request(
            "PUT",
            f"/api/v1/sandboxes/{boxes['mine']}/files?path=/tmp/flood",
            body=b"x",
            headers={"X-Api-Key": keys["use"]},
        )
        answer = connection.getresponse()
        answer.read()
        assert answer.status < 300, answer.status
    connection.close()
    wait_until(lambda: len(changed(of_use)) >= had + 200, "each has its line")
    assert sizes(of_tenant, of_host, of_other) == before, "and nobody else's file has one more"
    for name in ("made-by-audit-changes-log", "made-by-default", "made-by-others"):
        host.cli("rm", name)
    with host.http() as http:
        assert (
            http.delete(
                "/api/v1/sandboxes/made-by-others", headers={"X-Api-Key": other}
            ).status_code
            == 204
        )
    key(host, "remove", "k-others")


def test_a_flood_of_what_is_no_request_is_counted_too(host, keys):
    before = all_counted(host, keys["read"])
    begun = time.monotonic()
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", host.port), timeout=60) as sock:
            sock.sendall(b"nonsense\r\n\r\n")
            assert sock.recv(65536).startswith(b"HTTP/1.1 400 ")
    seconds = time.monotonic() - begun
    is_of_flood = lambda line: line.get("reason") == "bad_request"  # noqa: E731
    lines = lines_of_a_flood(host, keys["read"], before, 300, is_of_flood)
    assert sum(map(is_of_flood, lines)) <= 20 * (seconds + 2), seconds
