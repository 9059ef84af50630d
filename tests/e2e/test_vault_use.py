"""Secrets in few steps: a sandbox that starts with its rules, APIs that are known by name, and what
becomes of rules whose secret is removed."""
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
    got = vaulted.cli(
        "run", "--rm", "--use", "api", "--method", "GET", "--path", "/v1/**", "--", *ASK
    )
    assert json.loads(got.text)["error"]["code"] == "path_not_in_rule", got
    with box(vaulted) as one:
        kept = json.loads(
            vaulted.cli(
                "proxy",
                one.id,
                "--use",
                "api",
                "--method",
                "GET,POST",
                "--path",
                "/a",
                "--method",
                "GET",
                "--path",
                "/a",
                "--json",
            ).text
        )
        assert [(rule["methods"], rule["paths"]) for rule in kept] == [
            (["GET", "POST"], ["/a"])
        ], kept


@pytest.mark.depth
def test_what_went_by_proxy_rules_needs_no_policy(vaulted):  # noqa: F811
    for policy, told in (
        ("pip", []),
        ("open", ["it used nothing so far but hosts of its proxy rules"]),
    ):
        with box(vaulted, HEADERS, policy=policy) as one:
            assert one.curl("https://api.vault.test/x")[0] == 200
            one.line(host="api.vault.test", port=443)
            assert (
                "it used nothing but hosts of its proxy rules"
                in vaulted.cli("policy", "try", one.id, "--as", "pip").text
            )
            assert all(words in vaulted.cli("policy", "try", one.id).text for words in told)


@pytest.mark.depth
def test_where_a_rule_cannot_be_had_nothing_is_made(vaulted):  # noqa: F811
    before = vaulted.cli("ls", "-q").text
    for words, why in (
        (("--use", "api", "--use", "nobody"), "cay secret set nobody"),
        (("--use", "api=openai"), "may not be sent to api.openai.com"),
        (("--use", "api=elsewhere"), "neither a way"),
        (("--proxy", '{"secret": "api", "paths": ["v1"]}'), "a path begins with '/'"),
        (("--proxy", "{"), "--proxy"),
    ):
        made = vaulted.cli("create", "--name", "unmade", *words)
        assert made.code != 0 and why in made.err.decode(), (words, made)
    assert vaulted.cli("ls", "-q").text == before


@pytest.mark.depth
def test_a_known_api_needs_its_name_alone(vaulted):  # noqa: F811
    keys = {
        name: f"sk-{name}-" + os.urandom(12).hex() for name in ("openai", "anthropic", "github")
    }
    for name, key in keys.items():
        set_secret(vaulted, name, key)
    hosts = {
        one["name"]: one["hosts"] for one in json.loads(vaulted.cli("secret", "ls", "--json").text)
    }
    assert (hosts["openai"], hosts["anthropic"], hosts["github"]) == (
        ["api.openai.com"],
        ["api.anthropic.com"],
        ["api.github.com", "github.com"],
    )
    got = vaulted.cli(
        "run", "--rm", *(word for name in keys for word in ("--use", name)), "--", "env"
    ).text
    env = dict(line.split("=", 1) for line in got.splitlines() if "=" in line)
    assert (
        env["OPENAI_BASE_URL"] == "http://192.0.0.3/openai/v1"
        and env["ANTHROPIC_BASE_URL"] == "http://192.0.0.3/anthropic"
    )
    assert all(
        env[name].startswith("cay-token-")
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GH_TOKEN")
    )
    assert not any(key in got for key in keys.values())
    vaulted.cli(
        "secret", "set", "openai", "--host", "api.vault.test", stdin=b"another-one-altogether"
    )
    set_secret(vaulted, "openai", "and-another-value")
    again = {
        one["name"]: one["hosts"] for one in json.loads(vaulted.cli("secret", "ls", "--json").text)
    }
    assert again["openai"] == ["api.vault.test"], "another value goes where the old one went"
    for name in keys:
        assert vaulted.cli("secret", "rm", name).code == 0


