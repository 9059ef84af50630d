"""Bad input and trouble: a typed error that says what to do, and nothing created or lost."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile

import pytest

from harness import CAY, needs_root, new_daemon, slow


def error(answer):
    body = answer.json()["error"]
    assert body["message"] and body["reason"] and body["code"]
    return answer.status_code, body["code"]


def test_keys(daemon):
    import httpx

    for headers in ({}, {"X-Api-Key": "cay_wrong"}, {"Authorization": "Bearer nope"}):
        assert error(httpx.get(f"{daemon.url}/api/v1/sandboxes", headers=headers)) == (
            401,
            "unauthenticated",
        )
    assert httpx.get(f"{daemon.url}/healthz").json() == {"status": "ok"}
    ok = httpx.get(
        f"{daemon.url}/api/v1/sandboxes", headers={"Authorization": f"Bearer {daemon.key}"}
    )
    assert ok.status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"name": "../../etc"},
        {"name": "a" * 200},
        {"limits": {"pids": -1}},
        {"limits": {"memory_bytes": 1}},
        {"limits": {"cpu_millicores": 10**9}},
        {"labels": {"": "x"}},
        {"workdir": "relative"},
        {"idle_ttl_s": -5},
        {"name": 7},
        {"limits": "much"},
        {"env": {"A=B": "c"}},
    ],
)
def test_bad_creates(http, body):
    before = http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]
    status, code = error(http.post("/api/v1/sandboxes", json=body))
    assert (status, code) in (
        (400, "invalid_argument"),
        (422, "invalid_argument"),
        (429, "exhausted"),
    )
    assert len(http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]) == len(before)


def test_malformed_json_and_unknown_things(http, box):
    assert error(http.post("/api/v1/sandboxes", content=b"{nope"))[0] == 400
    assert error(http.post("/api/v1/sandboxes", content=b"[" * 100_000))[0] == 400
    assert error(http.get("/api/v1/sandboxes/none")) == (404, "not_found")
    assert error(http.get(f"/api/v1/sandboxes/{box['id']}/commands/none")) == (404, "not_found")
    assert error(http.get(f"/api/v1/sandboxes/{box['id']}/files", params={"path": "/none"})) == (
        404,
        "not_found",
    )
    assert error(http.post("/api/v1/sandboxes", json={"snapshot": "none"}))[0] == 404
    assert error(http.get("/api/v1/nothing"))[0] == 404
    assert error(http.put("/api/v1/sandboxes"))[0] == 405


def test_name_in_use(http):
    assert http.post("/api/v1/sandboxes", json={"name": "twice"}).status_code == 201
    assert error(http.post("/api/v1/sandboxes", json={"name": "twice"})) == (409, "already_exists")
    assert http.delete("/api/v1/sandboxes/twice").status_code == 204


def test_bad_commands(http, box):
    url = f"/api/v1/sandboxes/{box['id']}/commands"
    for body in (
        {"command": "true", "cwd": "/none"},
        {"command": "true", "user": "nobody-here"},
        {"argv": []},
        {
            "command": "true",
            "user": "70000",
        },  # an id that no sandbox has is the caller's mistake, not ours
        {"command": "true", "timeout_s": -1},
        {"command": "true", "shell": "/no/such"},
        {},
    ):
        status, code = error(http.post(url, json={**body, "wait": True}))
        assert status in (400, 404, 422), (body, status, code)


def test_same_command_id_with_another_request_is_a_conflict(http, box):
    url = f"/api/v1/sandboxes/{box['id']}/commands"
    assert (
        http.post(url, json={"id": "one", "command": "echo 1", "wait": True}).json()["stdout"]
        == "1\n"
    )
    assert (
        http.post(url, json={"id": "one", "command": "echo 1", "wait": True}).json()["stdout"]
        == "1\n"
    )
    assert error(http.post(url, json={"id": "one", "command": "echo 2", "wait": True})) == (
        409,
        "conflict",
    )


def test_path_tricks_stay_inside(http, box):
    files = f"/api/v1/sandboxes/{box['id']}/files"

    def run(command):
        assert (
            http.post(
                f"/api/v1/sandboxes/{box['id']}/commands", json={"command": command, "wait": True}
            ).json()["exit_code"]
            == 0
        )

    def get(path):
        return http.get(files, params={"path": path})

    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o777)
        secret = pathlib.Path(folder) / "of-the-host"
        secret.write_text("the host's")
        secret.chmod(0o666)  # whoever could reach it could read and write it
        tricks = [
            f"/../../../..{secret}",
            f"/tmp/../../../..{secret}",
            "/tmp/up",
            "/tmp/proc",
            "/tmp/dir/of-the-host",
        ]
        run(
            f"ln -s ../../../../../../..{secret} /tmp/up; ln -s /proc/1/root{secret} /tmp/proc; "
            f"ln -s ../../../../../..{folder} /tmp/dir; "
            "mkfifo /tmp/f"
        )
        for path in tricks:
            answer = get(path)
            assert answer.status_code in (400, 403, 404), (path, answer.text)
        for path in tricks:  # what is made, is made inside
            http.put(files, params={"path": path}, content=b"overwritten")
            http.delete(files, params={"path": path})
            assert secret.read_text() == "the host's" and os.listdir(folder) == [
                "of-the-host"
            ], path
        # Positive control: inside, the same ways lead to the sandbox's own file of that name.
        run(
            f"rm -rf /tmp/up /tmp/dir {folder}; mkdir -p {folder}; printf inside > {secret}; "
            f"ln -s ../../../../../../..{secret} /tmp/up; ln -s ../../../../../..{folder} /tmp/dir"
        )
        for path in (tricks[0], tricks[1], "/tmp/up", "/tmp/dir/of-the-host"):
            assert get(path).text == "inside", path
        assert secret.read_text() == "the host's"
    assert get("../../../../../../root/x").status_code in (400, 404)
    assert get("/tmp/\0x").status_code == 400
    status, _ = error(get("/tmp/f"))
    assert status == 400


def raw(daemon, data):
    """The status line and the body."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=20) as sock:
        sock.sendall(data)
        got = b""
        while chunk := sock.recv(65536):
            got += chunk
        head, _, body = got.partition(b"\r\n\r\n")
        return head.split(b"\r\n")[0].decode(), body


