"""The newest Python client of LangSmith, unmodified, against the real daemon."""
import asyncio
import hashlib
import os
import signal
import subprocess
import sys
import time

import pytest

from census import launchers_of
from cutting_proxy import CuttingProxy, random_cuts
from harness import needs_root, slow


def test_create_list_get_update_delete(client):
    box = client.create_sandbox(name="py-life", vcpus=1, mem_bytes=1 << 30, idle_ttl_seconds=600)
    try:
        assert (box.name, box.status) == ("py-life", "ready")
        assert box.dataplane_url and not box.dataplane_url.endswith("/")
        assert box.idle_ttl_seconds == 600 and box.vcpus == 1 and box.mem_bytes == 1 << 30
        assert "py-life" in [one.name for one in client.list_sandboxes()]
        assert client.get_sandbox("py-life").id == box.id == client.get_sandbox(box.id).id
        assert client.get_sandbox_status("py-life").status == "ready"
        renamed = client.update_sandbox("py-life", new_name="py-life-2", idle_ttl_seconds=1200)
        assert (renamed.id, renamed.name, renamed.idle_ttl_seconds) == (box.id, "py-life-2", 1200)
    finally:
        client.delete_sandbox(box.id)
    from langsmith.sandbox import ResourceNotFoundError

    with pytest.raises(ResourceNotFoundError):
        client.get_sandbox(box.id)


def test_a_command_over_a_limit_is_answered_at_once_by_a_sentence(sandbox):
    """Not after its retries, by "no close frame received"."""
    from langsmith.sandbox import SandboxOperationError

    for size, words in ((9_000_000, "2000000"), (40_000_000, "16777216 bytes")):
        began = time.monotonic()
        with pytest.raises(SandboxOperationError, match=words):
            sandbox.run("#" + "x" * size)
        assert time.monotonic() - began < slow(8)
    assert sandbox.run("echo on").stdout == "on\n"


def test_access_control_is_held_or_refused(client, daemon):
    """What is accepted is enforced (tests/e2e/test_gate_policies.py); what is not understood is
    refused."""

    def reaches(box):
        return box.run(
            "python3 -c \"import socket; socket.create_connection(('203.0.113.1', 443), 5)\""
        ).stderr

    with daemon.http() as native:
        for access, policy in (
            ({"allow_list": []}, "off"),
            ({"deny_list": []}, "open"),
            (None, "packages"),
        ):
            box = client.create_sandbox(
                **({"proxy_config": {"access_control": access}} if access else {})
            )
            try:
                assert native.get(f"/api/v1/sandboxes/{box.id}").json()["policy"] == policy
                if policy == "off":
                    assert "Network is unreachable" in reaches(box)
            finally:
                client.delete_sandbox(box.id)
        box = client.create_sandbox(
            proxy_config={"access_control": {"allow_list": ["pypi.org", "203.0.113.0/24:443"]}}
        )
        try:
            shown = native.get(f"/api/v1/sandboxes/{box.id}").json()
            assert (shown["policy"], shown["rules"]) == (
                "rules",
                ["pypi.org", "203.0.113.0/24:443"],
            )
            client.update_sandbox(
                box.name, proxy_config={"access_control": {"deny_list": ["*.example", "~ads[.]"]}}
            )
            assert native.get(f"/api/v1/sandboxes/{box.id}").json()["rules"] == [
                "default allow",
                "!*.example",
                "!~.*(?:ads[.]).*",
            ]
        finally:
            client.delete_sandbox(box.id)
        before = len(client.list_sandboxes())
        for access in (
            {"allow_list": ["a b"]},
            {"deny_list": ["~("]},
            {"allow_list": [], "deny_list": []},
        ):
            with pytest.raises(Exception, match="list|is no rule"):
                client.create_sandbox(proxy_config={"access_control": access})
        assert len(client.list_sandboxes()) == before


