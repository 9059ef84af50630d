"""Chromium: the host's, or the one that `tests/long browser` unpacked, which finds its libraries
beside itself."""
import os
import pathlib
import shutil

from harness import ROOT

TREE = pathlib.Path(os.environ.get("CAY_CHROMIUM", ROOT / "build/long/chromium"))
INSTALLED = shutil.which("chromium")
BINARY = "usr/lib/chromium/chromium"  # in the tree
THERE = INSTALLED is not None or (TREE / BINARY).exists()


def libraries(tree):
    """LD_LIBRARY_PATH where the tree lies there."""
    return ":".join(
        f"{tree}/{name}"
        for name in (
            "usr/lib/x86_64-linux-gnu",
            "lib/x86_64-linux-gnu",
            "usr/lib/x86_64-linux-gnu/pulseaudio",
        )
    )
