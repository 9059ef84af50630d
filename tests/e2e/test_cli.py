"""The CLI as its users meet it."""
import hashlib
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import tarfile
import threading
import time

import pytest

from harness import CAY, new_daemon, slow, wait_until


@pytest.fixture
def named(daemon):
    name = f"cli-{os.urandom(4).hex()}"
    assert daemon.cli("create", "--name", name).code == 0
    yield name
    daemon.cli("rm", name)


def test_json_result_has_the_promised_members(daemon, named):
    got = json.loads(
        daemon.cli(
            "exec", "--json", named, "--", "sh", "-c", "echo out; echo err >&2; exit 5"
        ).text.splitlines()[-1]
    )
    for member in (
        "state",
        "exit_code",
        "signal",
        "reason",
        "stdout_bytes",
        "stderr_bytes",
        "truncated",
        "command_id",
        "sandbox",
    ):
        assert member in got, member
    assert (got["state"], got["exit_code"], got["stdout_bytes"], got["stderr_bytes"]) == (
        "exited",
        5,
        4,
        4,
    )


def test_timers_are_given_and_changed(daemon, named):
    def timers(got):
        assert got.code == 0, got
        box = json.loads(got.out)
        return box["idle_ttl_s"], box["delete_after_stop_s"], box["lifetime_s"]

    other = f"{named}-timed"
    made = daemon.cli(
        "create",
        "--json",
        "--name",
        other,
        "--ttl",
        "-1",
        "--delete-after-stop",
        "2h",
        "--lifetime",
        "1d",
    )
    try:
        assert timers(made) == (0, 7200, 86400)
        assert timers(
            daemon.cli("set", "--json", other, "--ttl", "90m", "--lifetime", "never")
        ) == (5400, 7200, 0)
        assert timers(daemon.cli("set", "--json", other, "--delete-after-stop", "-1")) == (
            5400,
            0,
            0,
        )
        for wrong in ((), ("--ttl", "soon"), ("--ttl", "-5")):
            refused = daemon.cli("set", other, *wrong)
            assert refused.code == 125 and b"--ttl" in refused.err, refused
    finally:
        daemon.cli("rm", other)


def test_streams_are_apart_and_exact(daemon, named):
    got = daemon.cli("exec", named, "--", "sh", "-c", r"printf 'a\0b\377'; printf err >&2")
    assert (got.code, got.out) == (0, b"a\0b\xff") and b"err" in got.err


def test_stdin_with_half_close(daemon, named):
    blob = os.urandom(300_000)
    got = daemon.cli("exec", "-i", named, "--", "wc", "-c", stdin=blob)
    assert got.text.strip() == "300000", got
    got = daemon.cli("exec", "-i", named, "--", "cat", stdin=blob)
    assert got.out == blob


def test_env_workdir_user(daemon, named):
    got = daemon.cli(
        "exec",
        "-e",
        "A=b c",
        "-w",
        "/usr",
        "--user",
        "user",
        named,
        "--",
        "sh",
        "-c",
        'echo "$A" $PWD $(id -un)',
    )
    assert got.text == "b c /usr user\n", got