@pytest.mark.depth
def test_a_known_api_serves_its_sdk_in_every_way(vaulted, world):  # noqa: F811
    openai = (
        "import openai; print(openai.OpenAI(max_retries=0).chat.completions.create(model='m', "
        "messages=[{'role': 'user', 'content': 'hi'}])"
        ".choices[0].message.content)"
    )
    anthropic = (
        "import anthropic; print(anthropic.Anthropic(max_retries=0).messages.create(model='m', "
        "max_tokens=5, messages=[{'role': 'user', 'content': 'hi'}])"
        ".content[0].text)"
    )
    for name in ("openai", "anthropic", "github"):
        set_secret(vaulted, name, world.secret)
    with box(vaulted, policy="example.com") as one:
        one.sdk()
        for way in ("base_url", "headers", "placeholder"):
            done = vaulted.cli(
                "proxy", one.name, "--use", f"openai={way}", "--use", f"anthropic={way}"
            )
            assert done.code == 0, done
            before = len(world.seen)
            asked = one.python(openai)
            assert asked.text == "hello by Authorization\n", (way, asked)
            asked = one.python(anthropic)
            assert asked.text == (
                "hello by Authorization\n" if way == "placeholder" else "hello by X-Api-Key\n"
            ), (way, asked)
            hosts = [
                (seen["host"], "authorization" in seen["headers"], "x-api-key" in seen["headers"])
                for seen in world.seen[before:]
            ]
            # A placeholder goes where the SDK itself puts its key; versions of Anthropic's differ
            # in whether that is one header or both.
            theirs = (
                ("api.anthropic.com", True, hosts[1][2])
                if way == "placeholder"
                else ("api.anthropic.com", False, True)
            )
            assert hosts == [("api.openai.com", True, False), theirs], (way, hosts)
        # A key of the guest's own, in another header than the rule's.
        for rules, header in (
            (("--use", "openai=headers"), "X-Api-Key"),
            (("--use", "anthropic=headers"), "Authorization"),
        ):
            assert vaulted.cli("proxy", one.name, *rules).code == 0
            host = "api.openai.com" if header == "X-Api-Key" else "api.anthropic.com"
            one.json(f"https://{host}/v1/else", "-H", f"{header}: mine")
            assert header.lower() not in world.seen[-1]["headers"], world.seen[-1]
        for way in ("headers", "placeholder"):
            assert vaulted.cli("proxy", one.name, "--use", f"github={way}").code == 0
            stand_in = one.sh("printenv GH_TOKEN").text.strip()
            assert stand_in.startswith("cay-token-"), way
            assert (
                one.json("https://api.github.com/user", "-H", f"Authorization: Bearer {stand_in}")[
                    "how"
                ]
                == "Authorization"
            ), way
            assert (
                one.json(
                    "https://github.com/me/x.git/info/refs", "-u", f"x-access-token:{stand_in}"
                )["how"]
                == "Basic"
            ), way
        refused = vaulted.cli("proxy", one.name, "--use", "github=base_url")
        assert (
            refused.code == 125 and b"github cannot be used in the way base_url" in refused.err
        ), refused
    for name in ("openai", "anthropic", "github"):
        assert vaulted.cli("secret", "rm", name).code == 0


@pytest.mark.depth
def test_a_rules_variables_are_told(vaulted, world):  # noqa: F811
    """Of a secret with a name of its own, too: what its commands have."""
    set_secret(vaulted, "mine", world.secret, "api.vault.test")
    with box(vaulted) as one:
        shown = vaulted.cli("proxy", one.name, "--use", "mine=base_url").text
        assert "MINE_API_KEY MINE_BASE_URL" in shown, shown
        rules = json.loads(vaulted.cli("proxy", one.name, "--json").text)
        assert rules[0]["env"] == {
            "MINE_API_KEY": "${TOKEN}",
            "MINE_BASE_URL": "${BASE_URL}",
        }, rules
        before = one.sh("printenv MINE_API_KEY MINE_BASE_URL").text
        done = vaulted.cli("proxy", one.name, "--rules", "-", stdin=json.dumps(rules).encode())
        assert (
            done.code == 0
            and one.sh("printenv MINE_API_KEY MINE_BASE_URL").text == before
            and before
        ), "what is told can be given"
        assert "_API_KEY" not in vaulted.cli("proxy", one.name, "--use", "mine=headers").text
    assert vaulted.cli("secret", "rm", "mine").code == 0


@pytest.mark.depth
def test_rules_under_off_are_refused_before_anything_is_made(vaulted):  # noqa: F811
    before = vaulted.cli("ls", "-q").text
    made = vaulted.cli("create", "--policy", "off", "--use", "api")
    assert made.code == 125 and b"--policy off" in made.err, made
    assert vaulted.cli("ls", "-q").text == before


@pytest.mark.depth
def test_a_rule_whose_secret_is_gone_refuses_until_there_is_another(vaulted, world):  # noqa: F811
    set_secret(vaulted, "going", world.secret, "api.vault.test")
    # The policy has the host: without the rule the request would go out.
    with box(
        vaulted,
        {"secret": "going", "name": "one"},
        {"secret": "going", "name": "two", "way": "base_url"},
        policy="api.vault.test",
    ) as one, vaulted.http() as http:
        assert one.json("https://api.vault.test/x")["how"] == "Authorization", "the control"
        token = one.token()
        gone = http.delete("/api/v1/secrets/going")
        assert gone.status_code == 200 and gone.json() == {
            "users": [{"sandbox_id": one.id, "sandbox": one.name, "rules": ["one", "two"]}]
        }
        before = len(world.seen)

        def refused():
            for url, more in (
                ("https://api.vault.test/open/x", ()),
                ("http://192.0.0.3/two/x", ("-H", f"X-Api-Key: {token}")),
            ):
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


@pytest.mark.depth
def test_a_secret_that_nobody_uses_goes_without_a_word(vaulted):  # noqa: F811
    set_secret(vaulted, "unused", "an-unused-secret", "api.vault.test")
    with vaulted.http() as http:
        assert http.delete("/api/v1/secrets/unused").status_code == 204
