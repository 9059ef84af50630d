"""No way of making or waking a sandbox gives anything in it the host's network, whatever is asked
for. There are no image builds:
a new way to make a sandbox, a new member of a creation, or a new place that makes processes belongs
into the lists below."""
import json
import os
import pathlib
import re
import subprocess
import threading

import httpx
import pytest

from harness import CAY, ROOT, Daemon, keeper_of, processes_of, slow, wait_until

HOST = os.readlink("/proc/self/ns/net")
HOSTS_USERS = os.readlink("/proc/self/ns/user")
POLICIES = (None, "off", "packages", "open")


def namespace(pid, kind):
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None  # it ended


def inside(pids):
    """Of those that are in a user namespace of their own, so of the sandbox's side: pid -> network
    namespace."""
    seen = {pid: (namespace(pid, "user"), namespace(pid, "net")) for pid in pids}
    return {
        pid: net
        for pid, (user, net) in seen.items()
        if user not in (None, HOSTS_USERS) and net is not None
    }


class Watch:
    """Looks at everything of one sandbox for as long as it is open, also at what lives for a
    moment: what enters, and file helpers."""

    def __init__(self, box_id):
        self.id, self.seen, self.over = box_id, set(), threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.over.is_set():
            self.seen |= set(inside(processes_of(self.id)).values())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.over.set()
        self.thread.join()


def check(daemon, ref, told=""):
    """Runs commands, file work and tunnels in a sandbox; its own network is what all of them are
    in, and no other is."""
    with daemon.http() as http, Watch(http.get(f"/api/v1/sandboxes/{ref}").json()["id"]) as watch:
        base = f"/api/v1/sandboxes/{watch.id}"
        look = "readlink /proc/self/ns/net"
        words = [
            daemon.cli("exec", ref, "--", "sh", "-c", look).text.strip(),
            daemon.cli("exec", "-t", ref, "--", "sh", "-c", look).text.strip(),
        ]
        words.append(http.post(f"{base}/commands", json={"command": look}).json()["stdout"].strip())
        batch = http.post(
            f"{base}/batch",
            json={
                "writes": [{"path": "/tmp/a", "content": "eA=="}],
                "command": {"command": look},
                "reads": ["/tmp/a"],
            },
        )
        words.append(batch.json()["command"]["stdout"].strip())
        assert http.put(f"{base}/files", params={"path": "/tmp/b"}, content=b"b").is_success
        assert (
            http.get(
                f"{base}/tunnel",
                params={"port": 9},
                headers={
                    "Connection": "Upgrade",
                    "Upgrade": "websocket",
                    "Sec-WebSocket-Version": "13",
                    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
                },
            ).status_code
            == 409
        )
        waiting = http.post(
            f"{base}/commands", json={"command": "exec sleep 600", "wait": False}
        ).json()["id"]
        at_work = inside(processes_of(watch.id))
        http.post(f"{base}/commands/{waiting}/kill", json={})
    own = set(words) | ({told} if told else set())
    assert len(own) == 1 and own.pop().startswith("net:["), words
    assert words[0] != HOST
    assert len(at_work) >= 2, "its init and its command"
    # A process that enters has its users for a moment before its network (setns(2) of several). The
    # network is the keeper's until then.
    nobodys = namespace(keeper_of(daemon, watch.id), "net")
    assert set(at_work.values()) | (watch.seen - {nobodys}) == {words[0]}
    # The controls: what is outside is seen to be, and a process that only looks as if it were
    # inside is found.
    outside = [pid for pid in processes_of(watch.id) if namespace(pid, "user") == HOSTS_USERS]
    assert outside and {namespace(pid, "net") for pid in outside} <= {
        namespace(keeper_of(daemon, watch.id), "net")
    }, "its keeper, which has a network of nobody's"
    assert nobodys not in (None, HOST, words[0])
    with subprocess.Popen(["unshare", "-U", "sleep", "600"]) as alike:
        try:
            wait_until(lambda: inside([alike.pid]) == {alike.pid: HOST}, "the control to be found")
        finally:
            alike.kill()