def test_copy_files_and_directories_both_ways(daemon, named, tmp_path):
    tree = tmp_path / "tree"
    (tree / "sub dir").mkdir(parents=True)
    (tree / "a.bin").write_bytes(os.urandom(200_000))
    (tree / "sub dir" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (tree / "sub dir" / "run.sh").chmod(0o755)
    (tree / "link").symlink_to("a.bin")
    assert daemon.cli("cp", tree, f"{named}:/app").code == 0
    assert daemon.cli("exec", named, "--", "/app/sub dir/run.sh").text == "ran\n"
    back = tmp_path / "back"
    assert daemon.cli("cp", f"{named}:/app", back).code == 0
    assert (back / "a.bin").read_bytes() == (tree / "a.bin").read_bytes()
    assert os.readlink(back / "link") == "a.bin" and os.access(back / "sub dir" / "run.sh", os.X_OK)
    single = tmp_path / "one"
    assert daemon.cli("cp", f"{named}:/app/a.bin", single).code == 0
    assert single.read_bytes() == (tree / "a.bin").read_bytes()
    assert daemon.cli("cp", "-", f"{named}:/tmp/piped", stdin=b"piped").code == 0
    assert daemon.cli("cp", f"{named}:/tmp/piped", "-").out == b"piped"


def test_copy_keeps_names_of_any_bytes(daemon, named, tmp_path):
    tree = tmp_path / "tree"
    for name in ("Ämain.go".encode(), b"\xff\xfe.bin", ("日本/" * 30 + "語").encode()):
        path = os.path.join(os.fsencode(tree), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(name)
    into = daemon.cli("cp", tree, f"{named}:/names")
    assert into.code == 0, into
    back = tmp_path / "back"
    assert daemon.cli("cp", f"{named}:/names", back).code == 0
    assert subprocess.run(["diff", "-r", tree, back]).returncode == 0


def test_a_hostile_archive_does_not_leave_the_target(daemon, named, tmp_path):
    daemon.cli(
        "exec", named, "--", "sh", "-c", "mkdir /evil && ln -s /etc /evil/out && echo x > /evil/ok"
    )
    target = tmp_path / "target"
    daemon.cli("cp", f"{named}:/evil", target)
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and p.name not in ("ok",)]


NO_FILE, TOO_DEEP = "not a file, directory or symbolic link", "it lies deeper than 256 names"


def left_out_of(got):
    """By name, the reasons that a copy gives on stderr: its exit code says that there are some."""
    lines = [line for line in got.err.decode().splitlines() if line.startswith("cay: left out: ")]
    assert got.code == (1 if lines else 0), got
    return dict(line.removeprefix("cay: left out: ").split(": ", 1) for line in lines)


def expect_left_out(got, want):
    told = left_out_of(got)
    listed = json.loads(got.out)
    assert told == {one["path"]: one["reason"] for one in listed["left_out"]}
    assert len(told) == listed["left_out_count"] == len(want)
    assert all(len(name) <= 200 for name in told)
    for name, reason in want.items():
        assert [why for path, why in told.items() if path.endswith(name)] == [reason], (name, told)


def test_a_copy_out_that_leaves_files_out_says_which_and_is_no_success(daemon, named, tmp_path):
    line = """mkdir -p /mixed/sub /whole && cd /mixed && echo kept | tee kept > /whole/kept
              mkfifo fifo && ln -s /etc sub/out && echo x > sub/ok
              deep=$(printf 'd/%.0s' $(seq 256)); mkdir -p $deep && echo x > ${deep}below
              deeper=$(printf 'd/%.0s' $(seq 502)); mkdir -p /deeper/$deeper"""
    assert daemon.cli("exec", named, "--", "sh", "-c", line).code == 0
    want = {"fifo": NO_FILE, "sub/out": "a link out of the tree, to /etc", "/d/below": TOO_DEEP}
    out = tmp_path / "out"
    expect_left_out(daemon.cli("cp", "--json", f"{named}:/mixed", out), want)
    assert (out / "kept").read_text() == "kept\n" and (out / "sub/ok").is_file()
    assert sorted(os.listdir(out)) == ["d", "kept", "sub"]
    again = left_out_of(daemon.cli("cp", f"{named}:/mixed/.", out))
    assert again.keys() >= {"fifo", "sub/out"}
    del want["sub/out"]
    with_links = daemon.cli("cp", "--json", "--keep-links", f"{named}:/mixed", tmp_path / "links")
    expect_left_out(with_links, want)
    # The tar lacks the FIFO, and directories below the 501st. Others unpack it without a word.
    tar = daemon.cli("cp", f"{named}:/mixed", "-")
    assert left_out_of(tar) == {"fifo": NO_FILE}
    (tmp_path / "tar").mkdir()
    done = subprocess.run(["tar", "-x", "-C", tmp_path / "tar"], input=tar.out, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"") and os.path.islink(tmp_path / "tar/sub/out")
    with tarfile.open(fileobj=io.BytesIO(tar.out)) as read:
        assert {"kept", "sub/ok"} < set(read.getnames())
    assert list(left_out_of(daemon.cli("cp", f"{named}:/deeper", "-")).values()) == [TOO_DEEP]
    # Positive controls: nothing is left out.
    expect_left_out(daemon.cli("cp", "--json", f"{named}:/whole", tmp_path / "whole"), {})
    assert left_out_of(daemon.cli("cp", f"{named}:/whole", "-")) == {}


def test_a_copy_in_that_leaves_files_out_says_which_and_is_no_success(daemon, named, tmp_path):
    tree = tmp_path / "tree"
    deep = tree / "/".join(["d"] * 256)
    deep.mkdir(parents=True)
    (tree / "kept").write_text("kept\n")
    (deep / "below").write_text("x")
    os.mkfifo(tree / "fifo")
    socket.socket(socket.AF_UNIX).bind(os.path.relpath(tree / "socket"))
    want = {"fifo": NO_FILE, "socket": NO_FILE, "/d/below": TOO_DEEP}
    expect_left_out(daemon.cli("cp", "--json", tree, f"{named}:/in"), want)
    there = daemon.cli("exec", named, "--", "sh", "-c", "cd /in && cat kept && ls")
    assert there.out == b"kept\nd\nkept\n"
    shutil.rmtree(tree / "d")
    again = left_out_of(daemon.cli("cp", tree, f"{named}:/in"))
    assert again == {"fifo": NO_FILE, "socket": NO_FILE}
    for name in again:
        (tree / name).unlink()
    expect_left_out(daemon.cli("cp", "--json", tree, f"{named}:/in"), {})  # positive control


HOLE = 32 << 20


def test_holes_take_no_disk_at_either_end(daemon, named, tmp_path):
    local = tmp_path / "local"
    with open(local, "wb") as file:
        file.truncate(HOLE)
        file.seek(10 << 20)
        file.write(b"in the middle")
    digest = hashlib.sha256(local.read_bytes()).hexdigest()
    assert daemon.cli("cp", local, f"{named}:/holes/one").code == 0
    (tmp_path / "tree").mkdir()
    local.rename(tmp_path / "tree" / "two")
    assert daemon.cli("cp", tmp_path / "tree", f"{named}:/holes").code == 0
    inside = daemon.cli(
        "exec",
        named,
        "--",
        "sh",
        "-c",
        "cd /holes && sha256sum < one && sha256sum < tree/two && du -k one tree/two | cut -f1",
    ).text.split()
    assert inside[0] == inside[2] == digest and max(map(int, inside[4:])) < 1024, inside
    assert daemon.cli("cp", f"{named}:/holes/one", tmp_path / "one").code == 0
    assert daemon.cli("cp", f"{named}:/holes", tmp_path / "back").code == 0
    for came in (tmp_path / "one", tmp_path / "back" / "one", tmp_path / "back" / "tree" / "two"):
        assert came.stat().st_size == HOLE and came.stat().st_blocks * 512 < 1 << 20, came
        assert hashlib.sha256(came.read_bytes()).hexdigest() == digest


def test_a_copy_larger_than_asked_for_is_refused(daemon, named, tmp_path):
    assert (
        daemon.cli(
            "exec",
            named,
            "--",
            "sh",
            "-c",
            "mkdir /giants && truncate -s 8T /giants/a && truncate -s 1M /small",
        ).code
        == 0
    )
    for options, source in (
        ((), "/giants/a"),
        ((), "/giants"),
        (("--max-size", "1000K"), "/small"),
    ):
        to = tmp_path / "to"
        got = daemon.cli("cp", *options, f"{named}:{source}", to)
        assert got.code != 0 and b"holes counted" in got.err and b"--max-size" in got.err, got
        assert not to.is_file() and (not to.is_dir() or not list(to.iterdir()))
    assert daemon.cli("cp", "--max-size", "1M", f"{named}:/small", tmp_path / "small").code == 0
    assert (tmp_path / "small").stat().st_size == 1 << 20


def test_a_copy_that_is_killed_leaves_what_was_there(daemon, named, tmp_path):
    assert daemon.cli("exec", named, "--", "truncate", "-s", "60G", "/long").code == 0
    to = tmp_path / "to"
    to.write_text("old")
    copy = subprocess.Popen(
        [CAY, "cp", f"{named}:/long", to], env={"PATH": "/usr/bin:/bin", **daemon.env}
    )

    def opened():
        try:
            return [
                fd
                for fd in os.scandir(f"/proc/{copy.pid}/fd")
                if os.readlink(fd.path).startswith(f"{tmp_path}/")
            ]
        except FileNotFoundError:
            return []

    wait_until(opened, "the copy writes")
    copy.kill()
    copy.wait()
    assert to.read_text() == "old" and os.listdir(tmp_path) == ["to"]


def test_a_copy_to_a_full_disk_leaves_nothing_and_says_so(daemon, named, tmp_path):
    daemon.cli(
        "exec", named, "--", "sh", "-c", "mkdir -p /much && head -c 8M /dev/urandom > /much/file"
    )
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2M", "tmpfs", disk], check=True)
    try:
        for source in ("/much/file", "/much/."):
            got = daemon.cli("cp", f"{named}:{source}", disk)
            assert (
                got.code != 0 and b"No space left on device: nothing of it was kept" in got.err
            ), got
            assert not os.listdir(disk) and os.statvfs(disk).f_bfree > 400
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_file_that_grows_ends_at_the_size_it_had(daemon, named, tmp_path):
    daemon.cli("exec", named, "--", "sh", "-c", "head -c 64M /dev/zero > /grows")
    growing = daemon.cli(
        "exec",
        "-d",
        named,
        "--",
        "sh",
        "-c",
        "for i in $(seq 200); do head -c 1M /dev/zero >> /grows; done",
    ).text.strip()
    try:
        assert daemon.cli("cp", f"{named}:/grows", tmp_path / "grown", timeout=slow(180)).code == 0
        assert (tmp_path / "grown").stat().st_size >= 64 << 20
    finally:
        daemon.cli("kill", named, growing)


def test_detached_logs_attach_ps_kill(daemon, named):
    started = daemon.cli(
        "exec", "-d", named, "--", "sh", "-c", "echo one; echo two; exec sleep 1000"
    )
    command = started.text.strip()
    assert re.fullmatch(r"[A-Za-z0-9._-]+", command), started
    wait_until(lambda: daemon.cli("logs", named, command).out == b"one\ntwo\n", "both lines")
    assert command in daemon.cli("ps", named).text
    follow = subprocess.Popen(
        [CAY, "attach", named, command], stdout=subprocess.PIPE, env={**os.environ, **daemon.env}
    )
    assert follow.stdout.read(8) == b"one\ntwo\n"
    assert daemon.cli("kill", named, command).code == 0
    assert follow.wait(timeout=20) == 137
    follow.stdout.close()


def test_run_detached_then_stop_start(daemon):
    got = daemon.cli("run", "-d", "--name", "cli-detached", "--", "sleep", "1000")
    assert got.code == 0, got
    assert daemon.cli("stop", "cli-detached").code == 0
    rows = json.loads(daemon.cli("ls", "--json").text)
    rows = rows["items"] if isinstance(rows, dict) else rows
    assert [r["state"] for r in rows if r["name"] == "cli-detached"] == ["stopped"]
    assert daemon.cli("start", "cli-detached").code == 0
    assert daemon.cli("exec", "cli-detached", "--", "true").code == 0
    assert daemon.cli("rm", "cli-detached").code == 0
    assert daemon.cli("exec", "cli-detached", "--", "true").code == 125


def test_labels_filter_the_list(daemon):
    assert daemon.cli("create", "--name", "cli-l1", "--label", "team=a").code == 0
    assert daemon.cli("create", "--name", "cli-l2", "--label", "team=b").code == 0
    text = daemon.cli("ls", "--label", "team=a").text
    assert "cli-l1" in text and "cli-l2" not in text
    daemon.cli("rm", "cli-l1", "cli-l2")


def test_a_changed_policy_is_said_to_wait_for_the_next_start_where_it_does(daemon):
    assert daemon.cli("create", "--name", "waits", "--policy", "off").code == 0
    said = daemon.cli("net", "waits", "--policy", "open")
    assert said.text.startswith("policy open\n") and "from its next start" in said.text, said
    assert (
        "it counts from its next start" in daemon.cli("policy", "set", "waits", "pip,a.test").text
    )
    daemon.cli("stop", "waits")
    said = daemon.cli("net", "waits", "--policy", "packages")
    assert said.code == 0 and said.err == b"", said  # it does not run: its next start is what comes
    told = json.loads(
        daemon.cli(
            "events", "--json", "--sandbox", "waits", "--type", "sandbox.updated"
        ).text.splitlines()[-1]
    )
    assert told["type"] == "sandbox.updated"
    daemon.cli("rm", "waits")


def test_json_tells_of_each_sandbox_that_was_named(daemon, named):
    for verb in ("stop", "start", "rm"):
        got = daemon.cli(verb, "--json", named, "no-such-box")
        assert got.code == 125 and b"no-such-box" in got.err, got
        rows = {row["sandbox"]: row.get("error") for row in json.loads(got.text)}
        assert rows[named] is None and rows["no-such-box"]["reason"] == "sandbox_not_found", got
    assert daemon.cli("key", "--frob").code == 125


def test_commands_are_listed_by_their_start(daemon, named):
    words = [f"word{number}" for number in range(6)]
    for word in words:
        assert daemon.cli("exec", named, "--", "echo", word).code == 0
    listed = [line.split()[-1] for line in daemon.cli("ps", named).text.splitlines()[1:]]
    assert listed == words


class Terminal:
    """The CLI under a real terminal."""

    def __init__(self, daemon, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(daemon.env, TERM="xterm")
            os.execv(CAY, [str(CAY), *args])
        self.seen = b""

    def expect(self, text, limit=20):
        end = time.monotonic() + limit
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert ready, (text, self.seen)
            try:
                self.seen += os.read(self.fd, 65536)
            except OSError:
                break
        assert text in self.seen, (text, self.seen)
        self.seen = self.seen.split(text, 1)[1]

    def send(self, data):
        os.write(self.fd, data)

    def wait(self):
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_a_real_terminal_with_resize_and_signals(daemon, named):
    import fcntl
    import struct
    import termios

    terminal = Terminal(daemon, "exec", "-it", named, "--", "bash", "--norc")
    terminal.send(b"echo ready-$((20+3))\n")
    terminal.expect(b"ready-23")
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    os.kill(terminal.pid, signal.SIGWINCH)
    terminal.send(
        b"until [ \"$(stty size)\" = '33 101' ]; do :; done; echo size-$(stty size | tr ' ' x)\n"
    )
    terminal.expect(b"size-33x101")
    # Ctrl-C throws away what was typed ahead: wait for each step to show.
    terminal.send(b"sh -c 'echo go-$((30+3)); exec sleep 1000'\n")
    terminal.expect(b"go-33")
    terminal.send(b"\x03")
    terminal.expect(b"# ")
    terminal.send(b"echo still-$((40+2))\n")
    terminal.expect(b"still-42")
    terminal.send(b"exit 6\n")
    assert terminal.wait() == 6


def test_a_terminal_without_input_is_left_by_signals(daemon, named):
    """`-t` without `-i`: this terminal is not raw, so Ctrl-C is a signal. The command gets it."""
    import termios

    def on_interrupt(act):
        return f"trap '{act}' INT; echo re''ady; while :; do sleep 0.05; done"

    for words in (["exec", "-t", named], ["run", "-t", "--rm"]):
        line = on_interrupt('echo inter""rupted; exit 9')
        terminal = Terminal(daemon, *words, "--", "sh", "-c", line)
        terminal.expect(b"ready")
        assert termios.tcgetattr(terminal.fd)[3] & termios.ISIG, "a raw terminal makes no signals"
        terminal.send(b"\x03")
        terminal.expect(b"interrupted")
        assert terminal.wait() == 9, "the command's own end"
    terminal = Terminal(daemon, "exec", "-t", named, "--", "sh", "-c", "echo up; exec sleep 1000")
    terminal.expect(b"up")
    terminal.send(b"\x03")
    assert terminal.wait() == 130
    line = on_interrupt('echo he""ard')
    terminal = Terminal(daemon, "exec", "-t", named, "--", "sh", "-c", line)
    terminal.expect(b"ready")
    terminal.send(b"\x03")
    terminal.expect(b"heard")
    terminal.send(b"\x03")
    assert terminal.wait() == 137, "the second kills the command with all that it started"


def test_a_terminal_whose_input_is_not_passed_on_is_at_its_end(daemon, named):
    """As docker: what is not passed on is closed, and stdin is a terminal all the same."""
    reads = "cat; cat; read line; test -t 0 && test -t 1 && echo over"
    for words in (["exec", "-t", named], ["run", "-t", "--rm"], ["exec", "-it", named]):
        got = daemon.cli(*words, "--", "sh", "-c", reads, timeout=slow(20))
        assert (got.code, got.out) == (0, b"over\r\n"), (words, got)
    terminal = Terminal(daemon, "exec", "-t", named, "--", "sh", "-c", reads)
    terminal.expect(b"over")
    assert terminal.wait() == 0
    words = ["exec", "-it", named, "--", "sh", "-c", "cat; echo over"]
    got = daemon.cli(*words, stdin=b"passed on\n", timeout=slow(20))
    assert got.code == 0 and got.out.endswith(b"over\r\n"), got
    assert b"passed on" in got.out, "positive control"


def test_help_has_examples_and_typos_are_explained(daemon):
    for command in (
        "run",
        "create",
        "ls",
        "exec",
        "cp",
        "logs",
        "attach",
        "kill",
        "stop",
        "start",
        "rm",
        "doctor",
        "serve",
    ):
        got = daemon.cli(command, "--help")
        assert got.code == 0 and b"xample" in got.out, (command, got)
    assert b"Usage: cay exec [OPTIONS] SANDBOX" in daemon.cli("exec", "--help").out
    assert daemon.cli("help").out == daemon.cli("--help").out
    for command in ("exec", "serve"):
        assert daemon.cli("help", command).out == daemon.cli(command, "--help").out
    assert daemon.cli("--version").text.startswith("cay ")
    assert b"cay exec SANDBOX -- " in daemon.cli("exec", "box").err
    got = daemon.cli("exce", "box", "--", "true")
    assert got.code == 125 or got.code == 2
    assert b"exec" in got.err


def test_doctor_and_completion(daemon):
    got = daemon.cli("doctor")
    assert got.code == 0 and b"cgroup" in got.out.lower(), got
    assert json.loads(daemon.cli("doctor", "--json").text)
    for shell in ("bash", "zsh", "fish"):
        assert daemon.cli("completion", shell).out


def test_output_that_cannot_be_written_is_no_success(daemon, named):
    """The command's own code would vouch for bytes that nobody has: `cay exec box -- tar c / >
    backup.tar` on a full disk."""
    env = {**os.environ, **daemon.env}
    for words in (
        ["exec", named, "--", "echo", "lost"],
        ["exec", named, "--", "sh", "-c", "seq 200000; exit 3"],
        ["run", "--rm", "--", "sh", "-c", "echo lost; exit 0"],
    ):
        for stream in ("stdout", "stderr") if "seq" not in words[-1] else ("stdout",):
            if stream == "stderr":
                words = [*words[: words.index("--") + 1], "sh", "-c", "echo lost >&2"]
            with open("/dev/full", "w") as full:
                got = subprocess.run(
                    [CAY, *words],
                    env=env,
                    **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: full},
                    timeout=slow(30),
                )
            assert got.returncode == 125, (words, stream, got)
            assert stream == "stderr" or b"No space left" in got.stderr, got
        got = subprocess.run([CAY, *words], env=env, capture_output=True, timeout=slow(30))
        assert got.returncode == (3 if "seq" in words[-1] else 0), got  # positive control
    # A reader who has had enough is another thing: as in any pipeline.
    got = subprocess.run(
        ["bash", "-c", f"{CAY} exec {named} -- seq 1000000 | head -1"],
        env=env,
        capture_output=True,
        timeout=slow(30),
    )
    assert got.stdout == b"1\n" and got.returncode == 0, got


def test_closed_standard_streams_hang_nothing(daemon, named):
    """Else the next descriptor takes the number, and is read as input, or written to as output."""
    env = {**os.environ, **daemon.env}

    def call(line):
        return subprocess.run(
            ["bash", "-c", f"{CAY} {line}"], env=env, capture_output=True, timeout=slow(20)
        )

    got = call(f"exec -i {named} -- sh -c 'cat; echo end' <&-")
    assert (got.returncode, got.stdout) == (0, b"end\n"), got
    got = call(f"exec {named} -- echo lost >&-")
    assert got.returncode == 125 and b"Bad file descriptor" in got.stderr, got
    got = call(f"exec {named} -- sh -c 'echo kept; echo gone >&2; exit 4' 2>&-")
    assert (got.returncode, got.stdout) == (4, b"kept\n"), got
    got = call("ls >&-")
    assert got.returncode == 125 and b"Bad file descriptor" in got.stderr, got


def test_a_daemon_begins_with_its_standard_streams_closed():
    """As some supervisors start one: its launcher's program must not take the number of stdin."""
    daemon = new_daemon()
    daemon.prefix = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh"]
    try:
        daemon.start()
        assert daemon.cli("run", "--rm", "--", "echo", "here").text == "here\n"
    finally:
        daemon.close()


def test_what_is_no_text_is_explained_and_paints_nothing(daemon, named):
    got = daemon.cli("exec", named, "--", b"\xff\x9b31m")
    assert got.code == 125 and b"UTF-8" in got.err, got
    got = daemon.cli("exec", named, "--", "no\x1b[31mprogram")
    assert got.code == 127 and b"\x1b" not in got.err and b"\\x1b[31m" in got.err, got


def test_wrong_key_is_explained(daemon):
    got = daemon.cli("ls", env={"CAY_API_KEY": "cay_wrong"})
    assert got.code == 125 and b"key" in got.err, got


def test_what_is_no_key_is_said_before_it_is_sent(daemon):
    for wrong in ("cay_x\ncay_y", "cay_x\r", "cay_x cay_y", "cay_\u00fc"):
        got = daemon.cli("ls", "--json", env={"CAY_API_KEY": wrong})
        assert (
            got.code == 125
            and b"CAY_API_KEY" in got.err
            and b"one line, as `cay key create` printed it" in got.err
            and b"HTTP/1.1" not in got.err
        ), (wrong, got)
        assert json.loads(got.out)["error"]["reason"] == "bad_api_key"
    assert daemon.cli("ls").code == 0, "the control"


def take_signals():
    """Whoever runs the tests, as nohup or in the background, may have them ignored; a program
    inherits that, and keeps to it."""
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)


