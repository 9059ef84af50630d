"""What is open through the broker while its right is taken away: it is reset before who took it is
answered. What may still be stays open."""
import json
import os
import subprocess

import outside_world as world_of
import pytest
from harness import CAY, slow, wait_until
from vault_box import BASE, HEADERS, box, set_secret, vaulted, world  # noqa: F401  (fixtures too)

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

RULE = {**HEADERS, "secret": "lasting", "paths": ["/*"]}
# A WebSocket that sends "more" once /tmp/go is there. It prints what it receives, or that it was
# cut before.
HOLD = r"""
import base64, os, pathlib, socket, ssl
trust = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
plain = socket.create_connection(("api.vault.test", 443))
stream = trust.wrap_socket(plain, server_hostname="api.vault.test")
stream.sendall(b"GET /socket HTTP/1.1\r\nHost: api.vault.test\r\nUpgrade: websocket\r\n"
               b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
               + base64.b64encode(os.urandom(16)) + b"\r\n\r\n")
have = b""
while b"how:Authorization" not in have: have += stream.recv(65536)
print("open", flush=True)
stream.settimeout(0.05)
try:
    while not pathlib.Path("/tmp/go").exists():
        try:
            if not stream.recv(65536): raise EOFError
        except TimeoutError: pass
    stream.settimeout(30)
    stream.sendall(bytes([0x81, 0x84]) + b"\0\0\0\0more")
    print(stream.recv(65536)[2:].decode() or "end", flush=True)
except (EOFError, OSError): print("cut", flush=True)
"""


def done(daemon, *words):
    got = daemon.cli(*words)
    assert got.code == 0, got


ENDS = {
    "its rule is removed": lambda one: one.rules(),
    "its rule has its path no more": lambda one: one.rules({**RULE, "paths": ["/v2/*"]}),
    "its rule sets another header": lambda one: one.rules(
        {**RULE, "headers": [{"name": "X-Api-Key", "value": "${SECRET}"}]}
    ),
    "its secret is removed": lambda one: done(one.daemon, "secret", "rm", "lasting"),
    "its secret has another value": lambda one: set_secret(
        one.daemon, "lasting", "another-value-altogether"
    ),
    "its policy is off": lambda one: done(one.daemon, "policy", "set", one.name, "off"),
}
STAYS = {
    "its rule has another name": lambda one: one.rules(
        {**RULE, "name": "renamed", "paths": ["/socket", "/v1/*"]}
    ),
    "its policy is another": lambda one: done(one.daemon, "policy", "set", one.name, "open"),
    "the vault has new keys": lambda one: done(one.daemon, "secret", "rotate-key"),
    "the daemon is another": lambda one: one.daemon.restart(),
}


@pytest.fixture
def lasting(vaulted, world):  # noqa: F811
    set_secret(vaulted, "lasting", world.secret, "api.vault.test")
    with box(vaulted, RULE) as one:
        yield one
    vaulted.cli("secret", "rm", "lasting")


@pytest.mark.depth
@pytest.mark.parametrize("change", ENDS)
def test_a_websocket_ends_when(lasting, change):
    lines = lasting.opens(HOLD, "the WebSocket")
    ENDS[change](lasting)
    wait_until(lambda: lines()[1:] == ["cut"], "its end")
    lasting.line(
        host="api.vault.test",
        verdict="refused",
        reason="policy_changed" if "policy" in change else "rule_changed",
    )


@pytest.mark.depth
@pytest.mark.parametrize("change", STAYS)
def test_a_websocket_stays_open_when(lasting, change):
    lines = lasting.opens(HOLD, "the WebSocket")
    STAYS[change](lasting)
    assert lines() == ["open"]
    done(lasting.daemon, "exec", lasting.name, "--", "touch", "/tmp/go")
    wait_until(lambda: lines()[1:] == ["echo:more"], "what the server says to more")


def test_an_answer_that_streams_is_cut_with_its_rule(vaulted, world):  # noqa: F811
    with box(vaulted, BASE) as one:
        world.release.clear()
        try:
            ask = json.dumps({"model": "m", "stream": True})
            running = subprocess.Popen(
                [
                    CAY,
                    "exec",
                    one.name,
                    "--",
                    "curl",
                    "-sN",
                    "-m",
                    "60",
                    "-H",
                    f"Authorization: Bearer {one.token()}",
                    "-d",
                    ask,
                    "http://192.0.0.3/api/v1/chat/completions",
                ],
                stdout=subprocess.PIPE,
                env={**os.environ, **vaulted.env},
            )
            first = running.stdout.readline()
            assert b'"one "' in first, first
            one.rules()
            assert running.wait(timeout=slow(30)) == 56, "reset, while the server still has it open"
        finally:
            world.release.set()


@pytest.mark.depth
def test_off_closes_what_rules_open_until_it_is_off_no_more(vaulted, world):  # noqa: F811
    with box(vaulted, HEADERS) as one:
        assert one.json("https://api.vault.test/x")["how"] == "Authorization", "the control"
        before = len(world.seen)
        done(vaulted, "policy", "set", one.name, "off")
        assert one.curl("https://api.vault.test/x", "-m", "5")[0] < 0
        assert (
            one.curl(
                "https://api.vault.test/x", "-m", "5", "--resolve", "api.vault.test:443:198.18.11.1"
            )[0]
            < 0
        )
        assert len(world.seen) == before
        done(vaulted, "policy", "set", one.name, "packages")
        assert one.json("https://api.vault.test/x")["how"] == "Authorization"
