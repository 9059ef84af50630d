"""Keys of small scope: each route is open to the scopes that its documentation names, and to no others; a key for one
sandbox sees no other; time and rotation; what is written down of every request."""
import http.client as http_client
import json
import os
import pathlib
import re
import shutil
import socket
import stat
import subprocess
import threading
import time
import urllib.error
import urllib.request

import httpx
import pytest
from websockets.sync.client import connect

from documented import DOCUMENT
from harness import needs_root, slow, wait_until

SCOPES = ("admin", "create", "read", "use", "monitor")
TOO_SMALL = "scope_too_small"


@pytest.fixture(scope="module")
def host(daemon):
    return daemon


def audit(daemon):
    return daemon.data / "audit.log"


def last_line_is(daemon, target):
    """A line is written just after its answer was sent."""
    wait_until(lambda: json.loads(audit(daemon).read_text().splitlines()[-1]).get("target") == target, "the last request is written down")


def cay_key(daemon, *words, command="key"):
    return subprocess.run([daemon.program, command, "--data", daemon.data, *words], capture_output=True, text=True)


def key(daemon, *words):
    made = cay_key(daemon, *words)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def listed(daemon):
    """name -> the other columns."""
    lines = cay_key(daemon, "ls").stdout.splitlines()
    return {words[0]: words[1:] for words in map(str.split, lines[1:])}


def ask(daemon, method, path, with_key, body=None):
    """(status, reason or None)"""
    headers = {"X-Api-Key": with_key, "Content-Type": "application/json"}
    request = urllib.request.Request(daemon.url + path, method=method, headers=headers, data=body)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, None
    except urllib.error.HTTPError as error:
        text = error.read()
        reason = re.search(rb'"reason": ?"(\w+)"', text)
        return error.code, reason.group(1).decode() if reason else TOO_SMALL if TOO_SMALL.encode() in text or b"has the scope" in text else None


@pytest.fixture(scope="module")
def boxes(host):
    made = {}
    for name in ("mine", "other"):
        got = host.cli("create", "--name", name)
        assert got.code == 0, got
        with host.http() as http:
            made[name] = http.get(f"/api/v1/sandboxes/{name}").json()["id"]
    return made


@pytest.fixture(scope="module")
def keys(host, boxes):
    return {scope: key(host, "create", f"k-{scope}", *(["--sandbox", boxes["mine"]] if scope == "use" else ["--scope", scope])) for scope in SCOPES}


def routes():
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            if "x-scopes" in operation:
                yield method.upper(), path, operation["x-scopes"]


def test_each_route_is_open_to_the_scopes_it_names(host, boxes, keys):
    wrong = []
    for method, path, scopes in routes():
        # A sandbox that is not there: nothing is changed, and whoever may ask gets another answer than whoever may not.
        concrete = path.replace("{ref}", "no-such-box").replace("{id}", "no-such-id")
        for scope in SCOPES:
            if path == "/api/v1/events" and scope in scopes:
                concrete = path + "?after=nonsense"  # a stream else
            body = b"{" if method in ("POST", "PUT", "PATCH") else None  # malformed: refused before anything is done
            status, reason = ask(host, method, concrete, keys[scope], body)
            refused = status == 403 and (reason == TOO_SMALL or method == "HEAD")
            if refused == (scope in scopes):
                wrong.append((method, path, scope, status, reason))
    assert not wrong, wrong


def test_langsmith_routes_too(host, keys):
    wrong = []
    for method, path, scopes in (("POST", "/boxes", "admin create"), ("GET", "/boxes", "admin create read"), ("GET", "/boxes/none", "admin create read use"),
                                 ("DELETE", "/boxes/none", "admin create"), ("PATCH", "/boxes/none", "admin create"), ("GET", "/snapshots", "admin create read"),
                                 ("POST", "/dp/none/execute", "admin create use"), ("POST", "/dp/none/upload?path=/x", "admin create use"),
                                 ("GET", "/dp/none/download?path=/x", "admin create read use"), ("GET", "/dp/none/tunnel", "admin create use"),
                                 ("GET", "/dp/none/execute/ws", "admin create use"), ("POST", "/boxes/none/service-url", "admin create use")):
        for scope in SCOPES:
            status, _ = ask(host, method, "/v2/sandboxes" + path, keys[scope], b"{" if method in ("POST", "PATCH") else None)
            if (status == 403) == (scope in scopes.split()):
                wrong.append((method, path, scope, status))
    # Without an upstream there is nothing behind these: whoever may make sandboxes is told how to have one.
    for scope in SCOPES:
        status, _ = ask(host, "GET", "/runs/x", keys[scope])
        if (status == 403) == (scope in ("admin", "create")):
            wrong.append(("/runs", scope, status))
    assert not wrong, wrong


