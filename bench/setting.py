"""Setting: what a method of the bench measures with: a daemon, the compiled client, the bare loop
and the peers. It keeps the rows."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

from harness import BUILD, new_daemon

import figures
import processes
from api import Api

PROGRAMS = BUILD / "bench"
MICRO = 1e-6


QUIET_SHARE = 0.1  # of all CPUs, so that what the method before left to do is over
QUIET_S = 2
LONGEST_WAIT_S = 60


def load():
    return [round(one, 2) for one in os.getloadavg()]


def await_quiet():
    """Waits until the host does little, and returns whether it does."""
    until = time.monotonic() + LONGEST_WAIT_S
    while time.monotonic() < until:
        before = processes.busy_seconds()
        time.sleep(QUIET_S)
        if processes.busy_seconds() - before <= QUIET_SHARE * QUIET_S * (os.cpu_count() or 1):
            return True
    return False


class Setting:
    def __init__(self, quick, seconds, peers, root, told):
        self.quick, self.seconds, self.peers, self.told = quick, seconds, peers, told
        self.root = root  # the name of the peers' root file system as a snapshot of Cay
        self.daemon, self.api = None, None
        self.rows, self.method = [], ""

    # Counts.

    def count(self, whole, quick=None):
        """Returns how often: `whole` in a full run."""
        return whole if not self.quick else (quick if quick is not None else max(5, whole // 10))

    # The daemon.

    @contextlib.contextmanager
    def started(self, settings=""):
        """Runs a daemon with these settings (TOML) for the time, instead of the usual one."""
        usual = self.daemon, self.api
        words = []
        if settings:
            path = pathlib.Path("/var/tmp") / f"cay-bench-{os.getpid()}.toml"
            path.write_text(settings, encoding="utf8")
            words = ["--config", str(path)]
        self.daemon = new_daemon(*words).start()
        self.api = Api(self.daemon.url, self.daemon.key)
        try:
            yield self.daemon
        finally:
            self.daemon.close()
            self.daemon, self.api = usual
            if words:
                path.unlink()

    def fresh_api(self):
        """Connects again: a connection that idled for long may be closed."""
        self.api = Api(self.daemon.url, self.daemon.key)
        return self.api

    @contextlib.contextmanager
    def box(self, **spec):
        """Yields the id of a sandbox for the time."""
        box = self.fresh_api().create(**spec)
        try:
            yield box
        finally:
            self.fresh_api().remove(box)

    # Programs.

    def client(self, method, **settings):
        """Runs a method of bench_client and returns what it measured."""
        done = subprocess.run(
            [PROGRAMS / "bench_client", method, json.dumps(settings)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **self.daemon.env},
        )
        if done.returncode != 0:
            sys.exit(f"bench: bench_client {method} {settings}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def spawn(self, what, first, second, argv, env=None):
        """Runs bench_spawn and returns what it measured."""
        done = subprocess.run(
            [PROGRAMS / "bench_spawn", what, str(first), str(second), "--", *map(str, argv)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
            check=True,
            env=env,
        )
        return json.loads(done.stdout)

    # Rows.

    def add(self, name, microseconds, **more):
        """Adds a row of durations."""
        if not microseconds:
            self.told(f"{name:<52} nothing succeeded: {more.get('why', '')}")
            self.rows.append({"method": self.method, "name": name, "n": 0, **more})
            return self.rows[-1]
        row = figures.summary(name, [one * MICRO for one in microseconds], told=self.told)
        self.rows.append({"method": self.method, **row, **more})
        return self.rows[-1]

    def value(self, name, value, unit, **more):
        """Adds a row of one figure."""
        self.told(f"{name:<52} {value:13.3f} {unit}")
        self.rows.append(
            {"method": self.method, "name": name, "value": value, "unit": unit, **more}
        )
        return self.rows[-1]

    def measure(self, name, function):
        """Runs one method. Its rows get the load before and after, and how long it took."""
        quiet = self.quick or await_quiet()
        self.method, begun, before = name, time.monotonic(), load()
        first = len(self.rows)
        function(self)
        for row in self.rows[first:]:
            row["load_before"], row["load_after"], row["quiet"] = before, load(), quiet
        self.told(f"{name}: {time.monotonic() - begun:.0f} s, load {before[0]} to {load()[0]}")
