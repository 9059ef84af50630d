"""File rules of `cay agent` bind its tools and its shell alike."""

import pytest

from agent_runs import AgentUser
from model_server import Call, Turn, model_server

CANARY = "canary-815"
TREE = f"""
mkdir -p /repo/vendor /secrets
echo {CANARY} > /secrets/key
echo original > /repo/vendor/lib
"""
RULES = ("--hide", "/secrets", "--read-only", "/repo/vendor")
CALLS = [
    Call("execute", {"command": "cat /secrets/key; ls -A /secrets; id -u"}),
    Call("read_file", {"file_path": "/secrets/key"}),
    Call("grep", {"pattern": "canary", "path": "/"}),
    Call("execute", {"command": "echo bad > /repo/vendor/lib; cat /repo/vendor/lib"}),
    Call("write_file", {"file_path": "/repo/vendor/new", "content": "bad"}),
    Call("read_file", {"file_path": "/repo/vendor/lib"}),
    Call("execute", {"command": "mv /repo /moved; mv /secrets /shown; cat /shown/key"}),
]


@pytest.fixture(scope="module")
def snapshot(daemon, http):
    """A snapshot with a secret and a vendored file."""
    box = http.post("/api/v1/sandboxes", json={}).json()["id"]
    made = http.post(f"/api/v1/sandboxes/{box}/commands", json={"command": TREE}).json()
    assert made["exit_code"] == 0, made
    assert daemon.cli("snapshot", "capture", box, "--name", "agent-paths").code == 0
    assert http.delete(f"/api/v1/sandboxes/{box}").status_code == 204
    yield "agent-paths"
    assert daemon.cli("snapshot", "rm", "agent-paths").code == 0


@pytest.fixture
def user(daemon, http, tmp_path):
    """user(model) -> a user of `cay agent`. The sandboxes go with the test."""
    made = []

    def make(model):
        made.append(AgentUser(tmp_path / f"home{len(made)}", daemon, model))
        return made[-1]

    yield make
    for box in http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]:
        if box["claim"].startswith("thread:"):
            http.delete(f"/api/v1/sandboxes/{box['id']}")


def script(request):
    """One call after the other, and then an end."""
    return Turn(calls=[CALLS[request.turn]]) if request.turn < len(CALLS) else Turn("done")


def test_tools_and_shell_are_bound_alike(http, user, snapshot):
    with model_server(script) as model:
        free = user(model).run("--snapshot", snapshot, "Look")
        assert free.text == "done", free
        said = list(free.results.values())
        assert all(CANARY in said[at] for at in (0, 1, 6)) and "bad" in said[3], "the control"
        run = user(model).run(*RULES, "--snapshot", snapshot, "Look")
        assert run.code == 0 and run.text == "done", run
    said = list(run.results.values())
    assert CANARY not in "".join(said), said
    assert "No such file" in said[0] and "\n0\n" in said[0], "root looked: " + said[0]
    assert said[1] == "Error: permission denied for read on /secrets/key"
    assert "Read-only file system" in said[3] and "original" in said[3]
    assert said[4] == "Error: permission denied for write on /repo/vendor/new"
    assert "original" in said[5]
    row = http.get(f"/api/v1/sandboxes/{run.box}").json()
    assert (row["hidden_paths"], row["read_only_paths"]) == (["/secrets"], ["/repo/vendor"])


def test_a_thread_keeps_its_mounts_and_takes_no_new_ones(user, snapshot):
    look = Call("execute", {"command": "cat /secrets/key /repo/vendor/lib"})
    turns = [Turn(calls=[look]), Turn("one"), Turn(calls=[look]), Turn("two")]
    with model_server(turns) as model:
        someone = user(model)
        first = someone.run(*RULES, "--snapshot", snapshot, "Look")
        assert first.text == "one", first
        again = someone.run("--thread", first.thread, "Look again")
        assert again.text == "two" and CANARY not in again.out, again
        refused = someone.run("--thread", first.thread, "--hide", "/repo", "Look")
        assert refused.code == 125 and "has no rule on /repo" in refused.err, refused


@pytest.mark.parametrize("provider", ["local", "langsmith"])
def test_a_provider_without_mounts_refuses_by_name(http, user, provider):
    with model_server([Turn("never")]) as model:
        run = user(model).run("--sandbox", provider, "--hide", "/secrets", "Look")
        assert run.code == 125 and "do not bind the shell" in run.err, run
        assert model.requests == []


def test_what_is_no_mount_is_refused_by_name(user):
    with model_server([Turn("never")]) as model:
        for words in (("--hide", "/work/*.key"), ("--read-only", "/"), ("--hide", "/a/**/b")):
            run = user(model).run(*words, "Look")
            assert run.code == 125 and "the file rule on '" in run.err, run
        run = user(model).run("--hide", "secrets", "Look")
        assert run.code == 125 and "is not absolute" in run.err, run
        run = user(model).run("--read-only", "/no/such/place", "Look")
        assert run.code == 125 and "/no/such/place" in run.err, run
        assert model.requests == []
