"""What the published example programs of llm-sandbox do, step by step: sessions and files."""
import asyncio
import shutil
import warnings

import pytest
from harness import slow

# Go and Java are in tests/e2e/test_code.py: their compilers are slow.
HELLO = {
    "python": "print('Hello, World!')",
    "javascript": "console.log('Hello, World!')",
    "cpp": """
            #include <iostream>
            int main() {
                std::cout << "Hello, World!" << std::endl;
                return 0;
            }
            """,
    "ruby": "puts 'Hello, World!'",
}
NEEDS = {"python": "python3", "javascript": "node", "cpp": "g++", "ruby": "ruby"}


@pytest.fixture(scope="module")
def session(daemon):
    """One session of Python for the tests that do not end it."""
    from cay_sandbox import SandboxSession
    from cay_sandbox.api import Api

    with SandboxSession(lang="python", api=Api(daemon.url, daemon.key)) as made:
        yield made


@pytest.mark.parametrize("language", [one for one in HELLO if shutil.which(NEEDS[one])])
def test_each_language_says_hello(language, ids):
    from cay_sandbox import SandboxSession

    before = ids()
    with SandboxSession(lang=language, keep_template=True, client=object()) as session:
        assert session.container.id in ids()
        got = session.run(HELLO[language])
    assert (got.exit_code, got.stdout, got.stderr) == (0, "Hello, World!\n", ""), got
    assert got.success()
    assert ids() == before, "close() removes the sandbox"


def test_every_run_is_a_new_process_and_files_stay(session):
    assert session.run("x = 1\nopen('kept', 'w').write('1')").success()
    got = session.run("import os\nprint(os.getcwd(), os.path.exists('kept'))\nprint(x)")
    assert (got.exit_code, got.stdout) == (1, "/sandbox True\n")
    assert "NameError: name 'x' is not defined" in got.stderr


def test_exit_codes_are_the_programs_own(session):
    assert session.run("import sys; sys.exit(7)").exit_code == 7
    got = session.run("raise ValueError()")
    assert got.exit_code == 1 and got.stderr.endswith("ValueError\n") and got.stdout == ""
    assert session.execute_command("false").exit_code == 1
    assert session.execute_command("exit 2").exit_code == 2
    got = session.execute_command("nonexistent_command_xyz")
    assert got.exit_code == 127 and "not found" in got.stderr
    got = session.execute_command("python -c 'import sys; sys.exit(5)'")
    assert (got.exit_code, got.stdout, got.stderr) == (5, "", "")
    assert session.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").exit_code == 137


def test_commands_run_up_to_the_first_that_fails(session):
    got = session.execute_commands(["echo 1", ("pwd", "/usr"), "exit 3", "touch /never"])
    assert got.exit_code == 3
    assert session.execute_command("test -e /never").exit_code == 1
    assert session.execute_commands(["true", ("pwd", "/usr")]).stdout == "/usr\n"
    from cay_sandbox.exceptions import CommandEmptyError

    with pytest.raises(CommandEmptyError, match="Command cannot be empty"):
        session.execute_command("")


def test_a_result_as_json(session):
    got = session.run("print(1)")
    assert got.to_json() == '{\n  "exit_code": 0,\n  "stderr": "",\n  "stdout": "1\\n"\n}'


