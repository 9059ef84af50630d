"""What users of other products reported as bugs, as users of Cay would meet it. What concerns one
client alone is in tests/compat/langsmith, and what concerns secrets in test_vault_git.py."""
import contextlib
import json
import os
import socket
import subprocess
import threading
import time

import pytest

from harness import CAY, processes_of, slow, wait_until
from service_links import start_server

# Seconds. A defect that holds a call up does so for far longer.
AT_ONCE = 10
CUP = "\u2615"


@contextlib.contextmanager
def at_once():
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < slow(AT_ONCE)


# --- input, output and ends ---


def test_an_input_that_nobody_ends_holds_up_no_command(daemon, box):
    """As `sleep 1000 | cay exec --timeout 10s BOX -- echo hi`."""
    for more in ((), ("-i",)):
        read, write = os.pipe()
        words = [CAY, "exec", *more, "--timeout", "1000s", box["id"], "--", "echo", "hi"]
        try:
            with at_once():
                done = subprocess.run(
                    words,
                    stdin=read,
                    capture_output=True,
                    timeout=slow(60),
                    env={**os.environ, **daemon.env},
                )
        finally:
            os.close(read)
            os.close(write)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"hi\n", b"")


@pytest.mark.parametrize(
    "line",
    [
        "sh -c 'sleep 1000 &'",
        "nohup sh -c 'sleep 1000 &'",
        "sleep 1000 & echo begun",
        "setsid -f sleep 1000",
    ],
)
def test_a_background_child_holds_up_no_end(run, line):
    with at_once():
        got = run(line, timeout_s=500)
    assert (got["state"], got["exit_code"]) == ("exited", 0)


def test_output_that_a_child_writes_soon_after_the_end_is_delivered(daemon, box, run):
    """The shell ends while its child still has a word to say."""
    line = "(sleep .05; printf late) & printf now; exit 0"

    def by_command_line():
        return daemon.cli("exec", box["id"], "--", "sh", "-c", line).text

    # A busy machine may run the child too late, so one of several tries is enough.
    for way in (lambda: run(line)["stdout"], by_command_line):
        assert "nowlate" in [way() for _ in range(5)]


def test_characters_of_several_bytes_come_whole(daemon, box, run):
    whole = CUP * 100_000
    lines = [
        f"python3 -c 'print(chr({ord(CUP)}) * 100000, end=str())'",
        f"for i in $(seq 1000); do printf '{CUP}%.0s' $(seq 100); done",
    ]
    for line in lines:
        got = run(line, max_output_bytes=1 << 20)
        assert (got["stdout"] == whole, got["stdout_bytes"]) == (True, 300_000)
        assert daemon.cli("exec", box["id"], "--", "sh", "-c", line).out == whole.encode()


# --- processes ---


def test_nothing_of_a_command_outlives_its_time_limit(http, box, run):
    children = [
        "(sleep 3; touch /w/plain) & wait",
        "setsid sh -c 'sleep 3; touch /w/setsid' & wait",
        "setsid -f sh -c 'sleep 3; touch /w/forked'; sleep 1000",
        "(setsid setsid sh -c 'sleep 3; touch /w/twice' &); sleep 1000",
    ]
    run("mkdir /w")
    idle = len(processes_of(box["id"]))
    for line in children:
        assert run(line, timeout_s=0.05)["state"] == "timed_out"
    wait_until(lambda: len(processes_of(box["id"])) <= idle, "its processes are gone")
    # The control begins last, so by its end the others would have come.
    assert run("sleep 3; touch /w/control; ls /w")["stdout"] == "control\n"


def test_many_children_that_nobody_waits_for_leave_no_zombie(run):
    got = run("for i in $(seq 1000); do sh -c 'sleep 0.1 &'; done", timeout_s=slow(120))
    assert got["exit_code"] == 0
    states = "cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | cut -c1 | sort | uniq -c"
    count = "ls -d /proc/[0-9]* | wc -l"

    def left():
        return int(run(count)["stdout"])

    wait_until(lambda: left() < 10, "the children have ended")
    assert "Z" not in run(states)["stdout"]


