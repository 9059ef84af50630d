"""The official Python client of MCP: only URL and key are ours."""
import asyncio
import contextlib

import pytest


@pytest.fixture(scope="session")
def over_http(daemon):
    """over_http(story) runs `await story(session)` with a session of the handshake versions."""

    def run(story, key=None):
        import httpx2
        from mcp.client.session import ClientSession
        from mcp.client.streamable_http import streamable_http_client

        async def main():
            headers = {"Authorization": f"Bearer {key or daemon.key}"}
            async with contextlib.AsyncExitStack() as stack:
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(headers=headers, timeout=60)
                )
                streams = streamable_http_client(daemon.url + "/mcp", http_client=http)
                read, write = await stack.enter_async_context(streams)
                session = await stack.enter_async_context(ClientSession(read, write))
                await session.initialize()
                return await story(session)

        return asyncio.run(main())

    return run


@pytest.fixture
def mcp_box(over_http):
    """The name of a sandbox that the client made. It is deleted afterwards."""

    async def make(session):
        made = await session.call_tool("create_sandbox", {})
        return made.structured_content["sandbox"]["name"]

    async def remove(session):
        await session.call_tool("delete_sandbox", {"sandbox": name})

    name = over_http(make)
    yield name
    over_http(remove)
