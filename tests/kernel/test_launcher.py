"""What the launcher is, while it runs: root with a short list of capabilities, for good, and
everything that it starts with no more."""
import os
import pathlib
import re

import pytest

from harness import ROOT, needs_root, new_daemon

LIST = ROOT / "src/launcher/capabilities.h"
UNIT = ROOT / "packaging/systemd/cay-launcher.service"
SETS = ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")
# include/uapi/linux/capability.h; the numbers never change.
NUMBERS = (
    {
        name: int(number)
        for name, number in re.findall(
            r"^#define (CAP_\w+)\s+(\d+)$",
            pathlib.Path("/usr/include/linux/capability.h").read_text(),
            re.M,
        )
    }
    if pathlib.Path("/usr/include/linux/capability.h").exists()
    else {}
)
pytestmark = pytest.mark.skipif(
    not NUMBERS,
    reason="SKIPPED: this host has no <linux/capability.h>, which numbers the capabilities",
)


def listed():
    """Name -> reason, as the source has them."""
    return dict(re.findall(r"^    (CAP_\w+),\s+// (.+)$", LIST.read_text(), re.M))


def sets_of(pid):
    status = dict(
        line.split(":\t", 1)
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        if ":\t" in line
    )
    return {name: int(status[name], 16) for name in SETS}


def processes(name, words=b""):
    """Pids of processes of this name whose command line begins with these words."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name and pathlib.Path(
                f"/proc/{pid}/cmdline"
            ).read_bytes().startswith(words):
                found.append(int(pid))
        except OSError:
            pass
    return found


def held_to(pid, names):
    wanted = sum(1 << NUMBERS[name] for name in names)
    here = sets_of("self")  # a container may not have all of them
    sets = sets_of(pid)
    assert {name: hex(sets[name]) for name in ("CapPrm", "CapEff", "CapBnd")} == {
        name: hex(wanted & here["CapBnd"]) for name in ("CapPrm", "CapEff", "CapBnd")
    }
    assert sets["CapInh"] == sets["CapAmb"] == 0


def test_each_capability_has_its_reason():
    names = listed()
    assert 10 < len(names) <= 16 and all(len(reason) > 5 for reason in names.values())
    assert not {
        "CAP_SYS_MODULE",
        "CAP_SYS_RAWIO",
        "CAP_SYS_BOOT",
        "CAP_SYS_TIME",
        "CAP_NET_RAW",
        "CAP_NET_ADMIN",
        "CAP_SYSLOG",
    } & set(names)
    assert len(re.findall(r"^    CAP_\w+", LIST.read_text(), re.M)) == len(
        names
    ), "a capability without a reason"


def test_the_unit_gives_what_is_listed():
    given = re.search(r"^CapabilityBoundingSet=(.+)$", UNIT.read_text(), re.M).group(1).split()
    assert set(given) == set(listed()) and len(given) == len(listed())


@needs_root
def test_the_launcher_has_what_is_listed_and_nothing_else(daemon, box):
    words = f"cay-launcher\0--data\0{daemon.data}\0".encode()
    guardians, workers = processes("cay-launcher", words), processes("cay-launcher-w", words)
    assert len(guardians) == len(workers) == 1, (guardians, workers)
    for pid in guardians + workers:
        held_to(pid, listed())
    # The control: those who started it may have more.
    assert sets_of("self")["CapBnd"] & ~sum(1 << NUMBERS[name] for name in listed())


@needs_root
def test_who_starts_a_launcher_again_has_no_more(daemon):
    watchers = [
        pid
        for pid in processes("cay-watch")
        if str(daemon.data) in pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    ]
    assert watchers, "the daemon of root's has watchers"
    for pid in watchers:
        held_to(pid, listed())


def program_of(pid):
    """Type in its header (3: DYN), and where its first piece lies."""
    with open(f"/proc/{pid}/exe", "rb") as program:
        header = program.read(18)
    inode = os.stat(f"/proc/{pid}/exe").st_ino
    first = next(
        line
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
        if line.split()[4] == str(inode)
    )
    assert header.startswith(b"\x7fELF"), header
    return int.from_bytes(header[16:18], "little"), int(first.split("-")[0], 16)


@needs_root
@pytest.mark.skipif(
    pathlib.Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "0",
    reason="SKIPPED: this host draws no addresses",
)
def test_the_launchers_addresses_are_drawn_at_each_start():
    """And so its keepers', which are forked from it."""
    seen = []
    for _ in range(2):
        daemon = new_daemon()
        daemon.start()
        try:
            (launcher,) = processes(
                "cay-launcher", f"cay-launcher\0--data\0{daemon.data}\0".encode()
            )
            seen.append(program_of(launcher))
        finally:
            daemon.close()
    assert [kind for kind, _ in seen] == [3, 3], seen
    assert seen[0][1] != seen[1][1], seen
