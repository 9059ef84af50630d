"""Container programs of Debian's inside a sandbox of profile nested: bubblewrap, crun and podman,
each by its usual words. (runc wants control groups that it may change:
docs/decisions/0036-profiles.md.)

Needs them unpacked by `tests/long containers`; without them it is skipped."""
import json
import os
import pathlib
import shutil

import pytest

from harness import ROOT
from inside import Sandbox
from test_profiles import host  # noqa: F401 (a fixture)

TREE = pathlib.Path(os.environ.get("CAY_CONTAINERS", ROOT / "build/long/containers"))
pytestmark = pytest.mark.skipif(
    not (TREE / "usr/bin/bwrap").exists(),
    reason="no container programs are unpacked: tests/long containers",
)


@pytest.fixture(scope="module")
def box(host):  # noqa: F811
    made = Sandbox(host, "--profile", "nested", "--memory", "2GiB")
    assert host.cli("cp", f"{TREE}/.", f"{made.name}:/opt/c", timeout=300).code == 0
    # In Debian's own places. Files that the host has already stay.
    placed = made.sh(
        "cp -an /opt/c/usr/. /usr/ && cp -an /opt/c/etc/. /etc/ 2>/dev/null; ldconfig; rm -rf "
        "/opt/c; bwrap --version",
        timeout=300,
    )
    assert placed.code == 0, placed
    yield made
    made.close()


def root_of(box):
    """A small root file system of the sandbox's own programs."""
    made = box.sh(
        "set -e; [ -d /srv/root ] || { mkdir -p /srv/root/proc /srv/root/sys /srv/root/dev "
        "/srv/root/tmp /srv/root/etc /srv/root/usr/bin; "
        "ln -s usr/bin /srv/root/bin; for one in sh cat id ls hostname readlink; do for file in "
        "$(command -v $one) $(ldd $(command -v $one) | grep -o '/[^ ]*'); do "
        "mkdir -p /srv/root/$(dirname $file); cp -L $file /srv/root/$file; done; done; echo "
        "root:x:0:0::/:/bin/sh >/srv/root/etc/passwd; }"
    )
    assert made.code == 0, made
    return "/srv/root"


@pytest.mark.parametrize("user", ["root", "user"])
def test_bubblewrap(box, user):
    got = box.sh(
        "bwrap --unshare-all --share-net --die-with-parent --ro-bind / / --proc /proc --dev /dev "
        "--tmpfs /tmp sh -c 'echo $$; ls /proc | grep -c ^[0-9]; touch /usr/x || echo read-only; "
        "touch /tmp/x && echo written'",
        user=user,
    )
    assert got.code == 0, got
    words = got.text.split()
    assert int(words[0]) <= 3 and int(words[1]) < 8 and words[2:] == ["read-only", "written"], got


def test_bubblewrap_is_refused_in_default(host):  # noqa: F811
    """The control: it is the profile that lets it work."""
    plain = Sandbox(host)
    try:
        plain.put(TREE / "usr/bin/bwrap", "/usr/local/bin/bwrap")
        got = plain.sh("bwrap --ro-bind / / true")
        assert got.code != 0, got
    finally:
        plain.close()


def bundle(box, directory, runtime):
    """An OCI bundle as `spec --rootless` makes it, over the root above; without control groups and
    a terminal."""
    made = box.sh(
        f"rm -rf {directory} && mkdir -p {directory} && cd {directory} && {runtime} spec "
        "--rootless && cat config.json"
    )
    assert made.code == 0, made
    config = json.loads(made.text)
    config["root"] = {"path": root_of(box), "readonly": True}
    config["process"]["terminal"] = False
    config["process"]["args"] = ["/bin/sh", "-c", "hostname; id -u; echo $$; cat /proc/1/comm"]
    config["hostname"] = "inner"
    config["linux"].pop("resources", None)
    config["linux"]["namespaces"] = [
        one for one in config["linux"]["namespaces"] if one["type"] not in ("cgroup", "network")
    ]
    config["mounts"] = [one for one in config["mounts"] if one["type"] != "cgroup"]
    box.put_text(json.dumps(config), f"{directory}/config.json")


def test_crun(box):
    bundle(box, "/srv/crun", "crun")
    got = box.sh("cd /srv/crun && crun --root /tmp/crun --cgroup-manager=disabled run inner")
    assert got.code == 0, got
    assert got.text.split() == ["inner", "0", "1", "sh"], got


def test_podman(box):
    if box.sh("command -v podman").code != 0:
        pytest.skip("no podman among what was unpacked")
    words = (
        "podman --storage-driver=vfs --runtime=crun --cgroup-manager=cgroupfs "
        "--events-backend=none run --rm --cgroups=disabled --network={} --rootfs "
        + root_of(box)
        + " /bin/sh -c 'id -u; readlink /proc/self/ns/net'"
    )
    # By default it sets a sysctl of the container's network through the sandbox's own /proc/sys,
    # which is read-only.
    box.put_text("[containers]\ndefault_sysctls = []\n", "/etc/containers/containers.conf")
    got = box.sh(words.format("host"), timeout=180)
    assert got.code == 0, got
    assert got.text.split() == ["0", box.sh("readlink /proc/self/ns/net").text.strip()], got
    # A network of its own is the operator's to allow (host.nested_networks).
    assert box.sh(words.format("none"), timeout=180).code != 0


def test_the_programs_are_debians():
    missing = [
        name
        for name in ("bwrap", "crun", "podman")
        if not any((TREE / place / name).exists() for place in ("usr/bin", "usr/sbin"))
    ]
    assert not missing or not shutil.which("apt-get"), f"not unpacked: {missing}"
