"""podman with crun, each container on an overlay of its own."""

import pathlib
import shutil
import subprocess
import tempfile

import cgroups
import debian
from peer import Peer

STORAGE = '[storage]\ndriver = "overlay"\ngraphroot = "{place}/root"\nrunroot = "{place}/run"\n'
POLICY = '{"default": [{"type": "insecureAcceptAnything"}]}'


class Podman(Peer):
    name = "podman"
    note = "by crun; no disk limit, no network rules"
    per_round = 3
    lent = ()

    def prepare(self, tree, archive):
        self.lent = cgroups.lend_controllers()
        unpacked = debian.unpacked("podman")
        self.env = debian.environment(unpacked)
        self.program = str(unpacked / "usr/bin/podman")
        self.version = debian.version([self.program, "--version"], self.env)
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="cay-bench-", dir="/var/tmp"))
        (self.place / "storage.conf").write_text(STORAGE.format(place=self.place))
        (self.place / "policy.json").write_text(POLICY)
        helpers = unpacked / "usr/lib/podman"
        (self.place / "containers.conf").write_text(
            '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n'
            f'runtime = "{unpacked}/usr/bin/crun"\n'
            f'helper_binaries_dir = ["{helpers}", "{unpacked}/usr/bin"]\n'
            f'conmon_path = ["{unpacked}/usr/bin/conmon"]\n'
            '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
        )
        self.env["CONTAINERS_CONF"] = str(self.place / "containers.conf")
        self.env["CONTAINERS_STORAGE_CONF"] = str(self.place / "storage.conf")
        done = subprocess.run(
            [self.program, "import", archive, "bench"],
            capture_output=True,
            text=True,
            check=False,
            env=self.env,
        )
        if done.returncode != 0:
            self.close()
            raise debian.Skipped(f"it does not import the root: {done.stderr.strip()[-300:]}")
        self.check()

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
                [self.program, "rm", "--force", "--time", "0", self.running],
                check=False,
                capture_output=True,
                env=self.env,
            )
            self.running = None

    def close(self):
        if self.place is not None:
            self._clear()
        cgroups.give_back(self.lent)

    def _clear(self):
        self.stop()
        subprocess.run(
            [self.program, "rm", "--all", "--force"], check=False, capture_output=True, env=self.env
        )
        for mount in ("root/overlay", "root"):
            subprocess.run(["umount", self.place / mount], check=False, capture_output=True)
        shutil.rmtree(self.place, ignore_errors=True)
