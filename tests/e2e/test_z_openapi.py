"""Runs last: every documented route was exercised, and no answer was undocumented
(documented.py)."""
import contextlib
import resource
import socket

import documented
import httpx
import pytest
from harness import slow, wait_until
from image_root import root_tar

# Not reached by an HTTP client: the WebSocket routes are exercised in test_output.py and
# test_tunnels.py.
ELSEWHERE = {
    ("/api/v1/sandboxes/{ref}/commands/ws", "get"),
    ("/api/v1/sandboxes/{ref}/tunnel", "get"),
    ("/healthz", "get"),
    ("/readyz", "get"),
    ("/metrics", "get"),
}  # test_operation.py


def test_the_served_document_is_the_committed_one(http):
    assert http.get("/api/v1/openapi.json").json() == documented.DOCUMENT


def test_snapshots_are_made_and_removed_by_each_route(http, box):
    snapshots, ref = "/api/v1/snapshots", f"/api/v1/sandboxes/{box['id']}"
    captured = http.post(f"{ref}/snapshot", json={"name": "z-captured"}, params={"wait": 60})
    assert captured.status_code == 201, captured.text
    assert http.get(f"{snapshots}/z-captured").json()["status"] == "ready"
    assert http.post(f"{snapshots}/z-captured/tag", json={"tag": "two"}).status_code == 200
    pushed = http.post(f"{snapshots}/z-captured/push", json={"reference": "127.0.0.1:9/none:1"})
    assert pushed.status_code == 200, pushed.text
    assert http.get(f"{snapshots}/z-captured/push").status_code == 200
    forks = http.post(f"{ref}/fork", json={})
    assert forks.status_code == 201, forks.text
    for fork in forks.json().get("items", [forks.json()]):
        assert http.delete(f"/api/v1/sandboxes/{fork['id']}").status_code == 204
    assert http.post(f"{ref}/rollback", json={}).status_code == 200
    pulled = http.post(snapshots, json={"image": "127.0.0.1:9/none:1"})
    assert pulled.status_code == 201, pulled.text
    unpacked = http.post(
        f"{snapshots}/archive", params={"name": "z-unpacked", "wait": 60}, content=root_tar()
    )
    assert unpacked.status_code == 201, unpacked.text
    asked = {"build": (None, '{"dockerfile": "FROM default\\nENV A=1", "name": "z-built"}')}
    built = http.post(f"{snapshots}/build", params={"wait": 60}, files=asked)
    assert built.status_code == 201 and built.json()["status"] == "ready", built.text
    assert http.get(f"{snapshots}/z-built/build").status_code == 200
    huge = {"build": (None, " " * (4 << 20) + "{}")}
    assert http.post(f"{snapshots}/build", files=huge).status_code == 413
    assert http.get(f"{snapshots}/z-unpacked/archive").status_code == 200
    assert http.get(f"{ref}/diff").status_code == 200
    assert http.post("/api/v1/store/check", json={}).json()["clean"]
    assert http.delete(f"{snapshots}/default").status_code == 409
    for made in (captured, pulled, unpacked, built):
        assert http.delete(f"{snapshots}/{made.json()['id']}").status_code == 204


def test_volumes_are_made_and_removed_by_each_route(http):
    volumes = "/api/v1/volumes"
    made = http.post(volumes, json={"name": "z-volume", "disk_bytes": 64 << 20})
    assert made.status_code == 201, made.text
    one = f"{volumes}/{made.json()['id']}"
    assert http.post(volumes, json={"name": "z-volume"}).status_code == 409
    assert [row["name"] for row in http.get(volumes).json()["items"]] == ["z-volume"]
    assert http.get(f"{volumes}/z-volume").json()["disk_bytes"] == 64 << 20
    assert http.patch(one, json={"disk_bytes": 32 << 20}).json()["disk_bytes"] == 32 << 20
    box = http.post(
        "/api/v1/sandboxes", json={"volumes": [{"volume": "z-volume", "path": "/data"}]}
    ).json()
    refused = http.delete(one)
    assert (refused.status_code, refused.json()["error"]["reason"]) == (409, "volume_in_use")
    assert http.delete(f"/api/v1/sandboxes/{box['id']}").status_code == 204
    assert http.delete(one).status_code == 204


