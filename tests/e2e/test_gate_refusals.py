"""What is refused because of what an address is: by name and by address, told in words; what an
operator can open, and what not."""
import json
import socket
import subprocess

import pytest
from harness import CAY, slow, wait_until
from outside_world import OWN, UNLISTED, V4
from test_gate import (
    AT_ONCE,
    Box,
    everything,
    gated,
    packages,
    pytestmark,
    world,
)  # noqa: F401 (fixtures)


def daemon_net(box):
    """What `cay net` shows to people."""
    return box.daemon.cli("net", box.name).text


@pytest.mark.parametrize("policy", ["packages", "everything"])
def test_special_and_own_addresses_are_refused_whatever_a_rule_says(policy, request):
    box = request.getfixturevalue(policy)
    for address in (UNLISTED, OWN):  # the control: they answer
        with socket.create_connection((address, 80), timeout=5):
            pass
    named = [
        {"host": name, "port": 80, "kind": "http"}
        for name in ("private.gate.test", "loop.gate.test", "metadata.gate.test", "own.gate.test")
    ]
    words, seconds = box.attempt(*named)
    assert words == ["no name"] * 4 and max(seconds) < AT_ONCE
    assert box.line(host="metadata.gate.test")["reason"] == "private_address"
    literal = [
        {"host": host, "port": 80, "kind": "http", "says": "own.gate.test"}
        for host in (
            UNLISTED,
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "10.0.0.1",
            "fd00:ec2::254",
            "64:ff9b::a00:1",
            "168.63.129.16",
            OWN,
        )
    ]
    words, seconds = box.attempt(*literal)
    said = [word for word in words if word != "OSError [Errno 101] Network is unreachable"]
    assert all(
        word.startswith("403 Nothing in a sandbox may reach ")
        or word == f"403 This sandbox's policy does not allow {OWN}.\n"
        for word in said
    ), words
    assert words[0] == f"403 Nothing in a sandbox may reach {UNLISTED}: it is a reserved address.\n"
    assert (
        words[1]
        == words[2]
        == "403 Nothing in a sandbox may reach 169.254.169.254: it is a cloud's metadata service.\n"
    )
    assert max(seconds) < AT_ONCE
    wait_until(
        lambda: len(
            [
                item
                for item in box.net()["items"]
                if item["reason"] == "private_address" and item["port"] == 80
            ]
        )
        >= 4,
        "their lines",
    )
    told = daemon_net(box)
    for address, kind in (
        (UNLISTED, "a reserved address"),
        ("10.0.0.1", "a private address"),
        ("169.254.169.254", "a cloud's metadata service"),
    ):
        line = box.line(host=address, port=80, verdict="refused")
        assert (line["reason"], line["address"]) == ("private_address", address)
        assert f'add "{address}" to network.networks' in line["remedy"]
        shown = next(
            row for row in told.splitlines() if row.split()[1:4] == [address, "80", "refused"]
        )
        assert shown.endswith(kind), shown
    box.line(
        lambda item: item["count"] == 2, host="169.254.169.254", port=80
    )  # the mapped form is the same address
    assert "credentials" in box.line(host="169.254.169.254", port=80)["remedy"]
    assert box.line(host="loop.gate.test")["remedy"] == ""  # nothing opens the host's loopback


@pytest.mark.depth
def test_a_refused_address_is_reset_at_once_and_a_silent_connection_waits(packages):
    """docs/guide/refusals.md describes what a program inside sees."""
    program = f"""
import errno, json, socket, time
def look(address, port):
    s = socket.socket(); s.settimeout(60); begun = time.monotonic(); opened = False
    try: s.connect((address, port)); opened = True; word = s.recv(1).decode() or "end"
    except OSError as error: word = errno.errorcode[error.errno]
    return [opened, word, time.monotonic() - begun]
print(json.dumps([[look(address, 7004) for _ in range(20)] for address in ("{V4}", "10.0.0.1")] + \
[[look("{V4}", 443)]]))
"""
    *refused, [silent] = json.loads(packages.python(program, timeout=120).text)
    for (
        tries
    ) in (
        refused
    ):  # opened or not: where the gate is the faster one, the reset comes before connect() returns
        assert {word for _, word, _ in tries} == {"ECONNRESET"} and max(
            seconds for *_, seconds in tries
        ) < AT_ONCE, tries
    assert silent[:2] == [True, "ECONNRESET"] and 9 < silent[2] < slow(20), silent
    assert packages.line(host=V4, port=443, reason="said_too_little")["verdict"] == "refused"