@pytest.mark.parametrize(
    "kind, asked",
    [
        ("memory", {"mem_bytes": 10 << 40}),
        ("cpu", {"vcpus": 1000}),
        ("storage", {"fs_capacity_bytes": 10 << 40}),
    ],
)
def test_a_quota_is_named(client, kind, asked):
    from langsmith.sandbox import QuotaExceededError

    with pytest.raises(QuotaExceededError) as refused:
        client.create_sandbox(**asked)
    assert refused.value.quota_type == kind


def test_the_number_of_sandboxes_is_a_quota(own_daemon, tmp_path):
    from langsmith.sandbox import QuotaExceededError, SandboxClient

    config = tmp_path / "cay.toml"
    config.write_text("[host]\nmax_sandboxes = 1\n")
    daemon = own_daemon("--config", config)
    with SandboxClient(
        api_endpoint=f"{daemon.url}/v2/sandboxes", api_key=daemon.key, max_retries=0
    ) as mine, mine.sandbox():
        with pytest.raises(QuotaExceededError) as refused:
            mine.create_sandbox(timeout=1)
    assert refused.value.quota_type == "sandbox_count"


def test_create_without_waiting(client):
    box = client.create_sandbox(wait_for_ready=False)
    try:
        assert box.status in ("provisioning", "ready") and box.dataplane_url
        assert client.wait_for_sandbox(box.name).status == "ready"
    finally:
        client.delete_sandbox(box.name)


def test_run(sandbox):
    got = sandbox.run("echo out; echo err >&2; exit 3")
    assert (got.stdout, got.stderr, got.exit_code, got.success) == ("out\n", "err\n", 3, False)


def test_run_killed_by_signal_is_128_plus_n(sandbox):
    assert sandbox.run("kill -9 $$").exit_code == 137


def test_callbacks(sandbox):
    out, err = [], []
    got = sandbox.run(
        "for i in 1 2 3; do echo $i; echo e$i >&2; done", on_stdout=out.append, on_stderr=err.append
    )
    assert "".join(out) == got.stdout == "1\n2\n3\n"
    assert "".join(err) == got.stderr == "e1\ne2\ne3\n"


def test_handle_and_stdin(sandbox):
    handle = sandbox.run('read -p "Name:" name; echo "Hello $name"', wait=False, close_input=False)
    assert handle.command_id and handle.pid > 0
    handle.send_input("World\n")
    assert handle.result.stdout == "Hello World\n"
    assert handle.result.stderr in ("", "Name:")  # bash shows its prompt on a terminal only


def test_stdin_is_closed_unless_asked(sandbox):
    from langsmith.sandbox import SandboxOperationError

    assert sandbox.run("cat; echo end", timeout=10).stdout == "end\n"
    begun = time.monotonic()
    handle = sandbox.run("cat", wait=False)
    assert (handle.result.stdout, handle.result.exit_code) == ("", 0)
    assert time.monotonic() - begun < slow(10)  # without the end of its input it would run for 60 s
    with pytest.raises(SandboxOperationError, match="stdin is closed"):
        handle.send_input("too late")


def test_close_input(sandbox):
    handle = sandbox.run("wc -c", wait=False, close_input=False)
    handle.send_input("12345")
    handle.close_input()
    assert handle.result.stdout.strip() == "5"


def test_kill(sandbox):
    handle = sandbox.run("echo started; exec sleep 98761", wait=False)
    for chunk in handle:
        if "started" in chunk.data:
            handle.kill()
            break
    end = time.monotonic() + 10
    while (
        "98761"
        in sandbox.run(
            "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -v grep"
        ).stdout.replace("grep", "")
        and time.monotonic() < end
    ):
        pass
    assert (
        "sleep 98761"
        not in sandbox.run(
            "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done | grep ^sleep; true"
        ).stdout
    )


def test_timeout(sandbox):
    from langsmith.sandbox import CommandTimeoutError

    begin = time.monotonic()
    with pytest.raises(CommandTimeoutError):
        sandbox.run("sleep 60", timeout=1)
    assert time.monotonic() - begin < 5