def test_files_change_and_are_watched_by_each_route(http, box):
    files = f"/api/v1/sandboxes/{box['id']}/files"
    watches = f"/api/v1/sandboxes/{box['id']}/watches"
    made = http.post(watches, json={"path": "/srv"})
    assert made.status_code == 201, made.text
    one = f"{watches}/{made.json()['id']}"
    for verb, body in {
        "upload": {"files": [{"path": "/srv/f", "content": "old"}]},
        "chmod": {"path": "/srv/f", "mode": "0600"},
        "chown": {"path": "/srv/f", "owner": "root"},
        "copy": {"from": "/srv/f", "to": "/srv/g"},
        "move": {"from": "/srv/g", "to": "/srv/h"},
        "replace": {"path": "/srv", "text": "old", "replacement": "new"},
        "download": {"paths": ["/srv/h"]},
    }.items():
        answer = http.post(f"{files}/{verb}", json=body)
        assert answer.status_code == 200, answer.text
    assert http.get(files, params={"path": "/srv/h"}).text == "new"
    assert http.get(f"{one}/events", params={"wait_s": 20}).json()["items"][0]["seq"] == 1
    assert http.get(f"{one}/events", params={"after": 100000}).status_code == 416
    assert [row["path"] for row in http.get(watches).json()["items"]] == ["/srv"]
    assert http.delete(one).status_code == 204


def test_questions_are_listed_and_answered_by_each_route(http):
    made = http.post("/api/v1/sandboxes", json={"rules": ["ask"]})
    assert made.status_code == 201, made.text
    ref = f"/api/v1/sandboxes/{made.json()['id']}"
    line = "exec 3<>/dev/tcp/z.example/5432 && cat <&3"
    http.post(f"{ref}/commands", json={"argv": ["bash", "-c", line], "wait": False})
    open_ones = http.get(f"{ref}/network/questions", params={"wait_s": 20}).json()["items"]
    assert [(one["host"], one["port"]) for one in open_ones] == [("z.example", 5432)]
    one = f"{ref}/network/questions/{open_ones[0]['id']}"
    assert http.post(one, json={"verdict": "perhaps"}).status_code == 400
    assert http.post(one, json={"verdict": "deny"}).json()["for"] == "once"
    assert http.post(one, json={"verdict": "deny"}).status_code == 404
    assert http.delete(ref).status_code == 204


def test_contexts_are_made_used_and_removed_by_each_route(http, box):
    contexts = f"/api/v1/sandboxes/{box['id']}/contexts"
    made = http.post(contexts, json={"id": "z"})
    assert made.status_code == 201, made.text
    assert [one["id"] for one in http.get(contexts).json()["items"]] == ["z"]
    one = f"{contexts}/z"
    assert http.get(one).json()["state"] == "ready"
    assert http.post(f"{one}/run", json={"id": "r", "code": "1"}).json()["state"] == "ok"
    assert http.post(f"{one}/run", json={"id": "r", "code": "2"}).status_code == 409
    assert http.get(f"{one}/runs/r").json()["state"] == "ok"
    assert http.post(f"{one}/interrupt").status_code == 204
    command = http.get(one).json()["command"]["id"]
    commands = f"/api/v1/sandboxes/{box['id']}/commands"
    assert http.post(f"{commands}/{command}/kill", json={}).status_code == 204
    wait_until(lambda: http.get(one).json()["state"] == "gone", "its interpreter ended")
    assert http.post(f"{one}/interrupt").status_code == 409
    assert http.post(f"{one}/restart").json()["generation"] == 2
    http.post(commands, json={"id": "context.taken.1", "argv": ["true"]})
    assert http.post(contexts, json={"id": "taken"}).status_code == 409
    assert http.delete(one).status_code == 204
    assert http.get(one).status_code == 404
    assert http.post(contexts, json={"id": "sh", "language": "bash"}).status_code == 201
    call = {"code": "cat; (exit 3)", "stdin": "x", "timeout_s": 60}
    got = http.post(f"{contexts}/sh/run", json=call).json()
    assert (got["state"], got["exit_code"], got["ended"]) == ("error", 3, False)


