"""python/cay_openai_agents, installed from the tree: sessions of the OpenAI Agents SDK."""
import asyncio
import io
import pathlib

import pytest
from model_server import Call, Turn, model_server

agents = pytest.importorskip("agents")


@pytest.fixture(autouse=True)
def addressed(daemon, monkeypatch):
    monkeypatch.setenv("CAY_URL", daemon.url)
    monkeypatch.setenv("CAY_API_KEY", daemon.key)
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.delenv("CAY_CA_FILE", raising=False)


def test_a_session_runs_commands_and_keeps_files(http):
    from agents.sandbox.errors import (
        ExecTimeoutError,
        InvalidManifestPathError,
        WorkspaceReadNotFoundError,
    )
    from cay_openai_agents import CayError, CaySandboxClient, CaySandboxClientOptions

    async def all_of_it():
        client = CaySandboxClient()
        options = CaySandboxClientOptions(env={"A": "of the options"})
        session = await client.create(options=options)
        async with session:
            got = await session.exec("pwd; echo $A; id -un; echo err >&2; exit 3")
            assert (got.stdout, got.stderr, got.exit_code) == (
                b"/workspace\nof the options\nroot\n",
                b"err\n",
                3,
            )
            got = await session.exec("id -un", user="nobody")  # without sudo
            assert got.stdout == b"nobody\n"
            await session.write(pathlib.Path("a/b"), io.BytesIO(bytes(range(256))))
            assert (await session.read(pathlib.Path("a/b"))).read() == bytes(range(256))
            assert [one.path for one in await session.ls("a")] == ["/workspace/a/b"]
            with pytest.raises(WorkspaceReadNotFoundError):
                await session.read(pathlib.Path("none"))
            with pytest.raises(InvalidManifestPathError):
                await session.read(pathlib.Path("/etc/passwd"))
            with pytest.raises(ExecTimeoutError):
                await session.exec("sleep 1000", timeout=0.5)
            assert await session.running()
            tar = await session.persist_workspace()
            await session.rm("a", recursive=True)
            await session.hydrate_workspace(tar)
            assert (await session.read(pathlib.Path("a/b"))).read() == bytes(range(256))
            state = client.serialize_session_state(session.state)
        again = await client.resume(client.deserialize_session_state(state))
        async with again:
            got = await again.exec("wc -c <a/b")
            assert got.stdout == b"256\n", "a resumed session has the same sandbox"
        await client.delete(again)
        assert http.get(f"/api/v1/sandboxes/{again.state.sandbox_id}").status_code == 404
        with pytest.raises(CayError, match="no sandbox"):  # and no empty one in its place
            await client.resume(client.deserialize_session_state(state))

    asyncio.run(all_of_it())


def test_an_agent_of_the_sdk_works_in_its_sandbox(http, monkeypatch):
    from agents import RunConfig, Runner
    from agents.sandbox import SandboxAgent, SandboxRunConfig
    from agents.sandbox.capabilities import Shell
    from cay_openai_agents import CaySandboxClient

    calls = [
        Call("exec_command", {"cmd": "echo 'print(sum(range(11)))' >sum.py"}),
        Call("exec_command", {"cmd": "python3 sum.py"}),
    ]

    def script(request):
        if request.turn < len(calls):
            return Turn(calls=[calls[request.turn]])
        [line] = [one for one in request.results[0].text.splitlines() if one.isdigit()]
        return Turn(f"It printed {line}")

    def ids():
        return {one["id"] for one in http.get("/api/v1/sandboxes").json()["items"]}

    before = ids()
    with model_server(script) as model:
        for name, value in model.env.items():
            monkeypatch.setenv(name, value)
        agent = SandboxAgent(name="coder", model="scripted", capabilities=[Shell()])
        sandbox = SandboxRunConfig(client=CaySandboxClient())
        config = RunConfig(sandbox=sandbox, tracing_disabled=True)
        result = asyncio.run(Runner.run(agent, "sum it up", run_config=config))
    assert result.final_output == "It printed 55"
    assert not model.rejected
    assert ids() == before, "the run removes its sandbox"