def test_env_cwd_shell_and_run_config(sandbox):
    got = sandbox.run("echo $GREETING $PWD $0", env={"GREETING": "hi"}, cwd="/usr", shell="/bin/sh")
    assert got.stdout == "hi /usr /bin/sh\n"
    got = sandbox.run(
        "id -un; pwd; echo $A",
        run_config={"user": "user", "work_dir": "/tmp", "env_vars": {"A": "b"}},
    )
    assert got.stdout == "user\n/tmp\nb\n"


def test_pty(sandbox):
    got = sandbox.run("test -t 0 && test -t 1 && echo tty; stty size; echo err >&2", pty=True)
    assert "tty\r\n" in got.stdout and "err\r\n" in got.stdout and got.stderr == ""


def test_unknown_shell_and_bad_cwd_are_operation_errors(sandbox):
    from langsmith.sandbox import SandboxOperationError

    with pytest.raises(SandboxOperationError):
        sandbox.run("true", shell="/bin/no-such-shell")
    with pytest.raises(SandboxOperationError):
        sandbox.run("true", cwd="/no/such/dir")


def test_background_children_do_not_delay_the_end(sandbox):
    begin = time.monotonic()
    assert sandbox.run("sleep 50 & echo done").stdout == "done\n"
    assert time.monotonic() - begin < 5


def test_invalid_utf8_has_consistent_offsets(sandbox):
    handle = sandbox.run(
        r"printf 'a\xff\xfeb'; sleep 0.2; printf '\xe2\x82'; sleep 0.2; printf '\xac\xe2'",
        wait=False,
    )
    chunks = [chunk for chunk in handle if chunk.stream == "stdout"]
    text = "".join(chunk.data for chunk in chunks)
    assert text == "a\ufffd\ufffdb\u20ac\ufffd"
    offset = 0
    for chunk in chunks:
        assert chunk.offset == offset
        offset += len(chunk.data.encode())
    again = sandbox.reconnect(handle.command_id, stdout_offset=4)
    assert again.result.stdout.encode() == text.encode()[4:]


def test_reconnect_from_another_process(client, sandbox):
    handle = sandbox.run(
        "for i in $(seq 1 40); do echo line $i; sleep 0.05; done; exit 4", wait=False
    )
    code = (
        "import sys; from langsmith.sandbox import SandboxClient\n"
        "box = SandboxClient().get_sandbox(sys.argv[1])\n"
        "got = box.reconnect(sys.argv[2]).result\n"
        "sys.stdout.write(got.stdout); sys.exit(got.exit_code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, sandbox.name, handle.command_id],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=60,
    )
    want = "".join(f"line {i}\n" for i in range(1, 41))
    assert (done.returncode, done.stdout) == (4, want), done.stderr
    assert handle.result.stdout == want


def test_automatic_reconnect_through_a_cutting_proxy(daemon, sandbox):
    from langsmith.sandbox import SandboxClient

    # More than the largest frame (64 KiB as JSON): the client counts losses in succession, without
    # a whole frame between them.
    proxy = CuttingProxy(daemon.port, random_cuts(seed=7, low=100_000, high=250_000))
    try:
        with SandboxClient(
            api_endpoint=f"{proxy.url}/v2/sandboxes", api_key=daemon.key
        ) as cut_client:
            box = cut_client.get_sandbox(sandbox.name)
            got = box.run("seq 1 150000", timeout=60)
        want = "".join(f"{i}\n" for i in range(1, 150_001))
        assert got.exit_code == 0
        assert (
            hashlib.sha256(got.stdout.encode()).digest() == hashlib.sha256(want.encode()).digest()
        )
        assert proxy.cuts >= 3
    finally:
        proxy.close()


