"""The official Python client of MCP over HTTP, unmodified, against the real daemon."""
import asyncio
import base64
import json

import httpx
import pytest

from harness import slow, wait_until

PROGRAM = """\
import struct, zlib

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

rows = b"".join(b"\\0" + bytes(range(8)) for _ in range(8))
head = chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
png = b"\\x89PNG\\r\\n\\x1a\\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
open("/root/plot.png", "wb").write(png)
open("/root/sum.txt", "w").write(str(sum(range(10001))) + "\\n")
print("done")
"""


def text_of(result):
    return result.content[0].text


def test_a_client_completes(over_http):
    """Create, write a program, run it, read its file and its plot, snapshot, fork, delete."""

    async def story(session):
        use = session.call_tool
        made = await use("create_sandbox", {"name": "mcp-whole", "labels": {"kind": "test"}})
        assert not made.is_error, made
        assert made.structured_content["sandbox"]["state"] == "ready"
        box = {"sandbox": "mcp-whole"}
        wrote = await use("write_file", {**box, "path": "/root/p.py", "content": PROGRAM})
        assert wrote.structured_content["file"]["size"] == len(PROGRAM)
        ran = await use("run", {**box, "command": "python3 p.py", "cwd": "/root"})
        assert not ran.is_error and text_of(ran) == "done\n", ran
        assert text_of(await use("read_file", {**box, "path": "/root/sum.txt"})) == "50005000\n"
        plot = (await use("read_file", {**box, "path": "/root/plot.png"})).content[0]
        assert (plot.type, plot.mime_type) == ("image", "image/png")
        assert base64.b64decode(plot.data).startswith(b"\x89PNG")
        edited = await use(
            "edit_file",
            {**box, "path": "/root/p.py", "old_text": "10001", "new_text": "11"},
        )
        assert edited.structured_content["replaced"] == 1
        listed = await use("ls", {**box, "path": "/root"})
        names = [entry["path"] for entry in listed.structured_content["entries"]]
        assert {"/root/p.py", "/root/plot.png", "/root/sum.txt"} <= set(names)
        found = await use("glob", {**box, "path": "/root", "pattern": "*.png"})
        assert "/root/plot.png" in text_of(found)
        lines = await use("grep", {**box, "path": "/root", "text": "range(11)"})
        assert lines.structured_content["matches"][0]["path"] == "/root/p.py"
        taken = await use("snapshot", {**box, "name": "mcp-snap"})
        assert taken.structured_content["snapshot"]["status"] == "ready"
        forked = await use("fork", {**box, "names": ["mcp-copy"]})
        assert forked.structured_content["sandboxes"][0]["name"] == "mcp-copy"
        copied = await use("read_file", {"sandbox": "mcp-copy", "path": "/root/sum.txt"})
        assert text_of(copied) == "50005000\n"
        everything = text_of(await use("list_sandboxes", {"name_contains": "mcp-"}))
        assert "mcp-whole" in everything and "mcp-copy" in everything
        for name in ("mcp-whole", "mcp-copy"):
            assert not (await use("delete_sandbox", {"sandbox": name})).is_error
        assert "mcp-" not in text_of(await use("list_sandboxes", {"name_contains": "mcp-"}))

    over_http(story)


