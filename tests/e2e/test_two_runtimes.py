"""A second, fake runtime serves sandboxes beside the native one, through the whole API.

Decision 0042. The second one is tests/two_runtimes.
"""
import pytest

from documented import DOCUMENT
from harness import BUILD, new_daemon

PROGRAM = BUILD / "cay-two-runtimes"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")


@pytest.fixture(scope="module")
def daemon(request):
    daemon = new_daemon()
    daemon.program = PROGRAM
    daemon.start()
    yield daemon
    daemon.close(keep_log=request.session.testsfailed > 0)


@pytest.fixture(params=["default", "memory"])
def made(request, daemon):
    """(the runtime's snapshot, the sandbox, a client), for each runtime."""
    with daemon.http() as http:
        answer = http.post("/api/v1/sandboxes", json={"snapshot": request.param})
        assert answer.status_code == 201, answer.text
        box = answer.json()
        yield request.param, box["id"], http
        http.delete(f"/api/v1/sandboxes/{box['id']}")


def run(http, box, line):
    answer = http.post(f"/api/v1/sandboxes/{box}/commands", json={"command": line})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_commands_run_where_the_sandbox_is(made):
    snapshot, box, http = made
    ended = run(http, box, "echo hello")
    assert (ended["state"], ended["exit_code"]) == ("exited", 0)
    id = ended["command_id"]
    url = f"/api/v1/sandboxes/{box}/commands/{id}/output"
    out = http.get(url, params={"stream": "stdout"}).text
    assert out == ("hello\n" if snapshot == "default" else "fake: echo hello\n")
    listed = http.get(f"/api/v1/sandboxes/{box}/commands").json()["items"]
    assert [one["id"] for one in listed] == [id]


def test_files_are_kept_over_a_stop(made):
    _, box, http = made
    url = f"/api/v1/sandboxes/{box}"
    path = {"path": "/tmp/notes/f"}
    assert http.put(f"{url}/files", params=path, content=b"first").status_code < 300
    assert http.post(f"{url}/stop").status_code < 300
    assert http.get(url).json()["state"] == "stopped"
    assert http.get(f"{url}/files", params=path).content == b"first", "it wakes"
    assert http.get(url).json()["state"] == "ready"


def test_pause_and_resume(made):
    _, box, http = made
    url = f"/api/v1/sandboxes/{box}"
    assert http.post(f"{url}/pause").json()["state"] == "paused"
    refused = http.post(f"{url}/commands", json={"command": "true"})
    assert refused.json()["error"]["reason"] == "sandbox_paused"
    assert http.post(f"{url}/resume").json()["state"] == "ready"
    assert run(http, box, "true")["exit_code"] == 0


def test_links_to_a_port_are_refused_where_the_runtime_opens_none(made):
    snapshot, box, http = made
    answer = http.post(f"/api/v1/sandboxes/{box}/links", json={"port": 80})
    if snapshot == "default":
        assert answer.status_code == 201, answer.text
    else:
        assert answer.json()["error"]["reason"] == "tunnels_unsupported", answer.text


def test_both_are_listed_counted_and_told_of(daemon):
    with daemon.http() as http:
        after = http.get("/api/v1/events", params={"after": "now"}).json()["next_after"]
        boxes = {
            snapshot: http.post("/api/v1/sandboxes", json={"snapshot": snapshot}).json()["id"]
            for snapshot in ("default", "memory")
        }
        listed = {one["id"] for one in http.get("/api/v1/sandboxes").json()["items"]}
        assert set(boxes.values()) <= listed
        names = [one["name"] for one in http.get("/api/v1/snapshots").json()["items"]]
        assert names[0] == "default" and "memory" in names
        checks = {one["name"]: one["ok"] for one in http.get("/readyz").json()["checks"]}
        assert checks["launcher"] and checks["runtime memory"]
        features = [one["name"] for one in http.get("/api/v1/doctor").json()["features"]]
        assert "memory: fake" in features
        for box in boxes.values():
            assert http.delete(f"/api/v1/sandboxes/{box}").status_code < 300
            assert http.get(f"/api/v1/sandboxes/{box}").status_code == 404
        told = http.get("/api/v1/events", params={"after": after, "limit": 1000}).json()["items"]
        for box in boxes.values():
            types = [one["type"] for one in told if one["sandbox_id"] == box]
            assert types[0] == "sandbox.created" and types[-1] == "sandbox.deleted"