def test_files(sandbox):
    sandbox.write("/tmp/a dir/text+1.txt", "h\u00e9llo")
    assert sandbox.read("/tmp/a dir/text+1.txt") == "h\u00e9llo".encode()
    blob = bytes(range(256)) * 4096
    sandbox.write("/tmp/blob", blob)
    assert sandbox.read("/tmp/blob") == blob
    assert sandbox.stat("/tmp/blob").size_bytes == len(blob)
    part = sandbox.read_range("/tmp/blob", start=256, end=511)
    assert (part.content, part.start, part.total_bytes, part.partial) == (
        bytes(range(256)),
        256,
        len(blob),
        True,
    )
    assert sandbox.read_range("/tmp/blob", suffix_bytes=3).content == b"\xfd\xfe\xff"
    assert sandbox.read_range("/tmp/blob", start=0, if_none_match=part.etag).unchanged
    sandbox.write("/tmp/blob", b"new")
    assert not sandbox.read_range("/tmp/blob", start=0, end=1, if_range=part.etag).partial


def test_glob_ls_grep(sandbox):
    sandbox.run(
        "mkdir -p /tmp/w/sub && cd /tmp/w && echo needle > a.py && echo hay > sub/b.py && echo "
        "needle > sub/c.txt"
    )
    assert sorted(f.path for f in sandbox.glob("**/*.py", "/tmp/w")) == [
        "/tmp/w/a.py",
        "/tmp/w/sub/b.py",
    ]
    assert sorted((f.path, f.is_dir) for f in sandbox.ls("/tmp/w")) == [
        ("/tmp/w/a.py", False),
        ("/tmp/w/sub", True),
    ]
    assert [(m.path, m.line, m.text) for m in sandbox.grep("needle", "/tmp/w", glob="*.py")] == [
        ("/tmp/w/a.py", 1, "needle")
    ]


def test_missing_file_and_directory(sandbox):
    from langsmith.sandbox import ResourceNotFoundError, SandboxOperationError

    with pytest.raises(ResourceNotFoundError):
        sandbox.read("/tmp/none")
    with pytest.raises(SandboxOperationError, match="is a directory"):
        sandbox.read("/tmp")
    with pytest.raises(SandboxOperationError):
        sandbox.write("/proc/version/x", "no")


def test_stop_start_keeps_the_disk_and_wakes(client, sandbox):
    sandbox.run("echo kept > /root/kept; touch /tmp/stays; touch /dev/shm/goes")
    client.stop_sandbox(sandbox.name)
    assert client.get_sandbox_status(sandbox.name).status == "stopped"
    client.start_sandbox(sandbox.name)
    assert sandbox.run("cat /root/kept; ls /tmp /dev/shm").stdout.split() == (
        ["kept", "/dev/shm:", "/tmp:", "stays"]
    )
    client.stop_sandbox(sandbox.name)
    assert sandbox.run("cat /root/kept").stdout == "kept\n"  # woken by the request


def test_typed_errors(daemon, client, sandbox):
    from langsmith.sandbox import (
        QuotaExceededError,
        ResourceNameConflictError,
        ResourceNotFoundError,
        SandboxAuthenticationError,
        SandboxClient,
        ValidationError,
    )

    with pytest.raises(ResourceNotFoundError):
        client.get_sandbox("no-such-box")
    with SandboxClient(api_key="cay_wrong") as stranger, pytest.raises(SandboxAuthenticationError):
        stranger.list_sandboxes()
    with client.sandbox() as other, pytest.raises(ResourceNameConflictError):
        client.update_sandbox(other.name, new_name=sandbox.name)
    with pytest.raises(ValidationError):
        client.create_sandbox(vcpus=0)
    with SandboxClient(max_retries=0) as impatient, pytest.raises(QuotaExceededError):
        impatient.create_sandbox(mem_bytes=10 << 40)


def test_a_failed_sandbox_is_not_ready(daemon, client):
    from langsmith.sandbox import SandboxNotReadyError
    from harness import kill_keeper, wait_until

    with client.sandbox() as box:
        kill_keeper(daemon, box.id)
        wait_until(
            lambda: client.get_sandbox_status(box.name).status == "failed",
            "the keeper's death was seen",
        )
        with pytest.raises(SandboxNotReadyError):
            box.read("/etc/hostname")
        assert client.start_sandbox(box.name).status == "ready"