@pytest.mark.depth
def test_of_a_special_range_only_tcp_is_taken_to_be_refused_and_a_flood_is_bounded(packages):
    program = """
import errno, json, socket
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: out.sendto(b"x", ("10.0.0.9", 8081)); sent = "sent"
except OSError as error: sent = errno.errorcode[error.errno]
words = set()
for n in range(600):
    s = socket.socket(); s.settimeout(20)
    try: s.connect(("10.9.%d.%d" % (n >> 8, n & 255), 22)); words.add(s.recv(1).decode() or "end")
    except OSError as error: words.add(errno.errorcode[error.errno])
    s.close()
print(json.dumps([sent, sorted(words)]))
"""
    assert packages.attempt({"host": V4, "port": 7003})[0] == [
        "ping"
    ]  # which moved bytes: its line stays
    sent, words = json.loads(packages.python(program, timeout=120).text)
    assert sent == "EACCES" and words == ["ECONNRESET"]
    report = wait_until(
        lambda: (got := packages.net())["forgotten"] > 0 and got, "lines that made room"
    )
    assert len(report["items"]) <= 256
    assert next(item for item in report["items"] if item["received_bytes"])["verdict"] == "allowed"


@pytest.mark.depth
def test_off_says_that_it_is_off(gated):
    box = Box(gated, "off")
    try:
        words, _ = box.attempt({"host": V4, "port": 7003})
        assert words[0].startswith("OSError") or words == ["prohibited"], words
        told = daemon_net(box)
        assert (
            told.startswith("policy off\n")
            and f"cay policy set {box.name} packages" in told
            and "nothing outside is reached" in told
        ), told
    finally:
        box.close()


def test_a_refused_request_is_told_why_and_what_else_comes_to_that_port_is_reset(packages):
    program = """
import json, socket
def say(address, text, port=80):
    s = socket.create_connection((address, port), timeout=20); s.sendall(text); got = b""
    try:
        while part := s.recv(65536): got += part
    except ConnectionResetError: return got.decode() + "reset"
    return got.decode()
print(json.dumps([say(*one) for one in (
    ("allowed.gate.test",
        b"GET / HTTP/1.1\\r\\nHost: other.gate.test\\r\\n\\r\\n"), ("allowed.gate.test", b"HEAD / \
HTTP/1.1\\r\\nHost: other.gate.test\\r\\n\\r\\n"),
    ("allowed.gate.test", b"GET / HTTP/1.0\\r\\n\\r\\n"), ("allowed.gate.test",
        b"GET / HTTP/1.1\\r\\nHost: allowed.gate.test\\r\\nHost: <b>\\r\\n\\r\\n"),
    ("10.0.0.7", b"POST / HTTP/1.1\\r\\nHost: 10.0.0.7\\r\\nContent-Length: 100000\\r\\n\\r\\n"
        + b"x" * 100000), ("10.0.0.7", b"SSH-2.0-x\\r\\n"))]))
"""
    page, head, nobody, two_ways, private, other = json.loads(packages.python(program).text)
    sentence = "This sandbox's policy does not allow other.gate.test.\n"
    fields = (
        "HTTP/1.1 403 Not allowed by this sandbox's network policy\r\n"
        "Content-Type: text/plain\r\n"
        "Connection: close\r\n"
        f"Content-Length: {len(sentence)}\r\n"
        "\r\n"
    )
    assert page == fields + sentence and head == fields
    assert (
        nobody.endswith("does not allow a request that names no host.\n")
        and "ask the host itself" in two_ways
        and two_ways.endswith(
            "or that can be read in two ways (one Host, one length, no body of a GET).\n"
        )
    )
    assert private.startswith("HTTP/1.1 403 ") and private.endswith(
        "Nothing in a sandbox may reach 10.0.0.7: it is a private address.\n"
    )
    assert other == "reset"
    assert (
        packages.line(host="other.gate.test", port=80, verdict="refused")["reason"]
        == "not_in_policy"
    )


