"""The real daemon for tests: started on loopback, port 0, in a data directory of its own."""
import contextlib
import os
import pathlib
import re
import select
import shutil
import signal
import ssl
import subprocess
import tempfile
import time

import httpx
import pytest

import documented

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("CAY_BUILD", "build/release")
CAY = BUILD / "cay"
# One for all clients: each of its own would read all of the system's authorities, 50 ms, though
# most speak no TLS.
USUAL = ssl.create_default_context()


def slow(seconds):
    """A deadline of a test, as this machine needs it: tests/guest/run sets CAY_SLOW_FACTOR for
    emulation."""
    return seconds * float(os.environ.get("CAY_SLOW_FACTOR", "1"))


# ASan keeps freed memory, and UBSan opens a pipe before it looks at an object. So memory and
# descriptor limits have no meaning for such a build.
SANITIZED = BUILD.name in ("asan", "tsan")
START_LIMIT = slow(90)  # seconds: the first start links the default snapshot
# The launcher needs root; the daemon and its tests do not.
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="compares with what root may do or see on the host"
)


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def text(self):
        return self.out.decode(errors="replace")

    def __repr__(self):
        return f"Result(code={self.code}, out={self.out[:2000]!r}, err={self.err[-2000:]!r})"


class Daemon:
    """One `cay serve` with its launcher; survives restart() with the same data directory."""

    def __init__(self, data, *args, env=None):
        self.data, self.args, self.extra = pathlib.Path(data), list(args), dict(env or {})
        self.process = self.url = None
        self.program = CAY  # an older build until it is replaced: tests/chaos
        self.prefix = []  # words before `cay`: a shell that changes what the daemon finds
        self.verify = USUAL  # https: the context that trusts it
        self.log = self.data.parent / (self.data.name + ".log")

    def start(self, listen="127.0.0.1:0"):
        env = {**os.environ, **self.extra}
        env.pop("CAY_API_KEY", None)
        if AS_ROOT:
            subprocess.run(
                [
                    *AS_ROOT,
                    self.program,
                    "launcher",
                    "--data",
                    self.data,
                    "--daemon-uid",
                    str(os.getuid()),
                    "--daemon-gid",
                    str(os.getgid()),
                    "--detach",
                ],
                check=True,
                timeout=60,
            )
        log = open(self.log, "ab")
        self.process = subprocess.Popen(
            [
                *self.prefix,
                self.program,
                "serve",
                "--listen",
                listen,
                "--data",
                self.data,
                *self.args,
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=env,
        )
        log.close()
        limit, seen = time.monotonic() + START_LIMIT, b""
        while True:
            found = re.search(rb"^cay: listening on (http\S+)$", seen, re.M)
            if found:
                break
            ready, _, _ = select.select(
                [self.process.stdout], [], [], max(0, limit - time.monotonic())
            )
            chunk = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not chunk:
                where = _where(self.process.pid)
                self.process.kill()
                self.process.wait()
                raise RuntimeError(
                    f"the daemon did not come up: {seen!r}; it was {where}\n"
                    f"{self.log.read_text(errors='replace')[-4000:]}"
                )
            seen += chunk
        self.url = found.group(1).decode()
        self.port = int(self.url.rsplit(":", 1)[1])
        self.key = (self.data / "api-key").read_text().strip()
        return self

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=slow(60))

    def restart(self, how="kill"):
        (self.kill if how == "kill" else self.terminate)()
        return self.start(listen=f"127.0.0.1:{self.port}")

    @property
    def env(self):
        return {
            "CAY_URL": self.url,
            "CAY_API_KEY": self.key,
            "LANGSMITH_ENDPOINT": self.url,
            "LANGSMITH_API_KEY": self.key,
            "DAYTONA_API_URL": self.url + "/daytona",
            "DAYTONA_API_KEY": self.key,
        }

    def http(self, **kwargs):
        # An undocumented answer of the native API fails the test that got it; an older build had
        # another document.
        hooks = [documented.check] if self.program == CAY else []
        return httpx.Client(
            base_url=self.url,
            headers={"X-Api-Key": self.key},
            timeout=slow(60),
            verify=self.verify,
            event_hooks={"response": hooks},
            **kwargs,
        )

    def cli(self, *args, stdin=None, timeout=60, env=None, program=CAY):
        words = (one if isinstance(one, bytes) else str(one) for one in args)
        done = subprocess.run(
            [program, *words],
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            timeout=slow(timeout),
            env={**os.environ, **self.env, **(env or {})},
        )
        return Result(done)

    def close(self, keep_log=False):
        """Ends the daemon with its sandboxes, then the launcher; removes all of it. A sanitizer's
        finding fails."""
        if self.process and self.process.poll() is None:
            with self.http() as http:
                for box in http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]:
                    http.delete(f"/api/v1/sandboxes/{box['id']}")
            self.terminate()
        subprocess.run(
            [*AS_ROOT, CAY, "launcher", "--data", self.data, "--stop"],
            check=False,
            timeout=slow(60),
        )
        keep_snapshot(self.data)
        if AS_ROOT and self.data.exists():
            subprocess.run(
                [*AS_ROOT, "rm", "-rf", "--one-file-system", self.data],
                check=False,
                timeout=slow(60),
            )
        shutil.rmtree(self.data, ignore_errors=True)
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        found = "AddressSanitizer" in text or "runtime error:" in text
        if not (keep_log or found):
            shutil.rmtree(self.data.parent, ignore_errors=True)
        assert not found, f"{self.log}:\n{text[-8000:]}"


