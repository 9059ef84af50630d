"""Keys of small scope: each route is open to the scopes that its documentation names, and to no
others; a key for one sandbox sees no other; time and rotation; rates."""
import json
import re
import subprocess
import time
import urllib.request

import httpx
import pytest

from documented import DOCUMENT
from harness import slow
from keys_made import SCOPES, TOO_SMALL, ask, boxes, cay_key, host, key, keys, listed  # noqa: F401


def routes():
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            if "x-scopes" in operation:
                yield method.upper(), path, operation["x-scopes"]


def test_each_route_is_open_to_the_scopes_it_names(host, boxes, keys):
    wrong = []
    for method, path, scopes in routes():
        # A sandbox that does not exist: nothing changes, and an allowed key gets another answer
        # than a refused one.
        concrete = (
            path.replace("{ref}", "no-such-box")
            .replace("{id}", "no-such-id")
            .replace("{run}", "no")
        )
        for scope in SCOPES:
            if path == "/api/v1/events" and scope in scopes:
                concrete = path + "?after=nonsense"  # a stream else
            body = (
                b"{" if method in ("POST", "PUT", "PATCH") else None
            )  # malformed: refused before anything is done
            status, reason = ask(host, method, concrete, keys[scope], body)
            refused = status == 403 and (reason == TOO_SMALL or method == "HEAD")
            if refused == (scope in scopes):
                wrong.append((method, path, scope, status, reason))
    assert not wrong, wrong


def test_langsmith_routes_too(host, keys):
    wrong = []
    for method, path, scopes in (
        ("POST", "/boxes", "admin create"),
        ("GET", "/boxes", "admin create read"),
        ("GET", "/boxes/none", "admin create read use"),
        ("DELETE", "/boxes/none", "admin create"),
        ("PATCH", "/boxes/none", "admin create"),
        ("GET", "/snapshots", "admin create read"),
        ("POST", "/dp/none/execute", "admin create use"),
        ("POST", "/dp/none/upload?path=/x", "admin create use"),
        ("GET", "/dp/none/download?path=/x", "admin create read use"),
        ("GET", "/dp/none/tunnel", "admin create use"),
        ("GET", "/dp/none/execute/ws", "admin create use"),
        ("POST", "/boxes/none/service-url", "admin create use"),
    ):
        for scope in SCOPES:
            status, _ = ask(
                host,
                method,
                "/v2/sandboxes" + path,
                keys[scope],
                b"{" if method in ("POST", "PATCH") else None,
            )
            if (status == 403) == (scope in scopes.split()):
                wrong.append((method, path, scope, status))
    # Without an upstream there is nothing behind these: a key that may make sandboxes gets the way
    # to set one.
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
        assert (
            got.code == 125
            and b"no sandbox" in got.err
            and b"this key, which is for one alone" in got.err
            and b"list them" not in got.err
        ), got
        assert ask(host, "GET", f"/api/v1/sandboxes/{other}", keys["use"])[0] == 404
        assert ask(host, "GET", f"/v2/sandboxes/boxes/{other}", keys["use"])[0] == 404
        assert ask(host, "POST", f"/api/v1/sandboxes/{other}/stop", keys["use"])[0] == 404
    assert (
        ask(host, "GET", f"/api/v1/sandboxes/{boxes['other']}", keys["read"])[0] == 200
    )  # the control
    assert (
        b"list them"
        in host.cli("exec", "nobodys", "--", "true", env={"CAY_API_KEY": keys["create"]}).err
    ), "who may list them is told to"
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
        assert (
            http.get(f"{box}/files", params={"path": "/etc/hostname"}).status_code == 200
        )  # the control: a greater key wakes it
        assert http.get(box).json()["state"] == "ready"


def test_links_end_with_what_their_key_could_do(host, boxes):
    def link(with_key):
        request = urllib.request.Request(
            f"{host.url}/api/v1/sandboxes/{boxes['mine']}/links",
            method="POST",
            data=b'{"path": "/etc/hostname"}',
            headers={"X-Api-Key": with_key, "Content-Type": "application/json"},
        )
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
    assert [ask(host, "GET", "/api/v1/sandboxes", one)[0] for one in (first, second, third)] == [
        401,
        401,
        200,
    ]
    key(host, "rotate", "turning", "--expires", "1ms")
    refused = cay_key(host, "rotate", "turning")
    assert refused.returncode == 125 and "--expires 30d" in refused.stderr
    fourth = key(host, "rotate", "turning", "--expires", "1h")
    assert ask(host, "GET", "/api/v1/sandboxes", fourth)[0] == 200
    over = key(host, "create", "over", "--expires", "1ms")
    assert ask(host, "GET", "/api/v1/sandboxes", over) == (401, "expired_key")
    assert listed(host)["over"][:3] == ["default", "create", "over"]


