"""Secrets on a host that reaches the outside by an HTTP proxy alone: requests with a secret go by
it too, and by nothing else."""
import base64
import contextlib
import stat

import needles
import outside_world as world_of
import pytest
from connect_proxy import ConnectProxy
from harness import new_daemon
from vault_box import box, set_secret, world  # noqa: F401  (a fixture too)
from vault_world import ADDRESS, FAR, SETTINGS

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

REFUSED = "refused.vault.test"
PASSWORD = "hunter2-for-the-proxy"


@contextlib.contextmanager
def daemon_with(world, name, line):
    settings = world.directory / f"{name}.toml"
    settings.write_text(
        SETTINGS.format(ca=world.directory / "ca.pem").replace(
            "[network]\n", f"[network]\n{line}\n"
        )
    )
    daemon = new_daemon("--config", str(settings))
    daemon.prefix = world.prefix
    daemon.start()
    try:
        set_secret(daemon, "api", world.secret, FAR, REFUSED)
        yield daemon
    finally:
        daemon.close()


@pytest.fixture(scope="module")
def proxy():
    made = ConnectProxy({FAR: (ADDRESS, None)}, f"builder:{PASSWORD}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def proxied(world, proxy):
    with daemon_with(
        world, "proxied", f'upstream_proxy = "http://builder:{PASSWORD}@127.0.0.1:{proxy.port}"'
    ) as daemon:
        yield daemon


def rule(host, way):
    return {"name": "api", "secret": "api", "way": way, "hosts": [host]}


def test_a_request_with_a_secret_goes_by_the_proxy(proxied, proxy):
    with box(proxied, rule(FAR, "headers")) as one:
        assert one.json(f"https://{FAR}/who")["how"] == "Authorization"
        assert proxy.asked == [f"{FAR}:443"]
        line = one.line(host=FAR, port=443, verdict="allowed")
        assert line["address"] == "" and line["reason"] == ""
    with box(proxied, rule(FAR, "base_url")) as one:
        got = one.sh('curl -sS -m 30 -H "Authorization: Bearer $API_API_KEY" "$API_BASE_URL/who"')
        assert '"how": "Authorization"' in got.text, got
        assert proxy.asked == [f"{FAR}:443"] * 2


@pytest.mark.depth
def test_a_proxy_that_refuses_is_told_as_such(proxied):
    with box(proxied, rule(REFUSED, "headers")) as one:
        status, body = one.curl(f"https://{REFUSED}/who")
        assert status == 502 and "proxy_refused" in body
        one.line(host=REFUSED, reason="proxy_refused")


@pytest.mark.depth
def test_its_password_is_in_no_file(proxied):
    secrets = [PASSWORD.encode(), base64.b64encode(f"builder:{PASSWORD}".encode())]
    files = [
        proxied.log,
        *needles.files_below(proxied.data, without=("layers", "store", "pool.img")),
    ]
    assert needles.files_with(secrets, files) == []
    lock = proxied.data / "vault" / "lock"
    assert (
        b"127.0.0.1" in lock.read_bytes()
    )  # the control: what it goes by is in there, and was read
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600


@pytest.mark.depth
def test_without_it_they_are_not_there(world):
    with daemon_with(world, "alone", "") as daemon, box(daemon, rule(FAR, "headers")) as one:
        status, _ = one.curl(f"https://{FAR}/who")
        assert status < 0