def test_the_command_line_reaches_both(daemon):
    for snapshot, out in (("default", b"4\n"), ("memory", b"fake: 2+2\n")):
        words = ["python3", "-c", "print(2+2)"] if snapshot == "default" else ["calc", "2+2"]
        done = daemon.cli("run", "--snapshot", snapshot, "--", *words)
        assert (done.code, done.out) == (0, out), done


@pytest.mark.parametrize("snapshot", ["default", "memory"])
def test_langsmiths_clients_reach_both(daemon, snapshot):
    with daemon.http() as http:
        boxes = "/v2/sandboxes/boxes"
        made = http.post(boxes, json={"snapshot_name": snapshot, "wait_for_ready": True})
        assert made.status_code == 201, made.text
        box = made.json()
        assert box["status"] == "ready", box
        try:
            told = {one["id"] for one in http.get(boxes).json()["sandboxes"]}
            assert box["id"] in told
            done = http.post(f"{box['dataplane_url']}/execute", json={"command": "echo hello"})
            out = "hello\n" if snapshot == "default" else "fake: echo hello\n"
            ended = done.json()
            assert (ended["stdout"], ended["exit_code"]) == (out, 0), done.text
        finally:
            gone = http.delete(f"{boxes}/{box['id']}")
        assert gone.status_code < 300, gone.text
        assert http.get(f"{boxes}/{box['id']}").status_code == 404


@pytest.mark.parametrize("how", ["terminate", "kill"])
def test_both_are_adopted_by_the_next_daemon(daemon, how):
    with daemon.http() as http:
        boxes = {
            snapshot: http.post("/api/v1/sandboxes", json={"snapshot": snapshot}).json()["id"]
            for snapshot in ("default", "memory")
        }
        for box in boxes.values():
            url = f"/api/v1/sandboxes/{box}/files"
            assert http.put(url, params={"path": "/tmp/f"}, content=b"kept").status_code < 300
    daemon.restart(how)
    with daemon.http() as http:
        for snapshot, box in boxes.items():
            assert http.get(f"/api/v1/sandboxes/{box}").json()["state"] == "ready"
            if snapshot == "default" or how == "terminate":  # the fake writes at a polite end
                got = http.get(f"/api/v1/sandboxes/{box}/files", params={"path": "/tmp/f"})
                assert got.content == b"kept"
            assert run(http, box, "true")["exit_code"] == 0


def test_a_daemon_without_the_runtime_keeps_its_sandboxes(daemon):
    with daemon.http() as http:
        boxes = {
            snapshot: http.post("/api/v1/sandboxes", json={"snapshot": snapshot}).json()["id"]
            for snapshot in ("default", "memory")
        }
    daemon.program = BUILD / "cay"
    daemon.restart("terminate")
    try:
        with daemon.http() as http:
            assert run(http, boxes["default"], "echo hi")["exit_code"] == 0
            url = f"/api/v1/sandboxes/{boxes['memory']}"
            shown = http.get(url).json()
            assert shown["state"] == "ready" and "runtime 'memory'" in shown["reason"]
            for answer in (
                http.post(f"{url}/commands", json={"command": "true"}),
                http.post(f"{url}/stop"),
                http.delete(url),
                http.post("/api/v1/sandboxes", json={"snapshot": "memory"}),
            ):
                assert answer.json()["error"]["reason"] == "runtime_not_configured", answer.text
                assert answer.status_code == 503
    finally:
        daemon.program = PROGRAM
        daemon.restart("terminate")
    with daemon.http() as http:
        assert run(http, boxes["memory"], "true")["exit_code"] == 0
        assert http.get(f"/api/v1/sandboxes/{boxes['memory']}").json().get("reason", "") == ""


