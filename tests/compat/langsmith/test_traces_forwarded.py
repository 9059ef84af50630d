"""Tracing switched on while sandboxes are used, by the unmodified clients: with an upstream the
runs arrive there with the upstream's key and never the sandbox's; without one the clients hear one
clear sentence and the sandboxes work."""
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

import httpx
import pytest

from harness import new_daemon, wait_until

HERE = pathlib.Path(__file__).resolve().parent
UPSTREAM_KEY = "lsv2_upstream_" + "k" * 24
# The upstream's /info, with other ingestion settings than the clients' defaults.
INGESTION = {
    "use_multipart_endpoint": False,
    "size_limit": 7,
    "size_limit_bytes": 4096,
    "scale_up_qsize_trigger": 50,
    "scale_up_nthreads_limit": 1,
    "scale_down_nempty_trigger": 2,
}
INFO = {
    "version": "0.12.0",
    "license_expiration_time": "never",
    "batch_ingest_config": INGESTION,
    "instance_flags": {"zstd_compression_enabled": False},
}

PYTHON = r"""
import os
from langsmith import Client, traceable
from langsmith.sandbox import SandboxClient

client = Client(auto_batch_tracing=True)

@traceable(name="cay-traced-run", client=client)
def work(sandbox):
    return sandbox.run("echo traced; exit 3").exit_code

with SandboxClient() as boxes, boxes.sandbox() as sandbox:
    print("exit", work(sandbox))
client.flush()
client.close() if hasattr(client, "close") else None
print("done")
"""

JAVASCRIPT = r"""
const { Client, RunTree } = require("langsmith");
const { traceable } = require("langsmith/traceable");
const { SandboxClient } = require("langsmith/sandbox");
(async () => {
  const client = new Client();
  const boxes = new SandboxClient();
  const sandbox = await boxes.createSandbox();
  const work = traceable(async () => (await sandbox.run("echo traced; exit 3")).exit_code,
      { name: "cay-traced-run", client });
  console.log("exit", await work());
  await client.awaitPendingTraceBatches();
  await boxes.deleteSandbox(sandbox.name);
  console.log("done");
})().catch((error) => { console.error(error); process.exit(1); });
"""


class Recorder:
    """Stands for LangSmith: answers every trace with 202 and keeps what came."""

    def __init__(self):
        self.seen = []
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.body()
                recorder.seen.append((self.command, self.path, dict(self.headers.items()), body))
                reply = json.dumps(INFO).encode() if self.path.endswith("/info") else b"{}"
                self.send_response(
                    307 if "redirect" in self.path else 200 if self.command == "GET" else 202
                )
                self.send_header("Location", "http://elsewhere.example/")
                self.send_header("Set-Cookie", "of=upstream")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def body(self):
                if "chunked" in self.headers.get("Transfer-Encoding", ""):
                    parts = []
                    while size := int(self.rfile.readline(), 16):
                        parts.append(self.rfile.read(size))
                        self.rfile.readline()
                    self.rfile.readline()
                    return b"".join(parts)
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def runs(self):
        return [one for one in self.seen if "/runs" in one[1]]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def recorder():
    made = Recorder()
    yield made
    made.close()


@pytest.fixture(scope="module")
def passing_on(recorder, tmp_path_factory):
    """A daemon that passes traces on to the recorder."""
    config = tmp_path_factory.mktemp("config") / "cay.toml"
    key = config.with_name("upstream-key")
    key.touch(0o600)
    key.write_text(UPSTREAM_KEY + "\n")
    config.write_text(
        "[langsmith]\n"
        f'upstream = "{recorder.url}"\n'
        f'upstream_key_file = "{key}"\n'
        'upstream_tenants = ["default", "named"]\n'
    )
    daemon = new_daemon("--config", config).start()
    yield daemon
    daemon.close()