def test_an_edit_is_of_one_place_or_none(over_http, mcp_box):
    """Through a link, of lines with their ends, and without a change where it is not unique."""

    async def story(session):
        use = session.call_tool
        box = {"sandbox": mcp_box}
        text = "def f():\n    return 1\n\ndef g():\n    return 1\n"
        await use("write_file", {**box, "path": "/root/m.py", "content": text, "mode": "0751"})
        await use("run", {**box, "command": "ln -s m.py /root/link; mkdir /root/d"})

        async def edit(old, new, path="/root/link", **more):
            got = await use(
                "edit_file", {**box, "path": path, "old_text": old, "new_text": new, **more}
            )
            return got.is_error, got.structured_content, text_of(got)

        failed, facts, words = await edit("return 1", "return 2")
        assert failed and (facts["found"], facts["replaced"]) == (2, 0), words
        assert "2 times" in words and "replace_all" in words
        failed, facts, words = await edit("return 3", "return 2")
        assert failed and facts["found"] == 0 and "is not in /root/link" in words
        assert text_of(await use("read_file", {**box, "path": "/root/m.py"})) == text
        failed, facts, words = await edit("def g():\n    return 1\n", "def g():\n    return 2\n")
        assert not failed and facts["replaced"] == 1, words
        failed, facts, words = await edit("return", "yield", replace_all=True)
        assert not failed and facts["replaced"] == 2, words
        seen = await use("run", {**box, "command": "cat m.py; stat -c %a m.py", "cwd": "/root"})
        assert text_of(seen) == "def f():\n    yield 1\n\ndef g():\n    yield 2\n751\n"
        failed, facts, words = await edit("a", "b", path="/root/d")
        assert failed and facts["error"]["reason"] == "is_a_directory", words

    over_http(story)


def test_code_runs_with_its_plot(over_http, mcp_box, http):
    """In a sandbox that is there, and in one for the run alone, which is gone afterwards."""

    async def story(session):
        code = PROGRAM.replace("/root/plot.png", "/tmp/plot.png") + (
            "import os, shutil\n"
            "shutil.copy('/tmp/plot.png', os.environ['CAY_OUTPUT_DIR'] + '/plot.png')\n"
        )
        for where in ({"sandbox": mcp_box}, {}):
            ran = await session.call_tool("run_code", {**where, "language": "python", "code": code})
            assert not ran.is_error, ran
            assert text_of(ran) == "done\n"
            plot = ran.content[1]
            assert (plot.type, plot.mime_type) == ("image", "image/png")
            assert base64.b64decode(plot.data).startswith(b"\x89PNG")
            assert ran.structured_content["artifacts"][0]["name"] == "plot.png"
        failed = await session.call_tool(
            "run_code", {"sandbox": mcp_box, "language": "bash", "code": "echo no; exit 3"}
        )
        assert failed.is_error and failed.structured_content["exit_code"] == 3
        unknown = await session.call_tool(
            "run_code", {"sandbox": mcp_box, "language": "cobol", "code": "x"}
        )
        assert unknown.structured_content["error"]["reason"] == "unknown_language"

    before = {box["id"] for box in http.get("/api/v1/sandboxes").json()["items"]}
    over_http(story)
    assert {box["id"] for box in http.get("/api/v1/sandboxes").json()["items"]} == before


def test_a_shell_lives_between_calls(over_http, mcp_box):
    async def story(session):
        async def shell(**more):
            got = await session.call_tool("shell", {"sandbox": mcp_box, **more})
            return got, got.structured_content

        made, facts = await shell(command="cd /tmp; export NAME=value; echo out; echo err >&2")
        assert not made.is_error, made
        assert (facts["stdout"], facts["stderr"], facts["cwd"]) == ("out\n", "err\n", "/tmp")
        failed, facts = await shell(command="pwd; echo $NAME; (exit 3)")
        assert failed.is_error and facts["exit_code"] == 3
        assert text_of(failed) == "/tmp\nvalue\n[exit code 3, in /tmp]"
        _, facts = await shell(command="echo ${NAME:-none}", session="other")
        assert facts["stdout"] == "none\n"
        late, facts = await shell(command="sleep 100", timeout_s=0.2)
        assert late.is_error and facts["state"] == "timed_out"
        _, facts = await shell(command="(sleep 0.1; echo of a job) & echo $NAME")
        assert facts["stdout"] == "value\n"
        _, facts = await shell(command="wait; wc -c", stdin="12345")
        assert (facts["stdout"], facts["background"]) == ("5\n", "of a job\n")
        ended, facts = await shell(command="exit 4")
        assert facts["ended"] and facts["exit_code"] == 4 and "restart" in text_of(ended)
        refused, facts = await shell(command="pwd")
        assert facts["error"]["reason"] == "context_gone" and "restart" in text_of(refused)
        _, facts = await shell(command="echo ${NAME:-none}", restart=True)
        assert facts["stdout"] == "none\n"
        wrong, facts = await shell()
        assert facts["error"]["reason"] == "invalid_field"

    over_http(story)