def test_the_data_directorys_own_key_is_rotated(own_daemon):
    daemon = own_daemon()
    old = daemon.key
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "linked"}).status_code == 201
        link = http.post("/api/v1/sandboxes/linked/links", json={"path": "/etc/hostname"}).json()[
            "url"
        ]
    assert httpx.get(link).status_code == 200
    refused = cay_key(daemon, "rotate", "default", "--grace", "1d")
    assert (
        refused.returncode != 0
        and "--scope admin" in refused.stderr
        and ask(daemon, "GET", "/api/v1/version", old)[0] == 200
    )
    owner = (daemon.data / "api-key").stat()
    assert listed(daemon)["default"] == ["default", "admin", "never", "-", "-"]
    kept = cay_key(daemon, "remove", "default")
    assert (
        kept.returncode == 125
        and "`cay key rotate default`" in kept.stderr
        and ask(daemon, "GET", "/api/v1/version", old)[0] == 200
    )
    made = key(daemon, "rotate", "default")
    assert ask(daemon, "GET", "/api/v1/version", old) == (401, "unknown_key")
    assert (
        ask(daemon, "GET", "/api/v1/drain", made)[0] == 200
    ), "it is the host's, as the old one was"
    assert httpx.get(link).status_code == 403, "of the old one's"
    now = (daemon.data / "api-key").stat()
    assert (daemon.data / "api-key").read_text().strip() == made and (
        now.st_uid,
        now.st_gid,
        now.st_mode,
    ) == (owner.st_uid, owner.st_gid, owner.st_mode)
    lines = [
        json.loads(line) for line in (daemon.data / "audit-changes.log").read_text().splitlines()
    ]
    assert [line["name"] for line in lines if line.get("event") == "key_rotated"] == ["default"]
    daemon.restart("kill")
    assert (
        ask(daemon, "GET", "/api/v1/version", made)[0] == 200
        and ask(daemon, "GET", "/api/v1/version", old)[0] == 401
    )
    (daemon.data / "api-key").rename(daemon.data / "kept")
    assert "CAY_API_KEY" in cay_key(daemon, "rotate", "default").stderr
    (daemon.data / "kept").rename(daemon.data / "api-key")
    daemon.key = made


@pytest.mark.parametrize("words", ["0", "0d", "never"])
def test_no_end_can_be_said(host, words):
    name = f"endless-{words}"
    made = key(host, "create", name, "--expires", words)
    assert ask(host, "GET", "/api/v1/sandboxes", made)[0] == 200
    assert listed(host)[name][:3] == ["default", "create", "never"]
    key(host, "rotate", name, "--expires", "1h")
    assert re.match(r"\d{4}-", listed(host)[name][2])
    made = key(host, "rotate", name, "--expires", words)
    assert (
        listed(host)[name][2] == "never" and ask(host, "GET", "/api/v1/sandboxes", made)[0] == 200
    )
    wrong = cay_key(host, "create", "no-time", "--expires", "nevermore")
    assert (
        wrong.returncode == 125
        and "30d, or never" in wrong.stderr
        and "nevermore" in wrong.stderr
        and "no-time" not in listed(host)
    )


def test_what_a_rotation_leaves_open_is_told(host):
    first = key(host, "create", "told")
    assert listed(host)["told"][3] == "-"
    turned = cay_key(host, "rotate", "told", "--grace", "1h")
    second, until = turned.stdout.strip(), listed(host)["told"][3]
    assert (
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z", until)
        and f"the old one opens until {until} and is refused from then on" in turned.stderr
    )
    # A third one ends the first, and the command prints that.
    turned = cay_key(host, "rotate", "told", "--grace", "2h")
    third = turned.stdout.strip()
    assert "the one before it, which was still let in, is refused from now on" in turned.stderr
    assert [ask(host, "GET", "/api/v1/sandboxes", one)[0] for one in (first, second, third)] == [
        401,
        200,
        200,
    ]
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
    for make, drop in (
        ("create", "remove"),
        ("new", "rm"),
        ("add", "revoke"),
        ("create", "delete"),
    ):
        made = key(host, make, "worded")
        assert "worded" in listed(host) and ask(host, "GET", "/api/v1/sandboxes", made)[0] == 200
        assert cay_key(host, drop, "worded").returncode == 0
        assert (
            "worded" not in listed(host) and ask(host, "GET", "/api/v1/sandboxes", made)[0] == 401
        )
    behind = subprocess.run(
        [host.program, "key", "create", "worded", "--data", host.data],
        capture_output=True,
        text=True,
    )
    assert (
        behind.returncode == 0
        and ask(host, "GET", "/api/v1/sandboxes", behind.stdout.strip())[0] == 200
    ), behind
    outputs = {
        cay_key(host, *words, command=command).stdout
        for command, words in (("key", ["list"]), ("key", ["ls"]), ("keys", ["list"]), ("keys", []))
    }
    assert len(outputs) == 1 and "worded" in outputs.pop()
    assert cay_key(host).returncode != 0  # only `keys` means the list
    for words in (["create"], ["nonesuch"], ["rotate", "worded", "--nonesuch"]):
        wrong = cay_key(host, *words)
        assert (
            wrong.returncode == 125
            and wrong.stderr.startswith("cay: ")
            and wrong.stderr.endswith("\nSee `cay key --help`.\n")
            and wrong.stderr.count("\n") == 2
        ), wrong
    told = cay_key(host, "--help").stdout
    assert "--expires never" in told and "cay keys" in told and "revoke" in told


