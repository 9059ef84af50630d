"""The way out of a host that reaches the outside by an HTTP proxy alone: names that only the proxy
knows, and its password."""
import contextlib
import os
import socket
import threading

import needles
import outside_world as world_of
import pytest
from connect_proxy import ConnectProxy
from harness import new_daemon, slow
from outside_world import V4, World, standing
from test_gate import AT_ONCE, Box

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

USER, PASSWORD = "builder", "hunter2-ünd:more"
ESCAPED = "hunter2-%C3%BCnd%3Amore"
HOSTS = [
    "far.gate.test",
    "far.gate.test:7001",
    "greets.gate.test:25",
    "refused.gate.test",
    "allowed.gate.test",
    "near.corp.test",
]
FAR = {"host": "far.gate.test", "port": 443, "kind": "tls", "sni": "far.gate.test"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with standing(World(tmp_path_factory.mktemp("proxied"))) as made:
        yield made


@contextlib.contextmanager
def greeter():
    """A server that speaks first, as mail servers do."""
    server = socket.create_server(("127.0.0.1", 0))

    def loop():
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                with client:
                    client.sendall(b"220 hello")
                    client.recv(1)

    threading.Thread(target=loop, daemon=True).start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()


@pytest.fixture(scope="module")
def proxy(world):
    with greeter() as port:
        made = ConnectProxy(
            {
                "far.gate.test": (V4, None),
                "greets.gate.test": ("127.0.0.1", port),
                "other.gate.test": (V4, None),
            },
            f"{USER}:{PASSWORD}",
        )
        yield made
        made.close()


@contextlib.contextmanager
def daemon_with(world, name, lines, env=None):
    settings = world.directory / f"{name}.toml"
    settings.write_text(
        f'[network]\nnetworks = ["198.18.7.0/24", "{V4}"]\nhosts = {HOSTS!r}\n{lines}\n'.replace(
            "'", '"'
        )
    )
    daemon = new_daemon("--config", str(settings), env=env)
    daemon.prefix = world.prefix
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.close()


@pytest.fixture(scope="module")
def proxied(world, proxy):
    with daemon_with(
        world,
        "proxied",
        f'upstream_proxy = "http://{USER}:{ESCAPED}@127.0.0.1:{proxy.port}"\n'
        'no_proxy = [".corp.test"]',
    ) as daemon:
        yield daemon


def test_names_that_only_the_proxy_knows_are_reached(proxied, proxy):
    box = Box(proxied, "packages")
    words, _ = box.attempt(
        FAR,
        {"host": "far.gate.test", "port": 80, "kind": "http"},
        {"host": "far.gate.test", "port": 7001},
    )
    assert words == ["hello far.gate.test", "hello far.gate.test", "ping"]
    assert proxy.asked[-3:] == ["far.gate.test:443", "far.gate.test:80", "far.gate.test:7001"]
    line = box.line(
        lambda item: item["received_bytes"] > 0, host="far.gate.test", port=443, verdict="allowed"
    )
    assert line["address"] == "" and line["reason"] == ""
    box.close()


@pytest.mark.depth
def test_what_the_other_side_says_first_comes_through(proxied):
    box = Box(proxied, "packages")
    got = box.python(
        "import socket; s = socket.create_connection(('greets.gate.test', 25)); s.settimeout(20); "
        "print(s.recv(9).decode())"
    )
    assert got.text == "220 hello\n", got
    box.close()


@pytest.mark.depth
def test_without_the_proxy_they_are_not_there(world, proxy):
    with daemon_with(world, "plain", "") as daemon:
        box = Box(daemon, "packages")
        words, _ = box.attempt(
            FAR,
            {"host": "allowed.gate.test", "port": 443, "kind": "tls", "sni": "allowed.gate.test"},
        )
        assert words == ["no name", "hello allowed.gate.test"]


@pytest.mark.depth
def test_a_policy_refuses_before_the_proxy_is_asked(proxied, proxy):
    box = Box(proxied, "packages")
    before = len(proxy.heads)
    words, _ = box.attempt(
        {"host": "other.gate.test", "port": 80, "kind": "http"},
        {**FAR, "sni": "other.gate.test"},
        {"host": "240.1.2.3", "port": 7001},
        {"host": "169.254.169.254", "port": 80, "kind": "http"},
    )
    metadata = (
        "403 Nothing in a sandbox may reach 169.254.169.254: it is a cloud's metadata service.\n"
    )
    assert words == ["no name", "reset", "reset", metadata]
    assert len(proxy.heads) == before
    everything = Box(proxied, "open")
    words, _ = everything.attempt(
        {"host": "other.gate.test", "port": 80, "kind": "http"},
        {"host": "169.254.169.254", "port": 80, "kind": "http"},
    )
    assert words == ["hello other.gate.test", metadata]  # the first is the control: there it is
    for one in (box, everything):
        one.close()


@pytest.mark.depth
def test_what_goes_directly_never_meets_the_proxy(proxied, proxy):
    box = Box(proxied, "packages")
    before = len(proxy.heads)
    words, _ = box.attempt(
        {
            "host": "allowed.gate.test",
            "port": 443,
            "kind": "tls",
            "sni": "allowed.gate.test",
        },  # an address that is opened
        {"host": "near.corp.test", "port": 443, "kind": "tls", "sni": "near.corp.test"},
    )  # of no_proxy, and unknown here
    assert words == ["hello allowed.gate.test", "no name"] and len(proxy.heads) == before
    box.close()


@pytest.mark.depth
def test_a_proxy_that_refuses_or_is_gone_is_told_as_such(world, proxied, proxy):
    box = Box(proxied, "packages")
    words, _ = box.attempt({"host": "refused.gate.test", "port": 80, "kind": "http"})
    assert (
        words == ["reset"]
        and box.line(host="refused.gate.test", reason="proxy_refused")["verdict"] == "allowed"
    )
    box.close()
    with daemon_with(
        world, "wrong", f'upstream_proxy = "http://{USER}:wrong@127.0.0.1:{proxy.port}"'
    ) as daemon:
        box = Box(daemon, "packages")
        assert box.attempt(FAR)[0] == ["reset"]
        box.line(host="far.gate.test", reason="proxy_refused")
    with daemon_with(world, "gone", 'upstream_proxy = "http://127.0.0.1:1"') as daemon:
        box = Box(daemon, "packages")
        words, seconds = box.attempt(FAR)
        assert words == ["reset"] and max(seconds) < AT_ONCE
        box.line(host="far.gate.test", reason="proxy_unreachable")


@pytest.mark.depth
def test_the_environment_is_believed_where_the_operator_asks(world, proxy):
    env = {
        "HTTPS_PROXY": f"http://{USER}:{ESCAPED}@127.0.0.1:{proxy.port}",
        "NO_PROXY": "localhost,.corp.test",
    }
    far, near = {"host": "far.gate.test", "port": 80, "kind": "http"}, {
        "host": "near.corp.test",
        "port": 80,
        "kind": "http",
    }
    with daemon_with(world, "environment", 'upstream_proxy = "environment"', env) as daemon:
        box = Box(daemon, "packages")
        assert box.attempt(far, near)[0] == ["hello far.gate.test", "no name"]
        assert "hunter2" not in box.sh("env").text
    with daemon_with(world, "unasked", "", env) as daemon:  # the control: nobody asked
        assert Box(daemon, "packages").attempt(far)[0] == ["no name"]


def test_the_password_is_in_no_sandbox_no_log_and_no_file(proxied, proxy):
    box = Box(proxied, "packages")
    assert box.attempt(FAR)[0] == ["hello far.gate.test"]
    header = proxy.authorization.decode().split(" ")[1]
    assert any(header.encode() in head for head in proxy.heads)  # it is what the proxy was shown
    secrets = [PASSWORD.encode(), ESCAPED.encode(), header.encode()]
    inside = box.sh(
        "env; cat /etc/environment /etc/apt/apt.conf.d/* /etc/pip.conf /proc/*/environ "
        "/proc/*/cmdline 2>/dev/null"
    ).out
    # Sandboxes' disks and the snapshot are seen from inside.
    files = [
        proxied.log,
        *needles.files_below(proxied.data, without=("layers", "store", "pool.img")),
    ]
    assert needles.files_with(secrets, files) == [] and not any(
        secret in inside for secret in secrets
    )
    assert (proxied.data / "gate" / "lock").read_bytes().count(
        b"127.0.0.1"
    ) == 1  # the control: what it goes by is in there, and was read
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as words:
                assert not any(secret in words.read() for secret in secrets)
    box.close()


@pytest.mark.depth
@pytest.mark.parametrize(
    "wrong",
    [
        "https://u:p4ss@proxy:3128",
        "http://u:p4ss@",
        "http://u:p4ss@proxy:0",
        "http://u%zz:p4ss@proxy",
        "socks5://proxy",
    ],
)
def test_a_proxy_that_is_none_is_refused_without_its_password(world, wrong):
    settings = world.directory / "wrong-proxy.toml"
    settings.write_text(f'[network]\nupstream_proxy = "{wrong}"\n')
    daemon = new_daemon("--config", str(settings))
    with pytest.raises(RuntimeError) as failed:
        daemon.start()
    assert "network.upstream_proxy" in str(failed.value) and "p4ss" not in str(
        failed.value
    ).replace(wrong, "")
    daemon.close()
