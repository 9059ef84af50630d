"""The decision log: each decision has a number that only grows, also over a kill of the gate and of
the daemon; what is lost is told. And the words of rules, and what a dry run proposes."""
import contextlib
import json
import os
import signal
import subprocess

import pytest

from harness import CAY, wait_until
from outside_world import UNLISTED, V4
from test_cli import Terminal
from test_gate import pytestmark, serving_pid  # noqa: F401 (fixtures)
from test_gate_policies import (
    BYE,
    HELLO,
    OTHER,
    OTHER_TLS,
    RAW,
    WEB,
    make,
    new_box,
    policed,
    words_of,
    world,
)  # noqa: F401 (fixtures)


class Follower:
    def __init__(self, box, path, *more):
        self.path = path
        with open(path, "wb") as out:
            self.process = subprocess.Popen(
                [CAY, "net", box.name, "--follow", *more],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **box.daemon.env},
            )

    def text(self):
        return self.path.read_text()

    def lines(self):
        return [
            json.loads(line)
            for line in self.text().splitlines(keepends=True)
            if line.endswith("\n")
        ]

    def until(self, **facts):
        def find():
            assert self.process.poll() is None, self.text()
            return next(
                (
                    line
                    for line in self.lines()
                    if all(line.get(key) == value for key, value in facts.items())
                ),
                None,
            )

        return wait_until(find, f"a decision with {facts}", 30)


@contextlib.contextmanager
def following(box, path, *more):
    follower = Follower(box, path, *more)
    try:
        yield follower
    finally:
        follower.process.kill()
        follower.process.wait()


def decisions(box, **params):
    with box.daemon.http() as http:
        got = http.get(f"/api/v1/sandboxes/{box.id}/network/decisions", params=params)
    assert got.status_code == 200, got.text
    return got.json()


def test_each_decision_is_told_by_its_number(make):  # noqa: F811
    box = make("allowed.gate.test", "other.gate.test:443")
    assert decisions(box) == {"items": [], "next_after": 0, "oldest": 0, "last": 0, "missed": 0}
    assert words_of(box, WEB, OTHER, OTHER_TLS) == [
        HELLO,
        "403 This sandbox's policy does not allow other.gate.test.\n",
        BYE,
    ]
    page = wait_until(
        lambda: (got := decisions(box))["items"] and got["items"][-1]["port"] == 443 and got,
        "the decisions",
    )
    items = page["items"]
    assert [item["number"] for item in items] == list(range(1, len(items) + 1)) and page[
        "last"
    ] == len(items)
    seen = {
        (item["kind"], item["host"], item["port"], item["result"], item["rule"]) for item in items
    }
    assert {
        ("lookup", "allowed.gate.test", 0, "allowed", "allowed.gate.test"),
        ("connection", "allowed.gate.test", 80, "allowed", "allowed.gate.test"),
        ("connection", "other.gate.test", 80, "refused", ""),
        ("connection", "other.gate.test", 443, "allowed", "other.gate.test:443"),
    } <= seen, items
    assert next(item["reason"] for item in items if item["result"] == "refused") in (
        "not_in_policy",
        "port_not_in_policy",
    )
    one_by_one, at = [], 0
    while at < page["last"]:
        got = decisions(box, after=at, limit=1)
        one_by_one, at = one_by_one + got["items"], got["next_after"]
    assert one_by_one == items
    assert decisions(box, after="now") == {**page, "items": []}
    with box.daemon.http() as http:
        route = f"/api/v1/sandboxes/{box.id}/network/decisions"
        assert (
            http.get(route, params={"after": page["last"] + 1}).json()["error"]["reason"]
            == "decision_ahead"
        )
        for wrong in ({"after": "x"}, {"limit": 0}, {"limit": 1001}, {"wait_s": 61}):
            assert http.get(route, params=wrong).status_code == 400, wrong


@pytest.mark.depth
def test_following_goes_on_over_a_kill_of_gate_and_daemon(make, tmp_path):  # noqa: F811
    box = make("allowed.gate.test", f"{V4}:7003")
    with following(box, tmp_path / "json", "--json") as follower, following(
        box, tmp_path / "text", "--after", "now"
    ) as people:
        assert words_of(box, WEB) == [HELLO]
        follower.until(kind="connection", host="allowed.gate.test", result="allowed")
        os.kill(serving_pid(box.daemon), signal.SIGKILL)
        assert words_of(box, OTHER) == ["no name"]
        before = follower.until(kind="lookup", host="other.gate.test", result="refused")
        assert follower.until(kind="restart")["number"] < before["number"]
        box.daemon.restart("kill")
        assert words_of(box, RAW) == ["ping"]
        follower.until(kind="connection", host=V4, port=7003, result="allowed")
        numbers = [line["number"] for line in follower.lines()]
        assert numbers == sorted(set(numbers)), "each once, and growing"
        wait_until(lambda: f"{V4}:7003" in people.text(), "the same for people", 30)
        assert (
            "the gate was started again" in people.text()
            and "refused  lookup  other.gate.test  no rule of its policy matches" in people.text()
        )
    everything = [item for item in decisions(box, limit=1000)["items"]]
    assert [item["number"] for item in everything][
        : len(numbers)
    ] == numbers, "nothing was left out"


