"""bubblewrap, with all its namespaces, on a read-only root."""

import subprocess
import time

import debian
from peer import Peer


class Bubblewrap(Peer):
    name = "bubblewrap"
    note = "no limits, no system call filter, no writable disk, no network rules"

    def prepare(self, tree, archive):
        unpacked = debian.unpacked("bubblewrap")
        self.env = debian.environment(unpacked)
        self.program = str(unpacked / "usr/bin/bwrap")
        self.version = debian.version([self.program, "--version"], self.env)
        self.tree = tree
        self.check()

    def run_argv(self, *argv):
        return [
            self.program,
            *("--unshare-all", "--die-with-parent"),
            *("--ro-bind", str(self.tree), "/"),
            *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
            *argv,
        ]

    def start(self):
        words = self.run_argv("/bin/sleep", "100000")
        words[1:1] = ["--info-fd", "1"]
        self.running = subprocess.Popen(words, stdout=subprocess.PIPE, env=self.env, text=True)
        said = ""
        while "}" not in said:
            said += self.running.stdout.readline()
        self.child = said.split('"child-pid":')[1].split(",")[0].strip(" }\n")
        end = time.monotonic() + 5
        while time.monotonic() < end:  # until its root is in place
            words = self.exec_argv("/bin/true")
            if subprocess.run(words, capture_output=True, check=False).returncode == 0:
                return

    def exec_argv(self, *argv):
        return ["/usr/bin/nsenter", "--target", self.child, "--all", *argv]

    def stop(self):
        if self.running:
            self.running.kill()
            self.running.wait()