def test_every_route_was_exercised(daemon, http, box):
    ref = f"/api/v1/sandboxes/{box['id']}"
    for path in (
        "/api/v1/version",
        "/api/v1/doctor",
        "/api/v1/usage",
        "/api/v1/drain",
        "/api/v1/stats",
        "/api/v1/events",
        "/api/v1/snapshots",
        "/api/v1/sandboxes",
        ref,
        f"{ref}/stats",
        f"{ref}/usage",
        f"{ref}/commands",
    ):
        assert http.get(path).status_code == 200, path
    assert http.post("/api/v1/drain", json={"draining": False}).status_code == 200
    assert http.patch(ref, json={"labels": {"a": "b"}}).json()["labels"] == {"a": "b"}
    command = http.post(
        f"{ref}/commands", json={"argv": ["cat"], "wait": False, "pty": {"rows": 30, "cols": 90}}
    ).json()
    one = f"{ref}/commands/{command['id']}"
    assert http.post(f"{one}/resize", json={"rows": 40, "cols": 100}).status_code < 300
    assert http.post(f"{one}/kill", json={}).status_code < 300
    plain = http.post(f"{ref}/commands", json={"argv": ["cat"], "wait": False}).json()
    one = f"{ref}/commands/{plain['id']}"
    assert http.post(f"{one}/stdin", content=b"typed").status_code < 300
    assert http.post(f"{one}/stdin/close").status_code < 300
    assert (
        http.get(f"{one}/output", params={"stream": "stdout", "follow": "true"}).content == b"typed"
    )
    assert http.get(one).json()["state"] == "exited"
    assert http.delete(one).status_code < 300
    files = f"{ref}/files"
    assert http.put(files, params={"path": "/tmp/d/f"}, content=b"needle\n").status_code < 300
    assert http.get(files, params={"path": "/tmp/d/f"}).content == b"needle\n"
    assert http.head(files, params={"path": "/tmp/d/f"}).headers["content-length"] == "7"
    assert (
        http.get(files, params={"path": "/tmp/d/f"}, headers={"Range": "bytes=1-2"}).content
        == b"ee"
    )
    assert http.get(f"{files}/stat", params={"path": "/tmp/d/f"}).json()["size"] == 7
    assert [
        f["path"] for f in http.get(f"{files}/list", params={"path": "/tmp/d"}).json()["items"]
    ] == ["/tmp/d/f"]
    assert http.post(f"{files}/mkdir", json={"path": "/tmp/e/g"}).status_code < 300
    assert (
        http.post(f"{files}/rename", json={"from": "/tmp/d/f", "to": "/tmp/e/f"}).status_code < 300
    )
    assert [
        f["path"]
        for f in http.post(f"{files}/glob", json={"path": "/tmp", "pattern": "**/f"}).json()[
            "items"
        ]
    ] == ["/tmp/e/f"]
    assert (
        http.post(f"{files}/grep", json={"path": "/tmp/e", "text": "needle"}).json()["items"][0][
            "line"
        ]
        == 1
    )
    tar = http.get(f"{files}/tree", params={"path": "/tmp/e"})
    assert tar.status_code == 200
    assert (
        http.put(f"{files}/tree", params={"path": "/tmp/copy"}, content=tar.content).status_code
        < 300
    )
    assert http.get(files, params={"path": "/tmp/copy/f"}).content == b"needle\n"
    assert http.delete(files, params={"path": "/tmp/copy", "recursive": "true"}).status_code < 300
    got = http.post(
        f"{ref}/batch",
        json={
            "writes": [{"path": "/tmp/in", "content": "b\na\n"}],
            "command": {"command": "sort /tmp/in > /tmp/out"},
            "reads": ["/tmp/out"],
        },
    ).json()
    assert got["command"]["exit_code"] == 0 and got["reads"][0]["content"] == "a\nb\n"
    for path in (f"{ref}/code", "/api/v1/code"):
        ran = http.post(path, json=BODIES["/code"])
        assert ran.status_code == 200 and ran.json()["ok"], ran.text
    link = http.post(f"{ref}/links", json={"path": "/tmp/out"}).json()
    assert [one["id"] for one in http.get(f"{ref}/links").json()["items"]] == [link["id"]]
    assert http.delete(f"{ref}/links/{link['id']}").status_code == 204
    assert http.delete(f"{ref}/links").json() == {"withdrawn": 0}
    assert http.post(f"{ref}/pause").status_code < 300
    assert http.post(f"{ref}/resume").status_code < 300
    assert http.post(f"{ref}/stop").status_code < 300
    assert http.post(f"{ref}/start").status_code < 300
    recorded = http.post("/api/v1/sandboxes", json={"record_programs": True})
    assert recorded.status_code in (201, 501), recorded.text  # 501: a kernel that cannot
    if recorded.status_code == 201:
        programs = f"/api/v1/sandboxes/{recorded.json()['id']}/programs"
        assert http.get(programs).json()["items"][0]["kind"] == "life"
        assert http.delete(programs.removesuffix("/programs")).status_code == 204
    assert http.get(f"{ref}/network").json()["policy"] in ("off", "packages", "open")
    assert http.get(f"{ref}/network/decisions").json()["missed"] == 0
    assert {"pip", "open"} <= {one["name"] for one in http.get("/api/v1/policies").json()["items"]}
    assert (
        http.post("/api/v1/policies/try", json={"policy": "pip", "host": "pypi.org"}).json()[
            "verdict"
        ]
        == "allowed"
    )
    assert (
        http.post("/api/v1/policies/try", json={"sandbox": "none", "host": "pypi.org"}).status_code
        == 404
    )
    for host in ("[::1]", "::1", "127.0.0.1"):
        assert (
            http.post("/api/v1/policies/try", json={"policy": "open", "host": host}).json()[
                "reason"
            ]
            == "private_address"
        )
    for host in ("10.0.0.0/8", "!a.test", "~.*", "*.a.test", "@pip", "a.test:80", "https://a.test"):
        assert (
            http.post("/api/v1/policies/try", json={"policy": "open", "host": host}).status_code
            == 400
        ), host
    ensure = "/api/v1/sandboxes/ensure"
    doomed = http.post(ensure, json=BODIES["/sandboxes/ensure"])
    assert doomed.status_code == 201, doomed.text
    assert http.post(ensure, json=BODIES["/sandboxes/ensure"]).status_code == 200
    assert http.delete(f"/api/v1/sandboxes/{doomed.json()['id']}").status_code == 204
    doomed = http.post("/api/v1/sandboxes", json={}).json()
    assert http.post(
        "/api/v1/sandboxes/batch-delete", json={"refs": [doomed["id"], "none"]}
    ).json()["deleted"]
    assert len(http.get("/api/v1/vault/key").json()["public_key"]) == 44
    assert (
        http.put(
            "/api/v1/secrets/walked", json={"value": "a-walked-value", "hosts": ["api.example.com"]}
        ).json()["version"]
        == 1
    )
    assert [one["name"] for one in http.get("/api/v1/secrets").json()["items"]].count("walked") == 1
    assert http.post("/api/v1/vault/rotate", json={}).json()["secrets"] >= 1
    assert http.delete("/api/v1/secrets/walked").status_code == 204
    assert http.delete("/api/v1/secrets/walked").status_code == 404
    http.put(
        "/api/v1/secrets/walked", json={"value": "a-walked-value", "hosts": ["api.example.com"]}
    )
    rules = [
        {"secret": "walked", "methods": ["GET"], "paths": ["/v1/**"]},
        {"hosts": ["api.example.com"], "methods": ["GET"]},
    ]
    user = http.post("/api/v1/sandboxes", json={"proxy": rules}).json()
    assert [rule["secret"] for rule in user["proxy"]] == ["walked", ""]
    assert http.delete("/api/v1/secrets/walked").json()["users"] == [
        {"sandbox_id": user["id"], "sandbox": user["name"], "rules": ["walked"]}
    ]
    assert [
        rule.get("gone") for rule in http.get(f"/api/v1/sandboxes/{user['id']}").json()["proxy"]
    ] == [True, None]
    assert http.delete(f"/api/v1/sandboxes/{user['id']}").status_code == 204
    reached = {(path, method) for path, method, _ in documented.seen} | ELSEWHERE
    every = {
        (path, method)
        for path, operations in documented.DOCUMENT["paths"].items()
        for method in operations
        if method in ("get", "put", "post", "patch", "delete", "head")
    }
    assert every - reached <= {("/api/v1/sandboxes", "post")}, every - reached