def test_a_cancelled_call_of_a_shell_is_interrupted(over_http, mcp_box, http):
    async def story(session):
        box = {"sandbox": mcp_box}
        await session.call_tool("shell", {**box, "command": "x=1"})
        endless = {**box, "command": "touch /tmp/begun; while :; do :; done"}
        call = asyncio.create_task(session.call_tool("shell", endless))
        files = f"/api/v1/sandboxes/{mcp_box}/files"
        there = lambda: http.get(files, params={"path": "/tmp/begun"}).status_code == 200
        await asyncio.to_thread(wait_until, there, "the call began")
        call.cancel()
        after = await session.call_tool("shell", {**box, "command": "echo $x"})
        assert after.structured_content["stdout"] == "1\n", after

    over_http(story)


def test_the_newest_protocol_without_a_handshake(daemon, mcp_box):
    import httpx2
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def main():
        async with httpx2.AsyncClient(headers={"X-Api-Key": daemon.key}) as http:
            streams = streamable_http_client(daemon.url + "/mcp", http_client=http)
            async with Client(streams) as client:
                assert client.protocol_version == "2026-07-28"
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert "run" in names
                ran = await client.call_tool("run", {"sandbox": mcp_box, "command": "echo hi"})
                assert text_of(ran) == "hi\n"

    asyncio.run(main())


def test_progress_is_the_output_as_it_comes(over_http, mcp_box):
    async def story(session):
        seen = []

        async def progress(amount, total, message):
            seen.append((amount, message))
            if len(seen) == 1:  # the command waits for this: it is a stream, not a late copy
                await session.call_tool(
                    "write_file", {"sandbox": mcp_box, "path": "/tmp/go", "content": ""}
                )

        line = "echo one; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo two >&2; exit 7"
        ran = await session.call_tool(
            "run", {"sandbox": mcp_box, "command": line}, progress_callback=progress
        )
        assert seen == [(4, "one\n"), (8, "two\n")]
        assert ran.is_error and ran.structured_content["exit_code"] == 7
        assert ran.structured_content["stderr"] == "two\n"

    over_http(story)


def test_a_link_reaches_the_port(over_http, mcp_box, daemon):
    async def story(session):
        ran = await session.call_tool(
            "run",
            {
                "sandbox": mcp_box,
                "command": "mkdir /srv/w; cd /srv/w; echo served >f\n"
                "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 &\n"
                "until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8123))'"
                " 2>/dev/null; do sleep 0.1; done",
            },
        )
        assert not ran.is_error, ran
        made = await session.call_tool("url", {"sandbox": mcp_box, "port": 8123})
        return made.structured_content

    link = over_http(story)
    got = httpx.get(link["url"] + "/f", headers={link["header"]: link["token"]})
    assert got.text == "served\n"


def test_a_failure_of_cay_has_reason_and_remedy(over_http):
    async def story(session):
        got = await session.call_tool("run", {"sandbox": "none", "command": "true"})
        assert got.is_error and got.structured_content["error"]["reason"] == "sandbox_not_found"
        assert "exit_code" not in got.structured_content

    over_http(story)


def test_a_wrong_schema_is_a_typed_error(over_http):
    from mcp.shared.exceptions import MCPError

    async def story(session):
        for tool, arguments, words in (
            ("run", {"sandbox": 3, "frob": 1}, "sandbox: must be a string"),
            ("run", {}, "command: is needed"),
            ("create_sandbox", {"memory_mb": -1}, "memory_mb: must be from 1"),
            ("no_such_tool", {}, "there is no tool"),
            ("read_file", {"sandbox": "x", "path": "a" * 5000}, "path: is longer than"),
        ):
            with pytest.raises(MCPError, match=words) as failed:
                await session.call_tool(tool, arguments)
            assert failed.value.error.code == -32602

    over_http(story)


