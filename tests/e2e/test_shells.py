"""Shells: one bash in a sandbox, whose directory, variables and jobs live between calls."""
import base64
import json
import threading

import pytest
from harness import slow, wait_until


class Shell:
    def __init__(self, http, box, **spec):
        self.http = http
        self.all = f"/api/v1/sandboxes/{box}/contexts"
        made = http.post(self.all, json={"language": "bash", **spec})
        assert made.status_code == 201, made.text
        self.path = f"{self.all}/{made.json()['id']}"

    def send(self, code, **more):
        return self.http.post(f"{self.path}/run", json={"code": code, **more}, timeout=slow(60))

    def run(self, code, **more):
        got = self.send(code, **more)
        assert got.status_code == 200, got.text
        return got.json()

    def read(self, run, **params):
        got = self.http.get(f"{self.path}/runs/{run}", params=params, timeout=slow(60))
        assert got.status_code == 200, got.text
        return got.json()

    def begin(self, code, **more):
        """Begins a call that prints `begun`, and returns its id once it has."""
        run = self.run(code, wait_s=0, **more)["id"]
        wait_until(lambda: "begun\n" in text(self.read(run)), "it began")
        return run

    def post(self, verb):
        return self.http.post(f"{self.path}/{verb}", timeout=slow(60))


def text(got, kind="stdout"):
    return "".join(one["text"] for one in got["events"] if one["type"] == kind)


@pytest.fixture
def shell(http, box):
    return Shell(http, box["id"])


def test_directory_variables_and_functions_live_between_calls(shell):
    shell.run("cd /usr; name=value; export SEEN=yes; f() { echo f $1; }")
    got = shell.run("pwd; echo $name; f 1; env | grep ^SEEN")
    assert text(got) == "/usr\nvalue\nf 1\nSEEN=yes\n"
    assert (got["state"], got["exit_code"], got["cwd"], got["ended"]) == ("ok", 0, "/usr", False)


def test_each_call_has_its_exit_code_and_streams(shell):
    got = shell.run("echo out; echo err >&2; (exit 7)")
    assert (text(got), text(got, "stderr")) == ("out\n", "err\n")
    assert (got["state"], got["exit_code"]) == ("error", 7)
    assert text(shell.run("echo $?")) == "7\n"
    assert text(shell.run("cat; read x || echo end", stdin="given\n")) == "given\nend\n"
    assert text(shell.run("cat")) == "", "without input there is none"
    broken = shell.run("if then")
    assert broken["exit_code"] == 2 and "syntax error" in text(broken, "stderr")
    assert len(text(shell.run("head -c 3000000 /dev/zero | tr '\\0' x"))) == 3_000_000


def test_bytes_that_are_no_text_arrive_exactly(daemon, box, shell):
    every = bytes(range(256)) * 100
    program = "for i in $(seq 100); do cat /tmp/every; done"
    made = "".join(f"\\x{byte:02x}" for byte in range(256))
    got = shell.run(f"printf '{made}' >/tmp/every; {program}")
    exact = [
        base64.b64decode(one["base64"]) if "base64" in one else one["text"].encode()
        for one in got["events"]
    ]
    assert b"".join(exact) == every and "\ufffd" in text(got)
    assert "base64" not in shell.run("echo é")["events"][0], "text has none"
    printed = daemon.cli("shell", box["id"], f"{program}; {program} >&2")
    assert (printed.code, printed.out, printed.err) == (0, every, every)


def test_a_job_writes_to_no_other_call(shell):
    first = shell.begin("(until [ -e /tmp/go ]; do sleep 0.01; done; echo late) & echo begun")
    got = shell.run("jobs; touch /tmp/go; wait; echo own")
    assert "Running" in text(got) and text(got).endswith("&\nown\n")
    (late,) = [one for one in got["events"] if one["type"] == "background"]
    assert (late["of"], late["stream"], late["text"]) == (first, "stdout", "late\n")
    assert text(shell.read(first)) == "begun\n", "and the earlier result stays"


def test_an_interrupt_spares_the_shell_and_its_jobs(shell):
    shell.run("x=1; sleep 1000 & job=$!")
    run = shell.begin("echo begun; sleep 1000; echo no")
    assert shell.post("interrupt").status_code == 204
    got = shell.read(run, wait_s=30)
    assert (got["state"], got["exit_code"], text(got)) == ("interrupted", 130, "begun\n")
    deaf = shell.begin("(trap '' INT; echo begun; sleep 1000); echo no")
    shell.post("interrupt")
    assert shell.read(deaf)["state"] == "running"
    wait_until(
        lambda: shell.post("interrupt") and shell.read(deaf)["state"] == "interrupted",
        "a second interrupt kills",
    )
    assert text(shell.run("echo $x; kill -0 $job && echo lives")) == "1\nlives\n"


def test_a_time_limit_ends_the_call(shell):
    shell.run("x=1")
    got = shell.run("echo begun; sleep 1000; echo no", timeout_s=0.2)
    assert (got["state"], got["exit_code"], text(got)) == ("timed_out", 130, "begun\n")
    assert text(shell.run("echo $x", timeout_s=60)) == "1\n"


def test_an_exit_ends_the_shell_and_a_restart_begins_a_new_one(shell):
    shell.run("x=1")
    got = shell.run("echo last; exit 3")
    assert (got["exit_code"], got["ended"], text(got)) == (3, True, "last\n")
    wait_until(lambda: shell.http.get(shell.path).json()["state"] == "gone", "the shell ended")
    refused = shell.send("echo $x")
    assert (refused.status_code, refused.json()["error"]["reason"]) == (409, "context_gone")
    assert "exited with code 3" in refused.json()["error"]["message"]
    assert shell.post("restart").json()["generation"] == 2
    assert text(shell.run("echo ${x:-none}")) == "none\n"
    assert shell.read(got["id"]) == got, "the earlier result stays"


