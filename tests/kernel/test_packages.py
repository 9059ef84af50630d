"""The default snapshot's package database and /usr/local, as a newcomer meets them inside."""
import os
import pathlib
import shutil
import stat

import pytest

from harness import needs_root
from inside import sandbox  # noqa: F401 (a fixture)

pytestmark = [
    needs_root,
    pytest.mark.skipif(
        shutil.which("dpkg") is None, reason="a host without dpkg has no such database"
    ),
]


def missing(sandbox):
    """The listed paths that are not there. `dpkg -V` of everything reads all of /usr."""
    lists = "cat /var/lib/dpkg/info/*.list | sort -u | xargs -d '\\n' ls -d 2>&1 >/dev/null"
    return sandbox.sh(f"{lists}; dpkg -V dpkg bash | grep ^missing", timeout=120).text.splitlines()


def test_what_dpkg_believes_is_there_is_there(sandbox):
    assert missing(sandbox) == []
    conffiles = "dpkg-query -W -f '${Conffiles}\\n' bash | grep -o '/etc/[^ ]*'"
    own = sandbox.sh(conffiles).text.split()[0]
    assert sandbox.sh(f"mv {own} /root/away").code == 0
    assert [own in line for line in missing(sandbox)] == [True, True]  # positive control
    sandbox.sh(f"mv /root/away {own}")


def test_apt_finds_nothing_to_mend(sandbox):
    for command in (
        "dpkg --audit",
        "apt-get check -q",
        "apt-get install -f -s -q",
        "apt-get autoremove -s -q",
    ):
        got = sandbox.sh(command, timeout=60)
        assert got.code == 0, got
        changes = [
            line for line in got.text.splitlines() if line.startswith(("Inst ", "Remv ", "Conf "))
        ]
        assert changes == [] and (command != "dpkg --audit" or got.text == ""), got


def test_usr_local_is_the_hosts(sandbox):
    local = pathlib.Path("/usr/local")
    if local.is_symlink() or local.stat().st_dev != pathlib.Path("/usr").stat().st_dev:
        pytest.skip("this host's /usr/local is left out, which doctor says")
    there = set(sandbox.sh("ls -A /usr/local/bin").text.split())
    for entry in local.joinpath("bin").iterdir():
        taken = entry.is_symlink() or (entry.is_file() and entry.stat().st_mode & stat.S_IROTH)
        assert (entry.name in there) == bool(taken) or entry.name.endswith(".key"), entry
    if os.access("/usr/local/go/bin/go", os.X_OK):
        assert sandbox.sh("go version").text.startswith("go version ")
    assert sandbox.sh("ls -A /usr/local/share/ca-certificates").text == ""
