"""Execution over server-sent events: LangSmith's Python client, unmodified, and the stream byte by
byte."""
import base64
import hashlib
import json
import threading
import time

import httpx
import pytest

from cutting_proxy import CuttingProxy, random_cuts
from harness import slow

SSE = ("LANGSMITH_EXPERIMENTAL_FEATURES", "sandbox_sse_exec")


@pytest.fixture
def over_sse(monkeypatch):
    monkeypatch.setenv(*SSE)


@pytest.fixture
def asked(client, over_sse):
    """The paths that the client asked for."""
    paths = []
    hooks = client._http.event_hooks
    client._http.event_hooks = {
        **hooks,
        "request": [*hooks.get("request", []), lambda request: paths.append(request.url.path)],
    }
    yield lambda end: sum(path.endswith(end) for path in paths)
    client._http.event_hooks = hooks


def test_run(sandbox, asked):
    got = sandbox.run("echo out; echo err >&2; exit 3")
    assert (got.stdout, got.stderr, got.exit_code) == ("out\n", "err\n", 3)
    assert asked("/execute/stream/start") == 1 and asked("/execute/ws") == 0
    got = sandbox.run(
        "pwd; echo $MARK", run_config={"work_dir": "/tmp", "env_vars": {"MARK": "set"}}
    )
    assert got.stdout == "/tmp\nset\n"
    got = sandbox.run("pwd; echo $MARK", cwd="/var", env={"MARK": "too"})
    assert got.stdout == "/var\ntoo\n"
    assert sandbox.run("kill -9 $$").exit_code == 137


def test_chunks_and_callbacks(sandbox, over_sse):
    handle = sandbox.run("for i in 1 2 3; do echo line-$i; done", wait=False)
    assert handle.command_id and handle.pid > 0
    assert (
        "".join(chunk.data for chunk in handle if chunk.stream == "stdout")
        == "line-1\nline-2\nline-3\n"
    )
    assert handle.result.exit_code == 0
    seen = []
    assert (
        sandbox.run("echo streamed", on_stdout=seen.append).stdout == "".join(seen) == "streamed\n"
    )


def test_large_output_is_acknowledged_and_whole(sandbox, asked):
    got = sandbox.run("seq 1 700000")
    assert got.exit_code == 0 and len(got.stdout) == 4788895
    assert got.stdout == "".join(f"{i}\n" for i in range(1, 700001))
    assert asked("/execute/stream/resume") >= 4


def test_characters_are_never_split(sandbox, asked):
    line = "python3 -c \"print('\u00e9\u20ac\U0001f600' * 200000, end='')\""
    got = sandbox.run(line)
    assert got.exit_code == 0 and got.stdout == "\u00e9\u20ac\U0001f600" * 200000
    assert asked("/execute/stream/resume") >= 1


def test_reconnect_by_id_at_an_offset(sandbox, over_sse):
    handle = sandbox.run("echo first; echo second", wait=False)
    assert handle.result.stdout == "first\nsecond\n"
    assert (
        sandbox.reconnect(handle.command_id, stdout_offset=len("first\n")).result.stdout
        == "second\n"
    )


def test_typed_errors(sandbox, over_sse, monkeypatch):
    from langsmith.sandbox import CommandTimeoutError, SandboxOperationError

    with pytest.raises(CommandTimeoutError):
        sandbox.run("sleep 60", timeout=1)
    with pytest.raises(SandboxOperationError) as caught:
        sandbox.reconnect("no-such-command").result
    assert caught.value.error_type == "CommandNotFound"
    with pytest.raises(ValueError):
        sandbox.run("cat", pty=True)
    monkeypatch.delenv(SSE[0])
    handle = sandbox.run("echo over the socket", wait=False)
    assert handle.result.stdout == "over the socket\n"
    monkeypatch.setenv(*SSE)
    with pytest.raises(Exception, match="other transport"):
        sandbox.reconnect(handle.command_id).result


def test_asynchronously(sandbox, over_sse):
    import asyncio
    from langsmith.sandbox import AsyncSandboxClient

    async def talk():
        async with AsyncSandboxClient() as client:
            box = await client.get_sandbox(sandbox.name)
            return await box.run("echo async; exit 4")

    got = asyncio.run(talk())
    assert (got.stdout, got.exit_code) == ("async\n", 4)


