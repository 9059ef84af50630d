"""Packages from this host's own registries, through the gate with the preset policy; and from
others, which it refuses."""
import functools
import hashlib
import http.server
import io
import json
import re
import shlex
import shutil
import socket
import subprocess
import tarfile
import threading
import time
import urllib.parse
import zipfile

import pytest
from harness import new_daemon, slow, wait_until
from outside_world import HOSTS, World, standing
from test_gate import AT_ONCE, Box, pytestmark  # noqa: F401 (what the gate needs of this host)


def host_setting(*words):
    if shutil.which(words[0]) is None:
        return ""
    got = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return got.stdout.strip() if got.returncode == 0 else ""


def registries():
    """(what, host, url) of the registries that this host itself is set to, and that answer it
    now."""
    urls = {
        "pip": host_setting(
            "python3", "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
        ),
        "npm": host_setting("npm", "config", "get", "registry"),
        "apt": host_setting("sh", "-c", "apt-get indextargets --format '$(SITE)' | head -1"),
    }
    urls["pip"] = host_setting("pip3", "config", "get", "global.index-url") or urls["pip"]
    found = {}
    for what, url in urls.items():
        if (
            url
            and subprocess.run(
                ["curl", "-sS", "-m", "10", "-o", "/dev/null", url], capture_output=True
            ).returncode
            == 0
        ):
            found[what] = urllib.parse.urlsplit(url).hostname
    return found


# Every sandbox has the host's packages, so each command fetches its package from outside anyway.
INSTALLS = {
    "pip": "pip install --root-user-action=ignore --no-cache-dir --force-reinstall --no-deps "
    "--target /tmp/fetched six && ls /tmp/fetched/six.py"
    " && PYTHONPATH=/tmp/fetched python3 -c 'import six; print(six.__version__)'",
    "npm": "mkdir -p /tmp/npm && cd /tmp/npm && npm install left-pad && ls "
    "node_modules/left-pad/package.json && node -e \"require('left-pad')\"",
    "apt": "apt-get update && apt-get install -y --reinstall hello && hello",
}


def lines_of_doctor(daemon):
    """The settings that `cay doctor packages` prints; "" if sandboxes reach every server."""
    got = daemon.cli("doctor", "packages", "--json")
    report = json.loads(got.text)
    assert report["ok"] == (got.code == 0) and got.code in (0, 1), got
    [feature] = report["features"]
    return "\n".join(feature["remedy"].splitlines()[1:])


def follow_doctor(daemon):
    """Starts the daemon with what its doctor prints, if anything is missing."""
    lines = lines_of_doctor(daemon)
    if not lines:
        return
    settings = daemon.data.parent / "net.toml"
    settings.write_text(lines + "\n")
    daemon.args = ("--config", str(settings))
    daemon.restart("terminate")
    assert lines_of_doctor(daemon) == "", "with its lines nothing is missing"


@pytest.fixture(scope="module")
def for_real():
    """A sandbox whose gate lets it reach this host's own registries, and which those are."""
    found = registries()
    if not found:
        pytest.skip("no package registry answers this host: nothing to install from")
    daemon = new_daemon()
    daemon.start()
    follow_doctor(daemon)
    yield Box(daemon, "packages"), found
    daemon.close()


@pytest.mark.parametrize("what", INSTALLS)
def test_packages_are_installed_for_real(for_real, what):
    box, found = for_real
    if what not in found:
        pytest.skip(f"no registry of {what}'s answers this host")

    def received():
        """From its registry; several may be one host."""
        return sum(
            item["received_bytes"]
            for item in box.net()["items"]
            if (item["host"], item["verdict"]) == (found[what], "allowed") and item["port"]
        )

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


# These were set up on the host only, so apt must install them anew.
SERVICES = {
    "postgresql": "service postgresql start"
    " && su postgres -c 'psql -Atc \"select 40 + 2\"' | grep -x 42",
    "redis-server": "service redis-server start && redis-cli ping | grep -x PONG",
    "nginx-light": "service nginx start && curl -sS http://127.0.0.1/ | grep -i nginx",
}


