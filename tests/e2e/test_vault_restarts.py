"""What holds while gate, broker and daemon are away or come back, each by itself and together:
fences, rules, and what was taken back."""
import contextlib
import json
import os
import signal

import outside_world as world_of
import pytest
from harness import wait_until
from vault_box import (
    HEADERS,
    both,
    box,
    parts,
    serving,
    set_secret,
    vaulted,
    world,
)  # noqa: F401  (fixtures too)

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

HOST = "api.vault.test"
FENCE = {"hosts": [HOST], "methods": ["GET"], "paths": ["/open/**"]}
KILLS = 8

# By its address: a gate that was just begun knows no names. It would take any server for the right
# one.
HAMMER = r"""
import os, socket, ssl
address = socket.gethostbyname("api.vault.test")
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
def ask(method, path):
    try:
        with tls.wrap_socket(socket.create_connection((address, 443), timeout=5),
            server_hostname="api.vault.test") as stream:
            stream.sendall((f"{method} {path} HTTP/1.1\r\nHost: api.vault.test\r\n"
                "Content-Length: 0\r\nConnection: close\r\n\r\n").encode())
            while stream.recv(65536): pass
    except OSError: pass
print("open", flush=True)
while not os.path.exists("/tmp/end"):
    ask("POST", "/open/hammer")
    ask("GET", "/open/hammer")
"""


@contextlib.contextmanager
def hammered(one):
    one.opens(HAMMER, "the hammer")
    try:
        yield
    finally:
        one.sh("touch /tmp/end")


def asked(world, method, path="/open/hammer"):  # noqa: F811
    return sum(seen["method"] == method and seen["path"] == path for seen in world.seen)


def kill_serving(daemon, *words):
    for pid in [serving(daemon, word) for word in words]:
        os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def locked(daemon, name="key"):
    """The broker cannot open its keys, and does not serve."""
    file, away = daemon.data / "vault" / name, daemon.data / "vault" / f"{name}-away"
    both(daemon, "broker")  # one that is just beginning would come to no second part
    file.rename(away)
    try:
        kill_serving(daemon, "broker")
        wait_until((daemon.data / "vault/refused").exists, "it says that it cannot")
        yield
    finally:
        away.rename(file)


@pytest.mark.depth
def test_no_moment_lets_anything_past_a_fence_while_gate_and_broker_are_killed_together(
    vaulted, world
):  # noqa: F811
    with box(vaulted, FENCE, policy=HOST) as one, hammered(one):
        posts = asked(world, "POST")
        for turn in range(KILLS):
            before = asked(world, "GET")
            kill_serving(vaulted, "gate", "broker")
            wait_until(
                lambda before=before: asked(world, "GET") > before + 2,
                f"what the fence lets through goes on after kill {turn}",
            )
        assert asked(world, "POST") == posts
        one.rules()
        wait_until(lambda: asked(world, "POST") > posts, "the control: without the fence")


def test_without_a_broker_another_gate_refuses_what_is_the_brokers_and_nothing_else(
    vaulted, world
):  # noqa: F811
    url = f"https://{HOST}/open"
    with box(vaulted, FENCE, policy=HOST) as fenced, box(
        vaulted, HEADERS, policy="open"
    ) as ruled, box(vaulted, policy=HOST) as plain:
        assert (
            fenced.curl(f"{url}/fenced")[0] == 200
            and ruled.json(f"{url}/ruled")["how"] == "Authorization"
        ), "the control"
        with locked(vaulted):
            old = parts(vaulted, "gate")
            kill_serving(vaulted, "gate")
            wait_until(
                lambda: parts(vaulted, "gate") != old
                and plain.curl(f"{url}/plain", "-k", "-d", "x")[0] == 200,
                "a sandbox without rules works",
            )
            before = len(world.seen)
            for method in ("POST", "GET"):
                assert fenced.curl(f"{url}/fenced", "-k", "-X", method)[0] < 0
                assert (
                    ruled.curl(f"{url}/ruled", "-k", "-X", method)[0] < 0
                ), "not even without the secret"
            assert fenced.curl(f"http://{HOST}/open/fenced", "-d", "x")[0] == 403
            assert (
                json.loads(ruled.curl("https://other.vault.test/open/", "-k")[1])["how"] == ""
            ), "other hosts go on"
            assert [seen["path"] for seen in world.seen[before:]] == ["/open/"]
            fenced.line(reason="vault_unavailable", port=443)
            fenced.line(reason="fenced", port=80)
            ruled.line(reason="vault_unavailable", port=443)
            assert "nothing goes past it" in vaulted.cli("net", fenced.name).text
        wait_until(
            lambda: fenced.curl(f"{url}/fenced")[0] == 200 and ruled.curl(f"{url}/ruled")[0] == 200,
            "with its broker again",
        )
        assert fenced.curl(f"{url}/fenced", "-d", "x")[0] == 403


