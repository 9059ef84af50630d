"""WebSockets of Daytona's clients that can set no header: they show the token of a preview link."""

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import harness
from test_daytona_toolbox_wire import Toolbox

PORT = 1  # the port whose links open the toolbox


class Box(Toolbox):
    def token(self, port):
        sandbox = f"{self.daemon.url}/daytona/sandbox/{self.id}"
        got = self.client.get(f"{sandbox}/ports/{port}/preview-url")
        assert got.status_code == 200, got.text
        return got.json()["token"]

    def terminal(self, **query):
        url = f"{self.base}/process/pty/create-connect"
        return connect("ws" + str(httpx.URL(url, params=query)).removeprefix("http"))


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
        sessions = box("GET", "/process/pty")["sessions"]
        assert "never" not in [one["id"] for one in sessions]
    finally:
        other.close()


def test_a_token_opens_no_other_route(box):
    query = {"DAYTONA_SANDBOX_AUTH_KEY": box.token(PORT)}
    answer = httpx.post(box.base + "/process/execute", params=query, json={"command": "id"})
    assert answer.status_code == 401, answer.text
    answer = httpx.get(f"{box.daemon.url}/daytona/sandbox/{box.id}", params=query)
    assert answer.status_code == 401, answer.text


def test_the_end_of_a_link_ends_its_terminals(box):
    token = box.token(PORT)
    all_links = f"{box.daemon.url}/api/v1/sandboxes/{box.id}/links"
    links = box.client.get(all_links)
    assert links.status_code == 200, links.text
    with box.terminal(DAYTONA_SANDBOX_AUTH_KEY=token, id="one") as socket:
        socket.send(b"echo $((40 + 2))\n")
        printed(socket, b"42")
        for link in links.json()["items"]:
            gone = box.client.delete(f"{all_links}/{link['id']}")
            assert gone.status_code == 204, gone.text
        with pytest.raises(ConnectionClosed):
            while True:
                socket.recv(timeout=harness.slow(20))
    assert refusal(box, token).status_code in (401, 404)
