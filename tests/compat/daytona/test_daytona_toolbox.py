"""Daytona's Python client, unmodified: files, commands, sessions, terminals, Python contexts and
Git inside a sandbox."""
import asyncio
import io
import threading
import uuid

import pytest

from daytona import (
    CodeRunParams,
    FileDownloadRequest,
    FileUpload,
    PtySize,
    SessionExecuteRequest,
)
from harness import wait_until


def test_files_one_by_one(sandbox):
    fs = sandbox.fs
    fs.create_folder("plain/inner", "755")
    whole = bytes(range(256)) * 300
    fs.upload_file(whole, "plain/whole.bin")
    assert fs.download_file("plain/whole.bin") == whole
    info = fs.get_file_info("plain/whole.bin")
    assert (info.name, info.size, info.is_dir) == ("whole.bin", len(whole), False)
    assert info.mode == "-rw-r--r--" and info.permissions in ("0644", "644")
    names = [one.name for one in fs.list_files("plain")]
    assert sorted(names) == ["inner", "whole.bin"]
    fs.set_file_permissions("plain/whole.bin", mode="600")
    assert sandbox.process.exec("stat -c %a plain/whole.bin").result == "600\n"
    fs.move_files("plain/whole.bin", "plain/moved.bin")
    assert fs.download_file("plain/moved.bin") == whole
    fs.delete_file("plain/moved.bin")
    fs.delete_file("plain", recursive=True)
    assert "plain" not in [one.name for one in fs.list_files(".")]


def test_many_files_have_content_or_an_error_each(sandbox, tmp_path):
    fs = sandbox.fs
    local = tmp_path / "local.txt"
    local.write_bytes(b"from a file here")
    fs.upload_files(
        [
            FileUpload(source=b"first", destination="many/a.txt"),
            FileUpload(source=str(local), destination="many/deep/b.txt"),
            FileUpload(source=b"third", destination="/tmp/c c.txt"),
        ]
    )
    wanted = ["many/a.txt", "many/none.txt", "many/deep/b.txt", "/tmp/c c.txt", "many"]
    got = fs.download_files([FileDownloadRequest(source=one) for one in wanted])
    assert [one.source for one in got] == wanted
    assert [one.result for one in got] == [b"first", None, b"from a file here", b"third", None]
    assert [bool(one.error) for one in got] == [False, True, False, False, True]
    fs.download_file("many/a.txt", str(tmp_path / "down"))
    assert (tmp_path / "down").read_bytes() == b"first"


def test_streams_of_files_report_their_progress(sandbox):
    sent, got = [], []
    whole = b"progress " * 40_000
    sandbox.fs.upload_file_stream(io.BytesIO(whole), "stream.bin", on_progress=sent.append)
    stream = sandbox.fs.download_file_stream("stream.bin", on_progress=got.append)
    assert b"".join(stream) == whole
    assert sent[-1].bytes_sent == len(whole) and got[-1].bytes_received == len(whole)
    assert got[-1].total_bytes == len(whole)


def test_files_are_found_and_changed_by_their_text(sandbox):
    fs = sandbox.fs
    for name, text in (("one.py", b"alpha\nbeta\n"), ("two.py", b"gamma\n"), ("three.md", b"beta")):
        fs.upload_file(text, f"look/{name}")
    found = sorted((one.file.rsplit("/", 1)[-1], one.line) for one in fs.find_files("look", "beta"))
    assert found == [("one.py", 2), ("three.md", 1)]
    paths = fs.search_files("look", "*.py").files
    assert sorted(one.rsplit("/", 1)[-1] for one in paths) == ["one.py", "two.py"]
    done = fs.replace_in_files(["look/one.py", "look/none.py"], "beta", "BETA")
    assert [one.success for one in done] == [True, False] and done[1].error
    assert fs.download_file("look/one.py") == b"alpha\nBETA\n"


