"""A keeper that the kernel kills for want of memory: its sandbox says so, and a start revives
it."""
import os
import pathlib

import pytest
from harness import keeper_of, slow, wait_until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="SKIPPED: changes a cgroup's limit, which takes root"
)
V1 = pathlib.Path("/sys/fs/cgroup/memory")


@pytest.fixture
def starve():
    """Takes all further memory from a process, in whatever hierarchy has the controller."""
    group = V1 / f"cay-starves-{os.getpid()}"

    def take(pid):
        if V1.is_dir():
            group.mkdir()
            (group / "cgroup.procs").write_text(str(pid))
            (group / "memory.limit_in_bytes").write_text("0")
            return
        unified = next(
            line.split("::", 1)[1].strip()
            for line in open(f"/proc/{pid}/cgroup")
            if line.startswith("0::")
        )
        (pathlib.Path("/sys/fs/cgroup") / unified.lstrip("/") / "memory.max").write_text("0")

    yield take
    if group.is_dir():
        wait_until(lambda: not (group / "cgroup.procs").read_text(), "the group is empty")
        group.rmdir()


def test_a_keeper_killed_for_memory_says_so(daemon, http, box, starve):
    named = next(
        feature
        for feature in http.get("/api/v1/doctor").json()["features"]
        if feature["name"] == "out of memory"
    )
    path = f"/api/v1/sandboxes/{box['id']}"
    starve(keeper_of(daemon, box["id"]))

    def failed():
        http.post(f"{path}/commands", json={"argv": ["true"], "wait": True})
        return http.get(path).json()["state"] == "failed"

    wait_until(failed, "a keeper without memory is killed", slow(60))
    reason = http.get(path).json()["reason"]
    assert ("out-of-memory killer" in reason) == named["ok"], (reason, named)
    if not named["ok"]:
        assert "signal 9" in reason
    http.post(f"{path}/start")
    done = http.post(f"{path}/commands", json={"argv": ["echo", "back"], "wait": True}).json()
    assert done["stdout"] == "back\n"