def test_a_key_for_one_sandbox_sees_no_other(host, boxes, keys):
    env = {"CAY_API_KEY": keys["use"]}
    assert host.cli("exec", "mine", "--", "echo", "in", env=env).text == "in\n"
    for other in ("other", boxes["other"]):
        got = host.cli("exec", other, "--", "echo", "in", env=env)
        assert got.code == 125 and b"no sandbox" in got.err, got
        assert ask(host, "GET", f"/api/v1/sandboxes/{other}", keys["use"])[0] == 404
        assert ask(host, "GET", f"/v2/sandboxes/boxes/{other}", keys["use"])[0] == 404
        assert ask(host, "POST", f"/api/v1/sandboxes/{other}/stop", keys["use"])[0] == 404
    assert ask(host, "GET", f"/api/v1/sandboxes/{boxes['other']}", keys["read"])[0] == 200  # the control
    assert ask(host, "DELETE", "/api/v1/sandboxes/mine", keys["use"])[0] == 403
    got = host.cli("ls", env=env)
    assert got.code == 125 and b"scope" in got.err, got


def test_a_reader_reads_and_changes_nothing(host, keys):
    env = {"CAY_API_KEY": keys["read"]}
    assert host.cli("exec", "mine", "--", "sh", "-c", "echo text > /tmp/f").code == 0
    assert host.cli("ls", env=env).code == 0
    assert ask(host, "GET", "/api/v1/sandboxes/mine/files?path=/tmp/f", keys["read"])[0] == 200
    got = host.cli("exec", "mine", "--", "rm", "/tmp/f", env=env)
    assert got.code == 125 and b"scope read" in got.err, got
    assert ask(host, "DELETE", "/api/v1/sandboxes/mine/files?path=/tmp/f", keys["read"])[0] == 403
    assert host.cli("exec", "mine", "--", "cat", "/tmp/f").text == "text\n"


def test_a_reader_starts_nothing(host, boxes, keys):
    """Nor does it keep awake what runs: src/core/wake.cc."""
    box = f"/api/v1/sandboxes/{boxes['other']}"
    assert host.cli("stop", "other").code == 0
    assert ask(host, "GET", f"{box}/files?path=/etc/hostname", keys["read"])[0] == 409
    assert ask(host, "GET", f"{box}/commands", keys["read"])[0] == 200  # what is kept can be read
    with host.http() as http:
        assert http.get(box).json()["state"] == "stopped"
        assert http.get(f"{box}/files", params={"path": "/etc/hostname"}).status_code == 200  # the control: a greater key wakes it
        assert http.get(box).json()["state"] == "ready"


