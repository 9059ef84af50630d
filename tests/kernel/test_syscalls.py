"""What root of a sandbox asks of the kernel, and is refused."""
import subprocess

import pytest

from harness import needs_root
from inside import COMPILER, attack, sandbox  # noqa: F401 (fixtures)

REFUSALS = {"EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT"}
# Files that may just be missing. For a system call, ENOENT would mean that it was allowed.
FILES = {"core_pattern", "sysrq", "kcore", "kmsg", "sys_write", "dev_mem"}
# The control of these may not be missing: the result of the host's root is never a refusal.
SURE = {
    "mount",
    "mount_bind",
    "umount",
    "pivot_root",
    "open_tree",
    "move_mount",
    "swapon",
    "acct",
    "delete_module",
}


def is_refused(name, result):
    return result in REFUSALS or (result == "ENOENT" and name in FILES)


def results_of(text):
    return dict(line.split() for line in text.splitlines())


@pytest.fixture(scope="module")
def names(attack):
    return subprocess.run(
        [attack, "--list"], capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.fixture(scope="module")
def outside(attack, names):
    return results_of(
        subprocess.run([attack, *names], capture_output=True, text=True, check=True).stdout
    )


@pytest.fixture(scope="module", params=["root", "user"])
def inside(request, attack, names, sandbox):
    sandbox.put(attack, "/tmp/attack")
    got = sandbox.run("/tmp/attack", *names, user=request.param)
    assert got.code == 0, got
    return results_of(got.text)


def test_every_attack_is_refused(inside, names):
    wrong = {
        name: inside.get(name)
        for name in names
        if not name.startswith("control_") and not is_refused(name, inside.get(name))
    }
    assert not wrong, wrong


@needs_root
def test_the_attacks_are_real(outside, inside, names):
    """Outside, most of them are not refused; those that are (a kernel without the feature) are
    named."""
    controls = [name for name in names if name.startswith("control_")]
    assert {name: outside[name] for name in controls} == dict.fromkeys(controls, "ok")
    assert {
        name: outside[name]
        for name in SURE
        if is_refused(name, outside[name]) or outside[name] == "ENOENT"
    } == {}
    for name in ("mount", "mount_bind", "umount", "open_tree", "move_mount"):
        assert outside[name] == "ok", (name, outside[name])
    without = sorted(
        name for name in names if name not in controls and outside[name] == inside[name]
    )
    if without:
        print("no positive control on this machine for:", *without)
    assert len(without) < 12, without


def test_the_controls_work_inside(inside):
    assert inside["control_fork"] == inside["control_socket"] == inside["control_mkfifo"] == "ok"


@needs_root
def test_capabilities_and_filter(sandbox):
    status = dict(
        line.split(":\t", 1) for line in sandbox.sh("cat /proc/self/status").text.splitlines()
    )
    for held in ("CapPrm", "CapEff", "CapBnd"):
        assert int(status[held], 16) == 0xA00405FB, status[
            held
        ]  # the twelve of docs/decisions/0004-seccomp.md
    assert int(status["CapAmb"], 16) == int(status["CapInh"], 16) == 0
    assert status["Seccomp"] == "2"
    user = dict(
        line.split(":\t", 1)
        for line in sandbox.sh("cat /proc/self/status", user="user").text.splitlines()
    )
    assert int(user["CapPrm"], 16) == int(user["CapEff"], 16) == 0
    host = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines())
    assert int(host["CapEff"], 16) & (
        1 << 21
    )  # positive control: the file tells SYS_ADMIN where it is held


I386 = r"""
#include <stdio.h>
int main(void) {
  long r = 20;
  __asm__ volatile("int $0x80" : "+a"(r) :: "memory");
  printf("%ld\n", r);
  return 0;
}
"""


def test_the_32_bit_entry_is_closed(sandbox, tmp_path):
    if not sandbox.sh("uname -m").text.startswith("x86_64"):
        pytest.skip("x86 only")
    (tmp_path / "i.c").write_text(I386)
    subprocess.run([COMPILER, "-static", "-o", tmp_path / "i386", tmp_path / "i.c"], check=True)
    sandbox.put(tmp_path / "i386", "/tmp/i386")
    assert sandbox.run("/tmp/i386").code == 128 + 31  # SIGSYS
    if subprocess.run([tmp_path / "i386"], capture_output=True).returncode != 0:
        pytest.skip("refused inside; no positive control: this host's kernel has no 32-bit entry")


def test_limits_cannot_be_raised(sandbox):
    program = r"""
import resource
for name in ("NOFILE", "CORE", "NICE", "RTPRIO", "MEMLOCK", "MSGQUEUE"):
    which = getattr(resource, "RLIMIT_" + name)
    soft, hard = resource.getrlimit(which)
    if hard == resource.RLIM_INFINITY: continue
    try: resource.setrlimit(which, (soft, hard + 1))
    except (ValueError, OSError): continue
    if resource.getrlimit(which) != (soft, hard): print(name, "raised")
    elif name != "CORE": print(name,
        "is told as done")  # of that alone: who lowers it would complain
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))   # positive control: lowering works
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""
    assert sandbox.python(program).text == "(64, 64)\n"


def test_cgroups_cannot_be_reached(sandbox):
    # Its own group alone is there, and nothing of it can be written (test_sizes.py).
    others = "grep -e '- cgroup' /proc/self/mountinfo | grep -v ' /sys/fs/cgroup ro,'"
    assert sandbox.sh(others).text == ""
    assert sandbox.sh("mkdir /tmp/c && mount -t cgroup2 none /tmp/c").code != 0