def test_files_go_in_and_come_out(session, tmp_path):
    """copy_demo.py and test_copy_functions.py."""
    (tmp_path / "input/deep").mkdir(parents=True)
    (tmp_path / "input/data.json").write_text('{"items": [1, 2, 3]}')
    (tmp_path / "input/deep/note.txt").write_text("nested")
    program = tmp_path / "processor.py"
    program.write_text(
        "import json, os\n"
        "os.mkdir('/sandbox/output')\n"
        "items = json.load(open('/sandbox/input/data.json'))['items']\n"
        "json.dump({'total': sum(items)}, open('/sandbox/output/summary.json', 'w'))\n"
        "os.symlink('/etc/passwd', '/sandbox/output/link')\n"
        "print('done')\n"
    )
    session.copy_to_runtime(str(program), "/sandbox/new/processor.py")
    session.copy_to_runtime(str(tmp_path / "input"), "/sandbox/input")
    found = session.execute_command("find /sandbox/input /sandbox/new -type f | sort").stdout
    assert found.split() == [
        "/sandbox/input/data.json",
        "/sandbox/input/deep/note.txt",
        "/sandbox/new/processor.py",
    ]
    assert session.execute_command("python /sandbox/new/processor.py").stdout == "done\n"
    session.copy_from_runtime("/sandbox/output", str(tmp_path / "results"))
    assert (tmp_path / "results/output/summary.json").read_text() == '{"total": 6}'
    assert not (tmp_path / "results/output/link").is_symlink(), "links are skipped"
    session.copy_from_runtime("/sandbox/input/deep/note.txt", str(tmp_path / "a/b.txt"))
    assert (tmp_path / "a/b.txt").read_text() == "nested"
    packed, facts = session.get_archive("/sandbox/input")
    assert facts["name"] == "input" and b"input/deep/note.txt" in packed


def test_paths_that_cannot_be(session, tmp_path):
    from cay_sandbox import SecurityError

    with pytest.raises(FileNotFoundError):
        session.copy_to_runtime("/nonexistent/file.txt", "/sandbox/x")
    with pytest.raises(FileNotFoundError):
        session.copy_from_runtime("/sandbox/none", str(tmp_path / "x"))
    source = tmp_path / "source"
    source.write_text("x")
    with pytest.raises(SecurityError, match="Path traversal"):
        session.copy_to_runtime(str(source), "/sandbox/../etc/x")


def test_a_modules_name_shadows_nothing(session, tmp_path):
    """A program may import modules of the working directory, and the standard library's."""
    helper = tmp_path / "helper.py"
    helper.write_text("ANSWER = 42\n")
    session.copy_to_runtime(str(helper), "/sandbox/helper.py")
    assert session.run("import code, helper; print(helper.ANSWER)").stdout == "42\n"


def test_a_time_limit_ends_the_program_and_not_the_session(session):
    """sandbox_timeout.py and timeout_demo.py. There the session is lost, too."""
    from cay_sandbox import SandboxTimeoutError

    endless = "import subprocess\nsubprocess.Popen(['sleep', '97541'])\nwhile True: pass"
    with pytest.raises(SandboxTimeoutError, match="Operation timed out after 0.5 seconds") as got:
        session.run(endless, timeout=0.5)
    assert got.value.timeout_duration == 0.5
    look = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 9754[1]'"
    assert session.execute_command(look).stdout == "0\n", "what it started is ended, too"
    assert session.run("print('alive')").stdout == "alive\n"


def test_the_sessions_own_limits():
    from cay_sandbox import SandboxSession, SandboxTimeoutError
    from cay_sandbox.exceptions import NotOpenSessionError

    session = SandboxSession(lang="python", execution_timeout=0.5)
    with pytest.raises(NotOpenSessionError, match="Session is not open"):
        session.run("print(1)")
    with session:
        with pytest.raises(SandboxTimeoutError, match="after 0.5 seconds"):
            session.run("while True: pass")
        assert session.run("print(1)", timeout=slow(30)).stdout == "1\n"
        session.config.session_timeout = 0.000001
        with pytest.raises(SandboxTimeoutError, match="exceeded maximum lifetime"):
            session.run("print(1)")
    with SandboxSession(lang="python", session_timeout=1) as session:
        with pytest.raises(SandboxTimeoutError, match="maximum lifetime of 1 seconds"):
            session.run("while True: pass", timeout=slow(60))
    with pytest.raises(NotOpenSessionError):
        session.execute_command("true")


