"""A daemon with a key of each scope, and what asks it with one."""
import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from harness import wait_until

SCOPES = ("admin", "create", "read", "use", "monitor")
TOO_SMALL = "scope_too_small"


@pytest.fixture(scope="module")
def host(daemon):
    return daemon


def audit(daemon):
    return daemon.data / "audit.log"


def last_line_is(daemon, target):
    """A line is written just after its answer was sent."""
    wait_until(
        lambda: json.loads(audit(daemon).read_text().splitlines()[-1]).get("target") == target,
        "the last request is written down",
    )


def cay_key(daemon, *words, command="key"):
    return subprocess.run(
        [daemon.program, command, "--data", daemon.data, *words], capture_output=True, text=True
    )


def key(daemon, *words):
    made = cay_key(daemon, *words)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def listed(daemon):
    """name -> the other columns."""
    lines = cay_key(daemon, "ls").stdout.splitlines()
    return {words[0]: words[1:] for words in map(str.split, lines[1:])}


def ask(daemon, method, path, with_key, body=None):
    """(status, reason or None)"""
    headers = {"X-Api-Key": with_key, "Content-Type": "application/json"}
    request = urllib.request.Request(daemon.url + path, method=method, headers=headers, data=body)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, None
    except urllib.error.HTTPError as error:
        text = error.read()
        reason = re.search(rb'"reason": ?"(\w+)"', text)
        return (
            error.code,
            reason.group(1).decode()
            if reason
            else TOO_SMALL
            if TOO_SMALL.encode() in text or b"has the scope" in text
            else None,
        )


@pytest.fixture(scope="module")
def boxes(host):
    made = {}
    for name in ("mine", "other"):
        got = host.cli("create", "--name", name)
        assert got.code == 0, got
        with host.http() as http:
            made[name] = http.get(f"/api/v1/sandboxes/{name}").json()["id"]
    yield made
    for name in made:
        host.cli("rm", name)


@pytest.fixture(scope="module")
def keys(host, boxes):
    yield {
        scope: key(
            host,
            "create",
            f"k-{scope}",
            *(["--sandbox", boxes["mine"]] if scope == "use" else ["--scope", scope]),
        )
        for scope in SCOPES
    }
    for scope in SCOPES:
        key(host, "remove", f"k-{scope}")