def new_daemon(*args, env=None):
    base = tempfile.mkdtemp(prefix="cay-test-")
    os.chmod(base, 0o755)
    data = pathlib.Path(base) / "data"
    give_snapshot(data)
    return Daemon(data, *args, env=env)


# A default snapshot is 170,000 links to the host's files. The launcher needs about 10 s to make
# one, and `rm` needs a minute. So daemons hand them on. A closed daemon leaves its snapshot here,
# and a new one moves it into its own data directory. The launcher accepts it if its fingerprint is
# today's. All workers and later runs share the place. Only for root, who owns these directories.
spare_snapshots = pathlib.Path(tempfile.gettempdir()) / "cay-test-snapshots"
SPARE_AT_MOST = 4  # that stay after a run


def found_spare():
    own = spare_snapshots.is_dir() and spare_snapshots.stat().st_uid == os.geteuid() == 0
    return list(spare_snapshots.iterdir()) if own else []


def give_snapshot(data):
    for spare in found_spare():
        (data / "layers").mkdir(parents=True, exist_ok=True)
        data.chmod(0o711)
        (data / "layers").chmod(0o700)
        with contextlib.suppress(OSError):  # another worker was faster
            spare.rename(data / "layers" / spare.name)
            return


def keep_snapshot(data):
    if os.geteuid() != 0 or not (data / "layers").is_dir():
        return
    made = [layer for layer in (data / "layers").iterdir() if (layer / "snapshot").exists()]
    made.sort(key=lambda layer: (layer / "snapshot").stat().st_mtime)
    remove_later(made[:-1])  # of packages that the host had before, or of an older build
    for newest in made[-1:]:
        spare_snapshots.mkdir(mode=0o700, exist_ok=True)
        try:
            newest.rename(spare_snapshots / newest.name)
        except OSError:  # another file system, or a restored copy of one that is there
            remove_later([newest])


def remove_later(trees):
    """Moves the trees aside and removes them while the tests go on."""
    if not trees:
        return
    aside = pathlib.Path(tempfile.mkdtemp(prefix="cay-test-removed-"))
    for tree in trees:
        with contextlib.suppress(OSError):
            tree.rename(aside / tree.name)
    remove_in_background(aside)


def remove_in_background(directory):
    subprocess.Popen(["nice", "rm", "-rf", directory], start_new_session=True)


def wait_until(condition, what, limit=20.0, interval=0.02):
    """Waits for a fact of the outside world that has no event to wait on.

    It looks each `interval` seconds.
    """
    limit = slow(limit)
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {limit} s: {what}"
        select.select([], [], [], interval)


def kill_keeper(daemon, box_id):
    keeper = keeper_of(daemon, box_id)
    if AS_ROOT:
        subprocess.run([*AS_ROOT, "kill", "-KILL", str(keeper)], check=True)
    else:
        os.kill(keeper, signal.SIGKILL)
    return keeper


def _where(pid):
    """What each thread of a process that hangs does, as the kernel tells it."""
    told = {}
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        for name in ("wchan", "syscall", "stack"):
            try:
                told[f"{task.name} {name}"] = (task / name).read_text().strip()
            except OSError as error:
                told[f"{task.name} {name}"] = str(error)
    return told or "gone"


def _stat(pid):
    """(state, parent, when it began), or None when it is gone."""
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return words[0], int(words[1]), int(words[19])
    except OSError:
        return None


def processes_of(box_id):
    """pid -> its cgroups' text, of every process of the sandbox that has not ended."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            cgroup = pathlib.Path(f"/proc/{pid}/cgroup").read_text()
        except OSError:
            continue
        if (
            box_id in cgroup and (_stat(pid) or "Z")[0] != "Z"
        ):  # what has ended waits for whoever adopted it
            found[int(pid)] = cgroup
    return found


def keeper_of(daemon, box_id):
    group = [pid for pid, cgroup in processes_of(box_id).items() if "keeper" in cgroup]
    # Its group also has init and children that are about to enter the sandbox. These are the
    # keeper's, or an ended child's, and then nobody's.
    stats = {pid: stat for pid in group if (stat := _stat(pid))}
    strangers = [pid for pid, (_, parent, _) in stats.items() if parent not in group]
    if strangers:
        return min(strangers, key=lambda pid: stats[pid][2])
    raise AssertionError("no keeper found")