def test_an_argument_that_linux_does_not_take_is_refused_by_name(daemon, http, box, run):
    argument = "x" * 200_000
    answer = http.post(f"/api/v1/sandboxes/{box['id']}/commands", json={"argv": ["echo", argument]})
    assert answer.status_code == 413
    assert answer.json()["error"]["reason"] == "arguments_too_long"
    # The kernel refuses one inside by E2BIG, which a shell reports as 126.
    for line in ('/bin/echo "$(printf %0200000d 1)"', f"/bin/echo {argument}"):
        got = run(line)
        assert got["exit_code"] == 126 and "Argument list too long" in got["stderr"]
    assert len(run(f"echo {argument}")["stdout"]) == 200_001  # the control: a line may be as long


POOL = """
import multiprocessing, time
def work(number):
    block = bytearray(b"x") * (32 << 20)
    time.sleep(3)
    return len(block)
if __name__ == "__main__":
    with multiprocessing.Pool(64) as pool:
        print(sum(pool.map(work, range(64))))
"""


def test_a_pool_that_needs_more_than_the_limit_is_out_of_memory(daemon, http):
    """Python's pool replaces a worker that was killed, and waits for its answer without an end."""
    limits = {"memory_bytes": 256 << 20}
    made = http.post("/api/v1/sandboxes", json={"limits": limits}).json()
    where = f"/api/v1/sandboxes/{made['id']}"
    try:
        put = http.put(f"{where}/files", params={"path": "/root/pool.py"}, content=POOL)
        assert put.status_code in (200, 201, 204), put.text
        done = []
        words = ("exec", "--timeout", "5s", made["id"], "--", "python3", "/root/pool.py")
        asking = threading.Thread(target=lambda: done.append(daemon.cli(*words, timeout=120)))
        asking.start()
        with daemon.http() as other:
            while asking.is_alive():
                with at_once():
                    assert other.get(where).json()["state"] == "ready"
                asking.join(0.1)
        assert done[0].code == 124 and b"timed out" in done[0].err
        assert b"at the sandbox's memory limit" in done[0].err, done
        one = http.get(f"{where}/commands").json()["items"][0]
        assert one["state"] == "timed_out" and one["oom_kills"] > 0
        alone = {"argv": ["python3", "-c", "bytearray(b'x') * (400 << 20)"]}
        assert http.post(f"{where}/commands", json=alone).json()["state"] == "oom_killed"
        assert http.post(f"{where}/commands", json={"argv": ["true"]}).json()["exit_code"] == 0
    finally:
        http.delete(where)


# --- files ---


def test_what_was_just_written_is_there_after_a_stop(daemon, http, box, run):
    blob = os.urandom(3_000_000)
    where = f"/api/v1/sandboxes/{box['id']}"
    http.put(f"{where}/files", params={"path": "/root/blob"}, content=blob).raise_for_status()
    run("echo written > /root/by-command; sleep 1000 &")
    assert http.post(f"{where}/stop").status_code == 200
    assert http.post(f"{where}/start").status_code == 202
    assert http.get(f"{where}/files", params={"path": "/root/blob"}).content == blob
    assert run("cat /root/by-command")["stdout"] == "written\n"


@pytest.mark.parametrize(
    "path, made, reason",
    [
        ("/fifo", "mkfifo /fifo", "not_a_regular_file"),
        ("/to-proc", "ln -s /proc /to-proc", "not_a_regular_file"),
        ("/to-init", "ln -s /proc/1/environ /to-init", "permission_denied"),
        ("/to-self", "ln -s /proc/self/mem /to-self", "permission_denied"),
        ("/to-log", "ln -s /proc/kmsg /to-log", "permission_denied"),
    ],
)
def test_what_is_no_file_is_refused_at_once(daemon, http, box, run, tmp_path, path, made, reason):
    run(made)
    for route in ("files", "files/tree"):
        with at_once():
            got = http.get(f"/api/v1/sandboxes/{box['id']}/{route}", params={"path": path})
        want = "is_a_directory" if (path, route) == ("/to-proc", "files") else reason
        assert got.json()["error"]["reason"] == want, got.text
    with at_once():
        copied = daemon.cli("cp", f"{box['id']}:{path}", tmp_path / "copy")
    assert copied.code != 0 and path.encode() in copied.err and not (tmp_path / "copy").exists()


