"""forkbox: its package on PyPI is a client alone, so its daemon must run already."""

import pathlib
import subprocess
import sys

from debian import CACHE, Skipped
from peer import Peer

SOCKET = "/tmp/forkbox.sock"
RUN = (
    "import shlex, sys; from forkbox import Forkbox; "
    "got = Forkbox.run(shlex.join(sys.argv[1:])); print(got.stdout, end=''); "
    "sys.exit(got.exit_code)"
)


class Forkbox(Peer):
    name = "forkbox"
    note = "the host's own root, by its Python client"

    def prepare(self, tree, archive):
        if not pathlib.Path(SOCKET).exists():
            raise Skipped(f"no daemon of it listens at {SOCKET}: PyPI has only its client")
        place = CACHE / "forkbox"
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", place, "forkbox"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Skipped(f"pip cannot install it: {done.stderr.strip()[-200:]}")
        self.env["PYTHONPATH"] = str(place)
        self.check()

    def run_argv(self, *argv):
        return [sys.executable, "-c", RUN, *argv]
