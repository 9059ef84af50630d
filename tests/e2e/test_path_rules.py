"""Read-only and hidden paths bind everything inside: commands, root's too, and the file verbs."""

import json
import textwrap

import pytest

CANARY = "canary-4711"
TREE = """
set -e
mkdir -p /work/app/vendor /work/app/src /work/app/private/deep /secrets
echo original > /work/app/vendor/lib.py
echo {canary} > /work/app/private/deep/key
echo {canary} > /secrets/token
echo {canary} > /work/app/.env
chmod 600 /secrets/token /work/app/.env
echo mine > /work/app/src/main.py
"""
RULES = {
    "read_only_paths": ["/work/app/vendor", "/etc/os-release-of-the-test"],
    "hidden_paths": ["/work/app/private", "/secrets", "/work/app/.env", "/not/there"],
}


@pytest.fixture(scope="module")
def snapshot(daemon, http):
    """A snapshot with files to protect, made by a sandbox without rules."""
    name = "path-rules-tree"
    box = http.post("/api/v1/sandboxes", json={}).json()["id"]
    line = TREE.format(canary=CANARY) + "echo x > /etc/os-release-of-the-test"
    assert run(http, box, line)["exit_code"] == 0
    assert daemon.cli("snapshot", "capture", box, "--name", name).code == 0
    assert http.delete(f"/api/v1/sandboxes/{box}").status_code == 204
    yield name
    assert daemon.cli("snapshot", "rm", name).code == 0


@pytest.fixture
def make(http, snapshot):
    """make(**settings) -> the id of a sandbox on that snapshot."""
    made = []

    def create(**settings):
        answer = http.post("/api/v1/sandboxes", json={"snapshot": snapshot, **settings})
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["id"])
        return made[-1]

    yield create
    for box in made:
        http.delete(f"/api/v1/sandboxes/{box}")


def run(http, box, command, user="root"):
    got = http.post(
        f"/api/v1/sandboxes/{box}/commands",
        json={"command": command, "user": user, "timeout_s": 55},
    )
    assert got.status_code == 200, got.text
    return got.json()


def shown(http, box, command, user="root"):
    got = run(http, box, command, user)
    return got["stdout"] + got["stderr"]


def reason(answer):
    return answer.json()["error"]["reason"]


LOOK = """
cat /secrets/token /work/app/.env /work/app/private/deep/key
ls -A /secrets /work/app/private /not/there
grep -rs canary /work /secrets
tar -cf - /secrets /work/app 2>/dev/null | grep -a canary
find /work /secrets -type f -size +0 -name key -o -name token -o -name .env -size +0
"""
CHANGE = """
echo bad > /work/app/vendor/lib.py
touch /work/app/vendor/new
chmod 777 /work/app/vendor
echo bad > /etc/os-release-of-the-test
touch /secrets/new
touch /not/there/new
mv /work/app/vendor/lib.py /work/app/vendor/other.py
cat /work/app/vendor/*.py
"""


def test_nothing_inside_sees_or_changes_them(http, make):
    free = make()
    assert shown(http, free, LOOK).count(CANARY) >= 6, "control: without a rule they are read"
    assert "bad" in shown(http, free, CHANGE)
    box = make(**RULES)
    seen = shown(http, box, LOOK)
    assert "canary" not in seen and "token" not in seen.replace("/secrets/token: No such", ""), seen
    assert "/work/app/.env: Permission denied" in seen, seen
    changed = shown(http, box, CHANGE)
    assert changed.count("Read-only file system") == 7 and "original" in changed, changed
    for user in ("nobody", "1000"):
        assert "canary" not in shown(http, box, LOOK, user)
    # A path without a rule is as writable as ever.
    assert shown(http, box, "echo more >> /work/app/src/main.py; cat /work/app/src/main.py")
    row = http.get(f"/api/v1/sandboxes/{box}").json()
    assert {name: row[name] for name in RULES} == RULES


ATTACK = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def b(text): return text.encode()
def call(name, *args):
    done = getattr(libc, name)(*args)
    print(name, args[:2], "ok" if done >= 0 else os.strerror(ctypes.get_errno()))
REMOUNT, BIND, REC, MOVE, DETACH = 32, 4096, 16384, 8192, 2
os.makedirs("/mnt/out", exist_ok=True)
for path in ("/secrets", "/work/app/private", "/work/app/.env", "/work/app/vendor", "/work/app"):
    call("umount2", b(path), 0)
    call("umount2", b(path), DETACH)
    call("mount", None, b(path), None, REMOUNT | BIND, None)
    call("mount", b(path), b("/mnt/out"), None, MOVE, None)
for path in ("/", "/work", "/work/app"):
    call("mount", b(path), b("/mnt/out"), None, BIND, None)
    call("syscall", 428, -100, b(path), 1)  # open_tree