def test_strangers_are_answered_so_often_and_hold_up_nobody(own_daemon, tmp_path):
    config = tmp_path / "rates.toml"
    config.write_text("[server]\nstrangers_per_second = 2\nlink_requests_per_second = 2\n")
    daemon = own_daemon("--config", str(config))
    wrong = []
    while (429, "too_many_requests") not in wrong and len(
        wrong
    ) < 2000:  # how many it takes is a matter of how fast they come
        wrong.append(ask(daemon, "GET", "/api/v1/sandboxes", f"cay_wrong-{len(wrong)}"))
    assert set(wrong) == {(401, "unknown_key"), (429, "too_many_requests")}, wrong
    assert {ask(daemon, "GET", "/api/v1/sandboxes", daemon.key)[0] for _ in range(60)} == {
        200
    }, "of the same address"
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "linked"}).status_code == 201
        link = http.post("/api/v1/sandboxes/linked/links", json={"path": "/etc/hostname"}).json()
        statuses = []
        with httpx.Client(timeout=slow(60)) as anybody:
            while (
                429 not in statuses and len(statuses) < 2000
            ):  # how many it takes is a matter of how fast they come
                late = anybody.get(link["url"])
                statuses.append(late.status_code)
        assert set(statuses) == {200, 429}, statuses
        assert (
            late.headers["Retry-After"] == "1"
            and late.headers["X-Cay-Error"] == "too_many_requests"
        )
        # A stranger is refused for a wrong token of a file or a service, and for a foreign host
        # or page.
        sandbox = http.get("/api/v1/sandboxes/linked").json()["id"]
        here = f"{sandbox}--8000.localhost:{daemon.port}"
        for path, headers, status in (
            (f"/dl/{sandbox}/cayl_wrong", {}, 403),
            ("/healthz", {"Host": "evil.example"}, 421),
            ("/healthz", {"Origin": "https://evil.example"}, 403),
            ("/", {"Host": here}, 401),
            ("/", {"Host": here, "X-Cay-Service-Token": "cayl_wrong"}, 401),
            (f"/svc/{sandbox}/8000/", {}, 401),
            ("/_svc/auth?token=cayl_wrong", {"Host": here}, 401),
        ):
            answers = [httpx.get(daemon.url + path, headers=headers) for _ in range(40)]
            assert {answer.status_code for answer in answers} <= {status, 429} and 429 in {
                answer.status_code for answer in answers[10:]
            }, (path, [answer.status_code for answer in answers])
            late = next(answer for answer in answers if answer.status_code == 429)
            assert late.headers["Retry-After"] == "1" and (
                "too_many_requests" in late.text
                or late.headers["X-Cay-Error"] == "too_many_requests"
            )
            assert httpx.get(daemon.url + "/healthz").status_code == 200
            assert (
                http.get("/api/v1/sandboxes").status_code == 200
            ), "a good key of the same address"


def test_what_a_key_has_open_ends_with_its_time(host, boxes):
    short = key(host, "create", "short", "--expires", "3s")
    got = host.cli("exec", "mine", "--", "sleep", "600", env={"CAY_API_KEY": short}, timeout=60)
    assert got.code == 125 and b"time is over" in got.err, got


def test_many_at_once_are_all_kept(host):
    made = [
        subprocess.Popen(
            [host.program, "key", "--data", host.data, "create", f"par-{i}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(12)
    ]
    opened = [ask(host, "GET", "/api/v1/version", one.communicate()[0].strip())[0] for one in made]
    assert opened == [200] * 12