def test_links_end_with_what_their_key_could_do(host, boxes):
    def link(with_key):
        request = urllib.request.Request(f"{host.url}/api/v1/sandboxes/{boxes['mine']}/links", method="POST", data=b'{"path": "/etc/hostname"}',
                                         headers={"X-Api-Key": with_key, "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["url"]

    def opens(url):
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    before = link(key(host, "create", "maker"))
    assert opens(before) == 200
    kept = link(key(host, "rotate", "maker", "--grace", "1h"))
    assert opens(before) == opens(kept) == 200
    turned = key(host, "rotate", "maker")
    assert opens(before) == opens(kept) == 403
    after = link(turned)
    key(host, "remove", "maker")
    assert opens(after) == 403
    for words in (["--scope", "read"], ["--sandbox", boxes["other"]], []):
        key(host, "create", "maker", *words)
        assert opens(after) == 403, words
        key(host, "remove", "maker")


def test_time_and_rotation(host):
    first = key(host, "create", "turning", "--expires", "1h")
    assert ask(host, "GET", "/api/v1/sandboxes", first)[0] == 200
    second = key(host, "rotate", "turning", "--grace", "1h")
    assert [ask(host, "GET", "/api/v1/sandboxes", one)[0] for one in (first, second)] == [200, 200]
    third = key(host, "rotate", "turning")
    assert [ask(host, "GET", "/api/v1/sandboxes", one)[0] for one in (first, second, third)] == [401, 401, 200]
    key(host, "rotate", "turning", "--expires", "1ms")
    refused = cay_key(host, "rotate", "turning")
    assert refused.returncode == 125 and "--expires 30d" in refused.stderr
    fourth = key(host, "rotate", "turning", "--expires", "1h")
    assert ask(host, "GET", "/api/v1/sandboxes", fourth)[0] == 200
    over = key(host, "create", "over", "--expires", "1ms")
    assert ask(host, "GET", "/api/v1/sandboxes", over) == (401, "expired_key")
    assert listed(host)["over"][:3] == ["default", "create", "over"]


@pytest.mark.parametrize("words", ["0", "0d", "never"])
def test_no_end_can_be_said(host, words):
    name = f"endless-{words}"
    made = key(host, "create", name, "--expires", words)
    assert ask(host, "GET", "/api/v1/sandboxes", made)[0] == 200
    assert listed(host)[name][:3] == ["default", "create", "never"]
    key(host, "rotate", name, "--expires", "1h")
    assert re.match(r"\d{4}-", listed(host)[name][2])
    made = key(host, "rotate", name, "--expires", words)
    assert listed(host)[name][2] == "never" and ask(host, "GET", "/api/v1/sandboxes", made)[0] == 200
    wrong = cay_key(host, "create", "no-time", "--expires", "nevermore")
    assert wrong.returncode == 125 and "nevermore" in wrong.stderr and "no-time" not in listed(host)


def test_what_a_rotation_leaves_open_is_told(host):
    first = key(host, "create", "told")
    assert listed(host)["told"][3] == "-"
    turned = cay_key(host, "rotate", "told", "--grace", "1h")
    second, until = turned.stdout.strip(), listed(host)["told"][3]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z", until) and f"the old one opens until {until} and is refused from then on" in turned.stderr
    # A third one ends the first, and says so.
    turned = cay_key(host, "rotate", "told", "--grace", "2h")
    third = turned.stdout.strip()
    assert "the one before it, which was still let in, is refused from now on" in turned.stderr
    assert [ask(host, "GET", "/api/v1/sandboxes", one)[0] for one in (first, second, third)] == [401, 200, 200]
    assert until < listed(host)["told"][3]
    # No older one outlives the key's own end.
    cay_key(host, "rotate", "told", "--grace", "2h", "--expires", "1h")
    assert listed(host)["told"][2] == listed(host)["told"][3]
    for words in ([], ["--grace", "0"], ["--grace", "1ms"]):
        turned = cay_key(host, "rotate", "told", *words)
        assert "refused from now on" in turned.stderr and listed(host)["told"][3] == "-", words
    key(host, "rotate", "told", "--grace", "1h")
    assert listed(host)["told"][3] != "-"
    key(host, "rotate", "told", "--expires", "1ms")
    assert listed(host)["told"][2:4] == ["over", "-"]


def test_other_words_for_the_same(host):
    for make, drop in (("create", "remove"), ("new", "rm"), ("add", "revoke"), ("create", "delete")):
        made = key(host, make, "worded")
        assert "worded" in listed(host) and ask(host, "GET", "/api/v1/sandboxes", made)[0] == 200
        assert cay_key(host, drop, "worded").returncode == 0
        assert "worded" not in listed(host) and ask(host, "GET", "/api/v1/sandboxes", made)[0] == 401
    behind = subprocess.run([host.program, "key", "create", "worded", "--data", host.data], capture_output=True, text=True)
    assert behind.returncode == 0 and ask(host, "GET", "/api/v1/sandboxes", behind.stdout.strip())[0] == 200, behind
    outputs = {cay_key(host, *words, command=command).stdout for command, words in (("key", ["list"]), ("key", ["ls"]), ("keys", ["list"]), ("keys", []))}
    assert len(outputs) == 1 and "worded" in outputs.pop()
    assert cay_key(host).returncode != 0  # only `keys` means the list
    told = cay_key(host, "--help").stdout
    assert "--expires never" in told and "cay keys" in told and "revoke" in told


def test_the_audit_tells_what_lasts_when_it_begins(host, boxes, keys):
    """Who had opened what is on record though the daemon is killed."""
    before = len(audit(host).read_text().splitlines())

    def lines(event):
        told = [json.loads(line) for line in audit(host).read_text().splitlines()[before:]]
        return [one for one in told if one.get("event") == event and one["key"] == "k-use" and one["target"].endswith("/commands/ws")]

    def opened():
        return connect(f"{host.url.replace('http', 'ws', 1)}/api/v1/sandboxes/{boxes['mine']}/commands/ws", additional_headers={"X-Api-Key": keys["use"]})

    with opened() as socket:
        socket.send(json.dumps({"type": "start", "argv": ["cat"], "pty": {"rows": 10, "cols": 10}}))
        begun = wait_until(lambda: lines("begin"), "its beginning is written down")[-1]
        assert begun["status"] == 101 and "ms" not in begun and begun["from"].startswith("127.0.0.1") and lines("end") == []
    ended = wait_until(lambda: lines("end"), "its end is written down")[-1]
    assert ended["request_id"] == begun["request_id"] and ended["ms"] > 0 and ended["ended"].startswith("the client closed it with"), ended
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
        return [(line.get("event"), line.get("status"), line["key"], line["method"]) for line in lines if line.get("request_id") == request]

    def run(request, script):
        body = json.dumps({"argv": ["sh", "-c", script], "wait": True, "timeout_s": 600}).encode()
        headers = {"X-Api-Key": host.key, "Content-Type": "application/json", "X-Request-Id": request}
        try:
            urllib.request.urlopen(urllib.request.Request(f"{url}/commands", method="POST", headers=headers, data=body), timeout=slow(120)).read()
        except OSError:
            return False
        return True

    # The control: a call that comes to its end has both, and one that only looks has one line.
    assert run("whole-1", "true")
    wait_until(lambda: told("whole-1") == [("begin", None, "default", "POST"), ("end", 200, "default", "POST")], "both are written down")
    request = urllib.request.Request(f"{url}/commands", headers={"X-Api-Key": host.key, "X-Request-Id": "look-1"})
    urllib.request.urlopen(request, timeout=slow(60)).read()
    wait_until(lambda: told("look-1") == [(None, 200, "default", "GET")], "a look has one line")

    answered = []
    caller = threading.Thread(target=lambda: answered.append(run("killed-1", "touch /tmp/ran; exec sleep 600")))
    caller.start()
    try:
        wait_until(lambda: ask(host, "GET", f"/api/v1/sandboxes/{boxes['mine']}/files?path=/tmp/ran", host.key)[0] == 200, "it takes effect")
    finally:
        host.kill()
        caller.join()
        host.start(listen=f"127.0.0.1:{host.port}")
    assert answered == [False]
    assert ask(host, "GET", f"/api/v1/sandboxes/{boxes['mine']}/files?path=/tmp/ran", host.key)[0] == 200
    assert told("killed-1") == [("begin", None, "default", "POST")], "no end: the daemon was killed"
    with host.http() as http:  # what became of it, the command itself tells
        left = [one for one in http.get(f"{url}/commands").json()["items"] if "touch /tmp/ran" in json.dumps(one)]
        assert [one["state"] for one in left] == ["running"], left


@needs_root
def test_a_full_disk_stops_no_request_and_is_told(own_daemon):
    """audit.log on a file system of its own, which only this daemon sees."""
    daemon = own_daemon()
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]).returncode != 0:
        pytest.skip("no file system of a test's own can be mounted here")
    daemon.terminate()
    small = daemon.data / "small"
    small.mkdir()
    owner = audit(daemon).stat()
    script = (f"mount -t tmpfs -o size=64k none {small} && touch {small}/log && chmod 600 {small}/log && chown {owner.st_uid}:{owner.st_gid} {small}/log"
              f" && mount --bind {small}/log {audit(daemon)} && exec \"$@\"")
    daemon.prefix = ["unshare", "-m", "sh", "-c", script, "sh"]
    daemon.start()
    seen = pathlib.Path(f"/proc/{daemon.process.pid}/root{small}")

    def lines():
        return [json.loads(line) for line in (seen / "log").read_text().splitlines()]
    asked = 0
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "first"}).status_code == 201
        wait_until(lambda: [line.get("event") for line in lines()] == ["begin", "end"], "there is room")
        with open(seen / "fill", "wb", buffering=0) as fill:
            with pytest.raises(OSError):
                while fill.write(bytes(4096)):
                    pass
        while "lines are missing from now on" not in daemon.log.read_text():
            assert http.patch("/api/v1/sandboxes/first", json={"labels": {"asked": str(asked)}}).status_code == 200
            asked += 1
            assert asked < 100
        for _ in range(5):
            assert http.patch("/api/v1/sandboxes/first", json={"labels": {"asked": str(asked)}}).status_code == 200
            asked += 1
        assert http.get("/api/v1/sandboxes/first").json()["labels"] == {"asked": str(asked - 1)}, "what was asked for was done"
        os.unlink(seen / "fill")
        assert http.get("/api/v1/version").status_code == 200
        after = wait_until(lambda: (got := lines()) and got[-1].get("target") == "/api/v1/version" and got, "it is written again")
    missing = [line["lines_missing"] for line in after if "lines_missing" in line]
    written = sum(line.get("target") == "/api/v1/sandboxes/first" for line in after)
    # Each line is whole, and each is there or counted: two for each call, one for the look.
    assert missing and written + sum(missing) == 2 * asked + 1, (asked, after)
    wait_until(lambda: f"audit.log is written again: {missing[-1]} lines are missing" in daemon.log.read_text(), "the daemon's log says so")