# Statuses that no request can cause. A fault of Cay or its host causes each, or a concurrent
# change. A drained host answers 503 too, and has a test of its own. In
# src/api/native/statuses_test.cc each route answers them, and the document must list the same ones.
NOT_BY_A_REQUEST = {"499", "500", "501", "503"}
BODIES = {
    "/links": {"port": 80},
    "/code": {"language": "bash", "code": "true"},
    "/sandboxes/ensure": {"claim": "walked"},
    "/commands": {"argv": ["true"]},
    "/contexts/{id}/run": {"code": "1"},
    "/files/mkdir": {"path": "/x"},
    "/files/rename": {"from": "/x", "to": "/y"},
    "/files/glob": {"path": "/", "pattern": "*"},
    "/files/grep": {"path": "/", "text": "x"},
    "/files/chmod": {"path": "/x", "mode": "0600"},
    "/files/chown": {"path": "/x", "owner": "root"},
    "/files/copy": {"from": "/x", "to": "/y"},
    "/files/move": {"from": "/x", "to": "/y"},
    "/files/replace": {"path": "/tmp", "text": "x", "replacement": "touched"},
    "/files/download": {"paths": ["/x"]},
    "/files/upload": {"files": [{"path": "/y", "content": ""}]},
    "/watches": {"path": "/tmp"},
    "/commands/{id}/resize": {"rows": 1, "cols": 1},
    "/network/questions/{id}": {"verdict": "deny"},
    "/batch": {"reads": ["/x"]},
    "/tag": {"tag": "x"},
    "/push": {"reference": "x"},
    "/snapshot": {"name": "x"},
    "/api/v1/volumes/{ref}": {"disk_bytes": 64 << 20},
}