MODES = (0o400, 0o444, 0o600, 0o640, 0o644, 0o664, 0o700, 0o711, 0o750, 0o755, 0o777)


def test_modes_of_files_survive_both_ways(daemon, box, run, tmp_path):
    def of(tree):
        return {f"{mode:o}": f"{(tree / f'{mode:o}').stat().st_mode & 0o7777:o}" for mode in MODES}

    same = {f"{mode:o}": f"{mode:o}" for mode in MODES}
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub").chmod(0o750)
    for mode in MODES:
        (tree / f"{mode:o}").touch()
        (tree / f"{mode:o}").chmod(mode)
    assert daemon.cli("cp", tree, f"{box['id']}:/tree").code == 0
    inside = run("cd /tree; stat -c '%n %a' *")["stdout"].split()
    assert dict(zip(inside[::2], inside[1::2])) == {"sub": "750", **same}
    back = tmp_path / "back"
    assert daemon.cli("cp", f"{box['id']}:/tree", back).code == 0
    assert of(back) == same and (back / "sub").stat().st_mode & 0o7777 == 0o750
    for mode in (0o640, 0o755):  # a single file goes another way
        assert daemon.cli("cp", tree / f"{mode:o}", f"{box['id']}:/one").code == 0
        assert run("stat -c %a /one; rm /one")["stdout"] == f"{mode:o}\n"
        back = tmp_path / f"{mode:o}"
        assert daemon.cli("cp", f"{box['id']}:/tree/{mode:o}", back).code == 0
        assert back.stat().st_mode & 0o7777 == mode


# --- network and clocks ---

ANSWERS_AT_THE_END = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    print("up", flush=True)
    while True:
        client, _ = server.accept()
        while client.recv(65536):
            pass
        client.sendall(b"x" * (1 << 20))
        client.close()
"""


def test_a_tunnel_whose_client_has_ended_its_side_still_gets_the_answer(daemon, http, box):
    start_server(http, box["id"], ANSWERS_AT_THE_END, 7100)
    words = [CAY, "tunnel", "--json", box["id"], "0:7100"]
    env = {**os.environ, **daemon.env}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=env)
    try:
        port = json.loads(process.stdout.readline())["local_port"]
        with socket.create_connection(("127.0.0.1", port), timeout=slow(60)) as sock:
            sock.sendall(b"ask")
            sock.shutdown(socket.SHUT_WR)
            got = b""
            while data := sock.recv(65536):
                got += data
        assert got == b"x" * (1 << 20)
    finally:
        process.kill()
        process.wait()


def test_the_clock_is_right_after_a_resume(http, box, run):
    where = f"/api/v1/sandboxes/{box['id']}"
    waiting = {"command": "sleep 1; date +%s.%N", "wait": False, "timeout_s": 0}
    command = http.post(f"{where}/commands", json=waiting).json()["id"]
    assert http.post(f"{where}/pause").status_code == 200
    paused = time.monotonic()
    while time.monotonic() - paused < 2:  # the time that a clock which stands still would lose
        time.sleep(0.1)
    resumed = time.time()
    assert http.post(f"{where}/resume").status_code == 200
    one = f"{where}/commands/{command}"
    wait_until(lambda: http.get(one).json()["state"] == "exited", "the command's end")
    by_then = float(http.get(f"{one}/output").text)
    now = float(run("date +%s.%N")["stdout"])
    assert resumed - 0.1 <= by_then <= now <= time.time() + 0.1
