"""A web application in a sandbox, opened in headless Chromium by its browser_url: absolute links, an upload, a WebSocket.

Needs Chromium: the host's, or the one unpacked by `tests/long browser`; without it, it is skipped.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from harness import ROOT, slow
from test_services import PORT, issue, start_web

TREE = pathlib.Path(os.environ.get("CAY_CHROMIUM", ROOT / "build/long/chromium"))
UNPACKED = TREE / "usr/lib/chromium/chromium"
CHROMIUM = shutil.which("chromium") or (str(UNPACKED) if UNPACKED.exists() else None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is neither installed nor unpacked: tests/long browser")


def shown(url, profile):
    """The page as it is after its scripts ran, from a fresh browser."""
    env = dict(os.environ)
    if CHROMIUM == str(UNPACKED):
        env["LD_LIBRARY_PATH"] = ":".join(str(TREE / name) for name in (
            "usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/pulseaudio"))
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
                           "--virtual-time-budget=20000", "--dump-dom", url], capture_output=True, timeout=slow(120), env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.decode(errors="replace")


def test_an_application_works_in_a_browser(http, box, tmp_path):
    start_web(http, box["id"])
    link = issue(http, box["id"], port=PORT)
    page = shown(link["browser_url"], tmp_path / "profile")
    found = re.search(r'<pre id="seen">(.*?)</pre>', page)
    assert found, page[-3000:]
    assert json.loads(html.unescape(found.group(1))) == {
        "absolute": "/headers", "upload": "uploaded from a page", "socket": "over a socket", "cookie": ""}  # ours is not for scripts
    # The control: a browser without the link.
    assert "Authentication required" in shown(link["browser_url"].split("/_svc")[0] + "/", tmp_path / "other")
