"""`cay mcp`, started by the official Python client and by hand."""
import asyncio
import json
import os
import subprocess

import pytest

from harness import CAY, slow, wait_until


def by_stdio(daemon, story, key=None):
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def main():
        server = StdioServerParameters(
            command=str(CAY),
            args=["mcp"],
            env={"CAY_URL": daemon.url, "CAY_API_KEY": key or daemon.key},
        )
        async with stdio_client(server) as (read, write):
            async with ClientSession(read, write) as session:
                await session.initialize()
                return await story(session)

    return asyncio.run(main())


def test_a_client_completes(daemon):
    async def story(session):
        use = session.call_tool
        name = (await use("create_sandbox", {})).structured_content["sandbox"]["name"]
        seen = []

        async def progress(amount, total, message):
            seen.append(message)

        ran = await use(
            "run",
            {"sandbox": name, "command": "echo $((6 * 7)) | tee /root/answer"},
            progress_callback=progress,
        )
        assert (ran.content[0].text, seen) == ("42\n", ["42\n"])
        got = await use("read_file", {"sandbox": name, "path": "/root/answer"})
        assert got.content[0].text == "42\n"
        forked = await use("fork", {"sandbox": name})
        for one in (name, forked.structured_content["sandboxes"][0]["name"]):
            assert not (await use("delete_sandbox", {"sandbox": one})).is_error

    by_stdio(daemon, story)


def test_a_key_has_the_tools_of_its_scope(daemon):
    made = daemon.cli("key", "create", "mcp-reader", "--scope", "read", "--data", daemon.data)
    assert made.code == 0, made
    key = made.text.split()[-1]

    async def story(session):
        listed = (await session.list_tools()).tools
        names = [tool.name for tool in listed]
        assert names == ["list_sandboxes", "read_file", "ls", "glob", "grep"]
        refused = await session.call_tool("create_sandbox", {})
        assert refused.structured_content["error"]["reason"] == "scope_too_small"

    by_stdio(daemon, story, key)


def started(daemon, **env):
    return subprocess.Popen(
        [CAY, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **daemon.env, **env},
    )


def request(method, params, number=1):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


def test_the_end_of_stdin_ends_it_and_its_calls(daemon, http, box):
    with started(daemon) as bridge:
        call = {
            "name": "run",
            "arguments": {"sandbox": box["id"], "command": "echo up; sleep 1000"},
            "_meta": {"progressToken": 1},
        }
        bridge.stdin.write(request("tools/call", call))
        bridge.stdin.flush()
        assert b"notifications/progress" in bridge.stdout.readline()
        bridge.stdin.close()
        assert bridge.stdout.read() == b""
        assert bridge.wait(timeout=slow(20)) == 0
        assert bridge.stderr.read() == b""
    commands = f"/api/v1/sandboxes/{box['id']}/commands"
    wait_until(
        lambda: [one["state"] for one in http.get(commands).json()["items"]] == ["killed"],
        "the command is ended",
    )


def test_what_is_no_message_gets_a_typed_error(daemon):
    with started(daemon) as bridge:
        for line, code, number in (
            (b"{\n", -32700, None),
            (b'{"jsonrpc":"2.0","id":3,"method":7}\n', -32600, 3),
            (b'{"jsonrpc":"2.0","id":4,"method":"nope"}\n', -32601, 4),
            (request("tools/call", {"name": "run", "arguments": {"sandbox": 1}}, 5), -32602, 5),
            (b"x" * (10 << 20) + b"\n", -32600, None),
        ):
            bridge.stdin.write(b"\n" + line)
            bridge.stdin.flush()
            got = json.loads(bridge.stdout.readline())
            assert (got["error"]["code"], got["id"]) == (code, number), line[:80]
        bridge.stdin.close()
        assert bridge.wait(timeout=slow(20)) == 0


def test_no_daemon_is_an_answer_with_the_remedy(daemon):
    with started(daemon, CAY_URL="http://127.0.0.1:1") as bridge:
        bridge.stdin.write(request("initialize", {"protocolVersion": "2025-06-18"}))
        bridge.stdin.flush()
        got = json.loads(bridge.stdout.readline())
        assert got["id"] == 1 and "cay serve" in got["error"]["message"]
        bridge.stdin.close()
        assert bridge.wait(timeout=slow(20)) == 0
        assert b"cay serve" in bridge.stderr.read()


@pytest.mark.parametrize("words", ['"mcpServers"', "/mcp"])
def test_help_has_the_lines_for_a_client(daemon, words):
    assert words in daemon.cli("mcp", "--help").text
