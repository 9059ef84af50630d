"""Each exception of Daytona's Python client that Cay can cause, once, by its own class."""
import asyncio
import concurrent.futures
import contextlib
import inspect
import socket
import threading
import uuid

import pytest

import refusing_git
from daytona import AsyncDaytona, Daytona, DaytonaConfig, SessionExecuteRequest
from daytona.common import errors
from daytona_surface import NEVER_RAISED
from harness import kill_keeper, slow, wait_until

HERE = "http://127.0.0.1"
seen = set()


def raises(kind, call, *args, **kwargs):
    """The call raises exactly this class. Its bases count as seen, too."""
    with pytest.raises(errors.DaytonaError) as caught:
        call(*args, **kwargs)
    assert type(caught.value) is kind, repr(caught.value)
    seen.update(one.__name__ for one in kind.__mro__)
    return caught.value


@pytest.fixture(scope="module")
def repository(sandbox):
    """An origin with one file, and two copies of it."""
    git = sandbox.git
    git.configure_user("A. Writer", "a@example.com")
    git.init("e/seed", initial_branch="main")
    sandbox.fs.upload_file(b"one\n", "e/seed/a.txt")
    git.add("e/seed", ["a.txt"])
    git.commit("e/seed", "first", "A. Writer", "a@example.com")
    home = sandbox.get_work_dir()
    sandbox.process.exec("git clone -q --bare e/seed e/origin.git")
    for copy in ("e/one", "e/two"):
        git.clone(f"file://{home}/e/origin.git", copy)
    return home + "/e"


def committed(sandbox, copy, text, name="a.txt"):
    sandbox.fs.upload_file(text, f"{copy}/{name}")
    sandbox.git.add(copy, [name])
    return sandbox.git.commit(copy, "change", "A. Writer", "a@example.com")


def test_the_callers_faults(client, sandbox, daemon, name):
    fault = raises(errors.DaytonaBadRequestError, sandbox.process.exec, "")
    assert (fault.status_code, fault.code) == (400, "INVALID_REQUEST_BODY")
    assert fault.source == errors.SOURCE_DAEMON
    fault = raises(errors.DaytonaNotFoundError, client.get, name)
    assert fault.status_code == 404 and name in fault.message
    assert fault.source == errors.SOURCE_API
    client.volume.create(name)
    raises(errors.DaytonaConflictError, client.volume.create, name)
    client.volume.delete(client.volume.get(name))
    stranger = Daytona(DaytonaConfig(api_key="dtn_wrong", api_url=daemon.env["DAYTONA_API_URL"]))
    assert raises(errors.DaytonaAuthenticationError, stranger.get, sandbox.id).status_code == 401
    made = daemon.cli("key", "create", name, "--scope", "read", "--data", daemon.data)
    key = made.text.split()[-1]
    reader = Daytona(DaytonaConfig(api_key=key, api_url=daemon.env["DAYTONA_API_URL"]))
    assert reader.get(sandbox.id).id == sandbox.id
    assert raises(errors.DaytonaForbiddenError, reader.create).status_code == 403


def test_files(sandbox):
    fs = sandbox.fs
    raises(errors.DaytonaFileNotFoundError, fs.download_file, "none.txt")
    raises(errors.DaytonaFileNotFoundError, fs.get_file_info, "none.txt")
    raises(errors.DaytonaFileAccessDeniedError, fs.list_files, "/proc/1/fd")
    raises(errors.DaytonaInvalidFilePathError, fs.download_file, "/tmp")


def test_processes(sandbox):
    run = sandbox.process
    fault = raises(errors.DaytonaProcessExecutionTimeoutError, run.exec, "sleep 30", timeout=1)
    assert (fault.status_code, fault.code) == (408, "PROCESS_EXECUTION_TIMEOUT")
    raises(errors.DaytonaProcessNotFoundError, run.get_session, "none")
    raises(errors.DaytonaProcessNotFoundError, run.get_pty_session_info, "none")
    name = uuid.uuid4().hex
    run.create_session(name)
    raises(errors.DaytonaConflictError, run.create_session, name)
    done = run.execute_session_command(name, SessionExecuteRequest(command="true"))
    raises(
        errors.DaytonaCommandAlreadyCompletedError,
        run.send_session_command_input,
        name,
        done.cmd_id,
        "late",
    )
    run.execute_session_command(name, SessionExecuteRequest(command="exit 3"))
    raises(
        errors.DaytonaSessionEndedError,
        run.execute_session_command,
        name,
        SessionExecuteRequest(command="true"),
    )
    raises(
        errors.DaytonaTimeoutError, sandbox.code_interpreter.run_code, "while 1: pass", timeout=1
    )
    server = sandbox.create_lsp_server("python", "p")
    raises(errors.DaytonaLspServerNotInitializedError, server.document_symbols, "p/a.py")