ASKS = """
import socket, struct
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); one.settimeout(60)
one.connect(("192.0.0.1", 53))
for number in range(40000):
    name = b"".join(bytes([len(part)]) + part for part in (b"n%d" % (number % 1000), b"refused",
        b"gate", b"test"))
    one.send(struct.pack("!6H", number, 256, 1, 0, 0, 0) + name + b"\\0\\0\\1\\0\\1")
    one.recv(4096)
"""


@pytest.mark.depth
def test_what_is_no_longer_kept_is_counted(make, tmp_path):  # noqa: F811
    box = make("allowed.gate.test")
    assert words_of(box, WEB) == [HELLO]
    wait_until(lambda: decisions(box)["items"], "the first")
    begun = decisions(box, after="now")["last"]
    done = box.python(ASKS, timeout=300)
    assert done.code == 0, done
    wait_until(lambda: decisions(box, after="now")["last"] >= begun + 40000, "the last")
    items, missed, at, last = 0, 0, 1, decisions(box, after="now")["last"]
    while at < last:
        page = decisions(box, after=at, limit=1000)
        items, missed, at = items + len(page["items"]), missed + page["missed"], page["next_after"]
    assert missed > 0 and items > 4096 and items + missed == last - 1, (items, missed, last)
    with following(box, tmp_path / "text", "--after", "1") as people:
        wait_until(
            lambda: " missed: they are no longer kept" in people.text(), "that they were missed", 30
        )
    directory = box.daemon.data / "gate"
    sizes = {
        name: os.stat(directory / name).st_size
        for name in os.listdir(directory)
        if name.startswith(box.id)
    }
    assert sizes[f"{box.id}.log"] <= 768 << 10 and sizes[f"{box.id}.log.old"] <= 768 << 10, sizes
    box.close()
    wait_until(
        lambda: not [name for name in os.listdir(directory) if name.startswith(box.id)],
        "its files to go with it",
    )


@pytest.mark.depth
def test_what_a_dry_run_proposes_can_be_given_as_it_is(make):  # noqa: F811
    box = make("allowed.gate.test")
    own = {"host": "192.0.0.5", "port": 80}
    words_of(box, OTHER, own, {"host": UNLISTED, "port": 7001}, RAW)
    box.line(host=V4, port=7003)
    told = json.loads(box.daemon.cli("policy", "try", box.name, "--json").text)
    assert set(told["needed"]) == {"other.gate.test", f"{V4}:7003"}, told
    kinds = {one["host"]: one["kind"] for one in told["in_the_way"]}
    assert kinds == {"192.0.0.5:80": "own_address", f"{UNLISTED}:7001": "special_address"}, told
    for_people = box.daemon.cli("policy", "try", box.name).text
    command = next(
        line for line in for_people.splitlines() if line.startswith("To allow all of it: ")
    ).partition(": ")[2]
    assert "network.networks" in for_people and "192.0.0.5" not in command
    assert (
        box.daemon.cli(
            "policy",
            "set",
            box.name,
            *[word for rule in told["needed"] for word in ("--add", rule)],
        ).code
        == 0
    )
    assert words_of(box, OTHER, RAW) == [BYE, "ping"]


@pytest.mark.depth
def test_words_that_are_no_rule_say_what_to_write(policed):  # noqa: F811
    expression = r"~^a{1,3}llowed\.gate\.test$"
    box = new_box(policed, expression)
    try:
        assert words_of(box, WEB) == [HELLO]
        for words in ([f"{expression},pip"], [expression, "pip"], [f"pip,{expression}"]):
            assert policed.cli("policy", "set", box.name, *words).code == 0, words
            assert sorted(
                json.loads(policed.cli("policy", "get", box.name, "--json").text)["rules"]
            ) == ["@pip", expression]
            assert words_of(box, WEB) == [HELLO], words
        for wrong, says in (
            ("https://a.test/path", "proxy rule"),
            ("a.*.test", "alone at the front"),
            ("a.test:90-80", ":80-90"),
            ("bücher.example", "xn--"),
            ("", "write off"),
            ("ftp://a.test", "https://"),
        ):
            by_command = policed.cli("policy", "set", box.name, wrong)
            with policed.http() as http:
                by_api = http.patch(f"/api/v1/sandboxes/{box.id}", json={"policy": wrong or " "})
            assert by_command.code == 125 and says in by_command.err.decode(), (wrong, by_command)
            assert by_api.status_code == 400 and says in by_api.json()["error"]["message"], (
                wrong,
                by_api.text,
            )
        with policed.http() as http:
            for empty in ({"rules": []}, {"policy": ""}):
                for got in (
                    http.patch(f"/api/v1/sandboxes/{box.id}", json=empty),
                    http.post("/api/v1/sandboxes", json=empty),
                ):
                    assert (
                        got.status_code == 400 and "off" in got.json()["error"]["message"]
                    ), got.text
        assert policed.cli("create", "--policy", "").code == 125
    finally:
        box.close()