def test_the_audit_tells_what_was_refused_before_it_was_understood(host, keys):
    path = audit(host)
    before = len(path.read_text().splitlines())
    good = f"Host: 127.0.0.1\r\nX-Api-Key: {keys['read']}\r\n"
    sent = {"bad_host": f"GET /secret-path?q HTTP/1.1\r\nX-Api-Key: {keys['read']}\r\n\r\n", "bad_request": "nonsense\r\n\r\n",
            "head_too_large": f"GET / HTTP/1.1\r\n{good}X: {'a' * 20000}\r\n\r\n", "bad_expectation": f"GET / HTTP/1.1\r\n{good}Expect: x\r\n\r\n",
            "request_timeout": f"GET / HTTP/1.1\r\n{good}", "wrong_host": "GET /secret-path HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            "cross_origin": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n"}
    statuses = {}
    for reason, text in sent.items():
        with socket.create_connection(("127.0.0.1", host.port), timeout=60) as sock:
            sock.sendall(text.encode())
            statuses[reason] = int(sock.recv(65536).split()[1])

    def told():
        lines = [json.loads(line) for line in path.read_text().splitlines()[before:]]
        return {line["reason"]: line["status"] for line in lines if line.get("reason") in sent}
    assert wait_until(lambda: len(told()) == len(sent) and told(), "all are written down") == statuses
    assert statuses["request_timeout"] == 408 and statuses["head_too_large"] == 431
    text = "\n".join(path.read_text().splitlines()[before:])
    assert "secret-path" not in text and keys["read"] not in text