def body_of(path, bodies=BODIES):
    return bodies.get(path) or bodies.get(path.partition("{ref}")[2], {})


def test_every_status_that_is_a_routes_own_was_exercised(daemon, http, box):
    """404 of each route with a sandbox; successes other than the usual, ranges and offsets where
    they are documented."""
    for path, operations in documented.DOCUMENT["paths"].items():
        for method in operations:
            if "{ref}" in path and method in ("get", "put", "post", "patch", "delete", "head"):
                tail = path.partition("{ref}")[2]
                sends = {"json": body_of(path)} if method in ("post", "patch") else {}
                params = {"path": "/x", "stream": "stdout"}
                known = {
                    one["name"]
                    for one in operations[method].get("parameters", ())
                    if one["in"] == "query"
                }
                params = {name: params[name] for name in params if name in known}
                got = http.request(
                    method,
                    path.replace("{ref}", "none").replace("{id}", "none").replace("{run}", "none"),
                    params=params,
                    **sends,
                )
                assert got.status_code == (426 if tail in ("/commands/ws", "/tunnel") else 404), (
                    method,
                    path,
                    got.text,
                )
    ref = f"/api/v1/sandboxes/{box['id']}"
    files = f"{ref}/files"
    http.put(files, params={"path": "/tmp/f"}, content=b"0123")
    etag = http.get(files, params={"path": "/tmp/f"}).headers["etag"]
    for method in ("GET", "HEAD"):
        assert (
            http.request(
                method, files, params={"path": "/tmp/f"}, headers={"If-None-Match": etag}
            ).status_code
            == 304
        )
    assert (
        http.get(files, params={"path": "/tmp/f"}, headers={"Range": "bytes=1-2"}).status_code
        == 206
    )
    assert (
        http.get(files, params={"path": "/tmp/f"}, headers={"Range": "bytes=9-"}).status_code == 416
    )
    command = http.post(f"{ref}/commands", json={"argv": ["true"], "wait": False})
    assert command.status_code == 201
    output = http.get(
        f"{ref}/commands/{command.json()['id']}/output", params={"stream": "stdout", "offset": 9}
    )
    assert output.status_code == 416
    assert http.post(f"{ref}/commands", json={"argv": ["true"]}).status_code == 200
    assert http.get("/api/v1/events", params={"after": 10**12}).status_code == 416
    watch = http.post(f"{ref}/watches", json={"path": "/tmp"})
    assert watch.status_code == 201
    watch = f"{ref}/watches/{watch.json()['id']}"
    assert http.get(f"{watch}/events", params={"after": 10**12}).status_code == 416
    assert http.delete(watch).status_code == 204
    assert http.get(f"{ref}/network/decisions", params={"after": 10**12}).status_code == 416
    assert http.post("/api/v1/sandboxes", json={"snapshot": "none"}).status_code == 404
    of_none = {**BODIES["/sandboxes/ensure"], "snapshot": "none"}
    assert http.post("/api/v1/sandboxes/ensure", json=of_none).status_code == 404
    of_none = {**BODIES["/code"], "sandbox": {"snapshot": "none"}}
    assert http.post("/api/v1/code", json=of_none).status_code == 404
    assert http.post(f"{ref}/start").status_code == 200  # it runs already
    assert http.post(f"{ref}/stop").status_code == 200
    assert http.post(f"{ref}/start").status_code == 202
    assert http.post("/api/v1/sandboxes", json={"name": 7}).status_code == 400
    # 409 where a short request can be in conflict.
    for path in ("/tmp/full/f", "/tmp/other/f"):
        http.put(files, params={"path": path}, content=b"")
    commands = f"{ref}/commands"
    http.post(commands, json={"id": "sleeps", "argv": ["sleep", "1000"], "wait": False})
    http.post(commands, json={"id": "over", "argv": ["true"], "wait": True})
    name = http.post("/api/v1/sandboxes", json={}).json()["name"]
    conflicts = (
        ("post", "/api/v1/sandboxes", {"json": {"name": name}}),
        ("post", "/api/v1/sandboxes/ensure", {"json": {"claim": "none", "name": name}}),
        ("patch", ref, {"json": {"name": name}}),
        ("post", commands, {"json": {"id": "over", "argv": ["false"]}}),
        ("delete", f"{commands}/sleeps", {}),
        ("post", f"{ref}/batch", {"json": {"command": {"id": "over", "argv": ["false"]}}}),
        ("post", f"{commands}/over/stdin", {"content": b"late"}),
        ("post", f"{commands}/sleeps/resize", {"json": {"rows": 3, "cols": 3}}),
        ("delete", files, {"params": {"path": "/tmp/full"}}),
        ("post", f"{files}/mkdir", {"json": {"path": "/tmp/full/f"}}),
        (
            "put",
            f"{files}/tree",
            {
                "params": {"path": "/tmp/full/f"},
                "content": http.get(f"{files}/tree", params={"path": "/tmp/full"}).content,
            },
        ),
        ("post", f"{files}/rename", {"json": {"from": "/tmp/full", "to": "/tmp/other"}}),
        ("post", "/api/v1/code", {"json": {**BODIES["/code"], "sandbox": {"name": name}}}),
        *(
            (
                "post",
                f"{files}/{verb}",
                {"json": {"from": "/tmp/full/f", "to": "/tmp/other/f", "exclusive": True}},
            )
            for verb in ("copy", "move")
        ),
    )
    told = {
        (method, path): http.request(method, path, **sends).status_code
        for method, path, sends in conflicts
    }
    http.delete(f"/api/v1/sandboxes/{name}")
    assert http.post(f"{ref}/pause").status_code == 200
    told["post", "paused"] = http.post(f"{ref}/code", json=BODIES["/code"]).status_code
    assert http.post(f"{ref}/resume").status_code == 200
    assert set(told.values()) == {409}, told


