"""The LangSmith wire below the clients: what a raw peer sees (protocol sections 2 and 4)."""
import contextlib
import json
import re
import socket
import uuid

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from harness import wait_until

PREFIXES = ["/v2/sandboxes", "/api/v2/sandboxes", "/api/v1/v2/sandboxes", "/api/api/v2/sandboxes"]


@pytest.fixture(scope="module")
def ls(daemon):
    with httpx.Client(base_url=daemon.url, headers={"X-Api-Key": daemon.key}, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def wired(ls):
    box = ls.post("/v2/sandboxes/boxes", json={"wait_for_ready": True, "timeout": 30}).json()
    yield box
    ls.delete(f"/v2/sandboxes/boxes/{box['id']}")


def open_ws(daemon, box):
    url = box["dataplane_url"].replace("http://", "ws://") + "/execute/ws"
    return connect(url, additional_headers={"X-Api-Key": daemon.key}, max_size=1 << 20)


def execute(ws, command, **fields):
    ws.send(
        json.dumps(
            {
                "type": "execute",
                "command": command,
                "timeout_seconds": 60,
                "shell": "/bin/bash",
                "idle_timeout_seconds": 300,
                "kill_on_disconnect": False,
                "ttl_seconds": 600,
                **fields,
            }
        )
    )


def frames(ws):
    """All frames to the end, checked: offsets without hole or repeat, nothing too large."""
    out, offsets = [], {"stdout": 0, "stderr": 0}
    while True:
        text = ws.recv(timeout=30)
        assert isinstance(text, str) and len(text.encode()) < 1 << 20
        frame = json.loads(text)
        if frame["type"] in offsets:
            if offsets[frame["type"]] is not None:
                assert frame["offset"] == offsets[frame["type"]]
            offsets[frame["type"]] = frame["offset"] + len(frame["data"].encode())
        out.append(frame)
        if frame["type"] in ("exit", "error"):
            return out


def text(got, stream="stdout"):
    return "".join(f["data"] for f in got if f["type"] == stream)


def detail(answer):
    body = answer.json()["detail"]
    assert body["error"] and body["message"] and body["error_id"]
    return answer.status_code, body["error"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_the_same_control_plane_under_every_prefix(ls, wired, prefix):
    assert ls.get(f"{prefix}/boxes/{wired['id']}").json()["name"] == wired["name"]
    listed = ls.get(f"{prefix}/boxes").json()
    assert listed["sandboxes"] == listed["items"] and listed["next_cursor"] is None
    assert ls.get(f"{prefix}/boxes/{wired['name']}/status").json() == {
        "status": "ready",
        "status_message": None,
    }


def test_info(ls):
    for path in ("/info", "/api/info", "/api/v1/info"):
        assert ls.get(path).json()["version"] >= "0.16.0"


def test_statuses_and_envelopes(ls, wired):
    boxes = "/v2/sandboxes/boxes"
    assert detail(ls.get(f"{boxes}/none"))[0] == 404
    assert detail(httpx.get(f"{ls.base_url}{boxes}"))[0] == 401
    assert detail(ls.post(boxes, json={"name": wired["name"]}))[0] == 409
    assert detail(ls.post(boxes, json={"mounts": []}))[0] == 400
    assert detail(ls.post(boxes, json={"snapshot_id": str(uuid.uuid4())}))[0] == 400
    invalid = ls.post(boxes, json={"vcpus": 0})
    assert invalid.status_code == 422 and invalid.json()["detail"][0]["type"] == "value_error"
    assert invalid.json()["detail"][0]["loc"][-1] == "vcpus"
    quota = ls.post(boxes, json={"mem_bytes": 10 << 40})
    assert quota.status_code == 429 and "memory" in quota.json()["detail"]["message"]
    for refused in (
        {"proxy_config": {"rules": [{"name": "a", "match_hosts": ["x"], "headers": []}]}},
        {"mount_config": {"mounts": [{"id": "a"}]}},
    ):
        assert ls.post(boxes, json=refused).status_code == 422, refused
    assert (
        detail(
            ls.post(f"{boxes}/{wired['id']}/service-url", json={"port": 80, "access": "workspace"})
        )[0]
        == 501
    )
    snapshots = "/v2/sandboxes/snapshots"
    image = {"name": "a", "docker_image": "b", "fs_capacity_bytes": 1}
    assert ls.post(snapshots, json=image).status_code == 422  # a disk of one byte
    unknown = {**image, "fs_capacity_bytes": 1 << 30, "registry_id": str(uuid.uuid4())}
    assert ls.post(snapshots, json=unknown).status_code == 404


def test_list_rules(ls, wired):
    boxes = "/v2/sandboxes/boxes"
    assert ls.get(boxes, params={"limit": 501}).status_code == 422
    assert ls.get(boxes, params={"page_size": 101}).status_code == 400
    assert ls.get(boxes, params={"page_size": 10, "limit": 10}).status_code == 400
    assert ls.get(boxes, params={"cursor": "nonsense"}).status_code == 400
    names = [
        b["name"]
        for b in ls.get(boxes, params={"name_contains": wired["name"].upper()}).json()["sandboxes"]
    ]
    assert names == [wired["name"]]
    made = [ls.post(boxes, json={"name": f"page-{n}"}).json() for n in range(3)]
    seen, cursor = [], None
    while True:
        page = ls.get(
            boxes,
            params={
                "page_size": 1,
                "name_contains": "page-",
                **({"cursor": cursor} if cursor else {}),
            },
        ).json()
        seen += [b["name"] for b in page["sandboxes"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert sorted(seen) == ["page-0", "page-1", "page-2"]
    done = ls.post(
        f"{boxes}/batch-delete", json={"names": [b["name"] for b in made] + ["none"]}
    ).json()
    assert (
        sorted(done["deleted"]) == ["page-0", "page-1", "page-2"]
        and done["skipped"][0]["name"] == "none"
    )


def test_frames_of_a_plain_run(daemon, wired):
    with open_ws(daemon, wired) as ws:
        execute(ws, "echo out; echo err >&2; exit 3", command_id=str(uuid.uuid4()))
        got = frames(ws)
    assert got[0]["type"] == "started" and got[0]["pid"] > 0
    assert (text(got), text(got, "stderr"), got[-1]) == (
        "out\n",
        "err\n",
        {"type": "exit", "exit_code": 3},
    )


def test_execute_with_a_known_id_replays_and_runs_once(daemon, wired):
    command_id = uuid.uuid4().hex
    for _ in range(3):
        with open_ws(daemon, wired) as ws:
            execute(ws, "echo run >> /tmp/once; cat /tmp/once", command_id=command_id)
            got = frames(ws)
        assert got[0]["command_id"] == command_id and text(got) == "run\n"


def test_reconnect(daemon, wired):
    command_id = uuid.uuid4().hex
    with open_ws(daemon, wired) as ws:
        execute(ws, "printf 'part1 part2'; exit 2", command_id=command_id)
        frames(ws)
    with open_ws(daemon, wired) as ws:
        ws.send(
            json.dumps(
                {
                    "type": "reconnect",
                    "command_id": command_id,
                    "stdout_offset": 6,
                    "stderr_offset": 0,
                }
            )
        )
        first = json.loads(ws.recv())
        assert (first["type"], first["command_id"]) == ("started", command_id)
        second = json.loads(ws.recv())
        assert second == {"type": "stdout", "data": "part2", "offset": 6}
        assert json.loads(ws.recv()) == {"type": "exit", "exit_code": 2}
    with open_ws(daemon, wired) as ws:
        ws.send(
            json.dumps(
                {
                    "type": "reconnect",
                    "command_id": "unknown",
                    "stdout_offset": 0,
                    "stderr_offset": 0,
                }
            )
        )
        got = json.loads(ws.recv())
        assert (got["type"], got["error_type"]) == ("error", "CommandNotFound")


def test_timeout_is_an_error_frame_and_kills_the_tree(daemon, wired):
    with open_ws(daemon, wired) as ws:
        execute(ws, "(exec -a marked-child sleep 300) & sleep 300", timeout_seconds=1)
        got = frames(ws)
    assert got[-1]["error_type"] == "CommandTimeout"
    with open_ws(daemon, wired) as ws:
        execute(ws, "cat /proc/[0-9]*/comm /proc/[0-9]*/cmdline | tr '\\0' ' '", close_stdin=True)
        assert "marked-child" not in text(frames(ws)).replace("cat /proc", "")


def test_kill_then_drop_is_obeyed(daemon, wired):
    command_id = uuid.uuid4().hex
    ws = open_ws(daemon, wired).__enter__()
    execute(ws, "echo up; exec sleep 300", command_id=command_id)
    while json.loads(ws.recv())["type"] != "stdout":
        pass
    ws.send(json.dumps({"type": "kill"}))
    with contextlib.suppress(OSError):  # its end may have closed the connection already
        ws.socket.shutdown(socket.SHUT_RDWR)
    ws.socket.close()
    with open_ws(daemon, wired) as again:
        again.send(
            json.dumps(
                {
                    "type": "reconnect",
                    "command_id": command_id,
                    "stdout_offset": 3,
                    "stderr_offset": 0,
                }
            )
        )
        assert frames(again)[-1] == {"type": "exit", "exit_code": 137}


def test_kill_on_disconnect_and_idle_timeout(daemon, wired):
    def ended(command_id):
        with open_ws(daemon, wired) as ws:
            ws.send(
                json.dumps(
                    {
                        "type": "reconnect",
                        "command_id": command_id,
                        "stdout_offset": 0,
                        "stderr_offset": 0,
                    }
                )
            )
            try:
                while True:
                    frame = json.loads(ws.recv(timeout=0.5))
                    if frame["type"] in ("exit", "error"):
                        return frame
            except TimeoutError:
                return None

    for fields in ({"kill_on_disconnect": True}, {"idle_timeout_seconds": 1}):
        command_id = uuid.uuid4().hex
        with open_ws(daemon, wired) as ws:
            execute(ws, "exec sleep 300", command_id=command_id, **fields)
            assert json.loads(ws.recv())["type"] == "started"
        if "idle_timeout_seconds" in fields:
            # Attaching resets the idle clock: look only after it had time to fire.
            import time

            time.sleep(2.5)
        frame = wait_until(lambda command_id=command_id: ended(command_id), f"ended by {fields}")
        assert frame == {"type": "exit", "exit_code": 137}


def test_two_sockets_see_everything(daemon, wired):
    command_id = uuid.uuid4().hex
    with open_ws(daemon, wired) as one, open_ws(daemon, wired) as two:
        execute(one, "read go; seq 1 20000", command_id=command_id)
        assert json.loads(one.recv())["type"] == "started"
        two.send(
            json.dumps(
                {
                    "type": "reconnect",
                    "command_id": command_id,
                    "stdout_offset": 0,
                    "stderr_offset": 0,
                }
            )
        )
        assert json.loads(two.recv())["type"] == "started"
        one.send(json.dumps({"type": "input", "data": "go\n"}))
        want = "".join(f"{n}\n" for n in range(1, 20001))
        assert text(frames(one)) == text(frames(two)) == want


def test_pty_and_resize(daemon, wired):
    with open_ws(daemon, wired) as ws:
        execute(ws, "stty size; read x; stty size", pty=True)
        ws.send(json.dumps({"type": "resize", "cols": 132, "rows": 43}))
        ws.send(json.dumps({"type": "input", "data": "x\n"}))
        got = frames(ws)
    assert "43 132" in text(got) and got[-1]["exit_code"] == 0


def test_first_frame_errors(daemon, wired):
    for frame in (
        "nonsense",
        json.dumps({"type": "dance"}),
        json.dumps({"type": "execute"}),
        json.dumps(
            {"type": "execute", "command": "true", "shell": "/no/shell", "timeout_seconds": 5}
        ),
    ):
        with open_ws(daemon, wired) as ws:
            ws.send(frame)
            try:
                got = json.loads(ws.recv(timeout=10))
                assert got["type"] == "error", got
            except ConnectionClosed as closed:
                pytest.fail(f"closed without an error frame: {closed}")


def test_env_with_run_config_is_refused(daemon, ls, wired):
    with open_ws(daemon, wired) as ws:
        execute(ws, "true", env={"A": "b"}, run_config={"user": "user"})
        assert frames(ws)[-1]["type"] == "error"
    answer = ls.post(
        f"{wired['dataplane_url']}/execute",
        json={"command": "true", "env": {"A": "b"}, "run_config": {}},
    )
    assert answer.status_code == 400


def test_unknown_box_refuses_the_upgrade(daemon, ls):
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus) as refused:
        open_ws(daemon, {"dataplane_url": f"{daemon.url}/v2/sandboxes/dp/{uuid.uuid4()}"})
    assert refused.value.response.status_code == 404


def test_http_execute(ls, wired):
    url = f"{wired['dataplane_url']}/execute"
    got = ls.post(
        url, json={"command": "echo a; echo b >&2; exit 4", "timeout": 10, "shell": "/bin/bash"}
    )
    assert got.json() == {"stdout": "a\n", "stderr": "b\n", "exit_code": 4}
    late = ls.post(url, json={"command": "sleep 30", "timeout": 1, "shell": "/bin/bash"})
    assert detail(late) == (408, "CommandError")


def test_a_full_spool_hides_no_exit_code(own_daemon, tmp_path):
    """What a sandbox may keep is spent: what is dropped is told in its place, over both ways to run
    something."""
    config = tmp_path / "cay.toml"
    config.write_text("[host]\nsandbox_output_bytes = 1048576\n")
    daemon = own_daemon("--config", config)

    def run(box, line):
        with open_ws(daemon, box) as ws:
            execute(ws, line)
            out = []
            while not out or out[-1]["type"] not in ("exit", "error"):
                out.append(json.loads(ws.recv(timeout=30)))
            return text(out), out[-1]

    size = 8_000_000  # a reader that keeps up gets all of less

    def dropped(got):
        notes = re.findall(r"\[cay: ([0-9]+) bytes of output were dropped here: ", got)
        assert got.count("Z") + sum(map(int, notes)) == size, (notes, got[-300:])
        return sum(map(int, notes))

    with httpx.Client(base_url=daemon.url, headers={"X-Api-Key": daemon.key}, timeout=60) as ls:
        box = ls.post("/v2/sandboxes/boxes", json={}).json()
        run(box, "head -c 2000000 /dev/zero | tr '\\0' x")
        line = f"head -c {size} /dev/zero | tr '\\0' Z; exit 3"
        posted = streamed = 0
        for _ in range(20):
            answer = ls.post(
                f"{box['dataplane_url']}/execute", json={"command": line, "timeout": 30}
            )
            assert answer.status_code == 200, answer.text[:300]
            assert answer.json()["exit_code"] == 3
            posted += dropped(answer.json()["stdout"])
            told, end = run(box, line)
            assert end == {"type": "exit", "exit_code": 3}
            streamed += dropped(told)
            if posted and streamed:
                return
        pytest.fail("nothing was dropped")


def test_files(ls, wired):
    base = wired["dataplane_url"]
    up = ls.post(
        f"{base}/upload", params={"path": "/tmp/a b+c"}, files={"file": ("file", b"0123456789")}
    )
    assert up.status_code < 300
    url = f"{base}/download"
    whole = ls.get(url, params={"path": "/tmp/a b+c"})
    assert whole.content == b"0123456789" and whole.headers["etag"].startswith('"')
    part = ls.get(url, params={"path": "/tmp/a b+c"}, headers={"Range": "bytes=8-20"})
    assert (part.status_code, part.content, part.headers["content-range"]) == (
        206,
        b"89",
        "bytes 8-9/10",
    )
    past = ls.get(url, params={"path": "/tmp/a b+c"}, headers={"Range": "bytes=10-"})
    assert (past.status_code, past.headers["content-range"]) == (416, "bytes */10")
    same = ls.get(
        url, params={"path": "/tmp/a b+c"}, headers={"If-None-Match": whole.headers["etag"]}
    )
    assert same.status_code == 304
    head = ls.head(url, params={"path": "/tmp/a b+c"})
    assert head.headers["content-length"] == "10" and head.content == b""
    assert detail(ls.get(url, params={"path": "/tmp/none"})) == (404, "FileNotFound")
    status, kind = detail(ls.get(url, params={"path": "/tmp"}))
    assert (status, kind) == (400, "ReadError")
    assert "is a directory" in ls.get(url, params={"path": "/tmp"}).json()["detail"]["message"]
    for path, status in (
        ("/tmp", 400),
        ("/tmp/none", 404),
        ("/dev/zero", 400),
        ("/proc/self/environ", 403),
    ):
        assert [
            ls.request(method, url, params={"path": path}).status_code for method in ("GET", "HEAD")
        ] == [status] * 2, path


def test_other_paths_name_the_setting(ls):
    for path in ("/runs/batch", "/sessions", "/api/v1/runs"):
        answer = ls.post(path, json={})
        assert answer.status_code == 404 and "upstream" in answer.text, (path, answer.text)


LONG = "cat > /tmp/big <<'EOF'\n%s\nEOF\nwc -c < /tmp/big; exit 3"


def test_a_command_of_nearly_two_megabytes_runs(daemon, ls, wired):
    """A heredoc with a whole file in it: longer than the kernel lets one argument be."""
    line = LONG % "\n".join("\u00e9" * 50 for _ in range(18_000))
    with open_ws(daemon, wired) as ws:
        execute(ws, line)
        got = frames(ws)
        assert text(got) == f"{101 * 18_000}\n" and got[-1] == {
            "type": "exit",
            "exit_code": 3,
        }, got[-1]
    answer = ls.post(f"{wired['dataplane_url']}/execute", json={"command": line, "timeout": 30})
    assert (
        answer.status_code == 200 and answer.json()["stdout"] == f"{101 * 18_000}\n"
    ), answer.text[:300]


def test_a_message_over_the_limit_is_refused_by_name(daemon, ls, wired):
    """As the POST is: an error frame, for these clients ask again after a close alone."""
    line = "#" + "x" * (16 << 20)
    with open_ws(daemon, wired) as ws:
        execute(ws, line)
        got = frames(ws)
        assert [f["type"] for f in got] == ["error"] and got[0]["error_type"] == "CommandError"
        assert "16777216 bytes" in got[0]["error"] and "file" in got[0]["error"]
    answer = ls.post(f"{wired['dataplane_url']}/execute", json={"command": line, "timeout": 30})
    assert detail(answer) == (413, "CommandError")
    assert "16777216 bytes" in answer.json()["detail"]["message"]


@pytest.mark.parametrize("route", ["ws", "post", "stream"])
def test_each_route_takes_the_longest_command_however_it_is_escaped(daemon, ls, wired, route):
    line = "#" + "\x01" * 1_900_000 + "\necho done"
    if route == "ws":
        with open_ws(daemon, wired) as ws:
            execute(ws, line)
            assert text(frames(ws)) == "done\n"
        return
    if route == "post":
        answer = ls.post(f"{wired['dataplane_url']}/execute", json={"command": line, "timeout": 30})
        assert answer.status_code == 200 and answer.json()["stdout"] == "done\n", answer.text[:300]
        return
    answer = ls.post(f"{wired['dataplane_url']}/execute/stream/start", json={"command": line})
    assert answer.status_code == 200, answer.text[:300]


def test_a_longer_command_is_refused_by_name(daemon, ls, wired):
    line = "#" + "x" * 2_000_000
    with open_ws(daemon, wired) as ws:
        execute(ws, line)
        got = frames(ws)
        assert [f["type"] for f in got] == ["error"] and got[0]["error_type"] == "CommandError"
        assert "2000000" in got[0]["error"] and "file" in got[0]["error"]
    answer = ls.post(f"{wired['dataplane_url']}/execute", json={"command": line, "timeout": 30})
    assert (
        detail(answer) == (413, "CommandError") and "2000000" in answer.json()["detail"]["message"]
    )