def test_what_was_deleted_and_run_is_named(host, keys):
    """Where the path does not say what was acted on, its line does, and the events say who."""
    before = len(audit(host).read_text().splitlines())  # the daemon is others' too, and what they asked stands there

    def line_of(target):
        return next((one for one in map(json.loads, audit(host).read_text().splitlines()[before:]) if one.get("target") == target and one.get("event") == "end"), None)

    with host.http() as http:
        for name in ("gone-1", "gone-2"):
            assert http.post("/api/v1/sandboxes", json={"name": name, "labels": {"gone": ""}}, headers={"X-Api-Key": keys["create"]}).status_code == 201
        after = http.get("/api/v1/events", params={"after": "now"}).json()["next_after"]
        ran = http.post("/api/v1/sandboxes/gone-1/commands", json={"id": "named-1", "argv": ["true"]}, headers={"X-Api-Key": keys["create"]})
        assert ran.status_code == 200
        assert wait_until(lambda: line_of("/api/v1/sandboxes/gone-1/commands"), "it is written down")["subject"] == "command named-1"
        box = http.get("/api/v1/sandboxes/gone-2").json()["id"]
        for target, body, named in (("/api/v1/sandboxes/gone-1/batch", {"command": {"id": "named-3", "argv": ["true"]}}, "command named-3"),
                                    (f"/v2/sandboxes/dp/{box}/execute", {"command": "true"}, "command "),
                                    (f"/v2/sandboxes/dp/{box}/execute/stream/start", {"command": "true", "command_id": "named-4"}, "command named-4")):
            assert http.post(target, json=body, headers={"X-Api-Key": keys["create"]}).status_code == 200
            assert wait_until(lambda: line_of(target), "it is written down")["subject"].startswith(named), target
        with pytest.raises(httpx.ReadTimeout):
            http.post("/api/v1/sandboxes/gone-2/commands", json={"id": "left-1", "argv": ["sleep", "600"]}, headers={"X-Api-Key": keys["create"]}, timeout=slow(3))
        left = wait_until(lambda: line_of("/api/v1/sandboxes/gone-2/commands"), "it is written down")
        assert left["subject"] == "command left-1" and left["status"] == 0, left
        with connect(f"{host.url.replace('http', 'ws', 1)}/api/v1/sandboxes/gone-2/commands/ws", additional_headers={"X-Api-Key": keys["create"]}) as socket:
            socket.send(json.dumps({"type": "start", "id": "named-2", "argv": ["true"]}))
            assert json.loads(socket.recv(timeout=slow(30)))["type"] == "started"
        assert wait_until(lambda: line_of("/api/v1/sandboxes/gone-2/commands/ws"), "its end is written down")["subject"] == "command named-2"
        gone = http.post("/api/v1/sandboxes/batch-delete", json={"labels": ["gone"]}, headers={"X-Api-Key": keys["admin"]})
        assert gone.json() == {"deleted": ["gone-1", "gone-2"], "failed": []}
        assert wait_until(lambda: line_of("/api/v1/sandboxes/batch-delete"), "it is written down")["subject"] == "deleted 2: gone-1, gone-2"
        events = http.get("/api/v1/events", params={"after": after}).json()["items"]
        who = {(one["type"], one["sandbox"]): one.get("by") for one in events}
        for name in ("gone-1", "gone-2"):
            assert [who[kind, name] for kind in ("command.started", "sandbox.deleting", "sandbox.deleted")] == ["k-create", "k-admin", "k-admin"], who


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
    assert (noted[0]["tenant"], noted[0]["scope"]) == ("other", "read") and noted[0]["expires"] > noted[0]["at"] and noted[1]["old_one_until"]
    assert "cay_" not in "".join(map(json.dumps, noted)), "no key"


