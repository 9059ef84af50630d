"""The toolbox of the Daytona facade by hand: what it promises beyond the vendor's own clients."""

import base64
import hashlib
import hmac
import json
import time

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import harness

VERSION = "0.226.1"


class Toolbox:
    """A sandbox of a daemon, as a client of the vendor's sees it."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.keys = {"Authorization": f"Bearer {daemon.key}", "X-Daytona-SDK-Version": VERSION}
        self.client = httpx.Client(headers=self.keys, timeout=harness.slow(60))
        made = self.client.post(f"{daemon.url}/daytona/sandbox", json={})
        assert made.status_code == 200, made.text
        self.id = made.json()["id"]

    @property
    def base(self):
        return f"{self.daemon.url}/daytona/toolbox/{self.id}"

    def __call__(self, method, path, status=200, **fields):
        answer = self.client.request(method, self.base + path, **fields)
        assert answer.status_code == status, answer.text
        return (
            answer.json() if answer.content and "json" in answer.headers["Content-Type"] else None
        )

    def run(self, command, **fields):
        return self("POST", "/process/execute", json={"command": command, **fields})

    def socket(self, path, **fields):
        return connect(
            "ws" + self.base.removeprefix("http") + path, additional_headers=self.keys, **fields
        )

    def close(self):
        self.client.delete(f"{self.daemon.url}/daytona/sandbox/{self.id}")
        self.client.close()


@pytest.fixture(scope="module")
def toolbox(daemon):
    made = Toolbox(daemon)
    yield made
    made.close()


def code_of(answer):
    assert answer["source"] == "DAYTONA_DAEMON", answer
    return answer["code"]


def test_execute_gives_all_output_in_its_order(toolbox):
    got = toolbox.run("echo a; echo b >&2; echo c; exit 3")
    assert got == {"exitCode": 3, "result": "a\nb\nc\n"}
    assert toolbox.run("seq 200000")["result"].endswith("\n200000\n")
    assert toolbox.run("echo " + "x" * 300_000)["result"] == "x" * 300_000 + "\n"
    assert toolbox.run("pwd; echo $A", cwd="/tmp", envs={"A": "1"})["result"] == "/tmp\n1\n"


def test_execute_tells_its_own_failures_from_the_commands(toolbox):
    assert toolbox.run("true", cwd="/nowhere")["exitCode"] == -1
    begin = time.monotonic()
    late = toolbox("POST", "/process/execute", 408, json={"command": "sleep 60", "timeout": 1})
    assert code_of(late) == "PROCESS_EXECUTION_TIMEOUT"
    assert time.monotonic() - begin < harness.slow(10)
    none = toolbox("POST", "/process/execute", 400, json={"command": ""})
    assert code_of(none) == "INVALID_REQUEST_BODY"
    bad = toolbox("POST", "/process/execute", 400, json={"command": "a", "envs": {"A-B": ""}})
    assert code_of(bad) == "INVALID_REQUEST_BODY"


def test_code_runs_as_a_program(toolbox):
    def ran(code, language="python", **fields):
        return toolbox(
            "POST", "/process/code-run", json={"code": code, "language": language, **fields}
        )

    got = ran("import sys\nprint(sys.argv, __name__)", argv=["a"])
    assert got == {
        "exitCode": 0,
        "result": "['-c', 'a'] __main__\n",
        "artifacts": {"charts": []},
    }
    failed = ran("def f():\n  raise ValueError('no')\nf()")
    assert failed["exitCode"] == 1
    assert failed["result"] == (
        "Traceback (most recent call last):\n"
        '  File "<code>", line 3, in <module>\n    f()\n'
        "  File \"<code>\", line 2, in f\n    raise ValueError('no')\nValueError: no\n"
    )
    assert ran("raise SystemExit(4)")["exitCode"] == 4
    charts = ran("print('x'); print('dtn_artifact_k39fd2:{\"type\":\"line\"}')")
    assert charts["result"] == "x\n" and charts["artifacts"]["charts"] == [{"type": "line"}]
    assert toolbox.run("ls -A /tmp | grep -c code-")["result"] == "0\n"
    other = toolbox("POST", "/process/code-run", 400, json={"code": "1", "language": "cobol"})
    assert code_of(other) == "BAD_REQUEST"


def test_uploads_write_through_links_and_leave_nothing_behind(toolbox):
    toolbox.run("mkdir -p /tmp/up/dir && ln -s /tmp/up/target /tmp/up/link")

    def upload(files):
        fields = []
        for i, (path, content) in enumerate(files):
            fields.append((f"files[{i}].path", (None, path.encode())))
            fields.append((f"files[{i}].file", (path.rsplit("/", 1)[-1], content)))
        return toolbox.client.post(toolbox.base + "/files/bulk-upload", files=fields)

    answer = upload([("/tmp/up/link", b"one"), ("/tmp/up/dir", b"two"), ("/tmp/up/c/d", b"three")])
    assert answer.status_code == 400
    body = answer.json()
    assert [one["path"] for one in body["files"]] == ["/tmp/up/link", "/tmp/up/c/d"]
    assert len(body["errors"]) == 1 and "/tmp/up/dir" in body["errors"][0]
    listed = toolbox.run("cat /tmp/up/target /tmp/up/c/d; readlink /tmp/up/link; ls -A /tmp/up/dir")
    assert listed["result"] == "onethree/tmp/up/target\n"


def test_a_body_that_is_cut_off_becomes_no_file(toolbox):
    head = (
        b'--b\r\nContent-Disposition: form-data; name="files[0].path"\r\n\r\n/tmp/cut\r\n'
        b'--b\r\nContent-Disposition: form-data; name="files[0].file"; filename="cut"\r\n\r\nhalf'
    )
    answer = toolbox.client.post(
        toolbox.base + "/files/bulk-upload",
        content=head,
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )
    assert answer.status_code == 400, answer.text
    gone = toolbox("GET", "/files/info?path=/tmp/cut", 404)
    assert code_of(gone) == "FILE_NOT_FOUND"


def test_downloads_answer_each_path_for_itself(toolbox):
    toolbox.run("printf '\\r\\n--DAYTONA-FILE-BOUNDARY--\\r\\n' >/tmp/tricky")
    answer = toolbox.client.post(
        toolbox.base + "/files/bulk-download", json={"paths": ["/tmp/tricky", "/none"]}
    )
    assert answer.status_code == 200
    boundary = answer.headers["Content-Type"].split("boundary=")[1]
    parts = answer.content.split(f"--{boundary}".encode())[1:-1]
    assert len(parts) == 2
    head, _, content = parts[0].partition(b"\r\n\r\n")
    assert b'name="file"; filename="/tmp/tricky"' in head
    assert content == b"\r\n--DAYTONA-FILE-BOUNDARY--\r\n\r\n"
    head, _, content = parts[1].partition(b"\r\n\r\n")
    assert b'name="error"; filename="/none"' in head
    assert code_of(json.loads(content)) == "FILE_NOT_FOUND"


def followed(toolbox, session, command):
    """All that a WebSocket sends of a command's output, to its end."""
    got = b""
    with toolbox.socket(f"/process/session/{session}/command/{command}/logs?follow=true") as socket:
        try:
            while True:
                got += socket.recv(timeout=harness.slow(30))
        except ConnectionClosed as closed:
            assert closed.rcvd.code == 1000
    return got