call("mount", b("overlay"), b("/mnt/out"), b("overlay"), 0, b("lowerdir=/work,upperdir=/mnt"))
call("unshare", 0x10000000 | 0x20000)  # CLONE_NEWUSER, CLONE_NEWNS
call("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY) if os.access("/proc/1/ns/mnt", 4) else -1, 0)
call("pivot_root", b("/work"), b("/work/app")) if hasattr(libc, "pivot_root") else None
RENAME_EXCHANGE = 2
os.makedirs("/work/decoy", exist_ok=True)
for path in ("/secrets", "/work/app/private", "/work/app/vendor", "/work/app", "/work"):
    call("rename", b(path), b("/moved"))
    call("renameat2", -100, b(path), -100, b("/work/decoy"), RENAME_EXCHANGE)
    call("rmdir", b(path))
for path in ("/work/app/.env", "/etc/os-release-of-the-test"):
    open("/work/fake", "w").write("fake")
    call("rename", b("/work/fake"), b(path))
    call("unlink", b(path))
    call("link", b(path), b("/work/linked"))
call("link", b("/work/app/vendor/lib.py"), b("/work/app/src/linked.py"))
call("symlink", b("/secrets/token"), b("/work/app/src/pointer"))
call("chmod", b("/work/app/.env"), 0o777)
call("chown", b("/work/app/.env"), 0, 0)
handle = ctypes.create_string_buffer(b"\\x80\\0\\0\\0" + bytes(132))
call("name_to_handle_at", -100, b("/secrets"), handle, ctypes.byref(ctypes.c_int()), 0)
"""
PATHS = """
for root in '' /proc/self/root /proc/1/root /proc/self/cwd /mnt/out /moved /work/decoy; do
  cat $root/secrets/token $root/work/app/.env $root/app/private/deep/key $root/private/deep/key
  cat $root/.env $root/deep/key $root/token
done
cat /work/app/src/pointer
chroot / cat /secrets/token
cd /secrets/.. && cat secrets/token ../secrets/token
grep -rs canary /work /moved /mnt /secrets
"""


def attack(http, box):
    script = textwrap.dedent(ATTACK)
    name = "/root/attack.py"
    put = http.put(f"/api/v1/sandboxes/{box}/files", params={"path": name}, content=script)
    assert put.status_code in (200, 201, 204), put.text
    got = run(http, box, f"cd /; python3 {name}")
    assert got["exit_code"] == 0, got
    return got["stdout"]


def test_root_inside_cannot_take_them_off(http, make):
    free = make()
    said = attack(http, free)
    assert "rename (b'/work/fake', b'/work/app/.env') ok" in said, "control: no mount is there"
    assert CANARY in shown(http, free, PATHS), "control: it is read"
    box = make(**RULES)
    said = attack(http, box)
    for line in said.splitlines():
        allowed = line.startswith("symlink (")
        assert allowed or not line.endswith(" ok"), line
    assert "canary" not in shown(http, box, PATHS)
    # And the next boot finds the same paths.
    assert http.post(f"/api/v1/sandboxes/{box}/stop", json={}).status_code == 200
    assert "canary" not in shown(http, box, PATHS) + shown(http, box, LOOK)
    assert "original" in shown(http, box, CHANGE)


def test_rules_are_given_to_a_sandbox_that_is_stopped(daemon, http):
    """What is on its own disk could be moved, unlike what lies in a snapshot."""

    def create():
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        line = TREE.format(canary=CANARY) + "echo x > /etc/os-release-of-the-test"
        assert run(http, box, line)["exit_code"] == 0
        return box

    free, box = create(), create()
    try:
        said = attack(http, free)
        assert "rename (b'/secrets', b'/moved') ok" in said, "control: the moves work"
        assert CANARY in shown(http, free, PATHS), "control: what was moved is read"
        refused = http.patch(f"/api/v1/sandboxes/{box}", json=RULES)
        assert (refused.status_code, reason(refused)) == (409, "paths_need_a_stop")
        assert CANARY in shown(http, box, LOOK)
        assert http.post(f"/api/v1/sandboxes/{box}/stop", json={}).status_code == 200
        changed = http.patch(f"/api/v1/sandboxes/{box}", json=RULES)
        assert changed.status_code == 200, changed.text
        assert {name: changed.json()[name] for name in RULES} == RULES
        for line in attack(http, box).splitlines():
            assert line.startswith("symlink (") or not line.endswith(" ok"), line
        # The next boot finds the same paths.
        assert "canary" not in shown(http, box, PATHS + LOOK)
        assert http.post(f"/api/v1/sandboxes/{box}/stop", json={}).status_code == 200
        assert "canary" not in shown(http, box, PATHS + LOOK)
        assert daemon.cli("stop", box).code == 0
        assert daemon.cli("set", box, "--hide", "none", "--read-only", "/no/such").code == 0
        missing = http.post(f"/api/v1/sandboxes/{box}/commands", json={"argv": ["true"]})
        assert missing.status_code == 409 and "/no/such" in missing.text, missing.text
        assert http.get(f"/api/v1/sandboxes/{box}").json()["state"] == "failed"
        assert daemon.cli("set", box, "--read-only", "none").code == 0
        assert http.post(f"/api/v1/sandboxes/{box}/start", json={}).status_code in (200, 202)
        assert CANARY in shown(http, box, LOOK), "the disk beneath is as it was"
    finally:
        for one in (free, box):
            http.delete(f"/api/v1/sandboxes/{one}")


def test_the_file_verbs_are_held_too(http, make):
    box = make(**RULES)
    files = f"/api/v1/sandboxes/{box}/files"
    for path in ("/secrets/token", "/work/app/private/deep/key"):
        assert reason(http.get(files, params={"path": path})) == "file_not_found"
    assert reason(http.get(files, params={"path": "/work/app/.env"})) == "permission_denied"
    for path in ("/work/app/vendor/lib.py", "/secrets/token", "/not/there/file"):
        refused = http.put(files, params={"path": path}, content=b"bad")
        assert reason(refused) == "read_only", refused.text
    assert reason(http.delete(files, params={"path": "/work/app/vendor/lib.py"})) == "read_only"
    read = http.get(files, params={"path": "/work/app/vendor/lib.py"})
    assert read.text == "original\n"
    listed = http.get(f"{files}/list", params={"path": "/secrets"})
    assert listed.status_code == 200 and listed.json()["items"] == [], listed.text
    for path in ("/work", "/secrets"):
        found = http.post(f"{files}/grep", json={"path": path, "text": CANARY})
        assert found.status_code == 200 and found.json()["items"] == [], found.text


def test_forks_and_rollbacks_keep_them(daemon, http, make):
    box = make(**RULES)
    fork = http.post(f"/api/v1/sandboxes/{box}/fork", json={}).json()["items"][0]
    try:
        assert fork["hidden_paths"] == RULES["hidden_paths"]
        assert "canary" not in shown(http, fork["id"], LOOK)
    finally:
        http.delete(f"/api/v1/sandboxes/{fork['id']}")
    assert daemon.cli("rollback", box).code == 0
    assert "canary" not in shown(http, box, LOOK)
    # The disk beneath stays: a snapshot has it, for whoever makes a sandbox without the rule.
    assert daemon.cli("snapshot", "capture", box, "--name", "path-rules-beneath").code == 0
    try:
        assert CANARY in shown(http, make(snapshot="path-rules-beneath"), LOOK)
    finally:
        for one in http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]:
            if one["snapshot"] == "path-rules-beneath":
                http.delete(f"/api/v1/sandboxes/{one['id']}")
        assert daemon.cli("snapshot", "rm", "path-rules-beneath").code == 0


def test_a_writable_place_below_a_read_only_path(http, make):
    box = make(read_only_paths=["/work"], hidden_paths=["/work/app/.env"], tmpfs={"/work/out": 0})
    line = "touch /work/out/new && echo made; touch /work/new; cat /work/app/.env"
    said = shown(http, box, line)
    assert said.startswith("made\n") and "Read-only" in said and "Permission denied" in said, said


def test_what_cannot_be_a_rule_is_refused(daemon, http, snapshot):
    def refused(**settings):
        answer = http.post("/api/v1/sandboxes", json={"snapshot": snapshot, **settings})
        return answer.status_code, answer.json().get("error", {}).get("reason")

    assert refused(read_only_paths=["/no/such"]) == (400, "path_missing")
    for path in ("/", "work", "/a/../b", "/a//b", "/a/", "/proc/x", "/dev", "/run/x", "/sys"):
        assert refused(hidden_paths=[path]) == (400, "invalid_paths"), path
        assert refused(read_only_paths=[path]) == (400, "invalid_paths"), path
    for rules in (
        {"hidden_paths": ["/bin/sh"]},  # /bin is a link
        {"read_only_paths": ["/bin"]},
        {"hidden_paths": ["/secrets/token/x"]},
        {"hidden_paths": ["/secrets", "/secrets"]},
        {"hidden_paths": ["/secrets"], "read_only_paths": ["/secrets"]},
        {"hidden_paths": ["/work"], "read_only_paths": ["/work/app"]},
        {"hidden_paths": ["/work"], "tmpfs": {"/work/tmp": 0}},
        {"hidden_paths": ["/mem/x"], "tmpfs": {"/mem": 0}},
        {"hidden_paths": [f"/h{n}" for n in range(33)]},
        {"hidden_paths": ["/x" * 33]},
    ):
        assert refused(**rules) == (400, "invalid_paths"), rules
    got = daemon.cli("create", "--snapshot", snapshot, "--read-only", "/no/such")
    assert got.code == 125 and b"/no/such" in got.err, got
    left = http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]
    assert [one for one in left if one["snapshot"] == snapshot] == []


def test_the_command_line_names_them(daemon, http, snapshot):
    words = ("--read-only", "/work/app/vendor", "--hide", "/secrets", "--hide", "/work/app/.env")
    line = "cat /secrets/token; touch /work/app/vendor/x; ls /work/app"
    got = daemon.cli("run", "--rm", "--snapshot", snapshot, *words, "--", "sh", "-c", line)
    assert got.text == "private\nsrc\nvendor\n", got
    assert b"No such file" in got.err and b"Read-only" in got.err, got
    made = daemon.cli("create", "--json", "--snapshot", snapshot, *words)
    row = json.loads(made.out)
    assert row["hidden_paths"] == ["/secrets", "/work/app/.env"], row
    assert http.delete(f"/api/v1/sandboxes/{row['id']}").status_code == 204