@needs_root
def test_a_line_about_a_key_is_the_daemons_file(own_daemon):
    """Whoever writes first: root's command makes it so that the daemon can open it."""
    daemon = own_daemon()
    daemon.terminate()
    audit(daemon).unlink()
    made = key(daemon, "create", "first")
    owner, directory = audit(daemon).stat(), daemon.data.stat()
    assert (owner.st_uid, owner.st_gid, stat.S_IMODE(owner.st_mode)) == (directory.st_uid, directory.st_gid, 0o600)
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    assert ask(daemon, "GET", "/api/v1/version", made)[0] == 200
    last_line_is(daemon, "/api/v1/version")
    assert json.loads(audit(daemon).read_text().splitlines()[0])["event"] == "key_created"


def test_a_download_that_the_daemons_end_cuts_is_on_record(host, boxes):
    box = f"/api/v1/sandboxes/{boxes['mine']}"
    assert host.cli("exec", "mine", "--", "truncate", "-s", "256M", "/tmp/large").code == 0
    request = urllib.request.Request(f"{host.url}{box}/files?path=/tmp/large", headers={"X-Api-Key": host.key, "X-Request-Id": "download-1"})

    def told():
        lines = [json.loads(line) for line in audit(host).read_text().splitlines()]
        return [(line.get("event"), line["status"], line["key"]) for line in lines if line.get("request_id") == "download-1"]
    with urllib.request.urlopen(request, timeout=slow(60)) as answer:
        assert len(answer.read(1 << 16)) == 1 << 16
        assert wait_until(told, "its beginning is written down") == [("begin", 200, "default")]
        host.restart("kill")
    assert told() == [("begin", 200, "default")], "no end: the daemon was killed"
    assert host.cli("exec", "mine", "--", "rm", "/tmp/large").code == 0