ASKS_FOR = "getent hosts {} || exit 3"


@pytest.mark.depth
def test_a_command_that_failed_is_told_what_was_refused_meanwhile(make):  # noqa: F811
    """pip, npm and apt say that there is no such host, or no such version: who sees that learns
    that a policy refused it, and what would allow it."""
    box = make("allowed.gate.test")
    run = [box.name, "--", "sh", "-c"]
    failed = box.daemon.cli("exec", *run, ASKS_FOR.format("other.gate.test"))
    says = (
        f"cay: meanwhile its policy refused other.gate.test (cay net {box.name} has more; to "
        f"allow it: cay policy set {box.name} --add 'other.gate.test')\n"
    )
    assert (failed.code, failed.out, failed.err.decode()) == (3, b"", says)
    fine = box.daemon.cli("exec", *run, "getent hosts else.gate.test; true")
    assert (fine.code, fine.err) == (0, b""), "nothing is asked where nothing failed"
    later = box.daemon.cli("exec", *run, "exit 4")
    assert later.code == 4 and later.err.startswith(
        b"cay: during the command before it its policy refused else.gate.test ("
    ), "which ended with 0, so that nobody was told, as apt-get update does"
    later = box.daemon.cli("exec", *run, "exit 4")
    assert (later.code, later.err) == (
        4,
        b"",
    ), "what was refused before that is no matter of this command"
    assert box.daemon.cli("exec", *run, "getent hosts mended.gate.test; true").code == 0
    assert b"mended.gate.test" in box.daemon.cli("exec", *run, "exit 4").err, "the control"
    assert box.daemon.cli("exec", *run, "getent hosts mended.gate.test; true").code == 0
    assert box.daemon.cli("policy", "set", box.name, "--add", "mended.gate.test").code == 0
    later = box.daemon.cli("exec", *run, "exit 4")
    assert (later.code, later.err) == (4, b""), "its cause is mended"
    told = json.loads(
        box.daemon.cli("exec", "--json", *run, ASKS_FOR.format("third.gate.test")).text
    )
    assert told["exit_code"] == 3
    third = {
        "host": "third.gate.test",
        "port": 0,
        "reason": "not_in_policy",
        "rule": "",
        "needs": "third.gate.test",
        "preset": "",
    }
    assert told["network_refused"] == [third]
    assert (
        json.loads(box.daemon.cli("exec", "--json", *run, "exit 4").text)["network_refused"] == []
    )
    assert "network_refused" not in json.loads(box.daemon.cli("exec", "--json", *run, "true").text)
    detached = box.daemon.cli(
        "exec", "-d", *run, "sleep 1; " + ASKS_FOR.format("fourth.gate.test")
    ).text.strip()
    joined = box.daemon.cli("attach", box.name, detached)
    assert (
        joined.code == 3 and b"meanwhile its policy refused fourth.gate.test (" in joined.err
    ), joined
    terminal = Terminal(box.daemon, "exec", "-it", *run, ASKS_FOR.format("fifth.gate.test"))
    terminal.expect(b"cay: meanwhile its policy refused fifth.gate.test (")
    terminal.expect(b"\r\n")  # of an ordinary terminal
    assert terminal.wait() == 3
    gone = box.daemon.cli(
        "run",
        "--rm",
        "--policy",
        "allowed.gate.test",
        "--",
        "sh",
        "-c",
        ASKS_FOR.format("other.gate.test"),
    )
    assert (
        gone.code == 3
        and gone.err.decode()
        == "cay: meanwhile its policy refused other.gate.test (to allow it: cay run --policy "
        "'allowed.gate.test,other.gate.test' …)\n"
    ), gone


@pytest.mark.depth
def test_a_key_for_the_sandbox_alone_is_told_as_well_and_off_says_nothing(
    make, policed
):  # noqa: F811
    box = make("allowed.gate.test")
    name = f"told-{os.urandom(3).hex()}"
    made = policed.cli(
        "key", "create", name, "--scope", "use", "--sandbox", box.id, "--data", policed.data
    )
    assert made.code == 0, made
    got = policed.cli(
        "exec",
        box.name,
        "--",
        "sh",
        "-c",
        ASKS_FOR.format("other.gate.test"),
        env={"CAY_API_KEY": made.text.strip().splitlines()[-1]},
    )
    assert got.code == 3 and b"meanwhile its policy refused other.gate.test (" in got.err, got
    off = make("off")
    quiet = policed.cli("exec", off.name, "--", "sh", "-c", ASKS_FOR.format("other.gate.test"))
    assert (quiet.code, quiet.err) == (3, b""), "under off nothing is recorded"
