"""What a gate or a broker that somebody else has taken over could do on this host: nothing but what
its work needs. `cay gate --probe PID` (`cay broker`) tries it from within its own confinement, as
the user that daemon, gate and broker of one's own share; with --unconfined it is the control."""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess

import pytest
from harness import CAY, new_daemon, wait_until
from test_gate import serving_pid

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, to be somebody else"
)

UID = 61237
TARGET = ["sh", "-c", "echo up; read line"]  # a process of the same user
LOOKS = {"ptrace", "process-vm-readv", "pidfd-getfd"}
BY_CALLS = {
    "ptrace",
    "process-vm-readv",
    "pidfd-getfd",
    "signal",
    "limit",
    "fork",
    "execve",
    "mode",
    "mode-at",
    "mode-of-open",
    "mount",
    "namespace",
    "socket-unix",
    "socket-netlink-diagnosis",
    "socket-packet",
    "socket-raw",
    "socket-mptcp",
    "socket-sctp",
    "socket-ping",
    "bind-tcp",
    "bind-udp",
    "signal-by-descriptor",
    "own-limit",
    "listen",
    "memory-file",
}
BY_FILES = {"open-store", "open-environment", "open-data", "write-data"}
OF_GATE = {"write-rules"}
KEPT = {"may-open-hosts", "may-connect", "may-ask-names", "may-ask-routes", "may-write-its-own"}


def landlock():
    return max(ctypes.CDLL(None).syscall(444, None, 0, 1), 0)


@contextlib.contextmanager
def own_gate():
    daemon = new_daemon()
    try:
        subprocess.run(
            [CAY, "launcher", "--data", daemon.data, "--daemon-uid", str(UID), "--detach"],
            check=True,
            timeout=60,
        )
        daemon.prefix = ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups"]
        daemon.start()
        yield daemon
    finally:
        daemon.close()


def probe(daemon, role, target, *more):
    words = [*daemon.prefix, CAY, role, "--data", str(daemon.data), "--probe", str(target), *more]
    # The sanitizer looks for leaks by tracing itself, which is one of the things that cannot be
    # done there.
    calm = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    got = subprocess.run(
        words, capture_output=True, text=True, timeout=60, env={**os.environ, **calm}
    )
    assert got.returncode == 0, got
    return dict(line.split() for line in got.stdout.splitlines())


@pytest.mark.parametrize("role", ["gate", "broker"])
def test_one_that_was_taken_over_reaches_nothing_of_its_users(role):
    by_files = BY_FILES | (OF_GATE if role == "gate" else set())
    with own_gate() as daemon, subprocess.Popen(
        [*daemon.prefix, *TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as target:
        try:
            assert target.stdout.readline() == b"up\n"
            free, confined = probe(daemon, role, target.pid, "--unconfined"), probe(
                daemon, role, target.pid
            )
        finally:
            target.stdin.close()
    assert set(free) == set(confined) == BY_CALLS | by_files | KEPT
    may_not = {name for name in BY_CALLS | by_files if free[name] != "ok"}
    yama = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    bounded = yama.exists() and yama.read_text().strip() != "0"
    assert may_not <= {"namespace"} | (
        LOOKS if bounded else set()
    ), free  # the control; some hosts give no user namespaces, or no tracing
    assert {confined[name] for name in BY_CALLS} == {"ENOSYS"}, confined
    if landlock():
        assert {confined[name] for name in by_files} == {"EACCES"}, confined
    assert {confined[name] for name in KEPT} == {free[name] for name in KEPT} == {"ok"}, confined


def test_the_part_that_serves_is_behind_it_and_doctor_says_so():
    with own_gate() as daemon:
        worker = serving_pid(daemon)
        status = dict(
            line.split(":\t", 1)
            for line in pathlib.Path(f"/proc/{worker}/status").read_text().splitlines()
            if ":\t" in line
        )
        assert (
            status["Seccomp"] == "2"
            and status["NoNewPrivs"] == "1"
            and int(status["CapPrm"], 16) == 0
        ), status
        features = {
            feature["name"]: feature
            for feature in json.loads(daemon.cli("doctor", "--json").text)["features"]
        }
        found = features["gate"]["found"]
        assert (
            (f"Landlock (ABI {landlock()})" in found) if landlock() else "without Landlock" in found
        ), features["gate"]
        assert "filter of system calls" in found
    root = new_daemon()
    try:
        root.start()
        lines = pathlib.Path(f"/proc/{serving_pid(root)}/status").read_text()
        assert "CapBnd:\t0000000000000000\n" in lines and "Seccomp:\t2\n" in lines, lines
    finally:
        root.close()


def asking_end(pid):
    """A copy of what the part that serves asks for keepers with: root takes it out of that
    process."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.pidfd_open(pid)
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            fd = libc.syscall(438, handle, int(number), 0)  # pidfd_getfd
            if fd < 0:
                continue
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                found = socket.socket(fileno=fd)
                if (found.family, found.type & 0xF) == (socket.AF_UNIX, socket.SOCK_SEQPACKET):
                    return found
                found.close()
            else:
                os.close(fd)
    finally:
        os.close(handle)
    raise AssertionError("it has none")


def served_from_now_on(daemon, name):
    """The gate writes ID.net when it begins with a sandbox: which takes a connection to its
    keeper."""
    made = daemon.cli("create", "--json", "--name", name, "--policy", "packages")
    assert made.code == 0, made
    told = daemon.data / "gate" / f"{json.loads(made.text)['id']}.net"
    wait_until(told.exists, f"the gate begins with {name}", 30)


@pytest.mark.depth
def test_a_gate_that_is_connected_to_keepers_no_more_is_started_again():
    with own_gate() as daemon:
        served_from_now_on(daemon, "before")
        first = serving_pid(daemon)
        # A name that is no sandbox's is not dialled at all.
        (daemon.data / "gate" / f"{'z' * 36}.sock").touch()
        served_from_now_on(daemon, "beside")
        assert serving_pid(daemon) == first
        with asking_end(first) as asks:
            asks.send(b"../gate")
        wait_until(lambda: serving_pid(daemon) not in (None, first), "another one serves", 30)
        served_from_now_on(daemon, "after")
