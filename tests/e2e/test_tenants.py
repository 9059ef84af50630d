"""A tenant is alone: each route of the API, native and LangSmith's, asked by another tenant's key
with this one's names and ids, answers as for what there never was, and lists nothing. The control
is this tenant's own key, which gets it."""
import json
import os
import re
import subprocess
import urllib.error
import urllib.request

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from documented import DOCUMENT
from harness import new_daemon, slow, wait_until
from test_webhooks import Receiver, configured

NEVER = {
    "id": "5f0c2a0e-0000-4a43-9a55-0f6a8f0f3b11",
    "name": "omega-box",
    "command": "omega-command",
    "link": "5f0c2a0e-0000-4a43-9a55-0f6a8f0f3b12",
    "secret": "omega-secret",
    "snapshot": "5f0c2a0e-0000-4a43-9a55-0f6a8f0f3b13",
    "volume": "5f0c2a0e-0000-4a43-9a55-0f6a8f0f3b14",
    "watch": "5f0c2a0e-0000-4a43-9a55-0f6a8f0f3b15",
}
SCOPES = ("admin", "create", "read", "use", "monitor")
BODIES = {
    "/links": {"port": 80},
    "/code": {"language": "bash", "code": "true"},
    "/commands": {"argv": ["touch", "/tmp/touched"]},
    "/contexts/{id}/run": {"code": "open('/tmp/touched', 'w')"},
    "/files/mkdir": {"path": "/tmp/touched"},
    "/files/rename": {"from": "/tmp/alpha-file", "to": "/tmp/touched"},
    "/files/glob": {"path": "/tmp", "pattern": "*"},
    "/files/grep": {"path": "/tmp", "text": "alpha"},
    "/files/chmod": {"path": "/tmp/alpha-file", "mode": "0600"},
    "/files/chown": {"path": "/tmp/alpha-file", "owner": "root"},
    "/files/copy": {"from": "/tmp/alpha-file", "to": "/tmp/touched"},
    "/files/move": {"from": "/tmp/alpha-file", "to": "/tmp/touched"},
    "/files/replace": {"path": "/tmp", "text": "alpha", "replacement": "touched"},
    "/files/download": {"paths": ["/tmp/alpha-file"]},
    "/files/upload": {"files": [{"path": "/tmp/touched", "content": ""}]},
    "/watches": {"path": "/tmp"},
    "/commands/{id}/resize": {"rows": 1, "cols": 1},
    "/network/questions/{id}": {"verdict": "deny"},
    "/batch": {"reads": ["/tmp/alpha-file"]},
    "/snapshot": {"name": "touched"},
    "/tag": {"tag": "touched"},
    "/push": {"reference": "127.0.0.1:9/touched:1"},
    "/api/v1/volumes/{ref}": {"disk_bytes": 64 << 20},
}
PARAMS = {"path": "/tmp/alpha-file", "stream": "stdout"}
SENDS = ("post", "put", "patch")
# Routes of the whole host, for its operator: they name nothing of a tenant.
OF_THE_HOST = {("post", "/api/v1/drain"), ("post", "/api/v1/vault/rotate")}


@pytest.fixture(scope="module")
def host():
    daemon = new_daemon().start()
    yield daemon
    daemon.close()


