"""A web application in a sandbox, opened in headless Chromium by its browser_url: absolute links, an upload, a WebSocket.

Needs Chromium: the host's, or the one unpacked by `tests/long browser`; without it, it is skipped.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from harness import ROOT, wait_until
from test_services import PORT, client, issue, start_web

TREE = pathlib.Path(os.environ.get("CAY_CHROMIUM", ROOT / "build/long/chromium"))
UNPACKED = TREE / "usr/lib/chromium/chromium"
CHROMIUM = shutil.which("chromium") or (str(UNPACKED) if UNPACKED.exists() else None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is neither installed nor unpacked: tests/long browser")


@contextlib.contextmanager
def browser(url, profile):
    """A fresh Chromium with this page open."""
    env = dict(os.environ)
    if CHROMIUM == str(UNPACKED):
        env["LD_LIBRARY_PATH"] = ":".join(str(TREE / name) for name in (
            "usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/pulseaudio"))
    running = subprocess.Popen([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
                                f"--user-data-dir={profile}", url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env,
                               start_new_session=True)
    try:
        yield
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def test_an_application_works_in_a_browser(daemon, http, box, tmp_path):
    start_web(http, box["id"])
    link = issue(http, box["id"], port=PORT)
    with client(daemon, link) as service, browser(link["browser_url"], tmp_path / "profile"):
        report = wait_until(lambda: service.get("/report").content, "the page's report", 90)
        assert json.loads(report) == {"absolute": "/headers", "upload": "uploaded from a page", "socket": "over a socket",
                                      "cookie": ""}  # ours is not for scripts
