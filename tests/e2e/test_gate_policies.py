"""Policies by rule: names, wildcards, expressions, networks and ports; policies that have names; a
change under open connections, that outlives whoever decides. Each refusal beside the same that is
let through."""
import contextlib
import json
import os
import pathlib
import signal
import time

import pytest
from harness import new_daemon, slow, wait_until
from outside_world import SETTINGS, UNLISTED, V4, V6, World, standing
from test_gate import Box, pytestmark, serving_pid  # noqa: F401 (fixtures)

POLICIES = (
    SETTINGS
    + f"""
[policy.corp]
about = "ours"
rules = ["allowed.gate.test", "@bulk"]
[policy.bulk]
rules = ["bulk.gate.test:7001-7002"]
[policy.git]
add = ["https://allowed.gate.test"]
"""
)
WEB = {"host": "allowed.gate.test", "port": 80, "kind": "http"}
TLS = {"host": "allowed.gate.test", "port": 443, "kind": "tls", "sni": "allowed.gate.test"}
OTHER = {"host": "other.gate.test", "port": 80, "kind": "http"}
OTHER_TLS = {"host": "other.gate.test", "port": 443, "kind": "tls", "sni": "other.gate.test"}
BULK = {"host": "bulk.gate.test", "port": 7001}
RAW = {"host": V4, "port": 7003}
HELLO, BYE = "hello allowed.gate.test", "hello other.gate.test"
NOT_OTHER = "403 This sandbox's policy does not allow other.gate.test.\n"
OTHER_PORT = "403 This sandbox's policy does not allow allowed.gate.test at port 80.\n"

