"""Escape rows that a host's kernel or its settings may not be able to show: in the guest
(tests/guest) every one of them has its control."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

SUITE = pathlib.Path(__file__).resolve().parents[1] / "escape/suite.py"
CORE_PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern")

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("CAY_GUEST") != "1",
        reason="the host's own kernel and its settings are what the escape suite runs on: "
        "tests/guest/run",
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="controls take walls away: needs root"),
]


@pytest.fixture
def cores_for_a_program():
    before = CORE_PATTERN.read_text()
    CORE_PATTERN.write_text("|/bin/false %P")
    yield
    CORE_PATTERN.write_text(before)


def judged(*rows):
    """What the suite's table says of them: name -> result."""
    done = subprocess.run(
        [
            "unshare",
            "--net",
            "--ipc",
            "--uts",
            "--mount",
            "sh",
            "-c",
            'ip link set lo up 2>/dev/null || exit 9; exec "$@"',
            "sh",
            sys.executable,
            SUITE,
            "--no-holes",
            *rows,
        ],
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {
        name: (result, done.stdout)
        for result, name in re.findall(r"^(HELD|NO CONTROL)\s+(\S+)", done.stdout, re.M)
    }


def test_sockets_of_the_kernels_ciphers_are_held_where_there_are_some():
    result, told = judged("odd-families")["odd-families"]
    assert result == "HELD"
    assert "af-alg" not in told.partition("not shown here")[2], told


def test_no_core_goes_to_a_program_of_the_hosts(cores_for_a_program):
    result, told = judged("core-to-a-program")["core-to-a-program"]
    assert result == "HELD", told


def test_a_kernel_with_modules_is_asked_for_none():
    """The control of each ioctl takes the filter away; here what it asks for is loaded then."""
    # On kernels that have them built in these are no modules.
    there = {
        name
        for name in ("bridge", "8021q")
        if any(pathlib.Path("/lib/modules", os.uname().release).rglob(f"{name}.ko*"))
    }
    assert there, "Debian's kernel has both as modules"
    loaded = {line.split()[0] for line in pathlib.Path("/proc/modules").read_text().splitlines()}
    assert not there & loaded, "somebody loaded them before"
    result, told = judged("modules")["modules"]
    assert result == "HELD", told
    loaded = {line.split()[0] for line in pathlib.Path("/proc/modules").read_text().splitlines()}
    assert there <= loaded, "the control asked for nothing"
