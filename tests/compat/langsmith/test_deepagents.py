"""deepagents, unmodified, works in a sandbox by its own LangSmith backend: Python's and npm's."""
import asyncio
import json
import os
import pathlib
import subprocess

import pytest

from harness import slow

HERE = pathlib.Path(__file__).resolve().parent
NODE = HERE.parents[2] / "build" / "node" / "deepagents"
EVERY_BYTE = bytes(range(256))


@pytest.fixture
def backend(sandbox):
    from deepagents.backends.langsmith import LangSmithSandbox

    return LangSmithSandbox(sandbox)


def test_python_execute(backend):
    got = backend.execute("echo out; echo err >&2; exit 3")
    assert (got.output, got.exit_code, got.truncated) == ("out\n\nerr\n", 3, False)
    got = asyncio.run(backend.aexecute("cat; echo $0"))  # the client closes standard input
    assert (got.output, got.exit_code) == ("/bin/bash\n", 0)


def test_python_large_output_stays_in_the_sandbox(backend):
    line = "seq 1 100000; exit 7"
    got = backend.execute_with_offload(line, "/root/kept", max_inline_bytes=1000)
    assert got.offloaded and got.response.exit_code == 7
    assert "lines truncated" in got.response.output
    kept = backend.execute("sha256sum </root/kept").output
    assert kept == backend.execute("seq 1 100000 | sha256sum").output


def test_python_files(backend):
    assert backend.write("/work/src/a.py", "one\ntwo\nthree\n").error is None
    read = backend.read("/work/src/a.py", offset=1, limit=1)
    assert (read.file_data["content"], read.start_line, read.total_lines) == ("two", 2, 3)
    edited = backend.edit("/work/src/a.py", "two", "2 \u2615")
    assert (edited.error, edited.occurrences) == (None, 1)
    assert backend.read("/work/src/a.py").file_data["content"] == "one\n2 \u2615\nthree"
    assert "not found" in backend.edit("/work/src/a.py", "nowhere", "x").error
    listed = backend.ls("/work").entries
    assert [(one["path"], one["is_dir"]) for one in listed] == [("/work/src", True)]
    assert [one["path"] for one in backend.glob("*.py", "/work").matches] == ["/work/src/a.py"]
    hits = backend.grep("three", "/work").matches
    assert len(hits) == 1
    assert (hits[0]["path"], hits[0]["line"], hits[0]["text"]) == ("/work/src/a.py", 3, "three")
    assert "file_not_found" in backend.read("/work/none").error
    assert backend.delete("/work/src").error is None and backend.ls("/work").entries == []


def test_python_uploads_and_downloads(backend):
    large = EVERY_BYTE * 4 * 1024 * 10
    up = backend.upload_files([("/in/bytes", EVERY_BYTE), ("relative", b"x"), ("/in/large", large)])
    assert [one.path for one in up] == ["/in/bytes", "relative", "/in/large"]
    assert [one.error for one in up] == [None, "invalid_path", None]
    down = backend.download_files(["/in/large", "/in", "/in/none", "/in/bytes"])
    assert [one.error for one in down] == [None, "is_directory", "file_not_found", None]
    assert down[0].content == large and down[3].content == EVERY_BYTE


def test_python_an_agent_works_with_its_tools(backend):
    """A scripted model calls each tool once and gets what a real model would read."""
    from deepagents import create_deep_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools, **_):
            return self

    file = {"file_path": "/job/sum.py"}
    calls = [
        ("write_file", {**file, "content": "print(sum(range(10)))\n"}),
        ("edit_file", {**file, "old_string": "10", "new_string": "11"}),
        ("execute", {"command": "cd /job && python3 sum.py"}),
        ("read_file", file),
        ("grep", {"pattern": "range", "path": "/job"}),
        ("glob", {"pattern": "*.py", "path": "/job"}),
        ("ls", {"path": "/job"}),
    ]
    script = [
        AIMessage("", tool_calls=[{"name": name, "args": args, "id": name}]) for name, args in calls
    ]
    model = Scripted(messages=iter([*script, AIMessage("done")]))
    agent = create_deep_agent(model=model, backend=backend)
    messages = agent.invoke({"messages": [HumanMessage("sum it up")]})["messages"]
    told = {one.tool_call_id: one.content for one in messages if isinstance(one, ToolMessage)}
    assert list(told) == [name for name, _ in calls] and messages[-1].content == "done"
    assert told["execute"].startswith("55\n") and "exit code 0" in told["execute"]
    assert "print(sum(range(11)))" in told["read_file"]
    for name in ("write_file", "edit_file", "grep", "glob", "ls"):
        assert "/job/sum.py" in told[name], told


def test_npm(daemon):
    if not NODE.exists():
        pytest.skip("tools/testenv.sh has not installed npm's deepagents")
    env = {**os.environ, **daemon.env, "LANGSMITH_TRACING": "false"}
    done = subprocess.run(
        ["node", HERE / "deepagents.mjs", NODE],
        env=env,
        capture_output=True,
        text=True,
        timeout=slow(120),
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failed = "\n\n".join(f"{row['name']}\n{row['error']}" for row in rows if row["error"])
    assert done.returncode == 0 and not failed, failed + done.stderr[-3000:]
    assert len(rows) == 5