def test_hostile_http(daemon):
    host = b"Host: 127.0.0.1\r\nConnection: close\r\nX-Api-Key: " + daemon.key.encode() + b"\r\n"
    for sent, status, reason in (
        (
            b"GET / HTTP/1.1\r\n" + host + b"X-A: " + b"a" * 100_000 + b"\r\n\r\n",
            431,
            "head_too_large",
        ),
        (
            b"GET / HTTP/1.1\r\n"
            + host
            + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            "bad_request",
        ),
        (b"GET / HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n", 400, "bad_request"),
        (b"nonsense\r\n\r\n", 400, "bad_request"),
        (b"OPTIONS * HTTP/1.1\r\n" + host + b"\r\n", 400, "bad_target"),
        (b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", 400, "bad_host"),
        (
            b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
            421,
            "wrong_host",
        ),
        (
            b"GET http://evil.example/api/v1/version HTTP/1.1\r\n" + host + b"\r\n",
            421,
            "wrong_host",
        ),
    ):
        line, body = raw(daemon, sent)
        error = json.loads(body)["error"]
        assert line.split()[1] == str(status) and error["reason"] == reason, (sent[:60], line, body)
        assert error["code"] and error["message"] and error["error_id"], body
    line, body = raw(
        daemon, b"GET /v2/sandboxes/boxes HTTP/1.1\r\n" + host + b"Expect: cake\r\n\r\n"
    )
    assert (
        " 417 " in line and json.loads(body)["detail"]["error_id"]
    ), body  # each facade in its own shape
    assert (
        " 200 "
        in raw(daemon, b"GET http://127.0.0.1/api/v1/version HTTP/1.1\r\n" + host + b"\r\n")[0]
    )


@needs_root
def test_what_is_down_is_told_without_paths_of_the_host(own_daemon):
    """Whoever asks by the API need not know where on the host Cay's data lie."""
    daemon = own_daemon()
    told = []

    def failing(http, method, path, body=None):
        answer = http.request(method, f"/api/v1{path}", json=body)
        assert answer.status_code >= 400, (method, path, answer.text)
        told.append((method, path, error(answer), answer.json()["error"]["message"]))
        return answer.json()["error"]

    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "one"}).status_code == 201
        away = []
        for place in ("vault/daemon.sock", "rules"):
            (daemon.data / place).rename(daemon.data / f"{place}.away")
            away.append(place)
        down = failing(
            http, "PUT", "/secrets/some", {"sealed": "Ym94", "hosts": ["api.example.com"]}
        )
        assert (
            down["reason"] == "vault_unavailable"
            and down["message"].count("does not answer") == 1
            and "`cay doctor`" in down["message"]
        ), down
        failing(http, "GET", "/vault/key")
        failing(http, "PATCH", "/sandboxes/one", {"policy": "off"})
        for place in away:
            (daemon.data / f"{place}.away").rename(daemon.data / place)
    # The control: it is a path, and would be found.
    assert (
        str(daemon.data).startswith("/")
        and str(daemon.data) in f"connect to {daemon.data}/vault/daemon.sock"
    )
    assert not [one for one in map(str, told) if str(daemon.data) in one], told


