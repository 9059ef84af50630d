"""A web service in a sandbox, a link to it, and clients of that link: what the tests of services
share."""
import pathlib
import socket

import httpx
import pytest
from websockets.sync.client import connect

from harness import slow

WEB = (pathlib.Path(__file__).resolve().parent / "inside_web.py").read_text()
PORT = 8080
TOKEN = "X-Cay-Service-Token"


def start_server(http, ref, source, port):
    """Runs a Python server inside, and returns when it says that it is up."""
    base = f"/api/v1/sandboxes/{ref}"
    http.put(f"{base}/files", params={"path": "/tmp/server.py"}, content=source).raise_for_status()
    body = {
        "argv": ["python3", "/tmp/server.py", str(port)],
        "wait": False,
        "timeout_s": 0,
        "idle_timeout_s": -1,
    }
    command = http.post(f"{base}/commands", json=body).json()
    with http.stream(
        "GET",
        f"{base}/commands/{command['id']}/output",
        params={"stream": "stdout", "follow": "true"},
    ) as out:
        assert next(out.iter_bytes()) == b"up\n"
    return command["id"]


def start_web(http, ref):
    start_server(http, ref, WEB, PORT)


def issue(http, ref, **spec):
    got = http.post(f"/api/v1/sandboxes/{ref}/links", json=spec)
    assert got.status_code == 201, got.text
    return got.json()


@pytest.fixture
def web(http, box):
    start_web(http, box["id"])
    return box


@pytest.fixture
def link(http, web):
    return issue(http, web["id"], port=PORT)


def host_of(link):
    return f"{link['sandbox_id']}--{link.get('port', 'dl')}.localhost"


@pytest.fixture
def service(daemon, link):
    """A client of the service's own host, with its token."""
    with client(daemon, link) as made:
        yield made


def client(daemon, link, token=True, **headers):
    headers = {
        "Host": f"{host_of(link)}:{daemon.port}",
        **({TOKEN: link["token"]} if token else {}),
        **headers,
    }
    return httpx.Client(base_url=daemon.url, headers=headers, timeout=slow(60))


def websocket(daemon, link, token=True, **headers):
    headers = {**({TOKEN: link["token"]} if token else {}), **headers}
    sock = socket.create_connection(("127.0.0.1", daemon.port), timeout=slow(30))
    return connect(
        f"ws://{host_of(link)}:{daemon.port}/ws",
        sock=sock,
        additional_headers=headers,
        max_size=8 << 20,
        compression=None,
        proxy=None,
        open_timeout=slow(30),
    )