HOLD = r"""
import select, socket, sys
open_ones = {}
for target in sys.argv[1:]:
    host, port = target.rsplit(":", 1)
    one = socket.create_connection((host, int(port)), timeout=30); one.sendall(b"x")
    assert one.recv(1) == b"x"
    one.setblocking(False); open_ones[one] = target
print("open", flush=True)
while open_ones:
    for one in select.select(list(open_ones), [], [])[0]:
        try: word = "data" if one.recv(99) else "end"
        except ConnectionResetError: word = "reset"
        print(word, open_ones[one], flush=True)
        if word != "data": del open_ones[one]
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with standing(World(tmp_path_factory.mktemp("world"))) as made:
        yield made


@contextlib.contextmanager
def standing_daemon(world, name, settings, request):
    config = world.directory / name
    config.write_text(settings)
    daemon = new_daemon("--config", str(config))
    daemon.prefix = world.prefix
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.close(keep_log=request.session.testsfailed > 0)


@pytest.fixture(scope="module")
def policed(world, request):
    with standing_daemon(world, "policies.toml", POLICIES, request) as daemon:
        yield daemon


def new_box(daemon, *rules):
    box = Box.__new__(Box)
    box.daemon, box.name = daemon, f"p-{os.urandom(4).hex()}"
    with daemon.http() as http:
        got = http.post("/api/v1/sandboxes", json={"name": box.name, "rules": list(rules)})
    assert got.status_code == 201, got.text
    box.id = got.json()["id"]
    return box


@pytest.fixture
def make(policed):
    made = []

    def one(*rules):
        made.append(new_box(policed, *rules))
        return made[-1]

    yield one
    for box in made:
        box.close()


def set_policy(box, *words):
    got = box.daemon.cli("policy", "set", box.name, *words)
    assert got.code == 0, got
    return got.text


def words_of(box, *tries):
    return box.attempt(*tries)[0]


def hold(box, *targets):
    """A command that keeps connections open, and tells what becomes of them."""
    started = box.daemon.cli(
        "exec", "-d", box.name, "--", "python3", "-c", HOLD, *targets
    ).text.strip()

    def lines():
        return box.daemon.cli("logs", box.name, started).text.splitlines()

    wait_until(lambda: lines() == ["open"], "the connections")
    return lines


def test_two_names_on_one_address(make):
    box = make("allowed.gate.test")
    refused = {"host": "allowed.gate.test", "port": 443, "kind": "tls", "sni": "other.gate.test"}
    assert words_of(box, WEB, TLS, OTHER, refused, {**WEB, "says": "other.gate.test"}) == [
        HELLO,
        HELLO,
        "no name",
        "reset",
        NOT_OTHER,
    ]
    assert box.line(host="allowed.gate.test", port=443)["rule"] == "allowed.gate.test"
    line = box.line(host="other.gate.test", port=443)
    assert (line["verdict"], line["reason"], line["rule"], line["needs"]) == (
        "refused",
        "not_in_policy",
        "",
        "other.gate.test:443",
    )
    both = make("allowed.gate.test", "other.gate.test")  # the control
    assert words_of(both, WEB, OTHER, OTHER_TLS) == [HELLO, BYE, BYE]


def test_what_is_denied_is_refused_beside_everything_else(make):
    box = make("open", "!other.gate.test", f"!{V4}:7003")
    hidden = {
        "host": V4,
        "port": 443,
        "kind": "tls",
        "sni": "other.gate.test",
        "says": "other.gate.test",
    }
    nameless = {"host": V4, "port": 443, "kind": "tls"}
    assert words_of(box, WEB, TLS, OTHER, hidden, nameless, RAW, BULK) == [
        HELLO,
        HELLO,
        "no name",
        "reset",
        "reset",
        "reset",
        "ping",
    ]
    assert box.line(host="other.gate.test", port=443)["rule"] == "!other.gate.test"
    line = box.line(host=V4, port=7003)
    assert (line["reason"], line["rule"]) == (
        "denied_by_rule",
        f"!{V4}:7003",
    ) and "--remove" in line["remedy"]
    assert words_of(make("open"), OTHER, hidden, RAW) == [BYE, BYE, "ping"]  # the control


@pytest.mark.depth
def test_an_address_in_a_names_place_is_no_name_beside_refused_ones(make):
    literals = [
        {**about, "host": V4, name: V4, **more}
        for about, name, more in ((WEB, "says", {}), (TLS, "sni", {"says": "other.gate.test"}))
    ]
    box = make("open", "!other.gate.test")
    told = words_of(box, *literals)
    assert f"does not allow {V4}" in told[0] and told[1] == "reset", told
    line = box.line(host=V4, port=80)
    assert (line["reason"], line["needs"]) == ("not_in_policy", f"{V4}:80"), line
    got = box.daemon.cli("policy", "try", box.name, f"http://{V4}/")
    assert got.code == 1 and "shows no name" in got.text, got
    came = words_of(make("open"), *literals)  # the control
    assert came == [f"hello {V4}", BYE], came
    # A policy that lists the address lets it through, and `cay net` names that rule.
    listed = make(f"{V4}:80", "!other.gate.test")
    assert words_of(listed, literals[0], {**WEB, "host": V4, "says": "other.gate.test"}) == [
        f"hello {V4}",
        NOT_OTHER,
    ]
    assert listed.daemon.cli("policy", "try", listed.name, f"http://{V4}/").code == 0
    assert words_of(make("0.0.0.0/0", "!other.gate.test"), literals[0]) == [
        told[0]
    ], "a network names no address"


@pytest.mark.depth
@pytest.mark.parametrize("order", [[], ["first-match"]], ids=["deny-wins", "first-match"])
def test_tls_that_names_nobody_is_let_through_by_a_rule_for_its_address(make, order):
    """No client shows an address as a server name: the rule that is asked for would be of no use
    else, beside refused names."""
    for host in (V4, V6):
        nameless = {"host": host, "port": 443, "kind": "tls", "says": "x.test"}
        url = f"https://{host if host == V4 else f'[{host}]'}/"
        box = make(*order, "!other.gate.test", "open")
        assert words_of(box, nameless) == ["reset"]
        got = box.daemon.cli("policy", "try", box.name, url)
        assert got.code == 1 and "shows no name" in got.text, got
        line = box.line(address=host, port=443)
        assert line["reason"] == "names_no_host" and line["needs"].endswith(":443"), line
        assert box.daemon.cli("policy", "set", box.name, "--add", line["needs"]).code == 0
        # In order what is added stands before what refuses.
        assert words_of(box, nameless, {**nameless, "sni": "other.gate.test"}) == [
            "hello x.test",
            "hello x.test" if order else "reset",
        ]
        assert box.daemon.cli("policy", "try", box.name, url).code == 0


@pytest.mark.depth
def test_who_refuses_ipv6_is_given_no_such_address(make):
    box = make("open", "!::/0")
    assert words_of(box, WEB, TLS, {"host": V6, "port": 80, "kind": "http"}) == [
        HELLO,
        HELLO,
        f"403 This sandbox's policy does not allow {V6}.\n",
    ]
    assert (
        V6 not in box.sh("getent ahosts allowed.gate.test").text
        and V4 in box.sh("getent ahosts allowed.gate.test").text
    )
    assert V6 in make("open").sh("getent ahosts allowed.gate.test").text  # the control


@pytest.mark.depth
def test_wildcards_expressions_networks_and_ports(make):
    assert words_of(make("*.gate.test"), WEB, OTHER_TLS, BULK) == [HELLO, BYE, "reset"]
    assert words_of(make("*.test:7001"), BULK, WEB) == ["ping", OTHER_PORT]
    assert words_of(make("*.allowed.gate.test"), WEB) == ["no name"]
    assert words_of(make(r"~(allowed|bulk)\.gate\.test"), WEB, OTHER) == [HELLO, "no name"]
    assert words_of(make(r"~llowed\.gate\.tes"), WEB) == ["no name"]  # the whole name
    net = make("198.18.7.0/24:7002-7003", f"[{V6}]:7001")
    assert words_of(
        net, RAW, {"host": V4, "port": 7004}, {"host": V4, "port": 7001}, {"host": V6, "port": 7001}
    ) == ["ping", "reset", "reset", "ping"]
    assert words_of(net, BULK) == ["no name"]  # a network says nothing about names
    assert words_of(make("198.18.9.0/24", "10.0.0.0/8"), {"host": UNLISTED, "port": 7001}) == [
        "reset"
    ]  # special: the operator has not listed it


def test_in_order_the_first_rule_decides(make):
    box = make("first-match", "allowed.gate.test", "!*.gate.test", "default allow")
    # Once a name was looked up, its address is known by it.
    assert words_of(box, RAW, WEB, OTHER, RAW) == ["ping", HELLO, "no name", "reset"]
    assert words_of(make("first-match", "!*.gate.test", "allowed.gate.test"), WEB) == ["no name"]


@pytest.mark.depth
def test_policies_that_have_names(policed, make):
    listed = {
        one["name"]: one for one in json.loads(policed.cli("policy", "ls", "--json").text)["items"]
    }
    assert {"debian", "pip", "npm", "cargo", "go", "git", "models", "tracing"} <= set(
        listed
    ) and listed["corp"]["origin"] == "operator"
    assert (
        listed["git"]["origin"] == "changed"
        and "github.com:443" in listed["git"]["rules"]
        and "allowed.gate.test:443" in listed["git"]["rules"]
    )
    assert policed.cli("policy", "show", "corp").text == "# ours\nallowed.gate.test\n@bulk\n"
    assert policed.cli("policy", "show", "none").code != 0
    corp = Box(policed, "corp")
    assert words_of(corp, WEB, BULK, OTHER) == [HELLO, "ping", "no name"]
    assert corp.line(host="bulk.gate.test", port=7001)["rule"] == "@bulk: bulk.gate.test:7001-7002"
    assert words_of(make("git"), TLS, WEB) == [HELLO, OTHER_PORT]
    assert words_of(make("packages", "!git", "!allowed.gate.test"), TLS) == ["no name"]
    assert words_of(make("pip"), TLS) == ["no name"]
    corp.close()


def test_a_change_counts_at_once_and_resets_what_it_refuses(make):
    box = make("bulk.gate.test:7001", f"{V4}:7003")
    lines = hold(box, "bulk.gate.test:7001", f"{V4}:7003")
    begun = time.monotonic()
    assert "  bulk.gate.test:7001" in set_policy(box, "bulk.gate.test:7001", "allowed.gate.test")
    wait_until(lambda: lines()[1:] == [f"reset {V4}:7003"], "the connection that is refused now", 5)
    assert time.monotonic() - begun < slow(5)
    line = box.line(host=V4, port=7003, verdict="refused")
    assert (line["reason"], line["count"]) == ("policy_changed", 1)
    assert words_of(box, RAW, WEB, BULK) == [
        "reset",
        HELLO,
        "ping",
    ]  # new ones and names go by it too
    set_policy(box, "--add", f"{V4}:7003")
    assert words_of(box, RAW) == ["ping"]
    set_policy(box, "off")
    wait_until(
        lambda: lines()[1:] == [f"reset {V4}:7003", "reset bulk.gate.test:7001"],
        "what nothing lets through any more",
    )
    assert words_of(box, RAW, WEB) == ["reset", "no name"]
    set_policy(box, "open")
    assert words_of(box, RAW, OTHER) == ["ping", BYE]
    assert (box.net()["running_policy"], box.net()["policy"]) == ("open", "open")


@pytest.mark.depth
def test_a_connection_that_would_have_to_show_a_name_now_is_reset(make):
    """In `open` nobody looked at its first bytes."""
    box = make("open")
    program = f"""