def until(condition):
    deadline = time.monotonic() + harness.slow(20)
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_sessions_outlive_the_daemon(own_daemon):
    daemon = own_daemon()
    toolbox = Toolbox(daemon)
    toolbox("POST", "/process/session", 201, json={"sessionId": "a b"})
    path = "/process/session/a%20b"
    first = toolbox("POST", path + "/exec", json={"command": "X=1; cd /tmp; echo one"})
    assert first["stdout"] == "one\n" and first["exitCode"] == 0
    slow = 'read line; echo "got $line"; echo bad >&2; exit_later=1'
    begun = toolbox("POST", path + "/exec", 202, json={"command": slow, "runAsync": True})
    command = begun["cmdId"]
    terminal = {"id": "t", "cols": 80, "rows": 24}
    toolbox("POST", "/process/pty", 201, json=terminal)
    daemon.restart("kill")

    listed = toolbox("GET", path)
    assert [one["command"] for one in listed["commands"]] == ["X=1; cd /tmp; echo one", slow]
    assert listed["commands"][0]["exitCode"] == 0 and "exitCode" not in listed["commands"][1]
    assert toolbox("GET", "/process/pty/t")["active"]
    toolbox("POST", f"{path}/command/{command}/input", 204, json={"data": "hello"})
    assert followed(toolbox, "a%20b", command) == (b"\1\1\1hello\n\1\1\1got hello\n\2\2\2bad\n")
    done = toolbox("POST", f"{path}/command/{command}/input", 410, json={"data": "x"})
    assert code_of(done) == "COMMAND_ALREADY_COMPLETED"
    kept = toolbox("POST", path + "/exec", json={"command": "pwd; echo $X; exit 5"})
    assert kept["stdout"] == "/tmp\n1\n" and kept["exitCode"] == 5
    over = toolbox("POST", path + "/exec", 410, json={"command": "true"})
    assert code_of(over) == "SESSION_ENDED"
    toolbox("DELETE", path, 204)
    assert code_of(toolbox("GET", path, 404)) == "PROCESS_NOT_FOUND"
    toolbox.close()