def test_a_sandbox_that_cannot_be_made_is_a_creation_error(daemon, client):
    """Failed while it was waited for; and a host that begins nothing new."""
    from harness import kill_keeper, wait_until
    from langsmith.sandbox import ResourceCreationError, SandboxClient

    with client.sandbox() as box:
        kill_keeper(daemon, box.id)
        wait_until(
            lambda: client.get_sandbox_status(box.name).status == "failed",
            "the keeper's death was seen",
        )
        with pytest.raises(ResourceCreationError):
            client.wait_for_sandbox(box.name)
    assert daemon.cli("drain", "--timeout", "0").code in (0, 124)
    try:
        with SandboxClient(max_retries=0) as impatient, pytest.raises(
            ResourceCreationError
        ) as refused:
            impatient.create_sandbox()
        assert refused.value.error_type == "Unschedulable" and "drain" in str(refused.value)
    finally:
        assert daemon.cli("drain", "--undo").code == 0


@needs_root
def test_a_sandbox_that_is_not_ready_in_time_is_a_timeout(daemon, client):
    """The launcher is held still meanwhile; nothing is left of what was asked for."""
    from harness import wait_until
    from langsmith.sandbox import ResourceTimeoutError

    held = [int(proc.name) for proc in launchers_of((daemon.data / "instance").read_text().strip())]
    assert held
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(ResourceTimeoutError):
            client.create_sandbox(name="too-late", timeout=1)
    finally:
        for pid in held:
            os.kill(pid, signal.SIGCONT)
    wait_until(
        lambda: "too-late" not in [one.name for one in client.list_sandboxes()], "it is gone"
    )
    with client.sandbox(name="too-late") as box:  # and its name is free
        assert box.run("echo made").stdout == "made\n"


def test_a_daemon_that_is_not_there_is_a_connection_error():
    from langsmith.sandbox import SandboxClient, SandboxConnectionError

    with SandboxClient(
        api_endpoint="http://127.0.0.1:9/v2/sandboxes", max_retries=0
    ) as lost, pytest.raises(SandboxConnectionError):
        lost.list_sandboxes()


def test_async_client(daemon):
    async def work():
        from langsmith.sandbox import AsyncSandboxClient

        async with AsyncSandboxClient() as client:
            async with await client.sandbox() as box:
                got = await box.run("echo async; exit 5")
                await box.write("/tmp/x", b"1")
                return got.stdout, got.exit_code, await box.read("/tmp/x")

    assert asyncio.run(work()) == ("async\n", 5, b"1")


def test_main_client_reads_info_and_tracing_both_ways(daemon, sandbox):
    """With tracing on, the client sends traces to the same host: runs are not disturbed."""
    code = (
        "from langsmith.sandbox import SandboxClient; import sys\n"
        "box = SandboxClient().get_sandbox(sys.argv[1])\n"
        "from langsmith import traceable\n"
        "@traceable\n"
        "def work(): return box.run('echo traced').stdout\n"
        "sys.stdout.write(work())"
    )
    for tracing in ("true", "false"):
        done = subprocess.run(
            [sys.executable, "-c", code, sandbox.name],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "LANGSMITH_TRACING": tracing},
        )
        assert (done.returncode, done.stdout) == (0, "traced\n"), done.stderr


def test_http_fallback_without_websockets(daemon, sandbox):
    """The last client that falls back to POST /execute where `websockets` is missing."""
    code = (
        "import sys; from langsmith.sandbox import SandboxClient\n"
        "box = SandboxClient().get_sandbox(sys.argv[1])\n"
        "got = box.run('echo plain; exit 6'); sys.stdout.write(got.stdout); sys.exit(got.exit_code)"
    )
    python = os.path.join(os.path.dirname(sys.executable), "../../testenv-nows/bin/python")
    done = subprocess.run(
        [python, "-c", code, sandbox.name],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (6, "plain\n"), done.stderr
