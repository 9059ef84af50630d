"""Runtimes of OCI bundles: crun, runc and gVisor's runsc, on one shared writable overlay."""

import json
import pathlib
import shutil
import subprocess
import tempfile

import cgroups
import debian
from peer import Peer

NAMESPACES = ("pid", "mount", "network", "ipc", "uts", "cgroup")
MEMORY, PIDS = 512 << 20, 512


def _mount(kind, at, *options):
    return {"destination": at, "type": kind, "source": kind, "options": list(options)}


def config_of(argv, limits):
    """Returns the config.json of a bundle."""
    linux = {"namespaces": [{"type": one} for one in NAMESPACES]}
    if limits:
        linux["resources"] = {"memory": {"limit": MEMORY}, "pids": {"limit": PIDS}}
    held = ["nosuid", "noexec", "nodev"]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": list(argv),
            "env": ["PATH=/usr/bin:/bin"],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": {},
        },
        "root": {"path": "rootfs"},
        "hostname": "bench",
        "mounts": [
            _mount("proc", "/proc"),
            _mount("tmpfs", "/dev", "nosuid", "strictatime", "mode=755", "size=65536k"),
            _mount("sysfs", "/sys", *held, "ro"),
        ],
        "linux": linux,
    }


class OciRuntime(Peer):
    """`name` is also the package and the program."""

    limits = True
    words = ()  # between the program and its verb

    def prepare(self, tree, archive):
        unpacked = debian.unpacked(self.name)
        self.env = debian.environment(unpacked)
        self.program = next(
            str(path)
            for folder in ("usr/bin", "usr/sbin")
            for path in [unpacked / folder / self.name]
            if path.exists()
        )
        self.version = debian.version([self.program, "--version"], self.env)
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="cay-bench-", dir="/var/tmp"))
        for folder in ("upper", "work", "rootfs"):
            (self.place / folder).mkdir()
        layers = f"lowerdir={tree},upperdir={self.place}/upper,workdir={self.place}/work"
        subprocess.run(
            ["mount", "-t", "overlay", "bench", "-o", layers, self.place / "rootfs"], check=True
        )
        self.check()

    def _bundle(self, argv):
        """Returns a bundle for `argv`. Bundles share the root."""
        name = "-".join(one.replace("/", "_") for one in argv)[:60] or "none"
        bundle = self.place / f"bundle-{abs(hash(argv)) % 10**8}-{name}"
        if not bundle.exists():
            bundle.mkdir()
            (bundle / "rootfs").symlink_to("../rootfs")
            config = config_of(argv, self.limits)
            config["root"]["path"] = str(self.place / "rootfs")
            (bundle / "config.json").write_text(json.dumps(config))
        return bundle

    def _verb(self, *words):
        return [self.program, "--root", str(self.place / "state"), *self.words, *words]

    def run_argv(self, *argv):
        # bench_spawn puts the number of the start for %N: containers need names of their own.
        return self._verb("run", "--bundle", str(self._bundle(argv)), "bench-%N")

    def start(self):
        self.running = "bench-stays"
        bundle = self._bundle(("/bin/sleep", "100000"))
        subprocess.run(
            self._verb("run", "--detach", "--bundle", str(bundle), self.running),
            check=True,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def exec_argv(self, *argv):
        return self._verb("exec", self.running, *argv)

    def stop(self):
        if self.running:
            subprocess.run(
                self._verb("delete", "--force", self.running),
                check=False,
                env=self.env,
                capture_output=True,
            )
            self.running = None

    def close(self):
        if self.place is None:
            return
        self.stop()
        subprocess.run(["umount", self.place / "rootfs"], check=False)
        shutil.rmtree(self.place, ignore_errors=True)


class Crun(OciRuntime):
    name = "crun"
    note = "no system call filter, no user namespace, no disk limit, no network rules"

    lent = ()

    def prepare(self, tree, archive):
        self.lent = cgroups.lend_controllers()
        super().prepare(tree, archive)

    def close(self):
        super().close()
        cgroups.give_back(self.lent)


class Runc(OciRuntime):
    name = "runc"
    note = Crun.note


class Runsc(OciRuntime):
    name = "runsc"
    note = "a kernel of its own (ptrace), no cgroup"
    limits = False
    per_round = 3
    words = ("--platform=ptrace", "--ignore-cgroups", "--network=none")