@pytest.mark.depth
def test_a_grant_that_was_torn_leaves_its_fence_until_the_daemon_tells_it_anew(
    vaulted, world
):  # noqa: F811
    with box(vaulted, FENCE, policy=HOST) as one, hammered(one):
        posts = asked(world, "POST")
        wait_until(lambda: asked(world, "GET") > 0, "the control: it asks")
        vaulted.kill()
        try:
            os.truncate(vaulted.data / f"vault/{one.id}.grant", 200)
            kill_serving(vaulted, "broker")
            wait_until(
                lambda: f"{one.id}.grant cannot be opened"
                in (vaulted.data / "broker.log").read_text(),
                "it is said",
            )
            wait_until(
                lambda: b"rules_unknown" in (vaulted.data / f"gate/{one.id}.net").read_bytes(),
                "it is refused",
            )
            before = asked(world, "GET")
        finally:
            vaulted.start()
        wait_until(lambda: asked(world, "GET") > before, "the daemon has told it anew")
        wait_until(
            lambda: one.curl(f"https://{HOST}/open/x")[0] == 200, "and another authority is trusted"
        )
        assert asked(world, "POST") == posts


@pytest.mark.depth
def test_no_keyring_is_made_beside_what_the_one_that_is_gone_has_sealed(vaulted):  # noqa: F811
    with box(vaulted, HEADERS) as one:
        assert one.json(f"https://{HOST}/x")["how"] == "Authorization"
        with locked(vaulted, "keyring"):
            refused = vaulted.cli("secret", "set", "other", "--host", HOST, stdin=b"long-enough")
            assert (
                refused.code == 125
                and b"put it back" in refused.err
                and b"DATA/vault/sealed" in refused.err
            ), refused
            assert not (vaulted.data / "vault/keyring").exists()
            assert one.curl(f"https://{HOST}/x", "-k")[0] < 0
        wait_until(lambda: one.curl(f"https://{HOST}/x")[0] == 200, "it is put back")


@pytest.mark.depth
def test_a_removed_secret_is_nobodys_once_daemon_and_broker_meet(vaulted, world):  # noqa: F811
    set_secret(vaulted, "going", world.secret, HOST)
    with box(vaulted, {"secret": "going", "name": "going"}) as one, box(vaulted, HEADERS) as other:
        assert one.json(f"https://{HOST}/x")["how"] == "Authorization"
        with locked(vaulted):
            removed = vaulted.cli("secret", "rm", "going")
            assert removed.code == 125 and b"may use what it was still" in removed.err, removed
            so_far = vaulted.log.stat().st_size
            vaulted.restart()
            assert "going" not in vaulted.cli("secret", "ls").text
            wait_until(
                lambda: b"cannot be opened" in vaulted.log.read_bytes()[so_far:],
                "it could not tell the broker for long",
            )
        wait_until(lambda: one.curl(f"https://{HOST}/x")[0] == 403, "its value is sent no more")
        one.line(reason="secret_gone")
        assert other.json(f"https://{HOST}/x")["how"] == "Authorization", "the control"