OPERATIONS = [
    (path, method, operation)
    for path, operations in documented.DOCUMENT["paths"].items()
    for method, operation in operations.items()
    if method in ("get", "put", "post", "patch", "delete", "head") and path.startswith("/api/v1/")
]


# Routes that make, start or wake something: refused while the host is drained. (The WebSocket of
# commands and the tunnel too: ELSEWHERE.)
BEGINNING = {
    ("/api/v1/sandboxes", "post"),
    ("/api/v1/sandboxes/ensure", "post"),
    ("/api/v1/code", "post"),
    *(
        (path, method)
        for path, method, _ in OPERATIONS
        if path.endswith(("{ref}/start", "{ref}/batch", "{ref}/code"))
        or "{ref}/files" in path
        or (
            path.endswith(("{ref}/commands", "{ref}/watches", "{ref}/contexts"))
            and method == "post"
        )
    ),
}


def test_a_drained_host_says_so_wherever_something_would_begin(http):
    ref = http.post("/api/v1/sandboxes", json={}).json()["id"]
    http.post(f"/api/v1/sandboxes/{ref}/stop")

    def statuses():
        told = {}
        for path, method in BEGINNING:
            tail = path.partition("{ref}")[2] or path.removeprefix("/api/v1")
            sends = (
                {"json": {**BODIES, "/batch": {"command": {"argv": ["true"]}}}.get(tail, {})}
                if method == "post"
                else {}
            )
            sends |= {"content": b""} if method == "put" else {}
            answer = http.request(
                method,
                path.replace("{ref}", ref),
                params={"path": "/x"} if "files" in path and method != "post" else {},
                **sends,
            )
            told[path, method] = answer.status_code
        return told

    http.post("/api/v1/drain", json={"draining": True})
    try:
        assert {route: status for route, status in statuses().items() if status != 503} == {}
        assert http.get(f"/api/v1/sandboxes/{ref}").json()["state"] == "stopped"
    finally:
        http.post("/api/v1/drain", json={"draining": False})
    made = [
        box["id"] for box in http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]
    ]
    assert 503 not in statuses().values()  # positive control: it was for that alone
    for box in http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]:
        if box["id"] not in made or box["id"] == ref:
            http.delete(f"/api/v1/sandboxes/{box['id']}")