def test_strangers_are_answered_so_often_and_hold_up_nobody(own_daemon, tmp_path):
    config = tmp_path / "rates.toml"
    config.write_text("[server]\nstrangers_per_second = 2\nlink_requests_per_second = 2\n")
    daemon = own_daemon("--config", str(config))
    wrong = []
    while (429, "too_many_requests") not in wrong and len(wrong) < 2000:  # how many it takes is a matter of how fast they come
        wrong.append(ask(daemon, "GET", "/api/v1/sandboxes", f"cay_wrong-{len(wrong)}"))
    assert set(wrong) == {(401, "unknown_key"), (429, "too_many_requests")}, wrong
    assert {ask(daemon, "GET", "/api/v1/sandboxes", daemon.key)[0] for _ in range(60)} == {200}, "of the same address"
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "linked"}).status_code == 201
        link = http.post("/api/v1/sandboxes/linked/links", json={"path": "/etc/hostname"}).json()
        statuses = []
        with httpx.Client(timeout=slow(60)) as anybody:
            while 429 not in statuses and len(statuses) < 2000:  # how many it takes is a matter of how fast they come
                late = anybody.get(link["url"])
                statuses.append(late.status_code)
        assert set(statuses) == {200, 429}, statuses
        assert late.headers["Retry-After"] == "1" and late.headers["X-Cay-Error"] == "too_many_requests"
        # Whatever a stranger is refused for: a wrong token of a file or a service, a foreign host or page.
        sandbox = http.get("/api/v1/sandboxes/linked").json()["id"]
        here = f"{sandbox}--8000.localhost:{daemon.port}"
        for path, headers, status in ((f"/dl/{sandbox}/cayl_wrong", {}, 403), ("/healthz", {"Host": "evil.example"}, 421), ("/healthz", {"Origin": "https://evil.example"}, 403),
                                      ("/", {"Host": here}, 401), ("/", {"Host": here, "X-Cay-Service-Token": "cayl_wrong"}, 401), (f"/svc/{sandbox}/8000/", {}, 401),
                                      ("/_svc/auth?token=cayl_wrong", {"Host": here}, 401)):
            answers = [httpx.get(daemon.url + path, headers=headers) for _ in range(40)]
            assert {answer.status_code for answer in answers} <= {status, 429} and 429 in {answer.status_code for answer in answers[10:]}, (path, [answer.status_code for answer in answers])
            late = next(answer for answer in answers if answer.status_code == 429)
            assert late.headers["Retry-After"] == "1" and ("too_many_requests" in late.text or late.headers["X-Cay-Error"] == "too_many_requests")
            assert httpx.get(daemon.url + "/healthz").status_code == 200
            assert http.get("/api/v1/sandboxes").status_code == 200, "a good key of the same address"


def test_what_a_key_has_open_ends_with_its_time(host, boxes):
    short = key(host, "create", "short", "--expires", "3s")
    got = host.cli("exec", "mine", "--", "sleep", "600", env={"CAY_API_KEY": short}, timeout=60)
    assert got.code == 125 and b"time is over" in got.err, got


def test_many_at_once_are_all_kept(host):
    made = [subprocess.Popen([host.program, "key", "--data", host.data, "create", f"par-{i}"], stdout=subprocess.PIPE, text=True) for i in range(12)]
    opened = [ask(host, "GET", "/api/v1/version", one.communicate()[0].strip())[0] for one in made]
    assert opened == [200] * 12


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
    told = [(line["key"], line["method"], line["status"]) for line in lines if line.get("target") == "/api/v1/sandboxes/no-such" and line.get("event") != "begin"]
    assert told == [("k-create", "DELETE", 404), ("k-read", "DELETE", 403)]
    assert any(line.get("status") == 401 and line["key"] == "" and line["from"].startswith("127.0.0.1") for line in lines)
    assert "secret-in-query" not in text and not any(one in text for one in (*keys.values(), "cay_wrong"))


