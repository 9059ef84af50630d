"""A file of tasks: each in its own sandbox, alone or beside others, with the same results."""
import hashlib
import json

import model_server as ms
from model_server import Call, Turn, model_server
from scripted_model import printed
from test_agent import user  # noqa: F401 (fixture)


def script(request):
    """Writes a file that is the task's own, and reads what the task brought."""
    number = int(request.task.split()[-1])
    if request.turn == 0:
        command = f"cat /work/in > /work/out; seq {number} {number + 500} >> /work/out"
        return Turn(calls=[Call("execute", {"command": command})])
    if request.turn == 1:
        return Turn(calls=[Call("execute", {"command": "sha256sum < /work/out"})])
    return Turn(printed(request.results[0]).split()[0])


def tasks_file(path, count):
    lines = [
        {
            "id": f"t{number}",
            "prompt": f"Make the file of {number}",
            "files": {"/work/in": f"input {number}\n"},
            "collect": ["/work/out"],
        }
        for number in range(count)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def expected(number):
    text = f"input {number}\n" + "".join(f"{one}\n" for one in range(number, number + 501))
    return hashlib.sha256(text.encode()).hexdigest()


def digests(folder):
    return {
        one.relative_to(folder).parts[0]: hashlib.sha256(one.read_bytes()).hexdigest()
        for one in folder.rglob("out")
    }


def results_of(folder):
    """id -> the result of the task."""
    return {one.parent.name: json.loads(one.read_text()) for one in folder.glob("*/result.json")}


def boxes(http):
    items = http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]
    return {one["id"] for one in items}


def test_tasks_alone_and_beside_each_other_give_the_same_files(user, tmp_path, http):
    tasks = tasks_file(tmp_path / "tasks.jsonl", 6)
    before = boxes(http)
    want = {f"t{number}": expected(number) for number in range(6)}
    with model_server(script) as model:
        for parallel in (1, 4):
            folder = tmp_path / f"out{parallel}"
            run = user(model).run("--tasks", tasks, "--parallel", parallel, "--output", folder)
            assert run.code == 0, run
            assert digests(folder) == want
            results = results_of(folder)
            assert {name: (one["state"], one["text"]) for name, one in results.items()} == {
                name: ("done", digest) for name, digest in want.items()
            }
            for name in want:
                events = [json.loads(one) for one in (folder / name / "events.jsonl").open()]
                assert events[0]["type"] == "thread_created" and events[-1]["type"] == "run_ended"
        assert model.rejected == []
    assert boxes(http) == before, "each task's sandbox is gone"


def test_trouble_of_infrastructure_is_told_apart_and_retried(user, tmp_path):
    """Task 0's model is down at first, task 1 never gets one, and task 2's agent fails."""

    def troubled(request):
        number = int(request.task.split()[-1])
        if number == 0:
            return Turn(f"{number} is fine", faults=[ms.failing(500)] * 4)
        if number == 1:
            return Turn("never", faults=[ms.failing(500)] * 99)
        return Turn(calls=[Call("execute", {"command": "true"})])

    tasks = tasks_file(tmp_path / "tasks.jsonl", 3)
    folder = tmp_path / "out"
    with model_server(troubled) as model:
        run = user(model).run(
            *("--tasks", tasks, "--parallel", 3, "--output", folder, "--max-steps", 3)
        )
    assert run.code == 125, run
    results = results_of(folder)
    assert {name: one["state"] for name, one in results.items()} == {
        "t0": "done",
        "t1": "failed",
        "t2": "limit",
    }
    assert results["t0"]["attempts"] == 2 and results["t1"]["attempts"] == 3
    assert results["t2"]["attempts"] == 1, "a failure of the agent's side is a result"