REFUSED = {
    "127.0.0.0/8": "loopback",
    "127.0.0.1": "loopback",
    "::1": "loopback",
    "::ffff:127.0.0.1": "loopback",
    "0.0.0.0/1": "loopback",
    "126.0.0.0/7": "loopback",
    "::fffe:0:0/95": "loopback",
    "::/1": "loopback",
    "0.0.0.0": "this host itself",
    "::": "this host itself",
    "192.0.0.0/24": "own address",
    "192.0.0.2": "own address",
    "fd63:6179:6761:7465::/64": "own address",
    "192.0.0.1": "name server",
    "64:ff9b::7f00:1": "loopback",
    "2002:7f00:1::1": "loopback",
    "0.0.0.0/0": "is everything",
    "::ffff:0.0.0.0/96": "is no network",
    "10.0.0.1/8": "is no network",
}


@pytest.mark.depth
@pytest.mark.parametrize("network", REFUSED)
def test_networks_that_hold_what_is_nobodys_to_open_are_refused_at_the_start(tmp_path, network):
    (tmp_path / "net.toml").write_text(f'[network]\nnetworks = ["10.1.0.0/16", "{network}"]\n')
    got = subprocess.run(
        [CAY, "serve", "--data", tmp_path / "data", "--config", tmp_path / "net.toml"],
        capture_output=True,
        text=True,
        timeout=slow(60),
    )
    assert (
        got.returncode == 125
        and f"network.networks: '{network}'" in got.stderr
        and REFUSED[network] in got.stderr
    ), got


@pytest.mark.depth
def test_a_list_of_no_policies_is_refused_at_the_start(tmp_path):
    (tmp_path / "net.toml").write_text("[network]\npolicies = []\n")
    got = subprocess.run(
        [CAY, "serve", "--data", tmp_path / "data", "--config", tmp_path / "net.toml"],
        capture_output=True,
        text=True,
        timeout=slow(60),
    )
    assert (
        got.returncode == 125
        and "network.policies: an empty list" in got.stderr
        and 'write ["off"]' in got.stderr
    ), got


@pytest.mark.depth
@pytest.mark.parametrize(
    "url",
    [
        "https://me:pass-w0rd@mirror.test/pip",
        "https://me:pass-w0rd?@mirror.test/pip",
        "https://mirror.test/pip?token=pass-w0rd",
        "https://mirror.test/pip?token=x@pass-w0rd",
        "https://mirror.test/pip#x@pass-w0rd",
        "me:pass-w0rd@mirror.test/pip",
    ],
)
def test_a_mirror_that_is_refused_is_named_without_its_password(tmp_path, url):
    (tmp_path / "net.toml").write_text(f'[mirrors]\npip = "{url}"\n')
    got = subprocess.run(
        [CAY, "serve", "--data", tmp_path / "data", "--config", tmp_path / "net.toml"],
        capture_output=True,
        text=True,
        timeout=slow(60),
    )
    assert (
        got.returncode == 125
        and "mirror.test/pip" in got.stderr
        and "hold no user, password or query" in got.stderr
    ), got
    assert "w0rd" not in got.stdout + got.stderr, got


@pytest.mark.depth
def test_rules_are_added_to_no_policy_that_is_not_there(tmp_path):
    (tmp_path / "net.toml").write_text('[policy.modles]\nadd = ["models.test"]\n')
    got = subprocess.run(
        [CAY, "serve", "--data", tmp_path / "data", "--config", tmp_path / "net.toml"],
        capture_output=True,
        text=True,
        timeout=slow(60),
    )
    assert got.returncode == 125 and "no policy 'modles'" in got.stderr, got
