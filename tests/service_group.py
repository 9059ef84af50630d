"""A cgroup of the daemon's own, as a service manager gives one: daemon, watcher and launcher are in
it, keepers not."""
import pathlib

from harness import wait_until


class ServiceGroup:
    def __init__(self, daemon):
        """Before the daemon's start: everything that `serve` starts is in the group."""
        mounts = [
            line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
        ]
        root = next(
            pathlib.Path(words[4]) for words in mounts if words[words.index("-") + 1] == "cgroup2"
        )
        self.path = root / daemon.data.parent.name
        self.path.mkdir()
        daemon.prefix = ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh"]

    def processes(self):
        return (self.path / "cgroup.procs").read_text().split()

    def kill(self):
        """What a service manager does that kills a whole service."""
        (self.path / "cgroup.kill").write_text("1")

    def remove(self):
        """After the daemon's end."""
        wait_until(lambda: not self.processes(), "the group is empty")
        self.path.rmdir()