@pytest.mark.depth
def test_a_service_that_the_host_has_is_installed_whole(for_real):
    box, found = for_real
    state = ("dpkg-query", "-W", "-f", "${db:Status-Status}")
    has = [name for name in SERVICES if host_setting(*state, name) == "installed"]
    if "apt" not in found or not has:
        pytest.skip("no archive answers this host, or it has none of these services itself")
    assert box.sh(f"dpkg-query -W {has[0]}").code != 0
    install = f"apt-get install -y -q --no-install-recommends {has[0]}"
    got = box.sh(f"apt-get update -q && {install}", timeout=300)
    assert got.code == 0, got
    used = box.sh(SERVICES[has[0]], timeout=60)
    assert used.code == 0, used
    whole = box.sh("dpkg --audit && apt-get check -q && dpkg -V " + has[0], timeout=60)
    assert whole.code == 0, whole


def test_and_nothing_else_is_reached_which_is_said_at_once(for_real):
    box, _ = for_real
    refused = box.sh("curl -sS -m 20 -w '%{time_total}' https://example.com/")
    assert refused.code == 6 and b"Could not resolve host" in refused.err, refused
    assert float(refused.text) < AT_ONCE
    assert box.line(host="example.com", verdict="refused")["reason"] == "not_in_policy"


# --- from registries that the preset policy does not allow ---

ELSEWHERE = "198.18.7.30"
PACKAGE = "cay-tiny"


def wheel():
    whole = io.BytesIO()
    about = f"{PACKAGE.replace('-', '_')}-1.0.dist-info"
    with zipfile.ZipFile(whole, "w") as file:
        file.writestr("cay_tiny.py", "")
        file.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n"
        )
        file.writestr(
            f"{about}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{about}/RECORD", "")
    return whole.getvalue()


def npm_package():
    whole, text = io.BytesIO(), json.dumps({"name": PACKAGE, "version": "1.0.0"}).encode()
    with tarfile.open(fileobj=whole, mode="w:gz") as tar:
        info = tarfile.TarInfo("package/package.json")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    return whole.getvalue()


def debian_package(directory):
    tree = directory / "deb"
    (tree / "DEBIAN").mkdir(parents=True)
    facts = (
        f"Package: {PACKAGE}\n"
        "Version: 1.0\n"
        "Architecture: all\n"
        "Maintainer: test <test@example.com>\n"
        "Description: nothing\n"
    )
    (tree / "DEBIAN/control").write_text(facts)
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "--build", tree, directory / "tiny.deb"],
        check=True,
        capture_output=True,
    )
    whole = (directory / "tiny.deb").read_bytes()
    return (
        whole,
        f"{facts}Filename: ./tiny.deb\n"
        f"Size: {len(whole)}\n"
        f"SHA256: {hashlib.sha256(whole).hexdigest()}\n",
    )


