"""The device nodes of a sandbox are its own, and its terminals are few enough for others to have some."""
import fcntl

import pytest

from harness import slow
from inside import sandbox  # noqa: F401 (fixtures)

WATCH = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
assert libc.inotify_add_watch(watch, b"/dev/null", 0xfff) > 0
if sys.argv[1:]:
    os.close(os.open("/dev/null", os.O_WRONLY))
else:
    print("watching", flush=True)
    sys.stdin.read()
try:
    os.read(watch, 65536)
    print("seen")
except BlockingIOError:
    print("nothing")
"""


def test_the_hosts_use_of_devices_cannot_be_watched(sandbox, daemon):
    import subprocess

    import harness

    watcher = subprocess.Popen([harness.CAY, "exec", "-i", sandbox.name, "--", "python3", "-c", WATCH], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env={"PATH": "/usr/bin:/bin", **daemon.env})
    assert watcher.stdout.readline() == b"watching\n"
    for _ in range(3):
        open("/dev/null", "wb").close()
    got, _ = watcher.communicate(b"", timeout=slow(60))
    assert got == b"nothing\n"
    # Its own use it does see: the watch works.
    assert sandbox.python(WATCH, "own").text == "seen\n"


def test_a_lock_on_a_device_is_not_the_hosts(sandbox):
    with open("/dev/null", "wb") as null:
        fcntl.flock(null, fcntl.LOCK_EX)
        assert sandbox.sh("exec 9>/dev/null; flock -n 9 && echo locked").text == "locked\n"
        # Two inside do meet.
        assert sandbox.sh("exec 8>/dev/null 9>/dev/null; flock -n 8 && { flock -n 9 || echo held; }").text == "held\n"


@pytest.mark.parametrize("user", ["root", "user"])
def test_one_sandbox_does_not_take_all_terminals(sandbox, daemon, user):
    hold = ("import os\nheld = []\ntry:\n  while True: held.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))\n"
            "except OSError as e: print(len(held), e.errno)\n")
    count, why = sandbox.python(hold, user=user).text.split()
    assert int(count) == 128 and why == "28"
    assert sandbox.run("script", "-qc", "echo a terminal", "/dev/null").code == 0
