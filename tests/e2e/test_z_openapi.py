"""Runs last: every documented route was exercised, and no answer was undocumented (documented.py)."""
import documented
import httpx

# Not reached by an HTTP client: the WebSocket routes are exercised in test_output.py and test_tunnels.py.
ELSEWHERE = {("/api/v1/sandboxes/{ref}/commands/ws", "get"), ("/api/v1/sandboxes/{ref}/tunnel", "get"), ("/healthz", "get"),
             ("/readyz", "get"), ("/metrics", "get")}  # test_operation.py


def test_the_served_document_is_the_committed_one(http):
    assert http.get("/api/v1/openapi.json").json() == documented.DOCUMENT


def test_every_route_was_exercised(daemon, http, box):
    ref = f"/api/v1/sandboxes/{box['id']}"
    for path in ("/api/v1/version", "/api/v1/doctor", "/api/v1/usage", "/api/v1/drain", "/api/v1/stats", "/api/v1/events",
                 "/api/v1/snapshots", "/api/v1/sandboxes", ref, f"{ref}/stats", f"{ref}/usage", f"{ref}/commands"):
        assert http.get(path).status_code == 200, path
    assert http.post("/api/v1/drain", json={"draining": False}).status_code == 200
    assert http.patch(ref, json={"labels": {"a": "b"}}).json()["labels"] == {"a": "b"}
    command = http.post(f"{ref}/commands", json={"argv": ["cat"], "wait": False, "pty": {"rows": 30, "cols": 90}}).json()
    one = f"{ref}/commands/{command['id']}"
    assert http.post(f"{one}/resize", json={"rows": 40, "cols": 100}).status_code < 300
    assert http.post(f"{one}/kill", json={}).status_code < 300
    plain = http.post(f"{ref}/commands", json={"argv": ["cat"], "wait": False}).json()
    one = f"{ref}/commands/{plain['id']}"
    assert http.post(f"{one}/stdin", content=b"typed").status_code < 300
    assert http.post(f"{one}/stdin/close").status_code < 300
    assert http.get(f"{one}/output", params={"stream": "stdout", "follow": "true"}).content == b"typed"
    assert http.get(one).json()["state"] == "exited"
    assert http.delete(one).status_code < 300
    files = f"{ref}/files"
    assert http.put(files, params={"path": "/tmp/d/f"}, content=b"needle\n").status_code < 300
    assert http.get(files, params={"path": "/tmp/d/f"}).content == b"needle\n"
    assert http.head(files, params={"path": "/tmp/d/f"}).headers["content-length"] == "7"
    assert http.get(files, params={"path": "/tmp/d/f"}, headers={"Range": "bytes=1-2"}).content == b"ee"
    assert http.get(f"{files}/stat", params={"path": "/tmp/d/f"}).json()["size"] == 7
    assert [f["path"] for f in http.get(f"{files}/list", params={"path": "/tmp/d"}).json()["items"]] == ["/tmp/d/f"]
    assert http.post(f"{files}/mkdir", json={"path": "/tmp/e/g"}).status_code < 300
    assert http.post(f"{files}/rename", json={"from": "/tmp/d/f", "to": "/tmp/e/f"}).status_code < 300
    assert [f["path"] for f in http.post(f"{files}/glob", json={"path": "/tmp", "pattern": "**/f"}).json()["items"]] == ["/tmp/e/f"]
    assert http.post(f"{files}/grep", json={"path": "/tmp/e", "text": "needle"}).json()["items"][0]["line"] == 1
    tar = http.get(f"{files}/tree", params={"path": "/tmp/e"})
    assert tar.status_code == 200
    assert http.put(f"{files}/tree", params={"path": "/tmp/copy"}, content=tar.content).status_code < 300
    assert http.get(files, params={"path": "/tmp/copy/f"}).content == b"needle\n"
    assert http.delete(files, params={"path": "/tmp/copy", "recursive": "true"}).status_code < 300
    got = http.post(f"{ref}/batch", json={"writes": [{"path": "/tmp/in", "content": "b\na\n"}],
                                          "command": {"command": "sort /tmp/in > /tmp/out"}, "reads": ["/tmp/out"]}).json()
    assert got["command"]["exit_code"] == 0 and got["reads"][0]["content"] == "a\nb\n"
    assert http.post(f"{ref}/pause").status_code < 300
    assert http.post(f"{ref}/resume").status_code < 300
    assert http.post(f"{ref}/stop").status_code < 300
    assert http.post(f"{ref}/start").status_code < 300
    doomed = http.post("/api/v1/sandboxes", json={}).json()
    assert http.post("/api/v1/sandboxes/batch-delete", json={"refs": [doomed["id"], "none"]}).json()["deleted"]
    reached = {(path, method) for path, method, _ in documented.seen} | ELSEWHERE
    every = {(path, method) for path, operations in documented.DOCUMENT["paths"].items() for method in operations
             if method in ("get", "put", "post", "patch", "delete", "head")}
    assert every - reached <= {("/api/v1/sandboxes", "post")}, every - reached


def test_no_key_no_answer(daemon):
    for path in documented.DOCUMENT["paths"]:
        if path != "/healthz":
            assert httpx.get(daemon.url + path.replace("{", "").replace("}", "")).status_code == 401, path