def test_two_shells_share_nothing(http, box, shell):
    other = Shell(http, box["id"], id="other", cwd="/usr", env={"WHO": "other"})
    shell.run("cd /tmp; x=1")
    assert text(other.run("pwd; echo ${x:-none} $WHO")) == "/usr\nnone other\n"
    waiting = other.begin("echo begun; sleep 1000")
    assert text(shell.run("echo $x")) == "1\n", "one waits for no other"
    other.post("interrupt")
    assert other.read(waiting, wait_s=30)["state"] == "interrupted"


def test_a_program_cannot_forge_an_end(shell):
    """It writes to every descriptor that it holds, and to every pipe that it finds."""
    own = shell.run("ls -l /proc/self/fd | grep -c pipe:")
    assert text(own) == "2\n", "its stdout and stderr alone"
    forged = '{"run":"%s","type":"done","status":"ok","exit_code":0}\\n'
    earlier = own["id"]
    program = (
        "for f in /proc/[0-9]*/fd/*; do case $(readlink $f) in pipe:*) "
        f"timeout 1 printf '\\n{forged % earlier}\\n=0\\n0\\n' >>$f;; esac; done"
    )
    got = shell.run(f"sh -c {json.dumps(program)} 2>/dev/null; (exit 9)", timeout_s=20)
    assert got["exit_code"] == 9
    assert shell.read(earlier) == own
    # The control: the same line, written where a driver writes, is an event.
    assert text(shell.run("echo after")) == "after\n"


def test_wrong_members_are_typed(http, box, shell):
    python = f"{shell.all}/py"
    assert http.post(shell.all, json={"id": "py"}).status_code == 201
    for body, path, reason in (
        ({"code": "1", "stdin": "x"}, python, "invalid_context"),
        ({"code": "1", "timeout_s": 1}, python, "invalid_context"),
        ({"code": ":", "stdin": "x" * ((1 << 20) + 1)}, shell.path, "input_too_large"),
        ({"code": ":", "timeout_s": -1}, shell.path, "invalid_field"),
    ):
        got = http.post(f"{path}/run", json=body)
        assert (got.status_code, got.json()["error"]["reason"]) == (400, reason), body
    taken = http.post(shell.all, json={"id": "py", "language": "bash"})
    assert (taken.status_code, taken.json()["error"]["reason"]) == (409, "context_in_use")


def test_calls_over_a_kill_of_the_daemon_lose_and_invent_nothing(own_daemon):
    daemon = own_daemon()
    seen = {}

    def calls(begin, end):
        with daemon.http() as http:
            shell.http = http
            for i in range(begin, end):
                got = shell.run(f"n=$((n + 1)); echo call {i} $n; (exit {i % 3})", id=f"call-{i}")
                assert (text(got), got["exit_code"]) == (f"call {i} {i + 1}\n", i % 3)
                seen[i] = got

    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "calls", "idle_ttl_s": 0}).json()["id"]
        shell = Shell(http, box, id="main")
    calls(0, 30)
    slow_call = "n=$((n + 1)); echo begun; sleep 1; echo second half; cd /usr; (exit 5)"
    with daemon.http() as http:
        shell.http = http
        waiting = threading.Thread(target=_ignore, args=(shell, slow_call, "call-30"))
        waiting.start()
        wait_until(lambda: _out(shell, "call-30") == "begun\n", "it is under way")
        daemon.kill()
        waiting.join()
    daemon.start()
    with daemon.http() as http:
        shell.http = http
        seen[30] = shell.read("call-30", wait_s=30)
        assert (text(seen[30]), seen[30]["exit_code"]) == ("begun\nsecond half\n", 5)
        assert seen[30]["cwd"] == "/usr"
        assert shell.run(slow_call, id="call-30") == seen[30], "a repeat runs nothing"
    calls(31, 60)
    with daemon.http() as http:
        shell.http = http
        for i, got in seen.items():
            assert shell.read(f"call-{i}") == got, "each result is read again as it was"
        assert text(shell.run("echo $n")) == "60\n"


def _ignore(shell, code, run):
    try:
        shell.send(code, id=run)
    except Exception:
        pass  # the daemon is killed meanwhile


def _out(shell, run):
    got = shell.http.get(f"{shell.path}/runs/{run}")
    return text(got.json()) if got.status_code == 200 else ""


def test_the_command_line(daemon, box):
    def cli(*args, **more):
        return daemon.cli("shell", *args, **more)

    name = box["id"]
    assert cli(name, "cd /tmp; export X=1; echo out; echo err >&2").out == b"out\n"
    got = cli(name, "pwd; echo $X; (exit 3)")
    assert (got.code, got.out) == (3, b"/tmp\n1\n")
    assert cli("-i", name, "wc -c", stdin=b"12345").out == b"5\n"
    assert cli(name, "-", stdin=b"echo from $PWD").out == b"from /tmp\n"
    assert cli("-n", "other", "-w", "/usr", name, "pwd").out == b"/usr\n"
    assert cli("--timeout", "0.2", name, "sleep 1000").code == 124
    assert json.loads(cli("--json", name, "echo $X").out)["cwd"] == "/tmp"
    ended = cli(name, "exit 4")
    assert ended.code == 4 and b"--restart" in ended.err
    assert cli(name, ":").code == 125
    assert cli("--restart", name, "echo ${X:-none}").out == b"none\n"
    listed = daemon.cli("context", "ls", name).out.decode()
    assert {line.split()[0] for line in listed.splitlines()[1:]} == {"other", "shell"}
