"""The device nodes of a sandbox are its own, and its terminals are few enough for others to have
some."""
import fcntl
import subprocess

import harness
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
    watcher = subprocess.Popen(
        [harness.CAY, "exec", "-i", sandbox.name, "--", "python3", "-c", WATCH],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", **daemon.env},
    )
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
        assert (
            sandbox.sh(
                "exec 8>/dev/null 9>/dev/null; flock -n 8 && { flock -n 9 || echo held; }"
            ).text
            == "held\n"
        )


@pytest.mark.parametrize("user", ["root", "user"])
def test_one_sandbox_does_not_take_all_terminals(sandbox, daemon, user):
    hold = (
        "import os\n"
        "held = []\n"
        "try:\n"
        "  while True: held.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))\n"
        "except OSError as e: print(len(held), e.errno)\n"
    )
    count, why = sandbox.python(hold, user=user).text.split()
    assert int(count) == 128 and why == "28"
    assert sandbox.run("script", "-qc", "echo a terminal", "/dev/null").code == 0


# As Go's creack/pty, musl's openpty(), expect and pinentry do it: the other side by its name.
BY_NAME = """
import os, pty, stat
ours, theirs = pty.openpty()
name = os.ttyname(theirs)
facts = os.stat(name)
print(facts.st_uid == os.getuid(), facts.st_gid, oct(stat.S_IMODE(facts.st_mode)))
again = os.open(name, os.O_RDWR | os.O_NOCTTY)
os.write(again, b"by its name\\n")
print(os.read(ours, 100))
"""
OF_A_COMMAND = (
    'stat -c "%U %g %a" "$(tty)"; echo reopened > "$(tty)"; echo controlling > /dev/tty; stty '
    "size; tty -s && test -t 0 -a -t 1 -a -t 2 && echo all"
)


@pytest.fixture
def maker(sandbox):
    made = sandbox.sh("id maker 2>/dev/null || useradd -m maker")
    assert made.code == 0, made
    return "maker"


def terminal_of(daemon, sandbox, user, line):
    with daemon.http() as http:
        return http.post(
            f"/api/v1/sandboxes/{sandbox.name}/commands",
            json={"command": line, "user": user, "pty": {"rows": 33, "cols": 101}, "wait": True},
        ).json()


def test_who_makes_a_terminal_may_open_it_by_its_name(sandbox, maker):
    for user in ("root", maker, "4242"):
        assert (
            sandbox.python(BY_NAME, user=user).text == "True 5 0o620\nb'by its name\\r\\n'\n"
        ), user


def test_a_commands_terminal_belongs_to_its_user(sandbox, daemon, maker):
    for user in ("root", maker):
        got = terminal_of(daemon, sandbox, user, OF_A_COMMAND)
        assert got["stdout"] == f"{user} 5 620\r\nreopened\r\ncontrolling\r\n33 101\r\nall\r\n", got


def test_programs_that_make_terminals_work_for_users(sandbox, maker):
    got = sandbox.run(
        "script", "-qec", "tty; echo again > $(tty); stat -c %U $(tty)", "/dev/null", user=maker
    )
    assert got.code == 0 and got.text.replace("\r", "").split("\n")[1:3] == ["again", maker], got
    if sandbox.sh("command -v tmux").code == 0:
        inside = (
            "stat -c %U $(tty) > /tmp/pane; echo again > $(tty) && echo opened >> /tmp/pane; tmux "
            "wait-for -S done"
        )
        got = sandbox.sh(
            f"tmux -L own new-session -d '{inside.replace('tmux', 'tmux -L own')}; cat' && tmux "
            "-L own wait-for done && cat /tmp/pane; "
            "tmux -L own kill-server",
            user=maker,
        )
        assert got.text == f"{maker}\nopened\n", got


def test_a_terminal_is_nobody_elses(sandbox, daemon, maker):
    """The control: its owner may, another may not, whoever made it."""
    line = (
        'echo mine > "$(tty)" && setpriv --reuid 4242 --regid 4242 --clear-groups sh -c \'exec '
        '2>/dev/null; echo theirs > "$0" || echo refused\' "$(tty)"'
    )
    got = terminal_of(daemon, sandbox, "root", line)
    assert got["stdout"] == "mine\r\nrefused\r\n", got