def test_older_clients_get_older_logs(toolbox):
    toolbox("POST", "/process/session", 201, json={"sessionId": "old"})
    again = toolbox("POST", "/process/session", 409, json={"sessionId": "old"})
    assert code_of(again) == "CONFLICT"
    ran = toolbox("POST", "/process/session/old/exec", json={"command": "echo a; echo b >&2"})
    logs = f"{toolbox.base}/process/session/old/command/{ran['cmdId']}/logs"
    marked = toolbox.client.get(logs, headers={"X-Daytona-SDK-Version": "0.100.0"}).content
    assert sorted(marked.split(b"\n")) == [b"", b"\1\1\1a", b"\2\2\2b"]
    plain = toolbox.client.get(logs, headers={"X-Daytona-SDK-Version": "0.20.0"}).text
    assert plain == "a\nb\n"
    job = toolbox("POST", "/process/session/old/exec", json={"command": "(sleep 0.1; echo job) &"})
    toolbox("POST", "/process/session/old/exec", json={"command": "wait; echo next"})
    late = toolbox("GET", f"/process/session/old/command/{job['cmdId']}/logs")
    assert late["stdout"] == "job\n"
    toolbox("DELETE", "/process/session/old", 204)


def test_a_terminal_says_how_it_ended(toolbox):
    protocols = [
        "X-Daytona-Pty-Envs~" + base64.urlsafe_b64encode(b'{"A":"b c"}').decode().rstrip("="),
        "X-Daytona-Pty-Exit-Control",
    ]
    where = "/process/pty/create-connect?id=t1&cols=90&rows=20"
    with toolbox.socket(where, subprotocols=protocols) as socket:
        assert socket.subprotocol == "X-Daytona-Pty-Exit-Control"
        assert json.loads(socket.recv()) == {"type": "control", "status": "connected"}
        with pytest.raises(InvalidStatus) as refused:
            toolbox.socket(where)
        assert refused.value.response.status_code == 409
        socket.send(b'stty size; echo "[$A]"; exit 6\n')
        shown, control = b"", None
        try:
            while True:
                got = socket.recv(timeout=harness.slow(30))
                if isinstance(got, bytes):
                    shown += got
                else:
                    control = json.loads(got)
        except ConnectionClosed as closed:
            assert closed.rcvd.code == 1000 and json.loads(closed.rcvd.reason) == {"exitCode": 6}
        assert b"20 90" in shown and b"[b c]" in shown
        assert control == {"type": "control", "status": "exited", "exitCode": 6}
    gone = toolbox("GET", "/process/pty/t1", 404)
    assert code_of(gone) == "PROCESS_NOT_FOUND"


def interpreted(toolbox, **request):
    frames = []
    with toolbox.socket("/process/interpreter/execute") as socket:
        socket.send(json.dumps(request))
        try:
            while True:
                frames.append(json.loads(socket.recv(timeout=harness.slow(60))))
        except ConnectionClosed as closed:
            return frames, closed.rcvd.code


def test_an_interpreter_is_really_interrupted(toolbox):
    assert interpreted(toolbox, code="x = 4") == ([{"type": "control", "text": "completed"}], 1000)
    begin = time.monotonic()
    frames, code = interpreted(toolbox, code="import time\ntime.sleep(600)", timeout=1)
    assert (frames, code) == ([{"type": "control", "text": "interrupted"}], 4008)
    assert time.monotonic() - begin < harness.slow(2)
    frames, code = interpreted(
        toolbox, code="import os; print(x, os.environ['E'])", envs={"E": "'"}
    )
    assert frames[0] == {"type": "stdout", "text": "4 '\n"} and code == 1000
    frames, code = interpreted(toolbox, code="1", contextId="none")
    assert frames == [] and code == 1008


