"""deepagents, unmodified, on our backend: an agent that uses every tool, and the examples."""
import pathlib
import subprocess
import sys

from harness import slow
from model_server import Call, Turn, model_server
from scripted_model import hello

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILE = {"file_path": "/job/sum.py"}
# Each turn of the model calls one tool. `task` starts a subagent, which runs a command.
CALLS = [
    Call("write_file", {**FILE, "content": "print(sum(range(10)))\n"}),
    Call("edit_file", {**FILE, "old_string": "10", "new_string": "11"}),
    Call("execute", {"command": "cd /job && python3 sum.py", "timeout": 30}),
    Call("read_file", FILE),
    Call("grep", {"pattern": "range", "path": "/job", "output_mode": "content"}),
    Call("glob", {"pattern": "*.py", "path": "/job"}),
    Call("ls", {"path": "/job"}),
    Call("task", {"description": "count the lines", "subagent_type": "general-purpose"}),
    Call("execute", {"command": "seq 1 60000"}),
    Call("delete", FILE),
    Call("execute", {"command": "ls -A /job | wc -l"}),
]


def script(request):
    if "count the lines" in request.task:
        if not request.results:
            return Turn(calls=[Call("execute", {"command": "wc -l </job/sum.py"})])
        return Turn(f"it has {request.results[0].text.split()[0]} line")
    if request.turn < len(CALLS):
        return Turn(calls=[CALLS[request.turn]])
    return Turn("done")


def test_an_agent_finishes_a_task_with_all_tools(backend, monkeypatch):
    from deepagents import create_deep_agent
    from langchain_core.messages import HumanMessage, ToolMessage

    with model_server(script) as model:
        for name, value in model.env.items():
            monkeypatch.setenv(name, value)
        agent = create_deep_agent(model="openai:scripted", backend=backend)
        messages = agent.invoke({"messages": [HumanMessage("sum it up")]})["messages"]
    results = [one for one in messages if isinstance(one, ToolMessage)]
    assert [one.name for one in results] == [one.name for one in CALLS]
    assert all(one.status == "success" for one in results), results
    texts = [one.text for one in results]
    assert texts[2].startswith("55\n") and "exit code 0" in texts[2]
    assert "print(sum(range(11)))" in texts[3]
    for text in (texts[0], texts[1], texts[4], texts[5], texts[6], texts[9]):
        assert "/job/sum.py" in text
    assert texts[7] == "it has 1 line"
    assert "large_tool_results" in texts[8] and len(texts[8]) < 20_000
    assert texts[10].startswith("0\n") and messages[-1].text == "done"
    assert not model.rejected


def test_the_example_runs(daemon):
    with model_server(hello) as model:
        done = subprocess.run(
            [sys.executable, ROOT / "examples/python/deep_agent.py"],
            env={"PATH": "/usr/bin:/bin", **daemon.env, **model.env, "MODEL": "openai:scripted"},
            capture_output=True,
            text=True,
            timeout=slow(60),
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("It printed: Hello, world!"), done.stdout
