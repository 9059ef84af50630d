"""Daytona's asynchronous Python client, unmodified. It has transports of its own."""
import asyncio
import os

import pytest

from daytona import (
    AsyncDaytona,
    CreateSandboxFromSnapshotParams,
    DaytonaNotFoundError,
    FileDownloadRequest,
    FileUpload,
    ListSandboxesQuery,
    PtySize,
    SessionExecuteRequest,
)


@pytest.fixture(scope="module", autouse=True)
def settings(daemon):
    os.environ.update(daemon.env)


async def in_a_sandbox(work):
    async with AsyncDaytona() as client:
        params = CreateSandboxFromSnapshotParams(labels={"suite": work.__name__})
        box = await client.create(params)
        try:
            await work(client, box)
        finally:
            await client.delete(box)


async def life(client, box):
    assert box.state == "started"
    query = ListSandboxesQuery(labels={"suite": "life"})
    assert [one.id async for one in client.list(query)] == [box.id]
    await box.stop()
    await box.start()
    assert (await client.get(box.id)).state == "started"
    missing = [client.get(f"none-{at}") for at in range(100)]
    got = await asyncio.gather(*missing, return_exceptions=True)
    assert {type(one) for one in got} == {DaytonaNotFoundError}


async def files(client, box):
    await box.fs.upload_files([FileUpload(source=b"one", destination="a/b.txt")])
    got = await box.fs.download_files(
        [FileDownloadRequest(source="a/b.txt"), FileDownloadRequest(source="none")]
    )
    assert [one.result for one in got] == [b"one", None] and got[1].error
    whole = b"piece " * 50_000
    await box.fs.upload_file(whole, "whole")
    assert b"".join([one async for one in await box.fs.download_file_stream("whole")]) == whole


async def processes(client, box):
    assert (await box.process.exec("echo one; exit 3")).exit_code == 3
    await box.process.create_session("s")
    line = SessionExecuteRequest(command="echo out; echo err >&2", run_async=True)
    begun = await box.process.execute_session_command("s", line)
    out, err = [], []
    await box.process.get_session_command_logs_async("s", begun.cmd_id, out.append, err.append)
    assert ("".join(out), "".join(err)) == ("out\n", "err\n")
    got = await box.code_interpreter.run_code("print(6 * 7)")
    assert got.stdout == "42\n"
    seen = []
    handle = await box.process.create_pty_session(
        "t", on_data=seen.append, pty_size=PtySize(rows=20, cols=70)
    )
    await handle.send_input("stty size; exit 4\n")
    assert (await handle.wait()).exit_code == 4
    assert b"20 70" in b"".join(seen)


@pytest.mark.parametrize("work", [life, files, processes], ids=lambda one: one.__name__)
def test_the_asynchronous_client(work):
    asyncio.run(in_a_sandbox(work))