def test_git_keeps_no_password(toolbox):
    """The login reaches git and nothing else: it fails at a server that nobody runs."""
    toolbox("POST", "/git/init", 201, json={"path": "/tmp/repo", "initial_branch": "main"})
    toolbox.run("cd /tmp/repo && echo 1 >a")
    status = toolbox("GET", "/git/status?path=/tmp/repo")
    assert status["currentBranch"] == "main"
    assert status["fileStatus"] == [
        {"name": "a", "staging": "Untracked", "worktree": "Untracked", "extra": ""}
    ]
    toolbox("POST", "/git/add", json={"path": "/tmp/repo", "files": ["."]})
    commit = {"path": "/tmp/repo", "message": "one", "author": "A", "email": "a@example.com"}
    made = toolbox("POST", "/git/commit", json=commit)
    history = toolbox("GET", "/git/history?path=/tmp/repo")
    assert [one["hash"] for one in history] == [made["hash"]]
    assert code_of(toolbox("POST", "/git/commit", 409, json=commit)) == "CONFLICT"
    toolbox.run("git -C /tmp/repo remote add origin http://127.0.0.1:9/x")
    login = {"path": "/tmp/repo", "username": "u", "password": "hunter-secret"}
    refused = toolbox("POST", "/git/push", 502, json=login)
    assert code_of(refused) == "GIT_TRANSPORT_FAILED"
    found = toolbox.run("grep -rs hunter-secret /tmp/repo ~ /etc | head -1")
    assert found["result"] == ""
    assert code_of(toolbox("GET", "/git/status?path=/etc", 404)) == "GIT_REPO_NOT_FOUND"


def test_signed_urls_need_no_key(toolbox):
    key = toolbox.client.get(f"{toolbox.daemon.url}/daytona/sandbox/{toolbox.id}/signing-key")
    assert key.status_code == 200, key.text

    def signed(method, path, expires):
        message = f"v1:files:{method}:{path}:{expires}".encode()
        digest = hmac.new(key.json().encode(), message, hashlib.sha256).digest()
        signature = "v1_" + base64.urlsafe_b64encode(digest).decode().rstrip("=")
        return {"path": path, "expires": str(expires), "signature": signature}

    later = int(time.time()) + 600
    up, down = toolbox.base + "/files/upload-v2", toolbox.base + "/files/download"
    sent = httpx.post(
        up, params=signed("POST", "/tmp/signed", later), files={"file": ("x", b"content")}
    )
    assert sent.status_code == 200, sent.text
    got = httpx.get(down, params=signed("GET", "/tmp/signed", 0))
    assert got.content == b"content"
    for wrong in (
        signed("GET", "/tmp/signed", int(time.time()) - 1),
        {**signed("GET", "/tmp/signed", 0), "path": "/etc/passwd"},
        signed("POST", "/tmp/signed", later),
    ):
        refused = httpx.get(down, params=wrong)
        assert refused.status_code == 401 and code_of(refused.json()) == "UNAUTHORIZED"


def test_what_is_not_there_says_so(toolbox):
    started = {"languageId": "python", "pathToProject": "/tmp"}
    servers = toolbox.run("command -v pylsp")["exitCode"] == 0
    if not servers:
        none = toolbox("POST", "/lsp/start", 422, json=started)
        assert "pip install python-lsp-server" in none["message"]
        off = toolbox("GET", "/lsp/workspacesymbols?query=a&languageId=python&pathToProject=/", 400)
        assert code_of(off) == "LSP_SERVER_NOT_INITIALIZED"
    desktop = toolbox("POST", "/computeruse/start", 503)
    assert code_of(desktop) == "COMPUTER_USE_UNAVAILABLE"
    assert toolbox("GET", "/computeruse/status") == {"status": "inactive"}


def test_ports_are_those_of_programs(toolbox):
    assert toolbox("GET", "/port") == {"ports": []}
    toolbox.run("python3 -m http.server 8123 >/dev/null 2>&1 &")
    until(lambda: toolbox("GET", "/port/8123/in-use")["isInUse"])
    assert toolbox("GET", "/port") == {"ports": [8123]}
    assert code_of(toolbox("GET", "/port/80/in-use", 400)) == "BAD_REQUEST"
    toolbox.run("pkill -f http.server")
