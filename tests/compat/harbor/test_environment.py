"""Harbor, unmodified, runs its trials in python/cay_harbor's sandboxes."""
import json
import os
import pathlib
import subprocess

import pytest
from harness import slow

HARBOR = pathlib.Path(__file__).resolve().parents[3] / "build/packages/harbor/bin/harbor"
TASK = """
version = "1.0"
[agent]
timeout_sec = 120
[verifier]
timeout_sec = 120
[environment]
cpus = 1
memory_mb = 512
storage_mb = 1024
"""
DOCKERFILE = """
FROM default
RUN mkdir -p /app && echo built >/app/note
COPY data.txt /app/data.txt
WORKDIR /app
"""
SOLVE = "#!/bin/bash\ncat note data.txt >both; free -m >memory; id -un >user\n"
VERIFY = """#!/bin/bash
cd /app && [ "$(cat both)" = "built
data" ] && [ "$(cat user)" = root ]
echo $((1 - $?)) >/logs/verifier/reward.txt
"""

pytestmark = [
    pytest.mark.depth,
    pytest.mark.skipif(not HARBOR.exists(), reason="tests/compat/environments has not run"),
]


def task_of(folder, solve):
    files = {
        "task.toml": TASK,
        "instruction.md": "Join the files.\n",
        "environment/Dockerfile": DOCKERFILE,
        "environment/data.txt": "data\n",
        "solution/solve.sh": solve,
        "tests/test.sh": VERIFY,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return folder


def run(env, task, jobs):
    line = [HARBOR, "run", "-p", task, "-a", "oracle", "--env", "cay_harbor:CayEnvironment"]
    return subprocess.run(
        [*line, "--jobs-dir", jobs],
        env={**os.environ, **env, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
        timeout=slow(300),
    )


def result_of(jobs):
    [path] = jobs.glob("*/*/result.json")
    return json.loads(path.read_text())


def test_trials_build_solve_and_verify_in_a_sandbox(daemon, http, tmp_path):
    before = http.get("/api/v1/sandboxes").json()["items"]
    for name, solve, reward in (("good", SOLVE, 1.0), ("bad", "#!/bin/bash\nexit 0\n", 0.0)):
        done = run(daemon.env, task_of(tmp_path / name, solve), tmp_path / f"{name}-jobs")
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        result = result_of(tmp_path / f"{name}-jobs")
        assert result["exception_info"] is None, "an agent's failure is none of the environment"
        assert result["verifier_result"]["rewards"] == {"reward": reward}
    assert http.get("/api/v1/sandboxes").json()["items"] == before, "each trial's sandbox is gone"
    built = [
        one["name"]
        for one in http.get("/api/v1/snapshots").json()["items"]
        if one["name"].startswith("harbor-")
    ]
    assert len(built) == 1, "two tasks with the same environment share its snapshot"


def test_a_daemon_that_does_not_answer_ends_the_job_before_its_trials(daemon, tmp_path):
    env = {**daemon.env, "CAY_URL": "http://127.0.0.1:1"}
    done = run(env, task_of(tmp_path / "task", SOLVE), tmp_path / "jobs")
    assert done.returncode != 0 and "no answer of http://127.0.0.1:1" in done.stdout + done.stderr