def speak(daemon, method, target, *headers, key=True, body=b"", source=None):
    """One request, byte by byte as given; its status, checked against the document as all others
    are. `source` is the client's own loopback address."""
    lines = [
        f"{method.upper()} {target} HTTP/1.1",
        "Host: 127.0.0.1",
        "Connection: close",
        *headers,
    ]
    if key:
        lines.append(f"X-Api-Key: {daemon.key}")
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    place = ("127.0.0.1", daemon.port)
    own = (source, 0) if source else None
    with socket.create_connection(place, timeout=60, source_address=own) as sock:
        with contextlib.suppress(ConnectionError):  # a full listener may have answered and gone
            sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return status_from(sock, daemon, method, target)


def status_from(sock, daemon, method, target):
    got = b""
    with contextlib.suppress(ConnectionError):
        while chunk := sock.recv(65536):
            got += chunk
    head, _, content = got.partition(b"\r\n\r\n")
    status, *fields = head.decode().split("\r\n")
    headers = dict(field.split(": ", 1) for field in fields)
    assert "chunked" not in headers.get("Transfer-Encoding", "")
    answer = httpx.Response(
        int(status.split()[1]),
        headers=headers,
        content=content,
        request=httpx.Request(method.upper(), daemon.url + target),
    )
    documented.check(answer)
    return answer.status_code


def test_every_route_refuses_what_it_must(daemon):
    """Without a key, from a page of another origin, malformed, and too large: each route says so,
    as it is documented."""
    for number, (path, method, operation) in enumerate(OPERATIONS):
        target = path.replace("{ref}", "none").replace("{id}", "none").replace("{run}", "none")
        # Without a key one address has only so many requests a second.
        stranger = {"key": False, "source": f"127.0.{1 + number // 200}.{1 + number % 200}"}
        assert speak(daemon, method, target, **stranger) == 401, (method, path)
        wrong = "X-Api-Key: cay_wrong"
        assert speak(daemon, method, target, wrong, **stranger) == 401, (method, path)
        assert speak(daemon, method, target, "Origin: http://evil.example", key=False) == 403, (
            method,
            path,
        )
        assert speak(daemon, method, target + "?path=%zz") == 400, (method, path)
        if "application/json" in operation.get("requestBody", {}).get("content", {}):
            assert speak(daemon, method, target, body=b"{nope") == 400, (method, path)
            # Nothing of it has to be sent: its length is enough.
            assert (
                speak(
                    daemon,
                    method,
                    target,
                    "Content-Type: application/json",
                    "Content-Length: 1000000000",
                    "Expect: 100-continue",
                )
                == 413
            ), (method, path)


def test_every_route_has_an_end_to_what_one_key_may_do_at_once(daemon, http):
    """With 1024 requests of a key at work, all others of it are told 429."""
    most = 1024
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    last = http.get("/api/v1/events", params={"limit": 1}).json()["last"]
    request = (
        f"GET /api/v1/events?after={last}&type=none.at.all&wait_s=30 HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\n"
        f"X-Api-Key: {daemon.key}\r\n\r\n"
    ).encode()
    with contextlib.ExitStack() as held:
        for _ in range(most):
            held.enter_context(
                socket.create_connection(("127.0.0.1", daemon.port), timeout=60)
            ).sendall(request)
        wait_until(
            lambda: speak(daemon, "get", "/api/v1/version") == 429, "all of them are at work"
        )
        for path, method, _ in OPERATIONS:
            assert (
                speak(
                    daemon,
                    method,
                    path.replace("{ref}", "none").replace("{id}", "none").replace("{run}", "none"),
                )
                == 429
            ), (method, path)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    wait_until(lambda: speak(daemon, "get", "/api/v1/version") == 200, "they are gone")


def test_every_route_tells_a_client_that_stalls(daemon):
    """A head that does not end: 408 after 10 s, here for all routes at once."""
    with contextlib.ExitStack() as held:
        asked = []
        for path, method, _ in OPERATIONS:
            target = path.replace("{ref}", "none").replace("{id}", "none").replace("{run}", "none")
            sock = held.enter_context(
                socket.create_connection(("127.0.0.1", daemon.port), timeout=slow(60))
            )
            sock.sendall(
                f"{method.upper()} {target} HTTP/1.1\r\n"
                "Host: 127.0.0.1\r\n"
                f"X-Api-Key: {daemon.key}\r\n".encode()
            )
            asked.append((sock, method, target))
        assert {status_from(sock, daemon, method, target) for sock, method, target in asked} == {
            408
        }
    assert (
        speak(daemon, "get", "/api/v1/version") == 200
    )  # positive control: it was the missing end of the head


