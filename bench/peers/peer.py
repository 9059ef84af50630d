"""Peer: another way to run a program in isolation, for the bench.

A peer is ready once prepare() returns. It raises Skipped if this machine lacks it."""

import os
import subprocess

from debian import Skipped


class Peer:
    name = ""
    # The protections of Cay that it leaves out, or adds, in a few words.
    note = ""
    # Starts in one round of the sequential mode: fewer for those that take long.
    per_round = 10
    running = None  # what start() started
    place = None  # a directory of this run

    def __init__(self):
        self.env = dict(os.environ)
        self.version = ""

    def prepare(self, tree, archive):
        """Makes all ready for run_argv(): `tree` is the root's directory, `archive` its tar."""
        raise NotImplementedError

    def run_argv(self, *argv):
        """Returns the words that make a sandbox, run `argv` in it and remove it."""
        raise NotImplementedError

    def start(self):
        """Starts a sandbox that stays, for exec_argv()."""
        raise Skipped("it has no way to run a program in a sandbox that exists")

    def exec_argv(self, *argv):
        """Returns the words that run `argv` in the sandbox of start()."""
        raise NotImplementedError

    def stop(self):
        """Removes the sandbox of start()."""

    def close(self):
        """Ends what prepare() started, and removes what it made."""

    def check(self):
        """Runs one program, so that a peer that does not work here is left out with its words."""
        words = [word.replace("%N", "check") for word in self.run_argv("/bin/echo", "hi")]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            env=self.env,
            timeout=120,
        )
        if done.returncode != 0 or done.stdout.strip() != "hi":
            raise Skipped(f"it does not run here: {(done.stderr or done.stdout).strip()[-300:]}")