def test_output_comes_while_the_program_runs(session):
    """streaming_callbacks_demo.py. The program ends only after its first output was seen."""
    out, err = [], []

    def answer(text):
        out.append(text)
        session.execute_command("touch /sandbox/seen")

    code = (
        "import os, sys, time\nprint('é first', flush=True)\n"
        "while not os.path.exists('/sandbox/seen'): time.sleep(0.01)\n"
        "print('warning', file=sys.stderr)\nprint('last')\n"
    )
    got = session.run(code, on_stdout=answer, on_stderr=err.append, timeout=slow(30))
    assert got.exit_code == 0 and got.stdout == "é first\nlast\n" and got.stderr == "warning\n"
    assert "".join(out) == got.stdout and "".join(err) == got.stderr
    chunks = []
    session.execute_command("echo one; echo two >&2", on_stdout=chunks.append)
    assert "".join(chunks) == "one\n"


def test_what_a_callback_raises_reaches_the_caller(session):
    def fail(text):
        raise LookupError(text)

    with pytest.raises(LookupError, match="text"):
        session.run("print('text')", on_stdout=fail)


def test_bytes_that_are_no_text(session):
    from cay_sandbox import SandboxSession

    code = "import sys; sys.stdout.buffer.write(b'a\\xffb')"
    with pytest.raises(UnicodeDecodeError):
        session.run(code)
    ref = session.container.id
    with SandboxSession(lang="python", container_id=ref, encoding_errors="replace") as other:
        assert other.run(code).stdout == "a\ufffdb"


def test_an_existing_sandbox_is_found_and_left(session, ids):
    """existing_container_demo.py."""
    from cay_sandbox import ContainerError, SandboxSession

    session.run("open('/sandbox/data.txt', 'w').write('from before')")
    with SandboxSession(lang="python", container_id=session.container) as other:
        assert other.run("print(open('/sandbox/data.txt').read())").stdout == "from before\n"
    assert session.container.id in ids()
    with pytest.raises(ContainerError, match="non-existent-container-id"):
        with SandboxSession(container_id="non-existent-container-id", lang="python"):
            pass


def test_what_is_no_programs_end_is_an_exception(daemon, http):
    """A sandbox that is removed under a program, and a daemon that is not there."""
    from cay_sandbox import ContainerError, SandboxSession
    from cay_sandbox.api import Api

    session = SandboxSession(lang="python")
    session.open()
    remove = f"/api/v1/sandboxes/{session.container.id}"
    with pytest.raises(ContainerError):
        session.run(
            "import time; print('begun', flush=True); time.sleep(97)",
            on_stdout=lambda _: http.delete(remove),
        )
    session.close()
    with pytest.raises(ContainerError, match="no answer from Cay at http://127.0.0.1:1"):
        SandboxSession(lang="python", api=Api("http://127.0.0.1:1", "key")).open()
    with pytest.raises(ContainerError, match="key"):
        SandboxSession(lang="python", api=Api(daemon.url, "wrong")).open()


def test_settings_of_a_container(http):
    """container_user_privilege.py, and what examples of agents set."""
    from cay_sandbox import SandboxSession

    hardened = {
        "network_mode": "none",
        "mem_limit": "512m",
        "pids_limit": 128,
        "cpu_quota": 50_000,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "user": "1000:1000",
        "environment": {"A": "1"},
    }
    code = "import os\nprint(os.getuid(), os.getgid(), os.environ['A'], os.access('/etc', os.W_OK))"
    with SandboxSession(lang="python", runtime_configs=hardened, workdir="/tmp/work") as session:
        assert session.run(code).stdout == "1000 1000 1 False\n"
        box = http.get(f"/api/v1/sandboxes/{session.container.id}").json()
    assert box["policy"] == "off" and box["workdir"] == "/tmp/work"
    limits = box["limits"]
    assert (limits["memory_bytes"], limits["pids"], limits["cpu_millicores"]) == (1 << 29, 128, 500)
    pod = {
        "spec": {
            "containers": [{"resources": {"limits": {"memory": "512Mi"}}}],
            "securityContext": {"runAsUser": 1000},
        }
    }
    with SandboxSession(lang="python", backend="kubernetes", pod_manifest=pod) as session:
        assert session.run("import os; print(os.getuid())").stdout == "1000\n"


