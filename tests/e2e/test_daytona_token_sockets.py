"""WebSockets of Daytona's clients that can set no header: they show the token of a preview link."""

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import harness

PORT = 1  # the port whose links open the toolbox


class Box:
    def __init__(self, daemon):
        self.url = f"{daemon.url}/daytona"
        self.client = httpx.Client(
            headers={"Authorization": f"Bearer {daemon.key}"}, timeout=harness.slow(60)
        )
        made = self.client.post(f"{self.url}/sandbox", json={})
        assert made.status_code == 200, made.text
        self.id = made.json()["id"]

    def token(self, port):
        got = self.client.get(f"{self.url}/sandbox/{self.id}/ports/{port}/preview-url")
        assert got.status_code == 200, got.text
        return got.json()["token"]

    def terminal(self, **query):
        url = f"{self.url}/toolbox/{self.id}/process/pty/create-connect"
        return connect("ws" + str(httpx.URL(url, params=query)).removeprefix("http"))

    def close(self):
        self.client.delete(f"{self.url}/sandbox/{self.id}")
        self.client.close()


@pytest.fixture
def box(daemon):
    made = Box(daemon)
    yield made
    made.close()


def printed(socket, wanted):
    got = b""
    while wanted not in got:
        part = socket.recv(timeout=harness.slow(20))
        got += part if isinstance(part, bytes) else part.encode()
    return got


def refusal(box, token):
    with pytest.raises(InvalidStatus) as refused:
        box.terminal(DAYTONA_SANDBOX_AUTH_KEY=token, id="never")
    return refused.value.response


def test_a_token_of_the_toolbox_opens_a_terminal_of_its_sandbox_alone(daemon, box):
    other = Box(daemon)
    try:
        with box.terminal(DAYTONA_SANDBOX_AUTH_KEY=box.token(PORT), id="one") as socket:
            socket.send(b"echo $((40 + 2))\n")
            printed(socket, b"42")
        for token in (
            other.token(PORT),
            box.token(3000),  # a link to a service opens no shell
            "",
            "x" * 40,
            daemon.key,
        ):
            answer = refusal(box, token)
            assert answer.status_code in (401, 404), answer
        with pytest.raises(InvalidStatus) as refused:
            box.terminal(id="never")
        assert refused.value.response.status_code == 401
        sessions = box.client.get(f"{box.url}/toolbox/{box.id}/process/pty").json()["sessions"]
        assert "never" not in [one["id"] for one in sessions]
    finally:
        other.close()


def test_a_token_opens_no_other_route(box):
    url = f"{box.url}/toolbox/{box.id}/process/execute"
    query = {"DAYTONA_SANDBOX_AUTH_KEY": box.token(PORT)}
    answer = httpx.post(url, params=query, json={"command": "id"})
    assert answer.status_code == 401, answer.text
    answer = httpx.get(f"{box.url}/sandbox/{box.id}", params=query)
    assert answer.status_code == 401, answer.text


def test_the_end_of_a_link_ends_its_terminals(box):
    token = box.token(PORT)
    links = box.client.get(box.url.removesuffix("/daytona") + f"/api/v1/sandboxes/{box.id}/links")
    assert links.status_code == 200, links.text
    with box.terminal(DAYTONA_SANDBOX_AUTH_KEY=token, id="one") as socket:
        socket.send(b"echo $((40 + 2))\n")
        printed(socket, b"42")
        for link in links.json()["items"]:
            path = f"/api/v1/sandboxes/{box.id}/links/{link['id']}"
            gone = box.client.delete(box.url.removesuffix("/daytona") + path)
            assert gone.status_code == 204, gone.text
        with pytest.raises(ConnectionClosed):
            while True:
                socket.recv(timeout=harness.slow(20))
    assert refusal(box, token).status_code in (401, 404)
