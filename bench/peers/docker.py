"""Docker Engine: a dockerd of its own, with its containerd, ended after the run."""

import pathlib
import shutil
import subprocess
import tempfile
import time

import debian
from peer import Peer


class Docker(Peer):
    name = "docker"
    note = "no disk limit, no network rules"
    per_round = 3
    daemon = None

    def prepare(self, tree, archive):
        unpacked = debian.unpacked("docker.io")
        self.env = debian.environment(unpacked)
        self.program = str(unpacked / "usr/bin/docker")
        self.version = debian.version([self.program, "--version"], self.env)
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="cay-bench-", dir="/var/tmp"))
        socket = f"unix://{self.place}/docker.sock"
        self.env["DOCKER_HOST"] = socket
        with open(self.place / "log", "wb") as log:
            self.daemon = subprocess.Popen(
                [
                    unpacked / "usr/sbin/dockerd",
                    *("--host", socket, "--pidfile", self.place / "pid"),
                    *("--data-root", self.place / "data", "--exec-root", self.place / "exec"),
                    *("--bridge", "none", "--iptables=false", "--ip6tables=false"),
                    *("--exec-opt", "native.cgroupdriver=cgroupfs"),
                ],
                env=self.env,
                stdout=log,
                stderr=log,
            )
        self._wait_until_it_serves()
        done = subprocess.run(
            [self.program, "import", archive, "bench"],
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise debian.Skipped(f"it does not import the root: {done.stderr.strip()[-300:]}")
        self.check()

    def _wait_until_it_serves(self):
        end = time.monotonic() + 60
        while time.monotonic() < end and self.daemon.poll() is None:
            asked = [self.program, "version"]
            if (
                subprocess.run(asked, env=self.env, capture_output=True, check=False).returncode
                == 0
            ):
                return
            time.sleep(0.2)
        log = (self.place / "log").read_text(errors="replace")
        raise debian.Skipped(f"dockerd does not come up: {log.strip()[-300:]}")

    def run_argv(self, *argv):
        return [self.program, "run", "--rm", "--network", "none", "bench", *argv]

    def start(self):
        self.running = subprocess.run(
            [self.program, "run", "--detach", "--network", "none", "bench", "/bin/sleep", "100000"],
            check=True,
            capture_output=True,
            text=True,
            env=self.env,
        ).stdout.strip()

    def exec_argv(self, *argv):
        return [self.program, "exec", self.running, *argv]

    def stop(self):
        if self.running:
            subprocess.run(
                [self.program, "rm", "--force", self.running],
                check=False,
                capture_output=True,
                env=self.env,
            )
            self.running = None

    def close(self):
        if self.daemon is None:
            return
        self.stop()
        self.daemon.terminate()
        try:
            self.daemon.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        mounts = pathlib.Path("/proc/mounts").read_text(encoding="utf8").splitlines()
        inside = [line.split()[1] for line in mounts if str(self.place) in line.split()[1]]
        for mount in sorted(inside, reverse=True):
            subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)
        shutil.rmtree(self.place, ignore_errors=True)
