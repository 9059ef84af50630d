"""File helpers that wait inside for the next operation, and what code inside can do to them. Their
lives without a sandbox are tested in src/keeper/waiting_helpers_test.cc."""
import hashlib
import os

import pytest
from harness import wait_until

# Root inside ends and stops all that is not its own, over and over.
ATTACK = """
import os, signal
n = 0
while not os.path.exists("/tmp/stop"):
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in (1, os.getpid()):
            continue
        n += 1
        try:
            os.kill(int(name), (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)[n % 3])
        except OSError:
            pass
"""
HELPERS = r"""
for stat in /proc/[0-9]*/comm; do
    [ "$(cat $stat 2>/dev/null)" = cay-keeper ] && echo $stat | cut -d/ -f3
done
true
"""


@pytest.fixture
def at(box):
    return f"/api/v1/sandboxes/{box['id']}"


@pytest.fixture
def put(http, at):
    def write(path, content, **params):
        return http.put(f"{at}/files", params={"path": path, **params}, content=content)

    return write


@pytest.fixture
def get(http, at):
    def read(path, **params):
        return http.get(f"{at}/files", params={"path": path, **params})

    return read


@pytest.fixture
def helpers(run):
    def pids():
        return [int(one) for one in run(HELPERS)["stdout"].split()]

    return pids


def reason(answer):
    return answer.json()["error"]["reason"]


def test_one_waits_and_is_gone_after_a_while(put, get, helpers):
    for content in (b"", b"x", b"y" * 65536, b"z" * 2_000_000):
        assert put("/srv/f", content).status_code == 201
        assert get("/srv/f").content == content
    for _ in range(10):  # a busy host may take longer between two looks than one waits
        before = helpers()
        assert get("/srv/f").status_code == 200
        if set(before) & set(helpers()):
            break
    else:
        pytest.fail("no helper did two operations")
    wait_until(lambda: helpers() == [], "the helper has left")
    assert get("/srv/f").content == b"z" * 2_000_000


def test_a_killed_or_stopped_one_is_replaced(put, get, helpers, run):
    for signal in ("KILL", "STOP", "TERM", "STOP"):
        assert put("/srv/f", signal.encode()).status_code == 201
        (helper,) = helpers()
        run(f"kill -{signal} {helper}")
        assert get("/srv/f").content == signal.encode()
        assert helper not in helpers()


def test_under_attack_each_answer_is_true(http, at, put, get, run):
    put("/tmp/attack.py", ATTACK.encode())
    started = http.post(f"{at}/commands", json={"command": "exec python3 /tmp/attack.py"})
    assert started.status_code in (200, 201), started.text
    held, seen = b"0", set()
    put("/srv/f", held)
    for turn in range(60):
        content = str(turn).encode()
        answer = put("/srv/f", content)
        seen.add(answer.status_code)
        if answer.status_code == 201:
            held = content
        else:
            assert reason(answer) in ("file_helper_died", "start_interfered"), answer.text
        answer = get("/srv/f")
        seen.add(answer.status_code)
        if answer.status_code == 200:
            # An upload that failed may have replaced the file before its helper was ended.
            assert answer.content in (held, content)
            held = answer.content
        else:
            assert reason(answer) in ("file_helper_died", "start_interfered"), answer.text
    assert seen <= {200, 201, 503}
    for _ in range(200):
        if put("/tmp/stop", b"").status_code == 201:
            break
    wait_until(lambda: run("pgrep -f [a]ttack.py")["stdout"] == "", "the attack has ended")
    assert put("/srv/f", b"calm").status_code == 201
    assert get("/srv/f").content == b"calm"


def test_a_user_is_looked_up_again(put, get, run):
    run("useradd -u 1500 -m amy && useradd -u 1501 -m bob")
    assert put("/home/amy/f", b"hers", user="amy").status_code == 201
    run("chmod 600 /home/amy/f; chmod 755 /home/amy")
    assert get("/home/amy/f", user="amy").content == b"hers"
    run("sed -i 's/^amy:x:1500/amy:x:1501/' /etc/passwd")
    assert reason(get("/home/amy/f", user="amy")) == "permission_denied"
    run("sed -i 's/^amy:x:1501/amy:x:1500/' /etc/passwd")
    assert get("/home/amy/f", user="amy").content == b"hers"
    # A group that she is in from now on.
    run("groupadd -g 1600 club; echo ours > /srv/club; chgrp club /srv/club; chmod 640 /srv/club")
    assert reason(get("/srv/club", user="amy")) == "permission_denied"
    run("sed -i 's/^club:x:1600:/club:x:1600:amy/' /etc/group")
    assert get("/srv/club", user="amy").content == b"ours\n"
    run("sed -i '/^amy:/d' /etc/passwd")
    assert reason(get("/home/amy/f", user="amy")) == "bad_user"


def test_a_pause_a_stop_and_a_snapshot_find_none(http, at, put, get, helpers):
    assert put("/srv/f", b"kept").status_code == 201
    assert http.post(f"{at}/pause").status_code == 200
    assert http.post(f"{at}/resume").status_code == 200
    assert helpers() == []
    assert get("/srv/f").content == b"kept"
    assert http.post(f"{at}/stop").status_code == 200
    assert get("/srv/f").content == b"kept"


def test_a_limit_on_processes_is_not_a_reason_to_fail(http, put, daemon):
    made = http.post("/api/v1/sandboxes", json={"limits": {"pids": 16}})
    assert made.status_code in (200, 201), made.text
    box = made.json()["id"]
    files = f"/api/v1/sandboxes/{box}/files"
    for _ in range(20):
        assert http.put(files, params={"path": "/f"}, content=b"x").status_code == 201
    assert http.delete(f"/api/v1/sandboxes/{box}").status_code in (200, 204)


def test_a_large_upload_is_whole(put, get, run):
    # It has holes, no round size, and pieces that end within a block.
    pieces = [os.urandom(5_000_003), bytes(9_000_000), os.urandom(23_456_789), bytes(4096), b"end"]
    content = b"".join(pieces)
    assert put("/srv/large", iter(pieces)).status_code == 201
    assert run("sha256sum /srv/large")["stdout"][:64] == hashlib.sha256(content).hexdigest()
    assert int(run("du -k /srv/large")["stdout"].split()[0]) < 32 << 10, "the zeros are a hole"
    assert get("/srv/large").content == content


def test_a_large_upload_keeps_the_limits_of_disk_and_memory(http):
    limits = {"disk_bytes": 64 << 20, "memory_bytes": 64 << 20}
    made = http.post("/api/v1/sandboxes", json={"limits": limits})
    assert made.status_code == 201, made.text
    at = f"/api/v1/sandboxes/{made.json()['id']}"

    def upload(mib):
        content = (os.urandom(1 << 20) for _ in range(mib))
        return http.put(f"{at}/files", params={"path": "/srv/large"}, content=content)

    assert upload(40).status_code == 201
    refused = upload(100)
    assert reason(refused) == "disk_full" and "disk limit" in refused.text, refused.text
    assert http.head(f"{at}/files", params={"path": "/srv/large"}).status_code == 200
    body = {"command": "ls -A /srv; stat -c %s /srv/large", "wait": True}
    got = http.post(f"{at}/commands", json=body).json()
    assert got["stdout"] == f"large\n{40 << 20}\n", "the old one is as it was"
    http.delete(at)