@needs_root
def test_under_a_niced_launcher_commands_run_as_nicely():
    """A child cannot take back a priority that its keeper never had."""
    daemon = new_daemon()
    daemon.prefix = ["nice", "-n", "5"]
    daemon.start()
    try:
        got = daemon.cli("run", "--rm", "--", "nice")
        assert (got.code, got.text) == (0, "5\n"), got
    finally:
        daemon.close()


@needs_root
def test_the_daemon_never_has_roots_rights(tmp_path):
    got = subprocess.run(
        [CAY, "serve", "--run-as", "root", "--listen", "127.0.0.1:0", "--data", tmp_path / "data"],
        capture_output=True,
        text=True,
        timeout=slow(30),
    )
    assert (
        got.returncode != 0
        and "does not run as root" in got.stderr
        and not (tmp_path / "data").exists()
    ), got
    daemon = new_daemon()
    daemon.start()
    try:
        status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
        for held in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert f"{held}:\t{0:016x}\n" in status, status
        assert "Uid:\t0\t" not in status, status
    finally:
        daemon.close()
    # The control: who looks here has them.
    assert f"CapEff:\t{0:016x}\n" not in pathlib.Path("/proc/self/status").read_text()


@needs_root
def test_no_user_of_roots_id_or_group_is_the_daemons(tmp_path):
    """Whatever their names are; and no group but its own goes with a user who is taken."""
    users = {"toor": "x:0:65534", "op0": "x:12345:0", "op1": "x:12345:12345"}
    for name, ids in users.items():
        (tmp_path / "passwd").open("a").write(f"{name}:{ids}::/:/bin/sh\n")
    (tmp_path / "group").write_text("root:x:0:op1\ndocker:x:999:op1\nop1:x:12345:\n")
    script = (
        "".join(f"mount --bind {tmp_path}/{name} /etc/{name} && " for name in ("passwd", "group"))
        + 'exec "$@"'
    )
    prefix = ["unshare", "-m", "sh", "-c", script, "sh"]
    if subprocess.run([*prefix, "true"], check=False).returncode != 0:
        pytest.skip("no files of a test's own can be mounted here")
    for name, told in (("toor", "does not run as root"), ("op0", "does not run in root's group")):
        got = subprocess.run(
            [
                *prefix,
                CAY,
                "serve",
                "--run-as",
                name,
                "--listen",
                "127.0.0.1:0",
                "--data",
                tmp_path / "data",
            ],
            capture_output=True,
            text=True,
            timeout=slow(30),
            check=False,
        )
        assert (
            got.returncode != 0
            and told in got.stderr
            and "--run-as" in got.stderr
            and not (tmp_path / "data").exists()
        ), got
    # The control: the same way to a user with an id and a group of its own.
    daemon = new_daemon("--run-as", "op1")
    daemon.prefix = prefix
    daemon.start()
    try:
        status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
        assert "Uid:\t12345\t12345\t" in status and "Gid:\t12345\t12345\t" in status, status
        assert [line.split()[1:] for line in status.splitlines() if line.startswith("Groups:")] == [
            []
        ], status
    finally:
        daemon.close()