import os, socket, ssl
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT); context.check_hostname = False; \
context.verify_mode = ssl.CERT_NONE
one = context.wrap_socket(socket.create_connection(("allowed.gate.test", 443), timeout=60), \
server_hostname="other.gate.test")
print("open", flush=True)
below = socket.socket(fileno=os.dup(one.fileno())); below.settimeout(60)  # how TLS \
reports a reset depends on its release
try:
    while below.recv(4096): pass
    print("end", flush=True)
except ConnectionResetError: print("reset", flush=True)
"""
    started = box.daemon.cli("exec", "-d", box.name, "--", "python3", "-c", program).text.strip()
    wait_until(lambda: box.daemon.cli("logs", box.name, started).text == "open\n", "the connection")
    set_policy(box, "allowed.gate.test")
    wait_until(
        lambda: box.daemon.cli("logs", box.name, started).text == "open\nreset\n", "its reset"
    )


@pytest.mark.depth
def test_a_change_while_bytes_move_cuts_them_off(make, policed):
    box = make("bulk.gate.test:7002")
    program = (
        "import socket\n"
        "s = socket.create_connection(('bulk.gate.test', 7002), timeout=60); n = 0; told = False\n"
        "try:\n"
        "  while True:\n"
        "    part = s.recv(1 << 20); n += len(part)\n"
        "    if not part: print('end', flush=True); break\n"
        "    if not told: told = True; print('moving', flush=True)\n"
        "except ConnectionResetError: print('reset', flush=True)"
    )
    started = box.daemon.cli("exec", "-d", box.name, "--", "python3", "-c", program).text.strip()
    wait_until(lambda: "moving" in box.daemon.cli("logs", box.name, started).text, "bytes")
    set_policy(box, "allowed.gate.test")
    wait_until(
        lambda: box.daemon.cli("logs", box.name, started).text == "moving\nreset\n", "the cut", 10
    )
    whole = make("bulk.gate.test:7002")  # the control
    assert whole.python(program, timeout=120).text == "moving\nend\n"


@pytest.mark.depth
def test_rules_outlive_the_gate_and_the_daemon(make, policed):
    box = make("bulk.gate.test:7001", f"{V4}:7003")
    set_policy(box, "bulk.gate.test:7001", "allowed.gate.test")
    expected = [HELLO, "ping", "reset", "no name"]
    tries = (WEB, BULK, RAW, OTHER)
    assert words_of(box, *tries) == expected
    os.kill(serving_pid(policed), signal.SIGKILL)
    assert words_of(box, *tries) == expected
    parent = int(
        pathlib.Path(
            f"/proc/{wait_until(lambda: serving_pid(policed), 'another part that serves')}/stat"
        )
        .read_text()
        .rsplit(")", 1)[1]
        .split()[1]
    )
    os.kill(parent, signal.SIGKILL)
    assert words_of(box, *tries) == expected
    lines = hold(box, "bulk.gate.test:7001")
    policed.restart("kill")
    assert words_of(box, *tries) == expected
    assert lines() == ["open"]  # what is open and allowed is left alone
    # From a stop and a start, too.
    assert policed.cli("stop", box.name).code == 0
    assert words_of(box, *tries) == expected
    assert box.net()["running_rules"] == ["bulk.gate.test:7001", "allowed.gate.test"]


@pytest.mark.depth
def test_a_change_that_the_daemon_recorded_and_did_not_tell_is_told_at_its_start(make, policed):
    box = make(f"{V4}:7003")
    assert words_of(box, RAW) == ["ping"]
    rules = policed.data / "rules" / box.id
    assert rules.stat().st_mode & 0o777 == 0o644
    set_policy(box, "off")
    assert words_of(box, RAW) == ["reset"]
    # Stands for a daemon that is killed between the two: the older file, and a gate that read it.
    rules.unlink()
    os.kill(serving_pid(policed), signal.SIGKILL)
    wait_until(lambda: serving_pid(policed), "another part that serves")
    assert words_of(box, RAW) == [
        "reset"
    ]  # its keeper lends "rules", and there are none: nothing is let through
    policed.restart("kill")
    wait_until(lambda: box.net()["running_policy"] == "off", "the gate to go by it", 10)
    assert rules.exists()
    set_policy(box, f"{V4}:7003")
    assert words_of(box, RAW) == ["ping"]  # the control


@pytest.mark.depth
def test_a_gate_that_does_not_answer_is_told_of(make, policed):
    box = make(f"{V4}:7003")
    worker = serving_pid(policed)
    os.kill(worker, signal.SIGSTOP)
    try:
        got = policed.cli("policy", "set", box.name, "allowed.gate.test")
        assert got.code != 0 and b"not certain that the gate goes by it" in got.err, got
    finally:
        os.kill(worker, signal.SIGCONT)
    wait_until(lambda: words_of(box, RAW, WEB) == ["reset", HELLO], "the policy that was kept", 10)


@pytest.mark.depth
def test_what_would_have_been_needed(make):
    box = make("allowed.gate.test")
    assert box.daemon.cli("policy", "try", box.name).text.startswith("nothing was refused")
    assert words_of(box, OTHER, BULK, RAW) == ["no name", "no name", "reset"]
    box.line(host=V4, port=7003)
    needed = json.loads(box.daemon.cli("policy", "try", box.name, "--json").text)["needed"]
    assert sorted(needed) == sorted(["other.gate.test", "bulk.gate.test", f"{V4}:7003"])
    set_policy(box, *[word for rule in needed for word in ("--add", rule)])
    assert words_of(box, WEB, OTHER, RAW, BULK) == [HELLO, BYE, "ping", "reset"]
    assert box.line(host="bulk.gate.test", port=7001)["needs"] == "bulk.gate.test:7001"
    set_policy(box, "--add", "bulk.gate.test:7001")
    assert words_of(box, BULK) == ["ping"]
    assert json.loads(box.daemon.cli("policy", "try", box.name, "--json").text)["needed"] == []


@pytest.mark.depth
def test_what_was_used_is_listed_as_rules(make):
    box = make("open")
    assert "it used nothing so far" in box.daemon.cli("policy", "try", box.name).text
    assert words_of(box, WEB, OTHER) == [HELLO, BYE]
    for one in (WEB, OTHER):
        box.line(host=one["host"], port=one["port"])
    told = box.daemon.cli("policy", "try", box.name).text
    used = json.loads(box.daemon.cli("policy", "try", box.name, "--json").text)["used"]
    assert sorted(used) == sorted(["allowed.gate.test:80", "other.gate.test:80"]), used
    assert (
        "it used 2 hosts: the rules for them:" in told and f"cay policy set {box.name} " in told
    ), told
    judged = json.loads(
        box.daemon.cli("policy", "try", box.name, "--as", "allowed.gate.test", "--json").text
    )
    assert {one["host"]: (one["verdict"], one["needs"]) for one in judged["items"]} == {
        "allowed.gate.test": ("allowed", ""),
        "other.gate.test": ("refused", "other.gate.test:80"),
    }, judged
    assert judged["needed"] == ["other.gate.test:80"]
    shown = box.daemon.cli("policy", "try", box.name, "--as", "allowed.gate.test").text
    assert f"cay policy set {box.name} allowed.gate.test other.gate.test:80" in shown.replace(
        "'", ""
    ), shown
    off_has = (
        box.daemon.cli("policy", "try", box.name, "--as", "off")
        .text.splitlines()[-1]
        .partition("All that it lacks: ")[2]
    )
    assert off_has.replace("'", "").split() == [
        "cay",
        "policy",
        "set",
        box.name,
        "allowed.gate.test:80",
        "other.gate.test:80",
    ], off_has
    set_policy(box, *used)
    assert words_of(box, WEB, OTHER) == [HELLO, BYE], "what was listed is enough"
    assert all(
        one["verdict"] == "allowed"
        for one in json.loads(
            box.daemon.cli("policy", "try", box.name, "--as", ",".join(used), "--json").text
        )["items"]
    )
    set_policy(box, "allowed.gate.test")
    words_of(box, OTHER)
    assert f"cay policy set {box.name} --add" in box.daemon.cli("net", box.name).text
    only_asked = make("allowed.gate.test")
    assert words_of(only_asked, OTHER) == ["no name"]
    only_asked.line(host="other.gate.test", port=0)
    lacks = json.loads(
        only_asked.daemon.cli(
            "policy", "try", only_asked.name, "--as", "allowed.gate.test", "--json"
        ).text
    )["needed"]
    assert lacks == ["other.gate.test"], "a name that was only looked up: its web is both its ports"
    set_policy(only_asked, "allowed.gate.test", *lacks)
    assert words_of(only_asked, OTHER, OTHER_TLS) == [BYE, BYE]
    off = make("off")
    assert (
        "nothing is recorded under off: run it once with open"
        in off.daemon.cli("policy", "try", off.name).text
    )
    for unused in (off, make("open")):
        for words, why in (("nopol", b"no policy 'nopol'"), ("~[", b"~[")):
            got = unused.daemon.cli("policy", "try", unused.name, "--as", words)
            assert got.code == 125 and why in got.err, got
        assert unused.daemon.cli("policy", "try", unused.name, "--as", "pip").code == 0


@pytest.mark.depth
def test_trying_says_by_which_rule(make, policed):
    box = make("allowed.gate.test", "!other.gate.test")
    for target, code, words in (
        ("allowed.gate.test", 0, "allowed: by the rule allowed.gate.test"),
        ("other.gate.test:80", 1, "by the rule !other.gate.test"),
        ("allowed.gate.test:22", 1, "allowed at other ports"),
        ("else.test", 1, "no rule matches"),
        ("10.0.0.1:22", 1, "special address"),
        ("https://allowed.gate.test/x", 0, "by the rule allowed.gate.test"),
        ("http://other.gate.test", 1, "by the rule !other.gate.test"),
        ("https://allowed.gate.test:22/", 1, "allowed at other ports"),
    ):
        got = policed.cli("policy", "try", box.name, target)
        assert got.code == code and words in got.text, (target, got)
    nowhere = policed.cli("policy", "try", box.name, "127.0.0.1:443").text.splitlines()
    assert (
        len(nowhere) == 1
        and nowhere[0].startswith("refused: 127.0.0.1 is ")
        and nowhere[0].endswith("reached by no rule and no setting")
    ), nowhere
    ordered = make("first-match", "!other.gate.test", "*.gate.test")
    told = policed.cli("policy", "try", ordered.name, "other.gate.test").text
    assert "by the rule !other.gate.test" in told and told.endswith(
        f"To allow: cay policy set {ordered.name} --add 'other.gate.test:443'\n"
    ), told
    set_policy(ordered, "--add", "other.gate.test:443")
    assert (
        policed.cli("policy", "try", ordered.name, "other.gate.test").code == 0
    ), "in order, what is added stands before what refuses it"
    assert (
        "To allow" not in policed.cli("policy", "try", box.name, "other.gate.test:80").text
    ), "the control: there it does not help"
    assert policed.cli("policy", "try", "corp", "bulk.gate.test:7002").code == 0
    for words, code, warned in (
        ("open,!~ads", 0, True),
        ("open,!~.*ads.*", 1, False),
        ("open,!~^ads$", 0, False),
    ):
        got = policed.cli("policy", "try", words, "ads.example.com")
        assert (
            got.code == code and (b"match the whole name, as '!~.*ads.*' does" in got.err) == warned
        ), got
    assert policed.cli("policy", "try", "pip,!pypi.org", "pypi.org").code == 1
    assert b"no policy" in policed.cli("policy", "set", box.name, "nonesuch").err


@pytest.mark.depth
def test_a_rule_that_has_no_effect_is_set_and_said(make, policed):
    box = make("allowed.gate.test", "!*.corp.test")
    for rule, says in (
        ("10.2.0.1:1", 'add "10.2.0.1" to network.networks'),
        ("127.0.0.1:80", "reached by no rule and no setting"),
        ("git.corp.test", "--remove '!*.corp.test'"),
    ):
        got = policed.cli("policy", "set", box.name, "--add", rule)
        assert (
            got.code == 0
            and got.err.decode().startswith(f"cay: {rule} has no effect: ")
            and says in got.err.decode()
        ), got
        assert rule in got.text
    for rule in ("other.gate.test", f"{V4}:7003", "*.corp.test", "10.0.0.0/8"):
        assert policed.cli("policy", "set", box.name, "--add", rule).err == b"", rule


@pytest.mark.depth
def test_rules_are_read_from_stdin_too(make, policed):
    box = make("allowed.gate.test")
    got = policed.cli(
        "policy",
        "set",
        box.name,
        "--file",
        "-",
        stdin=b"other.gate.test  # that one\n!*.corp.test\n",
    )
    assert got.code == 0 and got.text.split() == [
        "policy",
        "rules",
        "other.gate.test",
        "!*.corp.test",
    ], got
    assert policed.cli("policy", "set", box.name, "--file", "-", stdin=b"").code == 125
    assert (
        policed.cli("policy", "set", box.name, "--file", "-", stdin=b"#" * (257 << 10)).err
        == b"cay: stdin is larger than 256 KiB\n"
    )
    assert policed.cli("policy", "get", box.name).text == got.text


@pytest.mark.depth
def test_what_is_told_after_a_change_is_what_is_in_force(make):
    """The gate writes its own report once in a while: what it has answered is told before that."""
    box = make("allowed.gate.test")
    for words, policy in (
        ("open", "open"),
        ("off", "off"),
        ("packages", "packages"),
        ("off", "off"),
        ("open", "open"),
    ) * 2:
        told = set_policy(box, words)
        assert told == f"policy {policy}\n", told
        assert (box.net()["running_policy"], box.net()["running_rules"]) == (policy, [])
    off = make("off")
    assert "started without a way out; it counts from its next start" in set_policy(off, "open")
    tried = off.daemon.cli("policy", "try", off.name, "allowed.gate.test")
    assert tried.code == 0 and "from its next start" in tried.text, tried


@pytest.mark.depth
def test_advice_is_about_the_policy_of_now(make):
    box = make("open", "!other.gate.test", "!*.corp.test")
    assert words_of(box, OTHER, {"host": "git.corp.test", "port": 80, "kind": "http"}) == [
        "no name",
        "no name",
    ]
    refused = box.line(host="other.gate.test", verdict="refused")
    assert refused["remedy"].endswith("--remove '!other.gate.test'"), refused
    set_policy(box, "allowed.gate.test")
    remedy = box.line(host="other.gate.test", verdict="refused")["remedy"]
    assert (
        "--remove" not in remedy
        and "--add 'other.gate.test'" in remedy
        and "network.hosts" not in remedy
    ), remedy
    set_policy(box, "open")
    assert box.line(host="other.gate.test", verdict="refused")["remedy"] == ""
    assert "--remove" not in box.daemon.cli("net", box.name).text


def test_what_the_operator_allows_is_the_bound(world, request):
    """Rules of a sandbox's own, too; and one that was allowed before is refused by the gate
    after."""

    def settings(*allowed):
        return POLICIES.replace(
            "[network]", f'[network]\npolicies = {json.dumps(allowed)}\ndefault_policy = "corp"'
        )

    with standing_daemon(world, "bound.toml", settings("off", "corp", "open"), request) as daemon:
        box, wide = new_box(daemon, "allowed.gate.test:80", "bulk.gate.test:7001"), new_box(
            daemon, "open", f"!{V4}:7004"
        )
        assert words_of(box, WEB, BULK) == [HELLO, "ping"] and words_of(wide, RAW) == ["ping"]
        (world.directory / "bound.toml").write_text(settings("off", "corp"))
        daemon.restart("kill")
        assert words_of(box, WEB, BULK) == [HELLO, "ping"]  # within what is allowed
        assert words_of(wide, RAW, WEB) == ["reset", "no name"]
        assert wide.line(host="allowed.gate.test")["reason"] == "policy_not_allowed"
        for words in (
            ["open"],
            ["other.gate.test"],
            ["*.gate.test"],
            ["packages"],
            ["bulk.gate.test:7000-7001"],
        ):
            got = daemon.cli("policy", "set", box.name, *words)
            assert got.code != 0 and b"operator allows no" in got.err, got
        set_policy(box, "bulk.gate.test:7002")
        assert words_of(box, WEB) == ["no name"]


@pytest.mark.depth
def test_what_the_operator_opened_since_is_judged_anew(world, request):
    """Of a refusal of then: by its address, and by the policy that is asked about."""
    with standing_daemon(world, "opened.toml", POLICIES, request) as daemon:
        box = new_box(daemon, "private.gate.test")
        assert words_of(box, {"host": "private.gate.test", "port": 7001}) == ["no name"]
        assert box.line(host="private.gate.test", port=0)["in_the_way"] == "special_address"

        def judged(policy):
            items = json.loads(
                daemon.cli("policy", "try", box.name, "--as", policy, "--json").text
            )["items"]
            return [(one["verdict"], one["in_the_way"], one["needs"]) for one in items]

        assert judged("private.gate.test") == [("refused", "special_address", "")]
        (world.directory / "opened.toml").write_text(
            POLICIES.replace("networks = [", f'networks = ["{UNLISTED}", ')
        )
        daemon.restart()
        assert judged("private.gate.test") == [("allowed", "", "")]
        assert judged("corp") == [
            ("refused", "", "private.gate.test")
        ], "it was only looked up: nobody knows a port"
        assert (
            box.line(host="private.gate.test", port=0)["remedy"] == ""
        ), "its own policy has it by now"


def test_rules_are_nobodys_to_read_or_write(make, policed):
    """The gate reads them, and cannot write; a sandbox that is gone leaves none."""
    box = make("allowed.gate.test")
    rules = policed.data / "rules"
    assert (rules / box.id).exists() and rules.stat().st_mode & 0o7777 == 0o750
    gate = (policed.data / "gate").stat()
    assert (
        rules.stat().st_uid == policed.data.stat().st_uid
        and rules.stat().st_gid != policed.data.stat().st_gid
        or os.geteuid() != 0
    )
    assert rules.stat().st_uid != gate.st_uid or os.geteuid() != 0
    box.close()
    assert not (rules / box.id).exists()