@pytest.mark.parametrize("policy", POLICIES)
def test_made_by_the_api(daemon, http, policy):
    made = http.post(
        "/api/v1/sandboxes",
        json={"policy": policy, "record_programs": True} if policy else {"wait": False},
    ).json()
    try:
        wait_until(
            lambda: http.get(f"/api/v1/sandboxes/{made['id']}").json()["state"] == "ready",
            "it is ready",
        )
        check(daemon, made["id"])
        http.post(f"/api/v1/sandboxes/{made['id']}/stop").raise_for_status()
        check(daemon, made["id"])  # a wake
        http.post(f"/api/v1/sandboxes/{made['id']}/pause").raise_for_status()
        http.post(f"/api/v1/sandboxes/{made['id']}/resume").raise_for_status()
        check(daemon, made["id"])
    finally:
        http.delete(f"/api/v1/sandboxes/{made['id']}")


@pytest.mark.parametrize("access", [None, {"allow_list": []}, {"deny_list": []}])
def test_made_by_the_langsmith_facade(daemon, http, access):
    body = {
        "wait_for_ready": True,
        **({"proxy_config": {"access_control": access}} if access is not None else {}),
    }
    made = httpx.post(
        f"{daemon.url}/v2/sandboxes/boxes",
        json=body,
        headers={"X-Api-Key": daemon.key},
        timeout=slow(60),
    )
    assert made.status_code == 201, made.text
    try:
        check(daemon, made.json()["id"])
    finally:
        http.delete(f"/api/v1/sandboxes/{made.json()['id']}")


@pytest.mark.parametrize("policy", POLICIES)
def test_made_by_the_command_line(daemon, policy):
    words = ["--policy", policy] if policy else []
    name = f"net-{policy or 'usual'}"
    try:
        told = daemon.cli(
            "run", "--name", name, *words, "--", "readlink", "/proc/self/ns/net"
        ).text.strip()
        check(daemon, name, told)
    finally:
        daemon.cli("rm", name)
    assert daemon.cli(
        "run", "--rm", *words, "--", "readlink", "/proc/self/ns/net"
    ).text.strip() not in ("", HOST)
    try:
        assert daemon.cli("create", "--name", name, *words).code == 0
        check(daemon, name)
    finally:
        daemon.cli("rm", name)


def test_kept_over_a_killed_daemon_and_brought_back_by_a_restore(own_daemon, directory):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "kept"}).json()
    daemon.restart("kill")
    check(daemon, box["id"])
    subprocess.run(
        [CAY, "backup", "--data", daemon.data, "--without-snapshots", directory / "backup"],
        check=True,
        capture_output=True,
        timeout=slow(120),
    )
    copy = Daemon(directory / "copy" / "data")
    copy.data.parent.mkdir(mode=0o755)
    words = ["restore", "--data", copy.data, "--snapshots-of", daemon.data, directory / "backup"]
    restored = subprocess.run([CAY, *words], capture_output=True, text=True, timeout=slow(120))
    assert restored.returncode == 0, restored
    assert daemon.cli("stop", "kept").code == 0  # the copy's has the same id
    try:
        copy.start()
        check(copy, "kept")
    finally:
        copy.close()


