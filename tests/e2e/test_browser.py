"""A web application in a sandbox, opened in headless Chromium by its browser_url: absolute links,
an upload, a WebSocket.

Needs Chromium: the host's, or the one unpacked by `tests/long browser`; without it, it is skipped.
"""
import contextlib
import json
import os
import signal
import subprocess

import chromium
import pytest
from harness import wait_until
from service_links import PORT, client, issue, start_web

pytestmark = pytest.mark.skipif(
    not chromium.THERE, reason="Chromium is neither installed nor unpacked: tests/long browser"
)


@contextlib.contextmanager
def browser(url, profile):
    """A fresh Chromium with this page open."""
    env = dict(os.environ)
    if chromium.INSTALLED is None:
        env["LD_LIBRARY_PATH"] = chromium.libraries(chromium.TREE)
    running = subprocess.Popen(
        [
            chromium.INSTALLED or chromium.TREE / chromium.BINARY,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            url,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env,
        start_new_session=True,
    )
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
        assert json.loads(report) == {
            "absolute": "/headers",
            "upload": "uploaded from a page",
            "socket": "over a socket",
            "cookie": "",
        }  # ours is not for scripts
