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
    doomed = http.post("/api/v1/sandboxes", json={}).json()
    assert http.delete(f"/api/v1/sandboxes/{doomed['id']}").status_code == 204
    doomed = http.post("/api/v1/sandboxes", json={}).json()
    assert http.post("/api/v1/sandboxes/batch-delete", json={"refs": [doomed["id"], "none"]}).json()["deleted"]
    reached = {(path, method) for path, method, _ in documented.seen} | ELSEWHERE
    every = {(path, method) for path, operations in documented.DOCUMENT["paths"].items() for method in operations
             if method in ("get", "put", "post", "patch", "delete", "head")}
    assert every - reached <= {("/api/v1/sandboxes", "post")}, every - reached


# What each failure may come from: anything that can go wrong in Cay or its host, so every route documents it.
EVERYWHERE = {"400", "401", "408", "429", "499", "500", "503"}
BODIES = {"/links": {"port": 80}, "/commands": {"argv": ["true"]}, "/files/mkdir": {"path": "/x"}, "/files/rename": {"from": "/x", "to": "/y"},
          "/files/glob": {"path": "/", "pattern": "*"}, "/files/grep": {"path": "/", "text": "x"},
          "/commands/{id}/resize": {"rows": 1, "cols": 1}, "/batch": {"reads": ["/x"]}}


def test_every_status_that_is_a_routes_own_was_exercised(daemon, http, box):
    """404 of each route with a sandbox; successes other than the usual, ranges and offsets where they are documented."""
    for path, operations in documented.DOCUMENT["paths"].items():
        for method in operations:
            if "{ref}" in path and method in ("get", "put", "post", "patch", "delete", "head"):
                tail = path.partition("{ref}")[2]
                sends = {"json": BODIES.get(tail, {})} if method in ("post", "patch") else {}
                params = {"path": "/x", "stream": "stdout"}
                params = {name: params[name] for name in params if name in str(operations[method].get("parameters"))}
                got = http.request(method, path.replace("{ref}", "none").replace("{id}", "none"), params=params, **sends)
                assert got.status_code == (426 if tail in ("/commands/ws", "/tunnel") else 404), (method, path, got.text)
    ref = f"/api/v1/sandboxes/{box['id']}"
    files = f"{ref}/files"
    http.put(files, params={"path": "/tmp/f"}, content=b"0123")
    etag = http.get(files, params={"path": "/tmp/f"}).headers["etag"]
    for method in ("GET", "HEAD"):
        assert http.request(method, files, params={"path": "/tmp/f"}, headers={"If-None-Match": etag}).status_code == 304
    assert http.get(files, params={"path": "/tmp/f"}, headers={"Range": "bytes=1-2"}).status_code == 206
    assert http.get(files, params={"path": "/tmp/f"}, headers={"Range": "bytes=9-"}).status_code == 416
    command = http.post(f"{ref}/commands", json={"argv": ["true"], "wait": False})
    assert command.status_code == 201
    output = http.get(f"{ref}/commands/{command.json()['id']}/output", params={"stream": "stdout", "offset": 9})
    assert output.status_code == 416
    assert http.post(f"{ref}/commands", json={"argv": ["true"]}).status_code == 200
    assert http.get("/api/v1/events", params={"after": 10**12}).status_code == 416
    assert http.post("/api/v1/sandboxes", json={"snapshot": "none"}).status_code == 404
    assert http.post(f"{ref}/start").status_code == 200  # it runs already
    assert http.post(f"{ref}/stop").status_code == 200
    assert http.post(f"{ref}/start").status_code == 202
    assert http.post("/api/v1/sandboxes", json={"name": 7}).status_code == 400
    missed = []
    for path, operations in documented.DOCUMENT["paths"].items():
        for method, operation in operations.items():
            for status in set(operation.get("responses", ())) - EVERYWHERE - {"403", "409", "413", "501", "101"}:
                if (path, method, status) not in documented.seen and (path, method) not in ELSEWHERE:
                    missed.append((method, path, status))
    assert missed == []


def test_no_key_no_answer(daemon):
    for path in documented.DOCUMENT["paths"]:
        if path != "/healthz":
            assert httpx.get(daemon.url + path.replace("{", "").replace("}", "")).status_code == 401, path


def test_the_check_of_members_can_fail():
    schema = {"$ref": "#/components/schemas/Version"}
    good = {"name": "cay", "version": "1", "api": "v1"}
    assert documented.complaints(good, schema, "answer") == []
    for wrong in ({**good, "more": 1}, {**good, "version": 7}, {"name": "cay"}, [good]):
        assert documented.complaints(wrong, schema, "answer"), wrong