def test_every_route_says_that_there_are_too_many_connections(daemon):
    """Of one key, which has its share of them already. Nobody takes others' (decision 0020), so 503
    is not to be had by crowding."""
    share = 1536
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < share + 256:
        pytest.skip(f"this user may have {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, share + 256), hard))
    request = (
        "GET /api/v1/version HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\n"
        f"X-Api-Key: {daemon.key}\r\n"
        "\r\n"
    ).encode()
    with contextlib.ExitStack() as held:
        for _ in range(share):
            sock = held.enter_context(
                socket.create_connection(("127.0.0.1", daemon.port), timeout=slow(60))
            )
            sock.sendall(request)
            if not sock.recv(4096).startswith(b"HTTP/1.1 200 "):
                break  # other tests' connections are still open
        for path, method, _ in OPERATIONS:
            assert (
                speak(
                    daemon,
                    method,
                    path.replace("{ref}", "none").replace("{id}", "none").replace("{run}", "none"),
                )
                == 429
            ), (method, path)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    wait_until(lambda: speak(daemon, "get", "/api/v1/version") == 200, "they are gone")


# A conflict of these needs a concurrent change in the same instant, or a program that is being
# executed. It may also need a snapshot in the making, or a sandbox that cannot start at the moment.
# A read, or a repeated action (a kill), has none.
WITHOUT_CONFLICT = {
    (path, method)
    for path, method, _ in OPERATIONS
    if method in ("get", "head")
    or path.endswith(
        (
            "/start",
            "/stop",
            "/pause",
            "/resume",
            "/kill",
            "/stdin/close",
            "/glob",
            "/grep",
            "/chmod",
            "/chown",
            "/replace",
            "/download",
            "/upload",
            "/watches",
            "/links",
            "/tag",
            "/push",
            "/build",
            "/snapshot",
            "/fork",
            "/rollback",
        )
    )
    or (path, method)
    in {
        ("/api/v1/sandboxes/{ref}", "delete"),
        ("/api/v1/sandboxes/{ref}/files", "put"),
        ("/api/v1/sandboxes/{ref}/links/{id}", "delete"),
        ("/api/v1/sandboxes/{ref}/watches/{id}", "delete"),
        ("/api/v1/sandboxes/{ref}/contexts/{id}", "delete"),
        ("/api/v1/sandboxes/{ref}/contexts/{id}/restart", "post"),
    }
}


# Routes of the vault: the answers of its broker or its disk are passed on, and need a fault of
# theirs.
BY_THE_BROKER = {
    ("/api/v1/secrets/{name}", "put", "404"),
    ("/api/v1/secrets/{name}", "put", "409"),
    ("/api/v1/secrets/{name}", "delete", "409"),
    ("/api/v1/vault/rotate", "post", "404"),
    ("/api/v1/vault/rotate", "post", "409"),
}


# test_file_watches.py opens the socket.
BY_A_SOCKET = {("/api/v1/sandboxes/{ref}/watches/{id}/events", "get", "101")}


def test_every_documented_status_was_exercised():
    """Of each route, all but what no request can cause. By now: after all the others of this
    file."""
    missed = []
    for path, method, operation in OPERATIONS:
        for status in set(operation["responses"]) - NOT_BY_A_REQUEST:
            elsewhere = (path, method) in ELSEWHERE and status in (
                "101",
                "404",
                "409",
            )  # a WebSocket's
            quiet = status == "409" and (path, method) in WITHOUT_CONFLICT
            if (
                (path, method, status) not in documented.seen
                and not elsewhere
                and not quiet
                and (path, method, status) not in BY_THE_BROKER | BY_A_SOCKET
            ):
                missed.append((method, path, status))
    assert missed == [], "\n".join(map(str, missed))


def test_no_key_no_answer(daemon):
    for path in documented.DOCUMENT["paths"]:
        if path != "/healthz":
            assert (
                httpx.get(daemon.url + path.replace("{", "").replace("}", "")).status_code == 401
            ), path


def test_the_check_of_members_can_fail():
    schema = {"$ref": "#/components/schemas/Version"}
    good = {"name": "cay", "version": "1", "api": "v1"}
    assert documented.complaints(good, schema, "answer") == []
    for wrong in ({**good, "more": 1}, {**good, "version": 7}, {"name": "cay"}, [good]):
        assert documented.complaints(wrong, schema, "answer"), wrong