def test_screens(sandbox):
    screen = sandbox.computer_use
    raises(errors.DaytonaA11yUnavailableError, screen.accessibility.get_tree)
    raises(errors.DaytonaRecordingFfmpegNotFoundError, screen.recording.start)


def test_git_in_a_repository(sandbox, repository):
    git = sandbox.git
    raises(errors.DaytonaGitRepoNotFoundError, git.status, "/tmp")
    raises(errors.DaytonaGitBranchNotFoundError, git.checkout_branch, "e/one", "none")
    git.create_branch("e/one", "there")
    raises(errors.DaytonaGitBranchExistsError, git.create_branch, "e/one", "there")
    committed(sandbox, "e/one", b"other\n")
    git.checkout_branch("e/one", "main")
    sandbox.fs.upload_file(b"by hand\n", "e/one/a.txt")
    raises(errors.DaytonaGitDirtyWorktreeError, git.checkout_branch, "e/one", "there")
    git.restore("e/one", ["a.txt"])


def test_git_with_a_remote(sandbox, repository):
    git = sandbox.git
    committed(sandbox, "e/one", b"of one\n")
    git.push("e/one")
    committed(sandbox, "e/two", b"of two\n")
    raises(errors.DaytonaGitPushRejectedError, git.push, "e/two")
    raises(errors.DaytonaGitMergeConflictError, git.pull, "e/two")
    sandbox.process.exec(
        "git -C e/two reset -q --hard origin/main; cd e/origin.git/hooks && "
        "printf '#!/bin/sh\\necho not today; exit 1\\n' >pre-receive && chmod +x pre-receive"
    )
    committed(sandbox, "e/two", b"again\n")
    raises(errors.DaytonaGitRemoteRejectedError, git.push, "e/two")
    raises(errors.DaytonaGitTransportFailedError, git.clone, f"{HERE}:9/none.git", "e/none")
    sandbox.fs.upload_file(refusing_git.REFUSING.encode(), "e/refuse.py")
    sandbox.process.exec(refusing_git.BEGIN)
    raises(
        errors.DaytonaGitAuthFailedError,
        git.clone,
        f"{refusing_git.REFUSER}/x.git",
        "e/secret",
        username="u",
        password="p",
    )


def test_too_many_requests(own_daemon, tmp_path):
    settings = tmp_path / "cay.toml"
    settings.write_text("[server]\nrequests_per_second = 1\n")
    daemon = own_daemon("--config", settings)
    there = Daytona(DaytonaConfig(api_key=daemon.key, api_url=daemon.env["DAYTONA_API_URL"]))

    def many():
        with concurrent.futures.ThreadPoolExecutor(20) as at_once:
            for one in [at_once.submit(there.get, "none") for _ in range(40)]:
                with contextlib.suppress(errors.DaytonaNotFoundError):
                    one.result()

    assert raises(errors.DaytonaRateLimitError, many).status_code == 429
    daemon.args = []  # so that its end is not refused as well
    daemon.restart()


def test_a_server_that_is_gone_or_silent():
    async def get(url, seconds):
        async with AsyncDaytona(DaytonaConfig(api_key="k", api_url=url)) as there:
            await there.get("none", request_timeout=seconds)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/daytona"
        raises(errors.DaytonaConnectionTimeoutError, asyncio.run, get(url, 1))
    raises(errors.DaytonaConnectionError, asyncio.run, get(url, 5))


def test_a_drained_host_takes_no_sandbox(own_daemon):
    daemon = own_daemon()
    there = Daytona(DaytonaConfig(api_key=daemon.key, api_url=daemon.env["DAYTONA_API_URL"]))
    assert daemon.cli("drain").code == 0
    fault = raises(errors.DaytonaServiceUnavailableError, there.create)
    assert fault.status_code == 503


def raised_by(client, kind, end):
    """Returns the error of this class that a command raises when `end` befalls its sandbox."""
    box, caught = client.create(), []

    def run():
        caught.append(raises(kind, box.process.exec, "touch /tmp/begun; sleep 600"))

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: box.process.exec("test -e /tmp/begun").exit_code == 0, "the command's file")
    end(box)
    thread.join(slow(60))
    assert len(caught) == 1
    box.delete()
    return caught[0]


def test_a_sandbox_that_is_lost_or_stops(client, daemon):
    """The client tells a failure of Cay's from the end of a program."""
    kill = lambda box: kill_keeper(daemon, box.id)
    lost = raised_by(client, errors.DaytonaInternalServerError, kill)
    assert lost.status_code == 500
    stopped = raised_by(client, errors.DaytonaGoneError, lambda box: box.stop())
    assert "sandbox stop" in str(stopped)


def test_each_class_was_raised():
    """The last test of this file: what it did not raise, it names."""
    kinds = {
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.DaytonaError) and kind.__name__ == name
    }
    assert kinds - seen == kinds & set(NEVER_RAISED), sorted(kinds - seen)