class Registries(World):
    """An index of Python's, a registry of npm's and an archive of Debian's with one package each,
    on names that no preset has."""

    def start(self):
        super().start()
        self.address(ELSEWHERE)
        root, name = (
            self.directory / "registries",
            f"{PACKAGE.replace('-', '_')}-1.0-py3-none-any.whl",
        )
        deb, index = debian_package(self.directory)
        for path, content in {
            f"simple/{PACKAGE}/index.html": f'<a href="/files/{name}">{name}</a>'.encode(),
            f"files/{name}": wheel(),
            PACKAGE: json.dumps(
                {
                    "name": PACKAGE,
                    "dist-tags": {"latest": "1.0.0"},
                    "versions": {
                        "1.0.0": {
                            "name": PACKAGE,
                            "version": "1.0.0",
                            "dist": {"tarball": "http://npm.gate.test/files/tiny.tgz"},
                        }
                    },
                }
            ).encode(),
            "files/tiny.tgz": npm_package(),
            "apt/tiny.deb": deb,
            "apt/Packages": index.encode(),
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(
            (ELSEWHERE, 80), functools.partial(Handler, directory=root)
        )
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        self.servers.append(server)
        (self.directory / "hosts").write_text(
            HOSTS + f"{ELSEWHERE} pip.gate.test npm.gate.test apt.gate.test\n"
        )


FROM_ELSEWHERE = {
    "pip": "pip install --index-url http://pip.gate.test/simple --trusted-host pip.gate.test "
    f"--target /tmp/elsewhere {PACKAGE}",
    "npm": "mkdir -p /tmp/npm && cd /tmp/npm && npm install --registry http://npm.gate.test "
    f"{PACKAGE}",
    # From that archive alone, because the other ones are those of this host's network.
    "apt": "echo 'deb [trusted=yes] http://apt.gate.test/apt ./' > /tmp/apt.list; o='-o "
    "Dir::Etc::sourcelist=/tmp/apt.list -o Dir::Etc::sourceparts=-'; "
    f"apt-get $o update && apt-get $o install -y {PACKAGE}",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with standing(Registries(tmp_path_factory.mktemp("world"))) as world:
        yield world


@pytest.fixture(scope="module")
def elsewhere(world, request):
    """A sandbox with the preset policy, where there are registries that it does not allow."""
    daemon = new_daemon(*world.settings)
    daemon.prefix = world.prefix
    daemon.start()
    try:
        yield Box(daemon, "packages")
    finally:
        daemon.close(keep_log=request.session.testsfailed > 0)


@pytest.mark.depth
@pytest.mark.parametrize("what", FROM_ELSEWHERE)
def test_an_install_from_elsewhere_ends_soon_and_says_what_would_allow_it(elsewhere, what):
    box, host = elsewhere, f"{what}.gate.test"
    if box.sh(f"command -v {what}").code != 0:
        pytest.skip(f"{what} is not in the sandbox")
    begun = time.monotonic()
    got = box.sh(FROM_ELSEWHERE[what], timeout=120)
    assert got.code not in (0, 126, 127), got
    assert time.monotonic() - begun < slow(30), got
    assert host in (got.out + got.err).decode(), "the tool names it"
    box.line(host=host, verdict="refused")
    told = box.daemon.cli("net", box.name).text
    command = re.search(rf"^ *{host}: cay (policy set .*? --add '[^']*')", told, re.M)
    assert command, told
    # The control: the command that the refusal names succeeds.
    assert box.daemon.cli(*shlex.split(command[1])).code == 0
    got = box.sh(FROM_ELSEWHERE[what], timeout=120)
    assert got.code == 0, got
    box.line(lambda item: item["received_bytes"] > 0, host=host, verdict="allowed")


def test_doctors_lines_open_a_mirror_in_a_closed_network(world, request):
    """The host's own index is at a special address, and in no policy."""
    index = "http://pip.gate.test/simple"
    daemon = new_daemon(env={"PIP_INDEX_URL": index})
    daemon.prefix = world.prefix
    daemon.start()
    try:
        got = daemon.cli("doctor", "packages")
        assert got.code == 1, got
        assert "pip.gate.test (pip, by PIP_INDEX_URL)" in got.text, got
        assert re.search(rf'^ +networks = .*"{ELSEWHERE}"', got.text, re.M), got
        assert re.search(rf'^ +pip = "{index}"$', got.text, re.M), got
        install = f"pip install --target /tmp/closed {PACKAGE}"
        box = Box(daemon, "packages")
        assert box.sh(install, timeout=120).code not in (0, 126, 127), "nothing is opened by itself"
        follow_doctor(daemon)
        box = Box(daemon, "packages")
        got = box.sh(install, timeout=120)
        assert got.code == 0, got
        box.line(lambda item: item["received_bytes"] > 0, host="pip.gate.test", verdict="allowed")
    finally:
        daemon.close(keep_log=request.session.testsfailed > 0)
