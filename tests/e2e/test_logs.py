"""What is kept of commands, and how `cay logs` shows it: by offset and stream, of stopped sandboxes
too, over stops and restarts; what is not kept is told."""
import concurrent.futures
import re
import time
import uuid

from harness import kill_keeper, slow, wait_until


def start(http, ref, command, **fields):
    answer = http.post(
        f"/api/v1/sandboxes/{ref}/commands",
        json={"command": command, "wait": False, "timeout_s": 0, **fields},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def get(http, ref, command):
    return http.get(f"/api/v1/sandboxes/{ref}/commands/{command}")


def ended(http, ref, command):
    wait_until(lambda: get(http, ref, command).json()["state"] != "running", "its end")
    return command


def test_of_finished_commands_running_and_stopped(daemon, http, box):
    ref = box["id"]
    first = ended(http, ref, start(http, ref, "printf 0123456789; printf abc >&2"))
    second = ended(http, ref, start(http, ref, "echo second"))

    def check():
        assert daemon.cli("logs", ref, first).out == b"0123456789"
        assert daemon.cli("logs", ref, first).err == b"abc"
        assert daemon.cli("logs", "--offset", 4, "--stdout", ref, first).out == b"456789"
        assert daemon.cli("logs", "--offset", 1, "--stderr", ref, first).out == b"bc"
        assert daemon.cli("logs", "--follow", ref, first).out == b"0123456789"
        both = daemon.cli("logs", ref)
        assert both.out == b"0123456789second\n"
        assert both.err.decode().index(first) < both.err.decode().index(second)
        assert daemon.cli("logs", "--since", "1h", "--stdout", ref).out == b"0123456789second\n"
        assert daemon.cli("logs", "--offset", 99, "--stdout", ref, first).code == 125

    check()
    http.post(f"/api/v1/sandboxes/{ref}/stop")
    check()
    assert http.get(f"/api/v1/sandboxes/{ref}").json()["state"] == "stopped"  # nothing was woken
    http.post(f"/api/v1/sandboxes/{ref}/start")
    wait_until(lambda: http.get(f"/api/v1/sandboxes/{ref}").json()["state"] == "ready", "ready")
    check()


def test_an_offset_beyond_one_stream_shows_the_other(daemon, http, box):
    ref = box["id"]
    done = ended(http, ref, start(http, ref, "printf 0123456789; printf abc >&2"))
    for follow in ([], ["--follow"]):
        got = daemon.cli("logs", "--offset", 4, *follow, ref, done)
        assert (got.code, got.out, got.err) == (0, b"456789", b""), got
    assert daemon.cli("logs", "--offset", 10, ref, done).out == b""  # where the longer one ends
    got = daemon.cli("logs", "--offset", 11, ref, done)
    assert got.code == 125 and got.out == b"", got  # neither has come so far
    # Followed, what comes later counts from byte 0 all the same.
    running = start(
        http,
        ref,
        "printf 0123456789; printf abc >&2; until [ -e /tmp/go ]; do sleep 0.05; done; printf "
        "defgh >&2",
    )
    wait_until(lambda: get(http, ref, running).json()["stderr"]["bytes"] == 3, "its first bytes")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        reader = pool.submit(daemon.cli, "logs", "--follow", "--offset", 5, ref, running)
        http.post(
            f"/api/v1/sandboxes/{ref}/commands", json={"command": "touch /tmp/go", "wait": True}
        )
        got = reader.result()
    assert (got.code, got.out, got.err) == (0, b"56789", b"fgh"), got


def test_since_leaves_out_what_ended_before(daemon, http, box):
    ref = box["id"]
    old = ended(http, ref, start(http, ref, "echo old"))
    wait_until(
        lambda: daemon.cli("logs", "--since", "1", ref).out == b"", "a second later", limit=30
    )
    ended(http, ref, start(http, ref, "echo new"))
    assert daemon.cli("logs", "--since", "1h", ref).out == b"old\nnew\n"
    assert get(http, ref, old).status_code == 200


def test_since_shows_what_was_lost(daemon, http, box):
    """When it ended nobody knows: until the sandbox's stop it may have run, however long ago it
    began."""
    ref = box["id"]
    lost = start(http, ref, "echo begun; exec sleep 1000")
    wait_until(lambda: daemon.cli("logs", ref, lost).out == b"begun\n", "its output")
    begun = time.monotonic()
    wait_until(lambda: time.monotonic() - begun > slow(5), "it is old")
    kill_keeper(daemon, ref)
    wait_until(
        lambda: get(http, ref, lost).json().get("state") == "lost", "its keeper's death is noticed"
    )
    assert daemon.cli("logs", "--since", slow(4), ref).out == b"begun\n"
    wait_until(
        lambda: http.get(f"/api/v1/sandboxes/{ref}").json()["stopped_at"], "its stop is on record"
    )
    wait_until(
        lambda: daemon.cli("logs", "--since", "1", ref).out == b"",
        "a second after the stop",
        limit=30,
    )
    assert daemon.cli("logs", "--since", "1h", ref).out == b"begun\n"
    http.post(f"/api/v1/sandboxes/{ref}/start")
    wait_until(lambda: http.get(f"/api/v1/sandboxes/{ref}").json()["state"] == "ready", "ready")
    assert daemon.cli("logs", "--since", "1", ref).out == b"begun\n", "no stop is known any more"


def test_an_id_of_an_earlier_life_never_runs_again(http, box):
    ref, name = box["id"], uuid.uuid4().hex
    body = {"id": name, "command": "echo ran >> /root/ran; echo out", "wait": True}
    assert http.post(f"/api/v1/sandboxes/{ref}/commands", json=body).json()["stdout"] == "out\n"
    http.post(f"/api/v1/sandboxes/{ref}/stop")
    again = http.post(f"/api/v1/sandboxes/{ref}/commands", json=body).json()  # wakes it
    assert (again["stdout"], again["state"]) == ("out\n", "exited")
    assert http.get(f"/api/v1/sandboxes/{ref}/files", params={"path": "/root/ran"}).text == "ran\n"
    other = http.post(f"/api/v1/sandboxes/{ref}/commands", json={**body, "command": "echo other"})
    assert (other.status_code, other.json()["error"]["reason"]) == (409, "command_id_in_use")
    assert http.delete(f"/api/v1/sandboxes/{ref}/commands/{name}").status_code == 204
    assert get(http, ref, name).status_code == 404


def test_the_limit_of_a_command_marks_its_gap(daemon, http, box):
    ref = box["id"]
    command = ended(http, ref, start(http, ref, "seq 1 100000", output_limit_bytes=8192))
    stream = get(http, ref, command).json()["stdout"]
    whole = "".join(f"{n}\n" for n in range(1, 100001)).encode()
    assert (
        stream["bytes"] == len(whole)
        and stream["gap_begin"] == 4096
        and stream["gap_end"] == len(whole) - 4096
    )
    shown = daemon.cli("logs", ref, command)
    assert shown.out == whole[:4096] + whole[-4096:]
    assert f"{len(whole) - 8192} bytes of stdout are missing here".encode() in shown.err
    run = daemon.cli("exec", "--keep", "8KiB", "-d", ref, "--", "seq", "1", "100000")
    assert run.code == 0
    kept = ended(http, ref, run.text.strip())
    assert get(http, ref, kept).json()["stdout"]["gap_begin"] == 4096


def test_many_gaps_are_told_in_few_lines_and_none_is_left_out(daemon, http, box):
    written = 14_000_000
    got = daemon.cli(
        "exec", "--keep", "4KiB", box["id"], "--", "head", "-c", str(written), "/dev/zero"
    )
    lines = [line for line in got.err.decode().splitlines() if "missing" in line]
    assert got.code == 0 and 1 <= len(lines) <= 20, lines
    told = re.search(r"(\d+) bytes of stdout are missing", lines[-1])
    assert told and int(told[1]) + len(got.out) == written, (len(got.out), lines)


def test_the_limit_of_a_sandbox_marks_its_gap(own_daemon, tmp_path):
    config = tmp_path / "cay.toml"
    config.write_text("[host]\nsandbox_output_bytes = 1048576\n")
    daemon = own_daemon("--config", str(config))
    with daemon.http() as http:
        ref = http.post("/api/v1/sandboxes", json={}).json()["id"]
        first = ended(http, ref, start(http, ref, "head -c 900000 /dev/zero"))
        second = ended(http, ref, start(http, ref, "head -c 900000 /dev/zero; echo small >&2"))
        assert get(http, ref, first).json()["stdout"]["gap_end"] == 0
        told = get(http, ref, second).json()
        assert (
            told["stdout"]["bytes"] == 900000
            and told["stdout"]["gap_end"] > told["stdout"]["gap_begin"]
        )
        assert told["stderr"]["gap_end"] == 0
        assert (
            len(http.get(f"/api/v1/sandboxes/{ref}/commands/{second}/output").content)
            == 1048576 - 900000
        )
        # It counts what earlier lives left, and is counted down when that goes.
        http.post(f"/api/v1/sandboxes/{ref}/stop")
        http.post(f"/api/v1/sandboxes/{ref}/start")
        wait_until(lambda: http.get(f"/api/v1/sandboxes/{ref}").json()["state"] == "ready", "ready")
        assert len(http.get(f"/api/v1/sandboxes/{ref}/commands").json()["items"]) == 2
        third = ended(http, ref, start(http, ref, "head -c 900000 /dev/zero"))
        assert get(http, ref, third).json()["stdout"]["gap_end"] > 0
        for command in (first, second, third):
            assert http.delete(f"/api/v1/sandboxes/{ref}/commands/{command}").status_code == 204
        fourth = ended(http, ref, start(http, ref, "head -c 900000 /dev/zero"))
        assert get(http, ref, fourth).json()["stdout"]["gap_end"] == 0


def test_what_is_due_goes_after_the_next_start(http, box):
    ref = box["id"]
    kept = ended(http, ref, start(http, ref, "echo kept", ttl_s=-1))
    due = ended(http, ref, start(http, ref, "echo due", ttl_s=slow(5)))  # it is stopped before
    http.post(f"/api/v1/sandboxes/{ref}/stop")
    assert http.get(f"/api/v1/sandboxes/{ref}/commands/{due}/output").text == "due\n"
    http.post(f"/api/v1/sandboxes/{ref}/start")
    wait_until(lambda: get(http, ref, due).status_code == 404, "pruned")
    assert http.get(f"/api/v1/sandboxes/{ref}/commands/{kept}/output").text == "kept\n"


def test_reads_during_a_wake(daemon, http, box):
    ref = box["id"]
    command = ended(http, ref, start(http, ref, "echo out"))
    http.post(f"/api/v1/sandboxes/{ref}/stop")

    def ask(number):
        with daemon.http() as client:
            if number % 2:
                return client.get(f"/api/v1/sandboxes/{ref}/commands/{command}/output").text
            return client.post(
                f"/api/v1/sandboxes/{ref}/commands", json={"command": "echo out", "wait": True}
            ).json()["stdout"]

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert list(pool.map(ask, range(24))) == ["out\n"] * 24


def test_output_past_its_limit_outlives_the_keeper(daemon, http, box):
    ref = box["id"]
    command = start(
        http, ref, "seq 1 100000; echo done >&2; exec sleep 600", output_limit_bytes=8192
    )
    whole = "".join(f"{n}\n" for n in range(1, 100001)).encode()
    wait_until(
        lambda: get(http, ref, command).json()["stdout"]["bytes"] == len(whole), "all of its output"
    )
    kill_keeper(daemon, ref)
    wait_until(
        lambda: http.get(f"/api/v1/sandboxes/{ref}").json()["state"] == "failed",
        "its keeper's death is seen",
    )

    def check():
        lost = get(http, ref, command).json()
        assert lost["state"] == "lost" and lost["stderr"]["bytes"] == 5, lost
        stream = lost["stdout"]
        assert (stream["bytes"], stream["gap_begin"], stream["gap_end"]) == (
            len(whole),
            4096,
            len(whole) - 4096,
        ), stream
        assert daemon.cli("logs", ref, command).out == whole[:4096] + whole[-4096:]

    check()
    http.post(f"/api/v1/sandboxes/{ref}/start").raise_for_status()
    wait_until(lambda: http.get(f"/api/v1/sandboxes/{ref}").json()["state"] == "ready", "ready")
    check()  # as its next keeper tells it
