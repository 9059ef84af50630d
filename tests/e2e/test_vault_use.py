"""Secrets in few steps: a sandbox that starts with its rules, APIs that are known by name, and what becomes of rules whose secret is removed."""
import json
import os

import outside_world as world_of
import pytest
from vault_box import HEADERS, box, set_secret, vaulted, world  # noqa: F401  (fixtures too)

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

ASK = ("curl", "-sS", "-m", "30", "https://api.vault.test/x")


def test_one_command_runs_a_program_with_a_secret(vaulted, world):  # noqa: F811
    got = vaulted.cli("run", "--rm", "--use", "api", "--", *ASK)
    assert json.loads(got.text)["how"] == "Authorization", got
    rule = json.dumps({**HEADERS, "headers": [{"name": "X-Api-Key", "value": "${SECRET}"}]})
    got = vaulted.cli("run", "--rm", "--proxy", rule, "--", *ASK)
    assert json.loads(got.text)["how"] == "X-Api-Key", got
    got = vaulted.cli("run", "--rm", "--use", "api", "--method", "GET", "--path", "/v1/**", "--", *ASK)
    assert json.loads(got.text)["error"]["code"] == "path_not_in_rule", got


def test_where_a_rule_cannot_be_had_nothing_is_made(vaulted):  # noqa: F811
    before = vaulted.cli("ls", "-q").text
    for words, why in ((("--use", "api", "--use", "nobody"), "cay secret set nobody"), (("--use", "api=openai"), "may not be sent to api.openai.com"),
                       (("--use", "api=elsewhere"), "neither a way"), (("--proxy", '{"secret": "api", "paths": ["v1"]}'), "a path begins with '/'"), (("--proxy", "{"), "--proxy")):
        made = vaulted.cli("create", "--name", "unmade", *words)
        assert made.code != 0 and why in made.err.decode(), (words, made)
    assert vaulted.cli("ls", "-q").text == before


def test_a_known_api_needs_its_name_alone(vaulted):  # noqa: F811
    keys = {name: f"sk-{name}-" + os.urandom(12).hex() for name in ("openai", "anthropic", "github")}
    for name, key in keys.items():
        set_secret(vaulted, name, key)
    hosts = {one["name"]: one["hosts"] for one in json.loads(vaulted.cli("secret", "ls", "--json").text)}
    assert (hosts["openai"], hosts["anthropic"], hosts["github"]) == (["api.openai.com"], ["api.anthropic.com"], ["api.github.com", "github.com"])
    got = vaulted.cli("run", "--rm", *(word for name in keys for word in ("--use", name)), "--", "env").text
    env = dict(line.split("=", 1) for line in got.splitlines() if "=" in line)
    assert env["OPENAI_BASE_URL"] == "http://192.0.0.3/openai/v1" and env["ANTHROPIC_BASE_URL"] == "http://192.0.0.3/anthropic"
    assert all(env[name].startswith("cay-token-") for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GH_TOKEN"))
    assert not any(key in got for key in keys.values())
    vaulted.cli("secret", "set", "openai", "--host", "api.vault.test", stdin=b"another-one-altogether")
    set_secret(vaulted, "openai", "and-another-value")
    again = {one["name"]: one["hosts"] for one in json.loads(vaulted.cli("secret", "ls", "--json").text)}
    assert again["openai"] == ["api.vault.test"], "another value goes where the old one went"
    for name in keys:
        assert vaulted.cli("secret", "rm", name).code == 0


def test_a_rule_whose_secret_is_gone_refuses_until_there_is_another(vaulted, world):  # noqa: F811
    set_secret(vaulted, "going", world.secret, "api.vault.test")
    # The policy has the host: without the rule the request would go out.
    with box(vaulted, {"secret": "going", "name": "one"}, {"secret": "going", "name": "two", "way": "base_url"}, policy="api.vault.test") as one, vaulted.http() as http:
        assert one.json("https://api.vault.test/x")["how"] == "Authorization", "the control"
        token = one.token()
        gone = http.delete("/api/v1/secrets/going")
        assert gone.status_code == 200 and gone.json() == {"users": [{"sandbox_id": one.id, "sandbox": one.name, "rules": ["one", "two"]}]}
        before = len(world.seen)

        def refused():
            for url, more in (("https://api.vault.test/open/x", ()), ("http://192.0.0.3/two/x", ("-H", f"X-Api-Key: {token}"))):
                status, body = one.curl(url, *more)
                assert (status, json.loads(body)["error"]["code"]) == (403, "secret_gone"), body
        refused()
        one.line(host="api.vault.test", verdict="refused", reason="secret_gone")
        assert vaulted.cli("proxy", one.name).text.count("(gone)") == 2
        vaulted.restart()
        refused()
        assert len(world.seen) == before, "never sent on without the secret"
        set_secret(vaulted, "going", world.secret, "api.vault.test")
        assert one.json("https://api.vault.test/x")["how"] == "Authorization"
        assert "(gone)" not in vaulted.cli("proxy", one.name).text
        told = vaulted.cli("secret", "rm", "going")
        assert one.name in told.text and "one two" in told.text, told


def test_a_secret_that_nobody_uses_goes_without_a_word(vaulted):  # noqa: F811
    set_secret(vaulted, "unused", "an-unused-secret", "api.vault.test")
    with vaulted.http() as http:
        assert http.delete("/api/v1/secrets/unused").status_code == 204