def test_commands_and_their_end(sandbox):
    run = sandbox.process.exec
    got = run('printf "out\\n"; sleep 0.1; printf "err\\n" >&2; exit 3')
    assert (got.exit_code, got.result) == (3, "out\nerr\n")
    assert got.artifacts.stdout == got.result
    assert run("pwd; echo $WHO", cwd="/tmp", env={"WHO": "me"}).result == "/tmp\nme\n"
    assert run("no-such-program-at-all").exit_code == 127
    assert run("cat <<'E' | tr a-z A-Z\nword\nE").result == "WORD\n"


def test_programs_as_text(sandbox):
    run = sandbox.process.code_run
    got = run(
        "import os, sys; print(sys.argv[1:], os.environ['Z'])",
        params=CodeRunParams(argv=["a", "b"], env={"Z": "z"}),
    )
    assert (got.exit_code, got.result) == (0, "['a', 'b'] z\n") and got.artifacts.charts == []
    got = run("import sys; sys.stderr.write('E\\n'); raise SystemExit(4)", timeout=20)
    assert (got.exit_code, got.result) == (4, "E\n")


def test_a_session_keeps_its_shell(sandbox):
    run, name = sandbox.process, f"s-{uuid.uuid4().hex[:8]}"
    run.create_session(name)
    assert run.get_session(name).commands == []
    line = SessionExecuteRequest(command="cd /tmp && export WORD=kept")
    assert run.execute_session_command(name, line).exit_code == 0
    line = SessionExecuteRequest(command="pwd; echo $WORD; echo wrong >&2")
    got = run.execute_session_command(name, line)
    assert (got.stdout, got.stderr) == ("/tmp\nkept\n", "wrong\n")
    assert len(run.get_session(name).commands) == 2
    assert name in [one.session_id for one in run.list_sessions()]
    run.delete_session(name)
    assert name not in [one.session_id for one in run.list_sessions()]


def test_a_command_of_a_session_is_followed_and_gets_input(sandbox):
    run, name = sandbox.process, f"s-{uuid.uuid4().hex[:8]}"
    run.create_session(name)
    line = SessionExecuteRequest(
        command="read a; echo got $a; echo bad >&2; exit_with() { return 5; }; exit_with",
        run_async=True,
        suppress_input_echo=True,
    )
    begun = run.execute_session_command(name, line)
    assert begun.exit_code is None and run.get_session_command(name, begun.cmd_id).exit_code is None
    run.send_session_command_input(name, begun.cmd_id, "input")
    out, err = [], []
    follow = run.get_session_command_logs_async(name, begun.cmd_id, out.append, err.append)
    asyncio.run(follow)
    assert ("".join(out), "".join(err)) == ("got input\n", "bad\n")
    wait_until(
        lambda: run.get_session_command(name, begun.cmd_id).exit_code == 5, "its end is known"
    )
    logs = run.get_session_command_logs(name, begun.cmd_id)
    assert (logs.stdout, logs.stderr) == ("got input\n", "bad\n")
    run.delete_session(name)
    entry = run.get_entrypoint_session()
    assert entry.session_id == "entrypoint" and len(entry.commands) == 1
    assert run.get_entrypoint_logs().stdout is not None


def test_a_terminal_is_shared_resized_and_killed(sandbox):
    run, name = sandbox.process, f"t-{uuid.uuid4().hex[:8]}"
    handle = run.create_pty_session(
        name, envs={"WORD": "given"}, pty_size=PtySize(cols=80, rows=24)
    )
    info = run.get_pty_session_info(name)
    assert (info.cols, info.rows, info.active) == (80, 24, True)
    assert run.resize_pty_session(name, PtySize(cols=101, rows=31)).cols == 101
    assert name in [one.id for one in run.list_pty_sessions()]
    handle.disconnect()
    handle = run.connect_pty_session(name)
    seen = []
    handle.send_input("echo $WORD-$((40+2)); stty size; exit 7\n")
    ended = handle.wait(on_data=lambda data: seen.append(data), timeout=30)
    text = b"".join(seen).decode()
    assert ended.exit_code == 7 and "given-42" in text and "31 101" in text, text
    for kill in ("kill_pty_session", "kill"):
        other = run.create_pty_session(f"{name}-{kill}")
        other.wait_for_connection()
        assert other.is_connected()
        by = {
            "kill": other.kill,
            "kill_pty_session": lambda: run.kill_pty_session(other.session_id),
        }
        threading.Timer(0.2, by[kill]).start()
        ended = other.wait(timeout=30)
        assert ended.exit_code == 137 and ended.error


