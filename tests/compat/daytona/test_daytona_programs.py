"""The programs of the documents, with a scripted model. Only Daytona's two variables are set."""
import re
import subprocess
import sys
import uuid

import pytest

from harness import ROOT, slow
from model_server import model_server
from scripted_model import hello
from typescript import transpiled

NODE = ROOT / "build/node/daytona"
AT_ONCE = 10


def settings(daemon):
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "DAYTONA_API_URL": daemon.url + "/daytona",
        "DAYTONA_API_KEY": daemon.key,
    }


@pytest.fixture
def script(daemon, tmp_path):
    """script(name) -> the words that start an example."""

    def make(name):
        if name.endswith(".py"):
            return [sys.executable, ROOT / "examples/python" / name]
        return ["node", transpiled(ROOT / "examples/typescript" / name, tmp_path, NODE)]

    return make


@pytest.fixture
def gone(http):
    """Removes what a test left."""
    before = {one["id"] for one in http.get("/api/v1/sandboxes").json()["items"]}
    yield
    for one in http.get("/api/v1/sandboxes").json()["items"]:
        if one["id"] not in before:
            http.delete(f"/api/v1/sandboxes/{one['id']}")


@pytest.mark.parametrize("name", ["daytona_agent.py", "daytona_agent.ts"])
def test_an_agent_creates_runs_and_stops(daemon, http, script, gone, name):
    before = {one["id"] for one in http.get("/api/v1/sandboxes").json()["items"]}
    with model_server(hello) as model:
        done = subprocess.run(
            script(name),
            env={**settings(daemon), **model.env, "MODEL": "openai:scripted"},
            capture_output=True,
            text=True,
            timeout=slow(120),
        )
        assert not model.rejected
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("It printed: Hello, world!"), done.stdout
    left = [one for one in http.get("/api/v1/sandboxes").json()["items"] if one["id"] not in before]
    assert [one["state"] for one in left] == (["stopped"] if name.endswith(".py") else [])


@pytest.mark.parametrize("name", ["daytona_thread.py", "daytona_thread.ts"])
def test_all_programs_of_a_thread_get_one_sandbox(daemon, http, script, gone, name):
    thread, words = uuid.uuid4().hex, script(name)
    running = [
        subprocess.Popen(
            [*words, thread],
            env=settings(daemon),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(AT_ONCE)
    ]
    ended = [(*one.communicate(timeout=slow(120)), one.returncode) for one in running]
    for out, err, code in ended:
        assert code == 0, err[-3000:]
        lines = out.splitlines()
        assert lines[0] == "/src/index.py print(6 * 7)", out
        assert re.search("^/output.txt .*(not.found|no such file)", lines[1], re.I), out
        assert lines[2].split()[1:] == ["42"], out
    boxes = {out.splitlines()[2].split()[0] for out, _, _ in ended}
    assert len(boxes) == 1, boxes
    listed = http.get("/api/v1/sandboxes").json()["items"]
    mine = [one for one in listed if one.get("labels", {}).get("thread_id") == thread]
    assert [one["id"] for one in mine] == list(boxes)


# As the documents have it. The newest client has no find_one, which the `except` catches.
DOCUMENTED = """
from daytona import CreateSandboxFromSnapshotParams, Daytona
from langchain_daytona import DaytonaSandbox

client = Daytona()
thread_id = {thread!r}
try:
    sandbox = client.find_one(labels={{"thread_id": thread_id}})
except Exception:
    params = CreateSandboxFromSnapshotParams(
        labels={{"thread_id": thread_id}}, auto_delete_interval=3600
    )
    sandbox = client.create(params)
backend = DaytonaSandbox(sandbox=sandbox)
print(sandbox.id, sandbox.auto_delete_interval)
"""


def test_a_thread_of_the_documents_keeps_its_sandbox(daemon, gone):
    code = DOCUMENTED.format(thread=uuid.uuid4().hex)
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=settings(daemon),
            capture_output=True,
            text=True,
            timeout=slow(60),
        )
        for _ in range(2)
    ]
    assert all(one.returncode == 0 for one in runs), runs
    assert runs[0].stdout == runs[1].stdout and runs[0].stdout.split()[1] == "3600"