@pytest.fixture(scope="module")
def alpha(host):
    """Something of every kind, of the tenant that the daemon's own key has."""
    with host.http() as http:
        box = http.post(
            "/api/v1/sandboxes",
            json={"name": "alpha-box", "labels": {"alpha-label": "alpha-value"}},
        ).json()
        one = f"/api/v1/sandboxes/{box['id']}"
        assert (
            http.put(
                f"{one}/files", params={"path": "/tmp/alpha-file"}, content=b"alpha-content"
            ).status_code
            == 201
        )
        command = http.post(
            f"{one}/commands",
            json={
                "id": "alpha-command",
                "argv": ["sh", "-c", "echo alpha-output; exec cat"],
                "wait": False,
            },
        )
        assert command.status_code == 201
        made = http.post(f"{one}/contexts", json={"id": "alpha-command"})
        assert made.status_code == 201
        ran = http.post(
            f"{one}/contexts/alpha-command/run", json={"id": "alpha-run", "code": "'alpha-output'"}
        )
        assert ran.json()["state"] == "ok"
        link = http.post(f"{one}/links", json={"path": "/tmp/alpha-file"}).json()
        for _ in range(2):
            secret = http.put(
                "/api/v1/secrets/alpha-secret",
                json={"value": "alpha-secret-value", "hosts": ["alpha.example.com"]},
            )
        assert secret.json()["version"] == 2
        snapshot = http.post(
            f"{one}/snapshot", json={"name": "alpha-snapshot"}, params={"wait": 60}
        ).json()
        assert snapshot["status"] == "ready"
        volume = http.post("/api/v1/volumes", json={"name": "alpha-volume"}).json()
        watch = http.post(f"{one}/watches", json={"path": "/tmp", "idle_s": 86400}).json()
        wait_until(
            lambda: http.get("/api/v1/events", params={"sandbox": box["id"]}).json()["items"],
            "its events are there",
        )
    return {
        "id": box["id"],
        "name": "alpha-box",
        "command": "alpha-command",
        "link": link["id"],
        "secret": "alpha-secret",
        "snapshot": snapshot["id"],
        "volume": volume["id"],
        "watch": watch["id"],
    }