def test_what_a_sandbox_cannot_be_is_refused():
    from cay_sandbox import SandboxSession, ValidationError
    from cay_sandbox.exceptions import (
        ExtraArgumentsError,
        LanguageNotSupportedError,
        UnsupportedBackendError,
    )

    for name, value in (
        ("privileged", True),
        ("network_mode", "host"),
        ("mounts", [{"source": "/", "target": "/host"}]),
        ("read_only", True),
    ):
        with pytest.raises(ValidationError, match=name):
            SandboxSession(lang="python", runtime_configs={name: value}).open()
    with pytest.raises(ExtraArgumentsError, match="devices"):
        SandboxSession(lang="python", runtime_configs={"devices": ["/dev/kvm"]}).open()
    with pytest.raises(ExtraArgumentsError, match="sandbox_config"):
        SandboxSession(lang="python", sandbox_config=object())
    with pytest.raises(LanguageNotSupportedError, match="Language cobol is not supported"):
        SandboxSession(lang="cobol")
    with pytest.raises(UnsupportedBackendError):
        SandboxSession(backend="windows-mxc", lang="python")
    with pytest.raises(ValueError, match="Only one of 'image' or 'dockerfile'"):
        SandboxSession(lang="python", image="a", dockerfile="b")


def test_an_image_that_cannot_be_pulled():
    """A second session tries again: the first one's failure is no image."""
    from cay_sandbox import SandboxSession, ValidationError
    from cay_sandbox.exceptions import ImagePullError

    for _ in range(2):
        with pytest.raises(ImagePullError, match="Failed to pull image 127.0.0.1:1/none:1"):
            SandboxSession(lang="python", image="127.0.0.1:1/none:1").open()
    with pytest.raises(ValidationError, match="no image's reference"):
        SandboxSession(lang="python", image="UPPER CASE").open()


def test_libraries_that_cannot_be_installed(session):
    """As there, a program runs without a library that run() could not install."""
    from cay_sandbox import SandboxSession
    from cay_sandbox.exceptions import (
        CommandFailedError,
        LibraryInstallationNotSupportedError,
        LibraryWarning,
    )

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert session.run("print(1)", libraries=["-r/etc/passwd"]).stdout == "1\n"
    assert [one.category for one in seen] == [LibraryWarning]
    with pytest.raises(CommandFailedError, match="is no name of a library"):
        session.install(["-r/etc/passwd"])
    with SandboxSession(lang="java") as java:
        with pytest.raises(LibraryInstallationNotSupportedError, match="for java"):
            java.install(["guava"])
    ref = session.container.id
    with SandboxSession(lang="python", container_id=ref, skip_environment_setup=True) as other:
        with pytest.raises(LibraryInstallationNotSupportedError):
            other.run("print(1)", libraries=["numpy"])


def test_from_an_event_loop(session):
    """async_example.py: sessions may be used from any thread."""

    async def main():
        return await asyncio.gather(
            *(asyncio.to_thread(session.run, f"print({number})") for number in range(3))
        )

    assert [one.stdout for one in asyncio.run(main())] == ["0\n", "1\n", "2\n"]


def test_a_session_of_a_snapshot_and_a_commit(http, monkeypatch):
    from cay_sandbox import SandboxSession, ValidationError

    with pytest.raises(ValidationError, match="commit_image_tag"):
        SandboxSession(lang="python", commit_container=True)
    with SandboxSession(
        lang="python", commit_container=True, commit_image_tag="committed:1"
    ) as session:
        session.run("open('/kept', 'w').write('yes')")
    monkeypatch.setenv("CAY_SANDBOX_IMAGE_PYTHON", "committed:1")
    with SandboxSession(lang="python") as session:
        assert session.run("print(open('/kept').read())").stdout == "yes\n"
    assert http.delete("/api/v1/snapshots/committed:1").status_code == 204
