"""A program of Daytona's npm client ends by itself: a client that waits for events keeps no Node
alive."""

import os
import pathlib
import subprocess
import time

import pytest

from harness import ROOT, slow

PACKAGE = ROOT / "build/node/daytona/node_modules/@daytonaio/sdk"
PROGRAM = pathlib.Path(__file__).resolve().parent / "npm/ending.mjs"
AT_MOST = slow(5)  # seconds after the last call


@pytest.mark.parametrize("kind", ["esm", "cjs"])
def test_a_program_ends_without_the_end_of_its_client(daemon, kind):
    done = subprocess.run(
        ["node", PROGRAM, PACKAGE / kind / "index.js"],
        capture_output=True,
        text=True,
        timeout=slow(120),
        env={**os.environ, **daemon.env},
    )
    ended = time.time()
    assert done.returncode == 0, done.stderr[-3000:]
    word, last_call = done.stdout.split()
    assert word == "done" and ended - float(last_call) < AT_MOST