@pytest.fixture(scope="module")
def keys(host, alpha):
    """Of the tenant beta."""

    def made(scope):
        words = ["--sandbox", alpha["id"]] if scope == "use" else ["--scope", scope]
        done = subprocess.run(
            [
                host.program,
                "key",
                "--data",
                host.data,
                "create",
                f"beta-{scope}",
                "--tenant",
                "beta",
                *words,
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return {scope: made(scope) for scope in SCOPES}


def ask(host, key, method, path, body=None):
    """(status, text)"""
    request = urllib.request.Request(
        host.url + path,
        method=method.upper(),
        headers={"X-Api-Key": key, "Content-Type": "application/json"},
        data=None if body is None else json.dumps(body).encode(),
    )
    try:
        with urllib.request.urlopen(request, timeout=slow(60)) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")


def without(text, those):
    """What an answer says, but for what the question had in it and what each answer has of its
    own."""
    for kind, value in those.items():
        text = text.replace(value, f"<{kind}>")
    return re.sub(r'("error_id": ?)"[^"]*"', r'\1""', text)


def told_of(alpha, text):
    """What of this tenant's an answer knows."""
    return [
        mark
        for mark in (
            *alpha.values(),
            "alpha-label",
            "alpha-value",
            "alpha-content",
            "alpha-output",
            "alpha-file",
            "alpha.example.com",
        )
        if mark in text
    ]


def native_routes():
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            if (
                method in ("get", "put", "post", "patch", "delete", "head")
                and (method, path) not in OF_THE_HOST
            ):
                yield method, path, operation


def filled(path, operation, those, ref):
    known = {one["name"] for one in operation.get("parameters", ()) if one.get("in") == "query"}
    query = "&".join(f"{name}={value}" for name, value in PARAMS.items() if name in known)
    item = those["link"] if "/links/" in path else those["command"]
    item = those["watch"] if "/watches/" in path else item
    named = those["snapshot"] if "/snapshots/" in path else those[ref]
    named = those["volume"] if "/volumes/" in path else named
    filled_in = (
        path.replace("{ref}", named).replace("{id}", item).replace("{name}", those["secret"])
    ).replace("{run}", "alpha-run")
    return filled_in + (f"?{query}" if query else "")


def body_for(method, path):
    if method not in SENDS:
        return None
    return BODIES.get(path) or BODIES.get(path.partition("{ref}")[2], {})


def test_each_route_with_anothers_ids_answers_as_if_they_never_were(host, alpha, keys):
    wrong = []
    for method, path, operation in native_routes():
        if not {"{ref}", "{id}"} & set(re.findall(r"\{\w+\}", path)):
            continue
        for scope in SCOPES:
            for ref in ("id", "name"):
                status, text = ask(
                    host,
                    keys[scope],
                    method,
                    filled(path, operation, alpha, ref),
                    body_for(method, path),
                )
                never = ask(
                    host,
                    keys[scope],
                    method,
                    filled(path, operation, NEVER, ref),
                    body_for(method, path),
                )
                allowed = (
                    {404, 426} if scope in operation["x-scopes"] else {403}
                )  # 426: no WebSocket was asked for
                same = (status, without(text, alpha)) == (never[0], without(never[1], NEVER))
                if status not in allowed or not same:
                    wrong.append((method, path, scope, ref, status, text[:300], never))
    assert not wrong, wrong


def test_the_control_this_tenants_own_key_gets_them(host, alpha):
    refused = []
    for method, path, operation in native_routes():
        if "{ref}" not in path or not (
            method in ("get", "head") or path.endswith(("/glob", "/grep", "/batch"))
        ):
            continue
        if path.endswith("/snapshots/{ref}/archive"):
            continue  # all of the host's /usr: e2e/test_snapshot_store.py reads a small one
        status, text = ask(
            host, host.key, method, filled(path, operation, alpha, "id"), body_for(method, path)
        )
        # That the file is no directory is of the file, too.
        if (
            status not in (200, 409, 426)
            and "/programs" not in path
            and not path.endswith(("/push", "/snapshots/{ref}/build"))  # it has neither
            and "not_a_directory" not in text
        ):
            refused.append((method, path, status, text[:200]))
    assert not refused, refused


def test_a_listing_is_its_own_tenants(host, alpha, keys):
    """Every route that names nothing: no word of it is another's, and lists of what tenants have
    are empty."""
    empty = {
        "/api/v1/sandboxes": "items",
        "/api/v1/stats": "items",
        "/api/v1/events": "items",
        "/api/v1/secrets": "items",
        "/api/v1/volumes": "items",
    }
    asked = 0
    for method, path, operation in native_routes():
        if method != "get" or "{" in path or path == "/api/v1/openapi.json":
            continue
        for scope in SCOPES[:3]:
            if scope not in operation.get("x-scopes", SCOPES):
                continue
            asked += 1
            status, text = ask(host, keys[scope], method, path)
            assert status == 200 and told_of(alpha, text) == [], (
                path,
                scope,
                status,
                told_of(alpha, text),
            )
            if path in empty:
                assert json.loads(text)[empty[path]] == [], (path, text)
    assert asked > 30
    used = json.loads(ask(host, keys["read"], "get", "/api/v1/usage?group_by=alpha-label")[1])
    assert (
        used["sandboxes"] == 0
        and used["running"] == used["stopped"] == 0
        and not any(used["totals"].values())
        and used["groups"] == []
    ), used
    for query in (
        f"events?sandbox={alpha['id']}",
        f"events?sandbox={alpha['name']}",
        "sandboxes?label=alpha-label",
        "sandboxes?name_contains=alpha",
    ):
        assert (
            json.loads(ask(host, keys["read"], "get", f"/api/v1/{query}")[1])["items"] == []
        ), query
        assert (
            json.loads(ask(host, host.key, "get", f"/api/v1/{query}")[1])["items"] != []
        ), query  # the control


def test_what_all_have_together_is_told_to_the_operator_alone(tmp_path):
    """Memory that others hold, what the metrics count, what the host is open to."""
    mib = 1 << 20
    host_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    config = tmp_path / "budget.toml"
    config.write_text(
        "[host]\n"
        f"memory_reserve_bytes = {host_bytes - 1000 * mib}\n"
        "memory_overcommit = 1.0\n"
        "[defaults]\n"
        f"memory_bytes = {77 * mib}\n"
    )
    daemon = new_daemon("--config", str(config)).start()
    try:
        made = {
            scope: subprocess.run(
                [
                    daemon.program,
                    "key",
                    "--data",
                    daemon.data,
                    "create",
                    f"gamma-{scope}",
                    "--tenant",
                    "gamma",
                    "--scope",
                    scope,
                ],
                capture_output=True,
                text=True,
            ).stdout.strip()
            for scope in ("create", "read", "monitor", "admin")
        }
        full = {"limits": {"memory_bytes": 923 * mib}}
        assert ask(daemon, daemon.key, "post", "/api/v1/sandboxes", full)[0] == 201
        status, text = ask(
            daemon,
            made["create"],
            "post",
            "/api/v1/sandboxes",
            {"limits": {"memory_bytes": 78 * mib}, "timeout_s": 0.2},
        )
        assert (
            status == 429
            and json.loads(text)["error"]["reason"] == "quota_memory"
            and "78 MiB" in text
        )
        assert "923 MiB" not in text and "1000 MiB" not in text, text
        events = ask(daemon, made["create"], "get", "/api/v1/events")[1]
        assert (
            '"sandbox.deleted"' in events and "923 MiB" not in events and "1000 MiB" not in events
        ), events
        status, text = ask(
            daemon,
            daemon.key,
            "post",
            "/api/v1/sandboxes",
            {"limits": {"memory_bytes": 78 * mib}, "timeout_s": 0.2},
        )
        assert (
            status == 429 and "(923 MiB of 1000 MiB are given to running sandboxes)" in text
        ), text
        used = json.loads(ask(daemon, made["read"], "get", "/v2/sandboxes/usage")[1])
        assert (used["memory_used_bytes"], used["cpu_used_millicores"]) == (0, 0), used
        for path, mark in (("/metrics", "cay_sandboxes"), ("/api/v1/doctor", "features")):
            for scope in ("create", "read"):
                status, text = ask(daemon, made[scope], "get", path)
                assert status == 403 and mark not in text, (path, scope, text)
            for key in (made["monitor"], made["admin"], daemon.key):
                status, text = ask(daemon, key, "get", path)
                assert status == 200 and mark in text, (path, text)
        assert (
            'cay_sandboxes{state="ready"} 1' in ask(daemon, made["monitor"], "get", "/metrics")[1]
        )
        for path in (
            "/api/v1/sandboxes",
            "/api/v1/events",
            "/api/v1/usage",
            "/api/v1/drain",
            "/api/v1/secrets",
        ):
            assert ask(daemon, made["monitor"], "get", path)[0] == 403, path
    finally:
        daemon.close()


def test_what_a_body_names_is_looked_for_in_ones_own_tenant(host, alpha, keys):
    rule = {"proxy": [{"name": "one", "secret": "SECRET", "hosts": ["alpha.example.com"]}]}
    bodies = [
        ("/api/v1/policies/try", {"sandbox": "REF", "host": "pypi.org"}, 404),
        ("/api/v1/sandboxes/batch-delete", {"refs": ["REF"]}, 200),
        ("/api/v1/sandboxes", rule, 404),
        ("/v2/sandboxes/boxes/batch-delete", {"names": ["REF"]}, 200),
    ]
    for path, body, expected in bodies:
        for ref in ("id", "name"):
            got = []
            for those in (alpha, NEVER):
                sent = json.loads(
                    json.dumps(body).replace("REF", those[ref]).replace("SECRET", those["secret"])
                )
                status, text = ask(host, keys["create"], "post", path, sent)
                assert status == expected, (path, status, text)
                got.append(without(text, those))
            assert got[0] == got[1], (path, got)
    assert json.loads(
        ask(host, keys["create"], "post", "/api/v1/sandboxes/batch-delete", {"all": True})[1]
    ) == {"deleted": [], "failed": []}
    # A claim that another has is free.
    claim, claimed = {"claim": "shared"}, set()
    for key in (host.key, keys["create"]):
        status, text = ask(host, key, "post", "/api/v1/sandboxes/ensure", claim)
        assert status == 201, text
        claimed.add(json.loads(text)["id"])
        status, text = ask(host, key, "post", "/api/v1/sandboxes/ensure", claim)
        assert status == 200 and json.loads(text)["id"] in claimed, text
        assert ask(host, key, "delete", f"/api/v1/sandboxes/{json.loads(text)['id']}")[0] == 204
    assert len(claimed) == 2
    # A name that another has is free, and a secret of that name is another one.
    status, text = ask(host, keys["create"], "post", "/api/v1/sandboxes", {"name": alpha["name"]})
    assert status == 201, text
    assert ask(host, keys["create"], "delete", f"/api/v1/sandboxes/{alpha['name']}")[0] == 204
    status, text = ask(
        host,
        keys["admin"],
        "put",
        f"/api/v1/secrets/{alpha['secret']}",
        {"value": "betas-own-value", "hosts": ["beta.example.com"]},
    )
    assert status == 200 and json.loads(text)["version"] == 1, text
    assert ask(host, keys["admin"], "delete", f"/api/v1/secrets/{alpha['secret']}")[0] == 204
    assert ask(host, keys["admin"], "delete", f"/api/v1/secrets/{alpha['secret']}")[0] == 404


# {} is a box's name.
LANGSMITH = (
    ("get", "/boxes/{}", None),
    ("patch", "/boxes/{}", {"name": "taken"}),
    ("delete", "/boxes/{}", None),
    ("get", "/boxes/{}/status", None),
    ("post", "/boxes/{}/start", {}),
    ("post", "/boxes/{}/stop", {}),
    ("post", "/boxes/{}/service-url", {"port": 80}),
    ("post", "/boxes/{}/download-url", {"path": "/tmp/alpha-file"}),
    ("post", "/dp/{}/execute", {"command": "touch /tmp/touched"}),
    ("post", "/dp/{}/execute/stream/start", {"command": "touch /tmp/touched"}),
    ("get", "/dp/{}/download?path=/tmp/alpha-file", None),
    ("head", "/dp/{}/download?path=/tmp/alpha-file", None),
    ("post", "/dp/{}/glob", {"path": "/tmp", "pattern": "*"}),
    ("post", "/dp/{}/grep", {"path": "/tmp", "pattern": "alpha"}),
)


@pytest.mark.parametrize("prefix", ["/v2/sandboxes", "/api/v2/sandboxes"])
def test_langsmiths_routes_too(host, alpha, keys, prefix):
    wrong = []
    for method, path, body in LANGSMITH:
        for ref in ("name", "id"):
            status, text = ask(host, keys["admin"], method, prefix + path.format(alpha[ref]), body)
            never = ask(host, keys["admin"], method, prefix + path.format(NEVER[ref]), body)
            if (status, without(text, alpha)) != (never[0], without(never[1], NEVER)) or not (
                status == 404 or '"NotFound"' in text or "not_found" in text
            ):
                wrong.append((method, path, ref, status, text[:300], never))
    assert not wrong, wrong
    assert json.loads(ask(host, keys["read"], "get", f"{prefix}/boxes")[1])["sandboxes"] == []
    assert (
        json.loads(ask(host, host.key, "get", f"{prefix}/boxes")[1])["sandboxes"] != []
    )  # the control
    used = json.loads(ask(host, keys["read"], "get", f"{prefix}/usage")[1])
    assert used["sandboxes_used"] == used["sandbox_running_count"] == 0, used
    assert ask(host, host.key, "get", f"{prefix}/boxes/{alpha['name']}")[0] == 200


def test_websockets_too(host, alpha, keys):
    def first_word(key, those, ref, frame):
        url = f"{host.url.replace('http', 'ws', 1)}/api/v1/sandboxes/{those[ref]}/commands/ws"
        try:
            with connect(url, additional_headers={"X-Api-Key": key}) as socket:
                socket.send(json.dumps(frame))
                return without(socket.recv(timeout=slow(30)), those)
        except InvalidStatus as refused:
            return str(refused.response.status_code) + without(
                refused.response.body.decode(), those
            )

    for frame in (
        {"type": "start", "argv": ["touch", "/tmp/touched"]},
        {"type": "attach", "id": alpha["command"]},
    ):
        for ref in ("id", "name"):
            got = first_word(keys["create"], alpha, ref, frame)
            assert got.startswith("404") and "sandbox_not_found" in got, got
            assert got == first_word(keys["create"], NEVER, ref, frame)
    assert '"started"' in first_word(
        host.key, alpha, "id", {"type": "attach", "id": alpha["command"]}
    )  # the control


def test_a_link_opens_nothing_under_anothers_sandbox(host, alpha, keys):
    status, text = ask(host, keys["create"], "post", "/api/v1/sandboxes", {"name": "beta-box"})
    assert status == 201, text
    try:
        link = json.loads(
            ask(
                host,
                keys["create"],
                "post",
                "/api/v1/sandboxes/beta-box/links",
                {"path": "/etc/hostname"},
            )[1]
        )
        by_path = f"/dl/{link['sandbox_id']}/{link['token']}"
        assert ask(host, "", "get", by_path)[0] == 200  # the control
        assert ask(host, "", "get", by_path.replace(link["sandbox_id"], alpha["id"]))[0] == 403
    finally:
        assert ask(host, keys["create"], "delete", "/api/v1/sandboxes/beta-box")[0] == 204


def test_nothing_of_all_that_changed_anything(host, alpha):
    """Last: what was there is there, as it was."""
    with host.http() as http:
        one = f"/api/v1/sandboxes/{alpha['id']}"
        box = http.get(one).json()
        assert (box["name"], box["state"], box["labels"]) == (
            alpha["name"],
            "ready",
            {"alpha-label": "alpha-value"},
        )
        assert (
            http.get(f"{one}/files", params={"path": "/tmp/alpha-file"}).content == b"alpha-content"
        )
        assert http.get(f"{one}/files/stat", params={"path": "/tmp/touched"}).status_code == 404
        commands = {
            each["id"]: each["state"] for each in http.get(f"{one}/commands").json()["items"]
        }
        assert commands == {
            alpha["command"]: "running",
            "context.alpha-command.1": "running",
        }
        assert [each["id"] for each in http.get(f"{one}/links").json()["items"]] == [alpha["link"]]
        (secret,) = [
            each
            for each in http.get("/api/v1/secrets").json()["items"]
            if each["name"] == alpha["secret"]
        ]
        assert secret["version"] == 2 and secret["hosts"] == ["alpha.example.com"]


def test_a_webhook_hears_of_its_own_tenant_alone(tmp_path):
    receiver = Receiver()
    daemon = new_daemon(
        "--config", configured(tmp_path, receiver.port, tenant="beta", events=["sandbox.created"])
    ).start()
    try:
        made = subprocess.run(
            [daemon.program, "key", "--data", daemon.data, "create", "beta", "--tenant", "beta"],
            capture_output=True,
            text=True,
        ).stdout.strip()
        names = []
        for key, name in (
            (daemon.key, "alpha-first"),
            (made, "beta-box"),
            (daemon.key, "alpha-last"),
            (made, "beta-last"),
        ):
            assert ask(daemon, key, "post", "/api/v1/sandboxes", {"name": name})[0] == 201
        wait_until(lambda: len(receiver.taken) >= 2, "both of its own are told", 60)
        names = [json.dumps(body) for _, body in receiver.taken]
        assert (
            "beta-box" in names[0]
            and "beta-last" in names[1]
            and not any("alpha" in one for one in names)
            and receiver.bad == []
        )
        assert (
            ask(daemon, made, "delete", "/api/v1/sandboxes/beta-box")[0]
            == ask(daemon, made, "delete", "/api/v1/sandboxes/beta-last")[0]
            == 204
        )
    finally:
        daemon.close()
        receiver.close()