def test_nothing_runs_twice_when_the_connection_breaks(sandbox, daemon, over_sse):
    from langsmith.sandbox import SandboxClient

    proxy = CuttingProxy(daemon.port, random_cuts(seed=7, low=20_000, high=90_000))
    line = "echo ran >> /root/ran; for i in $(seq 1 30000); do echo $i; done; echo end >&2; exit 5"
    try:
        with SandboxClient(api_endpoint=f"{proxy.url}/v2/sandboxes", api_key=daemon.key) as client:
            got = client.get_sandbox(sandbox.name).run(line, timeout=120)
    finally:
        proxy.close()
    assert (got.stdout, got.stderr, got.exit_code) == (
        "".join(f"{i}\n" for i in range(1, 30001)),
        "end\n",
        5,
    )
    assert proxy.cuts > 1
    assert sandbox.run("cat /root/ran").stdout == "ran\n"


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_restart_of_the_daemon_is_not_noticed(own_daemon, over_sse, how):
    from langsmith.sandbox import SandboxClient

    daemon = own_daemon()
    begun = threading.Event()

    def restart():
        begun.wait(slow(30))
        daemon.restart(how)

    restarter = threading.Thread(target=restart)
    with SandboxClient(api_endpoint=f"{daemon.url}/v2/sandboxes", api_key=daemon.key) as client:
        with client.sandbox() as box:
            restarter.start()
            got = box.run(
                "for i in $(seq 1 150); do echo line $i; sleep 0.02; done; echo end >&2; exit 7",
                timeout=120,
                on_stdout=lambda _: begun.set(),
            )
            restarter.join()
    assert (got.stdout, got.stderr, got.exit_code) == (
        "".join(f"line {i}\n" for i in range(1, 151)),
        "end\n",
        7,
    )


@pytest.mark.parametrize("first, then", [("sse", "ws"), ("ws", "sse")])
def test_a_command_stays_with_its_transport_over_a_restart(own_daemon, monkeypatch, first, then):
    """Offsets count raw bytes over one and text over the other: where output is no text they are
    different places."""
    from langsmith.sandbox import SandboxClient, SandboxClientError, _sandbox

    daemon = own_daemon()

    def over(transport):
        monkeypatch.setattr(_sandbox, "sse_transport_selected", lambda: transport == "sse")

    with SandboxClient(
        api_endpoint=f"{daemon.url}/v2/sandboxes", api_key=daemon.key
    ) as client, client.sandbox() as box:
        over(first)
        handle = box.run("printf 'caf\\351\\n'; sleep 600", wait=False, timeout=0, idle_timeout=-1)
        assert next(iter(handle)).data == "caf\ufffd\n"
        daemon.restart()
        over(then)
        with pytest.raises(SandboxClientError, match="other transport"):
            next(iter(box.reconnect(handle.command_id, stdout_offset=5)))
        over(first)  # the control
        again = box.reconnect(handle.command_id)
        assert next(iter(again)).data == "caf\ufffd\n"


def events(response):
    kind, data = None, []
    for line in response.iter_lines():
        if not line and kind:
            yield kind, json.loads("".join(data))
            kind, data = None, []
        elif line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            data.append(line[6:])


def test_every_byte_value_at_raw_offsets(sandbox, daemon):
    """16 MiB that are no text, acknowledged and resumed until the end."""
    box = f"{daemon.url}/v2/sandboxes/dp/{sandbox.name}/execute/stream"
    body = {
        "command": "head -c 16777216 /dev/urandom | tee /root/noise",
        "command_id": "noise",
        "timeout_seconds": 120,
    }
    got, url, requests, code = hashlib.sha256(), f"{box}/start", 0, None
    at = 0
    with httpx.Client(headers={"X-Api-Key": daemon.key}, timeout=slow(60)) as http:
        while code is None:
            requests += 1
            with http.stream("POST", url, json=body) as response:
                assert (
                    response.status_code == 200
                    and response.headers["content-type"] == "text/event-stream"
                )
                for kind, data in events(response):
                    if kind == "stdout":
                        assert data["offset"] == at
                        piece = base64.b64decode(data["data"], validate=True)
                        got.update(piece)
                        at += len(piece)
                    elif kind == "ack_required":
                        assert data == {"stdout_offset": at, "stderr_offset": 0}
                    elif kind == "stream_end" and data["stream"] == "stdout":
                        assert data["offset"] == at
                    elif kind == "exit":
                        code = data["exit_code"]
            url, body = f"{box}/resume", {
                "command_id": "noise",
                "stdout_offset": at,
                "stderr_offset": 0,
            }
    assert (at, code) == (16777216, 0) and requests >= 9
    assert sandbox.run("sha256sum /root/noise").stdout.split()[0] == got.hexdigest()


def test_a_reader_that_stalls_holds_up_nobody(sandbox, daemon):
    box = f"{daemon.url}/v2/sandboxes/dp/{sandbox.name}/execute/stream"
    body = {"command": "yes", "command_id": "flood", "timeout_seconds": 60}
    with httpx.Client(headers={"X-Api-Key": daemon.key}, timeout=slow(60)) as http:
        with http.stream("POST", f"{box}/start", json=body):  # not read
            begun = time.monotonic()
            assert sandbox.run("echo fine").stdout == "fine\n"
            assert time.monotonic() - begun < slow(10)
