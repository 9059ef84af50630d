"""Daytona's control plane over the wire: what a daemon that is killed keeps, previews, and the one
sandbox of a thread. tests/compat/daytona tries the clients themselves."""
import concurrent.futures
import http.client
import urllib.parse

import httpx
import pytest
from harness import slow, wait_until


def client_of(daemon):
    return httpx.Client(
        base_url=daemon.url + "/daytona",
        headers={"Authorization": "Bearer " + daemon.key},
        timeout=slow(60),
    )


@pytest.fixture
def control(daemon):
    with client_of(daemon) as client:
        yield client


def made(control, **body):
    answer = control.post("/sandbox", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_ten_creates_of_a_thread_end_with_one_sandbox(daemon, control):
    def create(_):
        return made(control, labels={"thread_id": "e2e"}, autoDeleteInterval=5)

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        ids = {box["id"] for box in pool.map(create, range(10))}
    assert len(ids) == 1
    found = control.get("/sandbox", params={"labels": '{"thread_id":"e2e"}'}).json()
    assert [box["id"] for box in found["items"]] == list(ids)
    assert control.delete("/sandbox/" + ids.pop()).json()["state"] == "destroyed"


def test_what_the_facade_noted_is_there_after_a_kill(own_daemon):
    daemon = own_daemon()
    with client_of(daemon) as control:
        box = made(
            control, public=True, autoArchiveInterval=60, domainAllowList="example.com", cpu=1
        )
        path = "/sandbox/" + box["id"]
        key = control.get(path + "/signing-key").json()
        assert control.post(path + "/stop").json()["state"] == "stopped"
        assert control.post(path + "/archive").json()["state"] == "archived"
        daemon.restart("kill")
        again = control.get(path).json()
        assert again["state"] == "archived"
        assert again["public"] and again["autoArchiveInterval"] == 60
        assert again["domainAllowList"] == "example.com"
        assert control.get(path + "/signing-key").json() == key
        assert control.post(path + "/start").json()["state"] == "started"
        # No client of Cay's own API sees the notes.
        with daemon.http() as native:
            assert key not in native.get("/api/v1/sandboxes/" + box["id"]).text


def test_previews_open_the_service_alone(daemon, control, http):
    box = made(control)
    argv = ["python3", "-m", "http.server", "3000", "--bind", "127.0.0.1"]
    started = http.post(
        f"/api/v1/sandboxes/{box['id']}/commands",
        json={"argv": argv, "wait": False, "timeout_s": 0},
    )
    assert started.status_code < 300, started.text
    ports = f"/sandbox/{box['id']}/ports"
    preview = control.get(f"{ports}/3000/preview-url").json()
    by_header = {"X-Daytona-Preview-Token": preview["token"]}
    origin = urllib.parse.urlsplit(daemon.url)

    def status(url, headers):
        # A name below .localhost is this machine.
        parts = urllib.parse.urlsplit(url)
        connection = http_client(origin.hostname, origin.port)
        connection.request("GET", parts.path or "/", headers={"Host": parts.netloc, **headers})
        return connection.getresponse().status

    wait_until(lambda: status(preview["url"], by_header) == 200, "the service answers")
    assert status(preview["url"], {}) == 401
    signed = control.get(f"{ports}/3000/signed-preview-url?expiresInSeconds=60").json()
    assert status(signed["url"] + "/", {}) == 200
    assert status(signed["url"].replace("/3000~", "/3001~") + "/", {}) == 401
    expire = f"{ports}/3000/signed-preview-url/{signed['token']}/expire"
    assert control.post(expire).status_code == 200
    assert status(signed["url"] + "/", {}) == 401
    control.delete("/sandbox/" + box["id"])


def http_client(host, port):
    return http.client.HTTPConnection(host, port, timeout=slow(20))


def test_the_key_is_a_bearer_token_alone(daemon):
    for headers in ({}, {"X-Api-Key": daemon.key}, {"Authorization": "Bearer wrong"}):
        answer = httpx.get(daemon.url + "/daytona/sandbox", headers=headers)
        assert answer.status_code == 401
        assert answer.json()["source"] == "DAYTONA_API"
    assert httpx.get(daemon.url + "/daytona/health").status_code == 200