# The bodies of requests to a sandbox, by the end of the route. Other routes take none.
BODIES = {
    "/": {"labels": {"a": "b"}},
    "/batch": {"reads": ["/tmp/f"]},
    "/code": {"language": "bash", "code": "echo hello"},
    "/commands": {"argv": ["true"]},
    "/commands/{id}/kill": {},
    "/commands/{id}/resize": {"rows": 9, "cols": 9},
    "/contexts": {"id": "box"},
    "/contexts/{id}/run": {"code": "1"},
    "/files/chmod": {"path": "/tmp/f", "mode": "0600"},
    "/files/chown": {"path": "/tmp/f", "owner": "root"},
    "/files/copy": {"from": "/tmp/f", "to": "/tmp/g"},
    "/files/download": {"paths": ["/tmp/f"]},
    "/files/glob": {"path": "/tmp", "pattern": "*"},
    "/files/grep": {"path": "/tmp", "text": "kept"},
    "/files/mkdir": {"path": "/tmp/d"},
    "/files/move": {"from": "/tmp/f", "to": "/tmp/f"},
    "/files/rename": {"from": "/tmp/f", "to": "/tmp/f"},
    "/files/replace": {"path": "/tmp/f", "text": "kept", "replacement": "kept"},
    "/files/upload": {"files": [{"path": "/tmp/h", "content": ""}]},
    "/links": {"port": 80},
    "/snapshot": {"name": "of-a-box"},
    "/watches": {"path": "/tmp"},
}
PARAMS = {"path": "/tmp/f", "stream": "stdout", "port": 80}
# The routes that the fake refuses, each with its reason. It serves all others as the native
# runtime does. Its programs print their last argument, so that no interpreter runs in it.
REFUSED = {
    "/snapshot": "no_layers",
    "/diff": "no_layers",
    "/fork": "no_layers",
    "/rollback": "no_layers",
    "/links": "tunnels_unsupported",
    "/watches": "keeper_too_old",
}


def routes_of_a_sandbox():
    for path, operations in DOCUMENT["paths"].items():
        tail = path.removeprefix("/api/v1/sandboxes/{ref}")
        if tail != path:
            for method, operation in operations.items():
                yield method, tail, operation


def outcomes(http, snapshot):
    """(status, reason) of each route, asked of one sandbox. A removal comes last."""
    box = http.post("/api/v1/sandboxes", json={"snapshot": snapshot}).json()
    url = f"/api/v1/sandboxes/{box['id']}"
    out = {}
    for method, tail, operation in sorted(
        routes_of_a_sandbox(), key=lambda route: (route[0] == "delete", not route[1])
    ):
        http.post(f"{url}/start")
        http.put(f"{url}/files", params={"path": "/tmp/f"}, content=b"kept")
        known = {one.get("name") for one in operation.get("parameters", ())}
        sends = method in ("post", "put", "patch")
        answer = http.request(
            method,
            url + tail.replace("{id}", "none").replace("{run}", "none"),
            json=BODIES.get(tail or "/") if sends else None,
            params={name: value for name, value in PARAMS.items() if name in known},
        )
        kind = answer.headers.get("content-type", "")
        error = answer.json() if answer.status_code >= 400 and "json" in kind else {}
        out[method, tail] = (answer.status_code, error.get("error", {}).get("reason", ""))
    assert http.get(url).status_code == 404, "the removal was asked for"
    return out


def test_each_route_serves_the_sandboxes_of_both_or_says_what_the_runtime_lacks(daemon):
    with daemon.http() as http:
        native, fake = outcomes(http, "default"), outcomes(http, "memory")
    served = [route for route, (status, _) in native.items() if status < 300]
    assert len(native) > 55 and len(served) > 35, native
    differ = {route: fake[route] for route in native if fake[route] != native[route]}
    assert {tail for _, tail in differ} == set(REFUSED), differ
    for (method, tail), (status, reason) in differ.items():
        assert reason == REFUSED[tail] and status in (409, 501), (method, tail, status, reason)
