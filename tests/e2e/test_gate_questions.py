"""Destinations that no rule decides, of a policy with `ask`: the gate holds the connection while
somebody is asked. Each refusal beside the same that is let through."""
import json
import os
import signal
import threading

import pytest
from harness import new_daemon, wait_until
from outside_world import UNLISTED, V4, World, standing
from test_gate import TRY, pytestmark, serving_pid  # noqa: F401 (fixtures)
from test_gate_policies import BYE, OTHER, OTHER_TLS, RAW, new_box, words_of

HOST = "other.gate.test"


@pytest.fixture(scope="module")
def asked(tmp_path_factory, request):
    with standing(World(tmp_path_factory.mktemp("world"))) as world:
        daemon = new_daemon(*world.settings)
        daemon.prefix = world.prefix
        daemon.start()
        yield daemon
        daemon.close(keep_log=request.session.testsfailed > 0)


@pytest.fixture
def make(asked):
    made = []

    def one(*rules):
        made.append(new_box(asked, *rules))
        return made[-1]

    yield one
    for box in made:
        box.close()


class Held:
    """Attempts inside that wait for an answer."""

    def __init__(self, box, *tries):
        self.got = None
        self.thread = threading.Thread(target=self.run, args=(box, tries), daemon=True)
        self.thread.start()

    def run(self, box, tries):
        got = box.python(TRY, json.dumps(tries), timeout=120)
        self.got = [word for word, _ in json.loads(got.text)] if got.code == 0 else [str(got)]

    def words(self):
        self.thread.join(60)
        return self.got


def questions(box):
    got = box.daemon.cli("net", "--json", box.name, "--questions")
    assert got.code == 0, got
    return json.loads(got.text)["items"]


def question(box, host=HOST, port=443):
    def one():
        open_ones = [one for one in questions(box) if (one["host"], one["port"]) == (host, port)]
        return open_ones and open_ones[0]

    return wait_until(one, f"a question about {host}:{port}")


def answer(box, *words):
    got = box.daemon.cli("net", box.name, *words)
    assert got.code == 0, got
    return got.text


def test_it_is_held_until_somebody_allows_it_once(make):
    box = make("ask")
    held = Held(box, OTHER_TLS)
    one = question(box)
    assert (one["waiting"], len(one["id"])) == (1, 32)
    assert held.got is None
    assert answer(box, "--allow", HOST) == f"allowed {HOST}:443, this once\n"
    assert held.words() == [BYE]
    assert box.line(host=HOST, port=443)["rule"] == f"once: {HOST}:443"
    assert words_of(box, OTHER_TLS) == [BYE], "the answer holds for a minute"
    assert questions(box) == []
    other_name = {**OTHER_TLS, "sni": "allowed.gate.test"}
    held = Held(box, other_name)
    assert question(box, "allowed.gate.test")["waiting"] == 1, "the name that is shown counts"
    answer(box, "--deny", "allowed.gate.test")
    assert held.words() == ["reset"]
    seen = json.loads(box.daemon.cli("policy", "get", "--json", box.name).text)
    assert seen["rules"] == ["default ask"], "no rule was added"


def test_a_refusal_and_what_a_rule_decides(make):
    box = make("ask", "https://allowed.gate.test", "!bulk.gate.test")
    assert words_of(
        box,
        {"host": "allowed.gate.test", "port": 443, "kind": "tls", "sni": "allowed.gate.test"},
        {"host": "bulk.gate.test", "port": 7001},
    ) == ["hello allowed.gate.test", "no name"], "nobody is asked"
    held = Held(box, OTHER)
    assert answer(box, "--deny", question(box, port=80)["id"]) == f"refused {HOST}:80, this once\n"
    assert held.words() == [f"403 Somebody was asked about {HOST}, and refused it.\n"]
    assert box.line(host=HOST, port=80)["reason"] == "answer_denied"
    log = box.daemon.cli("net", "--json", box.name)
    assert log.code == 0
    with box.daemon.http() as http:
        items = http.get(f"/api/v1/sandboxes/{box.name}/network/decisions").json()["items"]
    assert [one["result"] for one in items if one["host"] == HOST] == ["asked", "refused"]
    with box.daemon.http() as http:
        path = f"/api/v1/sandboxes/{box.name}/network/questions/{'0' * 32}"
        late = http.post(path, json={"verdict": "allow"})
        assert late.status_code == 404, late.text
        assert late.json()["error"]["reason"] == "question_not_found"


def test_always_is_a_rule_and_addresses_are_asked_about(make):
    box = make("ask")
    held = Held(box, RAW)
    question(box, V4, 7003)
    assert answer(box, "--allow", f"{V4}:7003", "--always") == f"allowed {V4}:7003, from now on\n"
    assert held.words() == ["ping"]
    held = Held(box, {"host": HOST, "port": 7001})
    question(box, HOST, 7001)
    answer(box, "--allow", HOST, "--always")
    assert held.words() == ["ping"], "a protocol that names no host, through a stand-in"
    rules = json.loads(box.daemon.cli("policy", "get", "--json", box.name).text)["rules"]
    assert rules == ["default ask", f"{V4}:7003", f"{HOST}:7001"]
    held = Held(box, {"host": HOST, "port": 7003})
    question(box, HOST, 7003)
    answer(box, "--deny", HOST, "--always")
    assert held.words() == ["reset"]
    assert box.line(host=HOST, port=7003)["reason"] in ("denied_by_rule", "policy_changed")


def test_special_addresses_are_no_question(make):
    box = make("ask")
    tries = [{"host": "169.254.169.254", "port": 80}, {"host": UNLISTED, "port": 7001}]
    assert words_of(box, *tries)[1] == "reset"
    assert questions(box) == []
    held = Held(box, {"host": "private.gate.test", "port": 7001})
    question(box, "private.gate.test", 7001)
    answer(box, "--allow", "private.gate.test")
    assert held.words() == ["reset"], "somebody's answer opens no special address"
    assert box.line(host="private.gate.test", port=7001)["reason"] == "private_address"


def test_without_the_word_nobody_is_asked(make):
    box = make("allowed.gate.test")
    assert words_of(box, OTHER_TLS, RAW) == ["no name", "reset"]
    assert questions(box) == []


def test_a_killed_gate_or_daemon_allows_nothing(make, asked):
    box = make("ask")
    held = Held(box, OTHER_TLS)
    before = question(box)["id"]
    os.kill(serving_pid(asked), signal.SIGKILL)
    assert held.words() == ["reset"]
    wait_until(lambda: questions(box) == [], "no question of a gate that is gone")
    assert asked.cli("net", box.name, "--allow", before).code != 0
    held = Held(box, OTHER_TLS)
    one = question(box)
    assert one["id"] != before
    asked.restart()
    assert question(box)["id"] == one["id"], "the gate holds it, not the daemon"
    answer(box, "--allow", one["id"])
    assert "reset" not in wait_until(lambda: words_of(box, OTHER_TLS), "the answer holds")