def test_a_signal_to_run_rm_at_any_moment_leaves_no_sandbox(daemon, http):
    """From before the sandbox is made until it is gone: the signal waits for the removal, and is
    the exit code."""
    label = f"signalled={os.urandom(4).hex()}"
    env = {**os.environ, **daemon.env}

    def here():
        return http.get("/api/v1/sandboxes", params={"label": label}).json()["items"]

    ends, made = [], 0
    for number in range(60):
        what = ["sleep", "1000"] if number % 3 else ["true"]  # the removal is hit, too
        process = subprocess.Popen(
            [CAY, "run", "--rm", "--label", label, "--", *what],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            preexec_fn=take_signals,
        )
        if number % 2:  # as early as it can be; the others spread over all that comes
            wait_until(
                lambda: process.poll() is not None or here(), "it is there, or over", limit=slow(20)
            )
            made += 1
        time.sleep(number % 20 * 0.002)
        process.send_signal(
            (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[number % 3 if what[0] == "sleep" else 0]
        )
        ends.append(process.wait(timeout=slow(30)))
        assert here() == [], (number, ends)
    assert made > 10
    # Before it takes signals at all, one ends it at once (a negative code here).
    assert set(ends) <= {0, 128 + 15, 128 + 2, 128 + 1, -15, -2, -1}, ends
    assert {128 + 15, 128 + 2, 128 + 1} & set(ends)


def test_a_session_stays_with_its_sandbox_when_the_name_goes(daemon, http, named):
    """stdin and signals reach the sandbox that was meant, also once another one has its name."""
    other = None
    process = subprocess.Popen(
        [
            CAY,
            "exec",
            "-i",
            named,
            "--",
            "sh",
            "-c",
            "trap 'echo caught; exit 9' INT; echo up; read line; echo got $line; "
            "while :; do sleep 0.1; done",
        ],
        env={**os.environ, **daemon.env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    limit = threading.Timer(slow(30), process.kill)  # then what is read ends
    limit.start()
    try:
        assert process.stdout.readline() == b"up\n"
        assert daemon.cli("rename", named, f"{named}-was").code == 0
        other = http.post("/api/v1/sandboxes", json={"name": named}).json()["id"]
        process.stdin.write(b"typed\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"got typed\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=slow(20))
        assert (out, process.returncode) == (b"caught\n", 9), (out, err)
        assert http.get(f"/api/v1/sandboxes/{other}/commands").json()["items"] == []
    finally:
        limit.cancel()
        process.kill()
        process.wait()
        if other:
            http.delete(f"/api/v1/sandboxes/{other}")
        daemon.cli("rename", f"{named}-was", named)


def test_env_sets_what_shells_and_clients_need(daemon, tmp_path):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CAY_URL": daemon.url}
    show = (
        f'eval "$({CAY} env)" && echo "$CAY_URL $CAY_API_KEY $LANGSMITH_ENDPOINT '
        '$LANGSMITH_API_KEY $DAYTONA_API_URL $DAYTONA_API_KEY"'
    )

    def shell(**more):
        return subprocess.run(
            ["sh", "-c", show], env={**env, **more}, capture_output=True, text=True
        )

    wanted = " ".join(
        f"{at} {daemon.key}" for at in (daemon.url, daemon.url, f"{daemon.url}/daytona")
    )
    wanted += "\n"
    assert shell(CAY_DATA=str(daemon.data)).stdout == wanted  # from the data directory
    assert shell(CAY_API_KEY=daemon.key).stdout == wanted
    assert (
        shell(CAY_API_KEY="it's $(touch x)").stdout.split(" ", 1)[1].startswith("it's $(touch x) ")
    )
    told = json.loads(
        subprocess.run(
            [CAY, "env", "--json"], env={**env, "CAY_API_KEY": "k"}, capture_output=True, text=True
        ).stdout
    )
    assert told == {
        "CAY_URL": daemon.url,
        "CAY_API_KEY": "k",
        "LANGSMITH_ENDPOINT": daemon.url,
        "LANGSMITH_API_KEY": "k",
        "DAYTONA_API_URL": f"{daemon.url}/daytona",
        "DAYTONA_API_KEY": "k",
    }
    none = subprocess.run(
        [CAY, "env"], env={**env, "CAY_DATA": str(tmp_path)}, capture_output=True, text=True
    )
    assert none.returncode == 125 and none.stdout == "" and "cay key create" in none.stderr