def test_contexts_keep_their_variables(sandbox):
    python = sandbox.code_interpreter
    python.run_code("x = 41")
    pieces = []
    got = python.run_code("print(x + 1)", on_stdout=lambda one: pieces.append(one.output))
    assert (got.stdout, got.error) == ("42\n", None) and "".join(pieces) == "42\n"
    context = python.create_context(cwd="/tmp")
    assert context.id in [one.id for one in python.list_contexts()]
    got = python.run_code("import os; print(os.getcwd()); raise ValueError('no')", context=context)
    assert got.stdout == "/tmp\n" and got.stderr == ""
    assert (got.error.name, got.error.value) == ("ValueError", "no")
    assert "ValueError: no" in got.error.traceback
    assert python.run_code("print('x' in globals())", context=context).stdout == "False\n"
    python.delete_context(context)
    assert context.id not in [one.id for one in python.list_contexts()]


def test_git_from_clone_to_push(sandbox):
    git, run = sandbox.git, sandbox.process.exec
    git.init("origin.git", bare=True)
    git.init("seed", initial_branch="main")
    sandbox.fs.upload_file(b"one\n", "seed/a.txt")
    git.configure_user("A. Writer", "a@example.com", scope="local", path="seed")
    assert git.get_config("user.name", scope="local", path="seed") == "A. Writer"
    git.set_config("core.abbrev", "12", scope="local", path="seed")
    git.add("seed", ["a.txt"])
    assert git.status("seed").current_branch == "main"
    first = git.commit("seed", "first", "A. Writer", "a@example.com").sha
    assert run("git -C seed rev-parse HEAD").result.strip() == first
    home = sandbox.get_work_dir()
    git.remote_add("seed", "origin", f"{home}/origin.git")
    assert git.remote_get("seed", "origin") == f"{home}/origin.git"
    assert [one.name for one in git.remotes("seed").remotes] == ["origin"]
    git.push("seed", remote="origin", branch="main", set_upstream=True)
    git.clone(f"file://{home}/origin.git", "copy", branch="main")
    git.create_branch("copy", "feature")
    git.checkout_branch("copy", "feature")
    found = git.branches("copy")
    assert sorted(found.branches) == ["feature", "main"]
    sandbox.fs.upload_file(b"two\n", "copy/a.txt")
    sandbox.fs.upload_file(b"new\n", "copy/b.txt")
    files = {one.name: one for one in git.status("copy").file_status}
    assert files["a.txt"].worktree == "Modified" and files["b.txt"].worktree == "Untracked"
    git.restore("copy", ["a.txt"])
    assert sandbox.fs.download_file("copy/a.txt") == b"one\n"
    git.add("copy", ["b.txt"])
    git.reset("copy")
    assert {one.name: one.staging for one in git.status("copy").file_status}["b.txt"] == "Untracked"
    git.checkout_branch("copy", "main")
    git.delete_branch("copy", "feature")
    sandbox.fs.upload_file(b"later\n", "seed/c.txt")
    git.add("seed", ["c.txt"])
    git.commit("seed", "second", "A. Writer", "a@example.com")
    git.push("seed")
    git.pull("copy")
    assert sandbox.fs.download_file("copy/c.txt") == b"later\n"
    git.dangerously_authenticate("user", "pass", "git.example.com", "https")