def test_a_flood_of_strangers_is_counted_not_written(host, keys):
    path = audit(host)
    before = len(path.read_text().splitlines())
    for number in range(300):
        path_of = ("/api/v1/sandboxes", "/healthz", "/dl/none/cayl_token", "/svc/none/1/")[number % 4]
        ask(host, "GET", path_of, "cay_wrong")
    ask(host, "GET", "/api/v1/version", keys["read"])
    last_line_is(host, "/api/v1/version")
    lines = [json.loads(line) for line in path.read_text().splitlines()[before:]]
    written = sum(line.get("key") == "" for line in lines)
    assert "cayl_token" not in path.read_text()
    unwritten = sum(line.get("refused_and_not_written", 0) for line in lines)
    assert written + unwritten == 300 and lines[-1]["key"] == "k-read", (written, unwritten)


def test_a_flood_with_a_small_key_pushes_out_nothing(host, boxes, keys):
    """Nor one by a link: what is refused, and what only looks, is bounded for each; what changed something stands in a file of its own."""
    def lines(name="audit.log"):
        return list(map(json.loads, (host.data / name).read_text().splitlines()))
    changes = host.data / "audit-changes.log"
    key(host, "create", "made-before-the-flood")
    with host.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "before-flood"}, headers={"X-Request-Id": "before-flood-1"}).status_code == 201
        link = http.post(f"/api/v1/sandboxes/{boxes['mine']}/links", json={"path": "/etc/hostname"}).json()["url"]
    wait_until(lambda: any(line.get("request_id") == "before-flood-1" for line in lines("audit-changes.log")), "it is written down")
    counted, size, kept, begun = len(lines()), audit(host).stat().st_size, changes.stat().st_size, time.monotonic()
    asked = 3000
    connection = http_client.HTTPConnection("127.0.0.1", host.port, timeout=slow(60))
    seen = set()
    for number in range(asked):
        method, target = (("GET", '/api/v1/"' + '"' * 7900), ("DELETE", "/api/v1/sandboxes/mine"), ("M" * 2000, "/api/v1/sandboxes"), ("GET", "/metrics"))[number % 4]
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
    wait_until(lambda: lines("audit-changes.log")[-1].get("target", "").endswith("/before-flood"), "what was done after it is written down")
    after = lines()[counted:]
    of_key = [line for line in after if line.get("key") == "k-monitor"]
    assert sum(line["status"] >= 400 for line in of_key) <= 20 * (seconds + 2) and sum(line["status"] < 400 for line in of_key) <= 200 * (seconds + 3)
    assert all(len(line["target"]) <= 200 and len(line["method"]) <= 32 for line in of_key)
    assert len(of_key) + sum(line.get("refused_and_not_written", 0) + line.get("looks_not_written", 0) for line in after) >= asked
    assert any("refused_and_not_written" in line for line in after)
    assert audit(host).stat().st_size - size <= 800 * len(after)
    # Of all this the other file has the removal alone, beside what stood there before.
    told = [(line.get("event"), line.get("name"), line.get("method")) for line in lines("audit-changes.log")]
    assert ("key_created", "made-before-the-flood", None) in told and told[-1] == ("end", None, "DELETE"), told[-3:]
    assert changes.stat().st_size - kept < 1000 and not any(line.get("key") == "k-monitor" for line in lines("audit-changes.log"))
    assert stat.S_IMODE(changes.stat().st_mode) == 0o600


def test_a_flood_of_what_is_no_request_is_counted_too(host, keys):
    path = audit(host)
    before = len(path.read_text().splitlines())
    begun = time.monotonic()
    for _ in range(300):
        with socket.create_connection(("127.0.0.1", host.port), timeout=60) as sock:
            sock.sendall(b"nonsense\r\n\r\n")
            assert sock.recv(65536).startswith(b"HTTP/1.1 400 ")
    ask(host, "GET", "/api/v1/snapshots", keys["read"])  # another path than that of the last line before
    seconds = time.monotonic() - begun
    last_line_is(host, "/api/v1/snapshots")
    lines = [json.loads(line) for line in path.read_text().splitlines()[before:]]
    written = sum(line.get("reason") == "bad_request" for line in lines)
    unwritten = sum(line.get("refused_and_not_written", 0) for line in lines)
    assert written + unwritten == 300 and written <= 20 * (seconds + 2), (written, unwritten, seconds)