def key(daemon, *words):
    made = subprocess.run(
        [daemon.program, "key", "--data", daemon.data, "create", *words],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def traced(daemon, language, with_key=None):
    env = {
        **os.environ,
        **daemon.env,
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_PROJECT": "cay",
        "LANGSMITH_API_KEY": with_key or daemon.key,
    }
    if language == "python":
        argv, where = [sys.executable, "-c", PYTHON], HERE
    else:
        version = (HERE / "versions.txt").read_text().split()[-1]
        where = HERE.parent.parent.parent / "build" / "node" / f"{version}-with"
        if not where.exists():
            pytest.skip("tools/testenv.sh has not installed the npm clients")
        argv = ["node", "-e", JAVASCRIPT]
    done = subprocess.run(argv, cwd=where, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit 3\n" in done.stdout and "done\n" in done.stdout, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_traces_reach_the_upstream_with_its_own_key(passing_on, recorder, language):
    recorder.seen.clear()
    mine = key(passing_on, f"tracer-{language}")  # of the usual scope: enough to trace
    traced(passing_on, language, mine)
    wait_until(recorder.runs, "a run has arrived upstream")
    for method, path, headers, body in recorder.runs():
        keys = {name.lower(): value for name, value in headers.items()}
        assert keys.get("x-api-key") == UPSTREAM_KEY, (method, path)
        everything = repr((path, headers)).encode() + body
        assert passing_on.key.encode() not in everything and mine.encode() not in everything, (
            method,
            path,
        )
        assert "authorization" not in keys
    assert all(
        headers.get("Host") == recorder.url.removeprefix("http://")
        for _, _, headers, _ in recorder.seen
    )


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_without_an_upstream_the_sandboxes_work_and_the_client_is_told(daemon, language):
    said = traced(daemon, language)
    assert "[langsmith] upstream" in said, said


# The requests of LangSmith's clients besides traces, below each root that they may have.
OTHERS = [
    ("POST", "/v1/platform/datasets/abc/examples"),
    ("POST", "/platform/datasets/abc/examples"),
    ("POST", "/v1/platform/examples/multipart"),
    ("POST", "/likes/o/n"),
    ("POST", "/feedback-configs"),
    ("GET", "/tenants"),
    ("GET", "/api/v1/tenants"),
    ("DELETE", "/api/v1/platform/x"),
    ("PUT", "/api/v2/runs/query"),
]
# Cay's own, though nothing is there, or not with this method.
OURS = [
    ("GET", "/api/v1/sandboxes/none/what"),
    ("GET", "/api/v1"),
    ("GET", "/healthz/x"),
    ("GET", "/v2/sandboxes/what"),
    ("PUT", "/v2/sandboxes/boxes"),
    ("GET", "/svc/what"),
    ("GET", "/"),
]


def test_every_other_path_of_langsmith_is_passed_on(passing_on, recorder):
    recorder.seen.clear()
    # A plain client: what the upstream answers below /api/v1 is in no document of Cay's.
    with httpx.Client(
        base_url=passing_on.url, headers={"X-Api-Key": passing_on.key}, timeout=60
    ) as http:
        for method, path in OTHERS:
            assert http.request(method, path).status_code in (200, 202), path
        assert [(one[0], one[1]) for one in recorder.seen] == OTHERS
        assert all(
            one[2].get("X-Api-Key", one[2].get("x-api-key")) == UPSTREAM_KEY
            for one in recorder.seen
        )
        recorder.seen.clear()
        for method, path in OURS:
            assert http.request(method, path).status_code in (404, 405), path
        http.headers["X-Api-Key"] = "wrong"
        assert http.get("/tenants").status_code == 401
    assert recorder.seen == []


RUN = "/runs/6f1c2a0e-8d54-4a43-9a55-0f6a8f0f3b11"
POSTS = [
    ("POST", "/runs"),
    ("POST", "/runs/batch"),
    ("POST", "/api/v1/runs/multipart"),
    ("PATCH", "/api" + RUN),
]
MORE = [
    ("GET", RUN),
    ("DELETE", RUN),
    ("POST", "/runs/query"),
    ("GET", "/api/v1/sessions"),
    ("DELETE", "/sessions/x"),
    ("GET", "/prompts"),
    ("POST", "/datasets"),
    ("POST", "/feedback"),
    ("POST", "/otel/v1/traces"),
    ("POST", "/runs/batch/../../sessions"),
    *OTHERS,
]


def test_what_is_lent_of_the_upstreams_key(passing_on, recorder):
    """Who may make sandboxes posts runs and no more; who reads or uses one, nothing; who is of a
    tenant that was not named, nothing."""
    with passing_on.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
    kinds = {"admin": POSTS + MORE, "create": POSTS, "read": [], "use": []}
    keys = {
        scope: key(
            passing_on,
            f"lent-{scope}",
            *(["--sandbox", box] if scope == "use" else ["--scope", scope]),
        )
        for scope in kinds
    }
    for tenant, allowed in (("named", POSTS), ("other", [])):
        keys[tenant], kinds[tenant] = key(passing_on, f"lent-{tenant}", "--tenant", tenant), allowed
    keys["other admin"], kinds["other admin"] = (
        key(passing_on, "lent-other-admin", "--tenant", "other", "--scope", "admin"),
        [],
    )
    for kind, allowed in kinds.items():
        with httpx.Client(
            base_url=passing_on.url, headers={"X-Api-Key": keys[kind]}, timeout=60
        ) as http:
            for method, path in POSTS + MORE:
                recorder.seen.clear()
                answer = http.send(
                    httpx.Request(method, passing_on.url + path, headers=http.headers)
                )
                if (method, path) in allowed:
                    assert answer.status_code in (200, 202) and len(recorder.seen) == 1, (
                        kind,
                        method,
                        path,
                        answer.text,
                    )
                    continue
                assert answer.status_code == 403 and recorder.seen == [], (
                    kind,
                    method,
                    path,
                    answer.text,
                )
                reason = (
                    "upstream_not_for_tenant"
                    if kind == "other admin" or (kind == "other" and (method, path) in POSTS)
                    else "has the scope"
                )
                assert reason in answer.text, (kind, method, path, answer.text)
            recorder.seen.clear()
            assert http.get("/info").status_code == 200
            assert all(one[1] == "/info" for one in recorder.seen)


def test_info_has_the_ingestion_settings_of_the_upstream(passing_on, recorder):
    recorder.seen.clear()
    headers = {"X-Api-Key": passing_on.key, "Cookie": "a=b"}
    right = {
        "version": "0.16.0",
        "batch_ingest_config": INGESTION,
        "instance_flags": INFO["instance_flags"],
    }
    with httpx.Client(base_url=passing_on.url, headers=headers, timeout=60) as http:
        for path in ("/info", "/api/info", "/api/v1/info") * 3:
            assert http.get(path).json() == right, path
    # The daemon sends one request, and no header of the caller's.
    assert len(recorder.seen) <= 1
    headers = {name.lower() for one in recorder.seen for name in one[2]}
    assert not headers & {"x-api-key", "cookie"}, headers


TRACES = """
import datetime, uuid
from langsmith import Client
client = Client(auto_batch_tracing=True)
for number in range(40):
    now = datetime.datetime.now(datetime.timezone.utc)
    client.create_run(name="one", inputs={}, run_type="chain", id=uuid.uuid4(), start_time=now)
client.flush()
"""


def test_a_client_sends_runs_as_the_upstream_requires(passing_on, recorder):
    """The client's default is multipart. This upstream takes JSON, and seven runs at most."""
    recorder.seen.clear()
    env = {**os.environ, **passing_on.env, "LANGSMITH_API_KEY": passing_on.key}
    done = subprocess.run(
        [sys.executable, "-c", TRACES],
        cwd=HERE,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    wait_until(recorder.runs, "runs have arrived upstream")
    posts = [one for one in recorder.seen if one[0] == "POST" and "/runs" in one[1]]
    paths = {one[1].rsplit("/", 1)[1] for one in posts}
    assert posts and paths <= {"batch", "runs"}, paths
    batches = [json.loads(one[3])["post"] for one in posts if one[1].endswith("/batch")]
    assert all(len(batch) <= 7 for batch in batches), [len(batch) for batch in batches]


def test_nothing_of_the_caller_but_what_is_asked_goes_upstream(passing_on, recorder):
    caller = key(passing_on, "careless")
    headers = {
        "Cookie": f"token={caller}",
        "Proxy-Authorization": caller,
        "X-Service-Key": caller,
        "X-Forwarded-For": "1.2.3.4",
        "X-Tenant-Id": "another",
        "X-HTTP-Method-Override": "DELETE",
        "X-Mine": caller,
    }
    for with_key, workspace in ((caller, None), (passing_on.key, "another")):
        for given in ({"X-Api-Key": with_key}, {"Authorization": f"Bearer {with_key}"}):
            recorder.seen.clear()
            answer = httpx.post(
                f"{passing_on.url}/runs?tenant_id=x",
                headers={**headers, **given},
                json={"a": 1},
                timeout=60,
            )
            assert (
                answer.status_code == 202
                and "location" not in answer.headers
                and "set-cookie" not in answer.headers
            )
            ((method, path, told, body),) = recorder.seen
            told = {name.lower(): value for name, value in told.items()}
            assert (
                (method, path, body) == ("POST", "/runs", b'{"a":1}')
                and told["content-type"] == "application/json"
                and told["x-api-key"] == UPSTREAM_KEY
            )
            assert set(told) <= {
                "host",
                "accept",
                "accept-encoding",
                "content-type",
                "content-length",
                "user-agent",
                "x-api-key",
                "connection",
                "transfer-encoding",
            }, told
            assert caller not in repr(recorder.seen) and passing_on.key not in repr(recorder.seen)
            if workspace:  # who may do anything says where
                httpx.get(
                    f"{passing_on.url}/sessions?name=x", headers={**headers, **given}, timeout=60
                )
                assert (
                    recorder.seen[-1][1] == "/sessions?name=x"
                    and {name.lower(): value for name, value in recorder.seen[-1][2].items()}[
                        "x-tenant-id"
                    ]
                    == workspace
                )
                assert caller not in repr(recorder.seen)


def test_a_redirect_takes_no_key_anywhere(passing_on, recorder):
    recorder.seen.clear()
    answer = httpx.get(
        f"{passing_on.url}/public/redirect",
        headers={"X-Api-Key": passing_on.key},
        timeout=60,
        follow_redirects=True,
    )
    assert (
        answer.status_code == 502
        and "upstream_redirects" in answer.text
        and "location" not in answer.headers
    )
    assert len(recorder.seen) == 1


def test_a_runs_id_is_no_path(passing_on, recorder):
    recorder.seen.clear()
    for path in ("/runs/..%2fsessions%2fx", "/runs/%2e%2e", "/runs/x"):
        request = httpx.Request(
            "PATCH", passing_on.url + path, headers={"X-Api-Key": passing_on.key}
        )
        with httpx.Client() as http:
            answer = http.send(request)
        assert answer.status_code == 422 and "invalid_run_id" in answer.text, answer.text
    assert recorder.seen == []


@pytest.mark.parametrize(
    "settings, mode, text, said",
    [
        ('upstream_key = "a"\nupstream_key_file = "KEY"', 0o600, "a", "are both set"),
        ('upstream_key_file = "KEY"', 0o644, "a", "by everybody"),
        ('upstream_key_file = "KEY"', 0o600, "\n", "is empty"),
        ('upstream_key_file = "KEY"', 0o600, "a b", "no key has"),
        ('upstream_key_file = "KEY.none"', 0o600, "a", "KEY.none"),
        ('upstream_tenants = ["a/b"]', 0o600, "a", "no tenant's name"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_words(tmp_path, settings, mode, text, said):
    file, config = tmp_path / "KEY", tmp_path / "cay.toml"
    file.write_text(text)
    file.chmod(mode)
    config.write_text(
        '[langsmith]\nupstream = "http://127.0.0.1:9"\n' + settings.replace("KEY", str(file)) + "\n"
    )
    daemon = new_daemon("--config", config)
    with pytest.raises(RuntimeError, match=f"langsmith.*{said}"):
        daemon.start()
    daemon.process.wait(timeout=60)
    daemon.close()


def test_without_an_upstream_every_other_path_names_the_setting(http):
    for method, path in OTHERS:
        answer = http.request(method, path)
        assert answer.status_code == 404, path
        body = answer.json()
        assert "[langsmith] upstream" in body["detail"]["message"] == body["error"]["message"], path
    for method, path in OURS:
        answer = http.request(method, path)
        assert answer.status_code in (404, 405) and "upstream" not in answer.text, path


def test_an_upstream_that_cannot_be_used_is_said_at_once(tmp_path):
    config = tmp_path / "cay.toml"
    config.write_text(
        '[langsmith]\nupstream = "https://localhost"\nupstream_ca_file = "/etc/hostname"\n'
    )
    daemon = new_daemon("--config", config)
    with pytest.raises(RuntimeError, match="upstream.*/etc/hostname"):
        daemon.start()
    daemon.process.wait(timeout=60)
    daemon.close()
