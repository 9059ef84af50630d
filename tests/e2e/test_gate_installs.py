"""Packages from this host's own registries, through the gate with the preset policy."""
import json
import shutil
import socket
import subprocess
import urllib.parse

import pytest
from harness import new_daemon, slow, wait_until
from test_gate import Box, pytestmark  # noqa: F401 (what the gate needs of this host)


def host_setting(*words):
    if shutil.which(words[0]) is None:
        return ""
    got = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return got.stdout.strip() if got.returncode == 0 else ""


def registries():
    """(what, host, url) of the registries that this host itself is set to, and that answer it now."""
    urls = {"pip": host_setting("python3", "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"),
            "npm": host_setting("npm", "config", "get", "registry"),
            "apt": host_setting("sh", "-c", "apt-get indextargets --format '$(SITE)' | head -1")}
    urls["pip"] = host_setting("pip3", "config", "get", "global.index-url") or urls["pip"]
    found = {}
    for what, url in urls.items():
        if url and subprocess.run(["curl", "-sS", "-m", "10", "-o", "/dev/null", url], capture_output=True).returncode == 0:
            found[what] = urllib.parse.urlsplit(url).hostname
    return found


# What this host has is in every sandbox, so each takes its package from outside though it be there.
INSTALLS = {"pip": "pip install --root-user-action=ignore --no-cache-dir --force-reinstall --no-deps --target /tmp/fetched six && ls /tmp/fetched/six.py"
                   " && PYTHONPATH=/tmp/fetched python3 -c 'import six; print(six.__version__)'",
            "npm": "mkdir -p /tmp/npm && cd /tmp/npm && npm install left-pad && ls node_modules/left-pad/package.json && node -e \"require('left-pad')\"",
            "apt": "apt-get update && apt-get install -y --reinstall hello && hello"}


@pytest.fixture(scope="module")
def for_real():
    """A sandbox whose gate lets it reach this host's own registries, and which those are."""
    found = registries()
    if not found:
        pytest.skip("no package registry answers this host: nothing to install from")
    addresses = {info[4][0] for host in found.values() for info in socket.getaddrinfo(host, 443, proto=socket.IPPROTO_TCP)}
    daemon = new_daemon()
    settings = daemon.data.parent / "net.toml"
    settings.write_text(f"[network]\nnetworks = {json.dumps(sorted(addresses))}\nhost_authorities = true\n")
    daemon.args = ("--config", str(settings))
    daemon.start()
    yield Box(daemon, "packages"), found
    daemon.close()


@pytest.mark.parametrize("what", INSTALLS)
def test_packages_are_installed_for_real(for_real, what):
    box, found = for_real
    if what not in found:
        pytest.skip(f"no registry of {what}'s answers this host")

    def received():
        """From its registry; several may be one host."""
        return sum(item["received_bytes"] for item in box.net()["items"] if (item["host"], item["verdict"]) == (found[what], "allowed") and item["port"])
    before = received()
    got = box.sh(INSTALLS[what], timeout=300)
    assert got.code == 0, (what, got)
    wait_until(lambda: received() > before + 1000, f"the bytes from {found[what]} in cay net", 10)
    shut = Box(box.daemon, "off")  # the control: without a way out the same line fails
    try:
        got = shut.sh(INSTALLS[what], timeout=300)
        assert got.code not in (0, 126, 127), (what, got)
        assert shut.net()["items"] == []
    finally:
        shut.close()


def test_and_nothing_else_is_reached_which_is_said_at_once(for_real):
    box, _ = for_real
    refused = box.sh("curl -sS -m 20 -w '%{time_total}' https://example.com/")
    assert refused.code == 6 and b"Could not resolve host" in refused.err, refused
    assert float(refused.text) < slow(2)
    assert box.line(host="example.com", verdict="refused")["reason"] == "not_in_policy"