def test_nothing_that_can_be_asked_for_is_the_hosts_network(daemon, http):
    for wanted in ("host", "none", "bridge", "HOST", "open,host", "net:host"):
        refused = http.post("/api/v1/sandboxes", json={"policy": wanted})
        assert refused.status_code == 400, wanted
        assert daemon.cli("create", "--policy", wanted).code == 125
    for extra in (
        {"network": "host"},
        {"network_mode": "host"},
        {"net": "host"},
        {"host_network": True},
        {"limits": {"network": "host"}},
    ):
        refused = http.post("/api/v1/sandboxes", json=extra)
        assert refused.status_code == 400, (extra, refused.text)
    for wanted in ({"network": "host"}, {"host": True}):
        made = httpx.post(
            f"{daemon.url}/v2/sandboxes/boxes",
            json={"wait_for_ready": True, "proxy_config": wanted, **wanted},
            headers={"X-Api-Key": daemon.key},
            timeout=slow(60),
        )
        assert made.status_code == 422, made.text
    # The members of a creation. A new member has to be reviewed here. `proxy` names secrets and the
    # public hosts that they go to, through the broker, which dials what the gate may. `image` is
    # fetched by a process outside, which gives the sandbox files alone. `volumes` are directories
    # of the same store as disks. `read_only_paths` and `hidden_paths` take from what is inside, and
    # add nothing (tests/e2e/test_path_rules.py). `profile`
    # nested makes network namespaces inside its own. They are empty, and exist only if the operator
    # allows it (tests/kernel/test_profiles.py).
    takes = json.loads((ROOT / "src/api/native/openapi.json").read_text())["components"]["schemas"][
        "SandboxCreate"
    ]["properties"]
    assert set(takes) == {
        "name",
        "snapshot",
        "image",
        "labels",
        "limits",
        "user",
        "workdir",
        "env",
        "policy",
        "rules",
        "proxy",
        "idle_ttl_s",
        "delete_after_stop_s",
        "lifetime_s",
        "commands_keep_awake",
        "record_programs",
        "profile",
        "tmpfs",
        "volumes",
        "read_only_paths",
        "hidden_paths",
        "wait",
        "timeout_s",
    }


# The places where Cay runs another program, or enters or makes namespaces. Each has the reason why
# no guest program reaches the host's network through it.
PLACES = {
    "apps/cay/install_command.cc": "the operator's `cay install`: the host's own programs",
    "apps/cay/launcher_process.cc": "the launcher: Cay's own program, on the host by design",
    "src/cli/docker_config.cc": "the user's own helper for Docker logins, by the CLI outside",
    "src/gate/outward_probe.cc": "tries what must fail",
    "src/keeper/child.cc": "a command: enters all namespaces of its sandbox in one setns(2) "
    "before it is made",
    "src/keeper/guest_sockets.cc": "enters user and network namespace in one setns(2), makes "
    "sockets, runs nothing",
    "src/launcher/default_snapshot.cc": "the host's ldconfig on a new tree, without a network; "
    "nothing of the tree is run",
    "src/launcher/disks.cc": "the host's mkfs",
    "src/launcher/guest_clocks.cc": "init: its time namespace, before it has the sandbox's root",
    "src/launcher/groundwork_process.cc": "the namespaces of the next sandbox; runs nothing",
    "src/launcher/host.cc": "the launcher's own mount namespace",
    "src/launcher/keeper_process.cc": "init: all namespaces, in one clone3(2)",
    "src/launcher/namespaces.cc": "init: joins those that were made ahead, before it has the "
    "sandbox's root",
    "src/launcher/probe.cc": "tries what the host can, runs nothing",
    "src/providers/child_process.cc": "the harness's `--sandbox local` and the user's own MCP "
    "servers, in `cay agent` outside: no program of a sandbox",
}
MAKES = re.compile(
    r"\bsetns\(|\bunshare\(|::f?exec[lv]p?e?\(|posix_spawnp?\(|::system\(|\bpopen\(|CLONE_NEWUSER"
)


def test_every_place_that_runs_programs_or_enters_namespaces_is_known():
    found = {}
    for top in ("src", "apps"):
        for path in sorted((ROOT / top).rglob("*")):
            name = str(path.relative_to(ROOT))
            if (
                path.suffix not in (".cc", ".h")
                or name.endswith("_test.cc")
                or "/testing/" in name
                or "/fuzz/" in name
            ):
                continue
            code = "\n".join(line.split("//")[0] for line in path.read_text().splitlines())
            if MAKES.search(code):
                found[name] = code
    assert set(found) == set(PLACES)
    assert (
        "CLONE_NEWNET" in found["src/launcher/keeper_process.cc"]
        and "CLONE_NEWNET" in found["src/keeper/child.cc"]
    )
    assert "unshare(CLONE_NEWNET)" in found["src/launcher/default_snapshot.cc"]
