"""Hints that name the cure: the output of a command that met a refusal has the host's rule."""
import json
import re

import pytest

from harness import slow

# By preset, hosts that a user meets. The default policy has none of these presets.
CURES = {
    "node": ["nodejs.org"],
    "huggingface": [
        "huggingface.co",
        "cdn-lfs.huggingface.co",
        "cdn-lfs-us-1.hf.co",
        "cas-server.xethub.hf.co",
        "transfer.xethub.hf.co",
        "us-east-1.aws.cdn.hf.co",
    ],
    "tracing": ["api.smith.langchain.com", "cloud.langfuse.com"],
    "models": ["api.openai.com"],
}
# The default policy has these hosts.
HAS = [
    "github.com",
    "objects.githubusercontent.com",
    "release-assets.githubusercontent.com",
    "codeload.github.com",
    "proxy.golang.org",
    "sum.golang.org",
]
# Everybody's buckets are there, so no preset has it (decision 0039).
BUCKETS = "storage.googleapis.com"


@pytest.fixture(scope="module")
def hinted(daemon):
    made = daemon.cli("create", "--json")
    name = json.loads(made.text)["name"]
    yield name
    daemon.cli("rm", name)


def asks_for(daemon, box, *hosts):
    line = " ".join(f"getent hosts {host};" for host in hosts) + " exit 3"
    got = daemon.cli("exec", box, "--", "sh", "-c", line)
    assert got.code == 3, got
    return got.err.decode()


@pytest.mark.parametrize("preset", CURES)
def test_a_refused_host_names_the_preset_that_has_it(daemon, hinted, preset):
    for host in CURES[preset]:
        said = asks_for(daemon, hinted, host)
        cure = f"to allow it: cay policy set {hinted} --add {preset})"
        assert f"its policy refused {host} (" in said and cure in said, said
    said = asks_for(daemon, hinted, *CURES[preset])
    assert said.count(f"--add {preset}") == 1, said


def test_the_hint_cures_and_the_default_needs_none(daemon):
    name = json.loads(daemon.cli("create", "--json").text)["name"]
    try:
        for host in HAS:
            tried = daemon.cli("policy", "try", name, f"{host}:443")
            assert tried.code == 0 and tried.text.startswith("allowed: by the rule "), (host, tried)
        for preset, hosts in CURES.items():
            tried = daemon.cli("policy", "try", name, f"{hosts[0]}:443")
            cure = f"To allow: cay policy set {name} --add {preset}, or for that host alone"
            assert tried.code == 1 and cure in tried.text, tried
        said = asks_for(daemon, name, "nodejs.org")
        cure = re.search(r"to allow it: cay (policy set .* --add node)\)", said)[1]
        assert daemon.cli(*cure.split()).code == 0
        assert daemon.cli("policy", "try", name, "nodejs.org:443").code == 0
    finally:
        daemon.cli("rm", name)


def test_where_everybodys_buckets_lie_no_preset_is_named(daemon, http, hinted):
    said = asks_for(daemon, hinted, BUCKETS)
    assert f"cay policy set {hinted} --add '{BUCKETS}')" in said, said
    presets = http.get("/api/v1/policies").json()["items"]
    assert not [one["name"] for one in presets if any(BUCKETS in rule for rule in one["rules"])]


def run(http, box, command):
    body = {"command": command, "wait": True, "timeout_s": slow(30)}
    return http.post(f"/api/v1/sandboxes/{box}/commands", json=body).json()


def test_a_refusal_is_in_the_output_of_the_command_that_met_it(daemon, http, hinted):
    """Also if the command fails before the gate's next regular write."""
    for number in range(20):
        host = f"at-once-{number}.test"
        assert f"refused {host} (" in asks_for(daemon, hinted, host)
    for number in range(20):
        host = f"by-api-{number}.test"
        got = run(http, hinted, f"getent hosts {host}")
        assert got["exit_code"] == 2, got
        assert [one["host"] for one in got["network_refused"]] == [host], got
    got = run(http, hinted, "getent hosts nodejs.org")
    assert got["network_refused"] == [
        {
            "host": "nodejs.org",
            "port": 0,
            "reason": "not_in_policy",
            "rule": "",
            "needs": "nodejs.org",
            "preset": "node",
        }
    ], got
    assert "network_refused" not in run(http, hinted, "true")
    for number in range(20):
        host = f"by-net-{number}.test"
        daemon.cli("exec", hinted, "--", "sh", "-c", f"getent hosts {host} || true")
        assert host in daemon.cli("net", hinted).text
