"""Service URLs and download links through the unmodified Python and npm clients of LangSmith."""
import asyncio
import datetime
import hashlib
import json
import os
import pathlib
import subprocess

import httpx
import pytest

from harness import slow

HERE = pathlib.Path(__file__).resolve().parent
VERSION = (HERE / "versions.txt").read_text().split()[-1]
NODE = HERE.parents[2] / "build" / "node" / f"{VERSION}-with"
WEB = (HERE.parents[1] / "inside_web.py").read_text()
PORT = 8080


@pytest.fixture
def web(sandbox):
    sandbox.write("/tmp/web.py", WEB)
    handle = sandbox.run(f"exec python3 /tmp/web.py {PORT}", wait=False, timeout=0, idle_timeout=-1)
    assert next(iter(handle)).data == "up\n"
    return sandbox


def in_seconds(text):
    return (
        datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        - datetime.datetime.now(datetime.timezone.utc)
    ).total_seconds()


def test_the_python_clients_service(client, web):
    service = web.service(PORT, expires_in_seconds=120)
    assert 60 < in_seconds(service.expires_at) <= 121
    got = service.get("/headers?a=1", headers={"X-Own": "yes"}).json()
    names = {name.lower() for name, _ in got["headers"]}
    assert (
        got["path"] == "/headers?a=1"
        and "x-own" in names
        and "x-langsmith-sandbox-service-token" not in names
    )
    body = b"x" * 300_000
    assert service.post("/digest", content=body).json() == {
        "size": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    for method in ("put", "patch", "delete"):
        assert getattr(service, method)("/headers").json()["method"] == method.upper()
    assert service.get("nowhere").status_code == 404
    assert "/_svc/auth?token=" in service.browser_url
    nobody = web.service(PORT + 1)
    assert nobody.get("/").status_code == 502 and "Service is not reachable" in nobody.get("/").text
    # The client requests a new URL at each use if the old one is short.
    short = web.service(PORT, expires_in_seconds=20)
    assert short.token != short.token and short.get("/headers").status_code == 200
    # access "off" withdraws; this client has no word for it.
    off = client._http.post(
        f"{client._base_url}/boxes/{web.name}/service-url", json={"port": PORT, "access": "off"}
    )
    assert off.status_code == 200
    assert (
        httpx.get(
            service.service_url + "/headers",
            headers={"X-Langsmith-Sandbox-Service-Token": service._token},
        ).status_code
        == 401
    )


def test_the_python_clients_refusals(client, web):
    from langsmith.sandbox import ResourceNotFoundError, SandboxClientError

    with pytest.raises(ResourceNotFoundError):
        client.service("no-such-box", PORT)
    with pytest.raises(SandboxClientError, match="not built"):
        client.service(web.name, PORT, access="workspace")


def test_the_async_python_client(daemon, web):
    from langsmith.sandbox import AsyncSandboxClient

    async def ask():
        async with AsyncSandboxClient() as made:
            service = await made.service(web.name, PORT)
            return (await service.get("/headers")).json()["path"]

    assert asyncio.run(ask()) == "/headers"


def test_the_python_clients_download_link(client, web):
    web.write("/home/user/a b.txt", "some text")
    link = web.generate_download_url(
        "a b.txt", content_type="text/plain", content_disposition="inline"
    )
    assert link.expires_at is None
    got = httpx.get(link.download_url, timeout=slow(30))
    assert (got.status_code, got.text, got.headers["content-type"]) == (
        200,
        "some text",
        "text/plain",
    )
    assert got.headers["content-disposition"] == "inline; filename*=UTF-8''a%20b.txt"
    limited = client.generate_download_url(web.name, "/home/user/a b.txt", expires_in_seconds=60)
    assert 0 < in_seconds(limited.expires_at) <= 61
    assert httpx.get(limited.download_url).headers["content-disposition"].startswith("attachment")


def test_the_npm_client(daemon, web):
    web.write("/tmp/file.txt", "some text")
    done = subprocess.run(
        ["node", HERE / "services.cjs", NODE, web.name, str(PORT), "/tmp/file.txt"],
        capture_output=True,
        text=True,
        timeout=slow(90),
        env={**os.environ, **daemon.env, "LANGSMITH_TRACING": "false"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout)
    names = {name.lower() for name, _ in seen["headers"]["headers"]}
    assert (
        seen["headers"]["path"] == "/headers?a=1"
        and "x-own" in names
        and "x-langsmith-sandbox-service-token" not in names
    )
    assert seen["digest"] == {"size": 10, "sha256": hashlib.sha256(b"some bytes").hexdigest()}
    assert seen["missing"] == 404 and seen["refreshed"] is True and "token=" in seen["browserUrl"]
    assert 60 < in_seconds(seen["expiresAt"]) <= 121
    assert seen["download"] == [200, "text/plain", "some text", None]