def rpc(tool, arguments, request=1):
    return {
        "jsonrpc": "2.0",
        "id": request,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


def test_hostile_bodies_get_typed_errors(daemon):
    with httpx.Client(base_url=daemon.url, headers={"X-Api-Key": daemon.key}) as http:
        for body, status, code in (
            (b"{", 400, -32700),
            (b"[" * 100_000, 400, -32700),
            (b'{"jsonrpc":"2.0"}', 400, -32600),
            (b"[]", 400, -32600),
            (b" " * (9 << 20), 413, -32600),
            (b'{"jsonrpc":"2.0","id":1,"method":"x"}', 200, -32601),
        ):
            got = http.post("/mcp", content=body)
            assert (got.status_code, got.json()["error"]["code"]) == (status, code), body[:50]
        huge = http.post("/mcp", json=rpc("run", {"sandbox": "x", "command": "x" * (2 << 20)}))
        assert huge.json()["error"]["code"] == -32602
        assert http.get("/mcp").status_code == 405
    for headers, status in (({}, 401), ({"Origin": "https://evil.test"}, 403)):
        got = httpx.post(daemon.url + "/mcp", json=rpc("list_sandboxes", {}), headers=headers)
        assert got.status_code == status and got.json()["error"]["code"] == -32600


def commands_running(http, box):
    items = http.get(f"/api/v1/sandboxes/{box}/commands").json()["items"]
    return [one for one in items if one["state"] == "running"]


def test_a_client_that_leaves_leaves_nothing_running(daemon, http, mcp_box):
    """By closing a stream, by closing a plain request, and by a cancellation."""
    call = rpc("run", {"sandbox": mcp_box, "command": "echo up; sleep 1000"})
    call["params"]["_meta"] = {"progressToken": 1}
    for accept in ("application/json, text/event-stream", "application/json"):
        with httpx.Client(
            base_url=daemon.url, headers={"X-Api-Key": daemon.key, "Accept": accept}
        ) as client:
            if "event" in accept:
                with client.stream("POST", "/mcp", json=call) as got:
                    assert next(line for line in got.iter_lines() if "progress" in line)
                    assert len(commands_running(http, mcp_box)) == 1
            else:
                with pytest.raises(httpx.ReadTimeout):
                    client.post("/mcp", json=call, timeout=1)
        wait_until(lambda: not commands_running(http, mcp_box), "the command is ended")


def test_a_cancellation_ends_the_command(over_http, http, mcp_box):
    async def story(session):
        up = asyncio.Event()

        async def progress(*_):
            up.set()

        call = asyncio.create_task(
            session.call_tool(
                "run",
                {"sandbox": mcp_box, "command": "echo up; sleep 1000"},
                progress_callback=progress,
            )
        )
        await asyncio.wait_for(up.wait(), slow(20))
        assert len(commands_running(http, mcp_box)) == 1
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        while commands_running(http, mcp_box):
            await asyncio.sleep(0.02)

    over_http(story)


async def raw_call(daemon, message):
    """One POST on a connection of its own: the status and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    body = json.dumps(message)
    writer.write(
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {daemon.key}\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), json.loads(answer)


def test_a_thousand_calls_at_once_are_bounded(daemon, http, mcp_box):
    """Each gets its result or a typed refusal, and none is left."""
    read = {"sandbox": mcp_box, "path": "/etc/hostname"}

    async def main():
        return await asyncio.gather(
            *(raw_call(daemon, rpc("read_file", read, at)) for at in range(1000))
        )

    answers = asyncio.run(main())
    assert {status for status, _ in answers} <= {200, 429}
    assert all(body["error"]["code"] == -32600 for status, body in answers if status == 429)
    done = [body["result"] for status, body in answers if status == 200]
    refused = [one["structuredContent"]["error"]["reason"] for one in done if one["isError"]]
    assert set(refused) <= {"too_many_file_operations"}
    assert len(done) > len(refused)
    assert commands_running(http, mcp_box) == []
    status, body = asyncio.run(raw_call(daemon, rpc("read_file", read)))
    assert (status, body["result"]["isError"]) == (200, False)
