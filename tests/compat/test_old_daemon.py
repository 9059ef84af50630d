"""A daemon of an earlier release (daemons/*.zst), replaced by today's over the same data directory."""
import shutil

import pytest

from harness import CAY, new_daemon
from stored import DAEMONS, unpacked


@pytest.fixture(params=DAEMONS, ids=lambda path: path.stem)
def old(request, tmp_path):
    if shutil.which("zstd") is None:
        pytest.skip("SKIPPED: zstd is missing: apt-get install zstd")
    daemon = new_daemon()
    daemon.program = unpacked(request.param, tmp_path)
    daemon.start()
    yield daemon
    daemon.close()


def test_a_request_that_is_repeated_after_the_upgrade_is_the_same(old):
    """A client whose answer the replacement cut off asks again: its command runs once."""
    url = "/api/v1/sandboxes/box/commands"
    asked = [{"id": "line", "command": "echo ran >> /root/line; echo out; exit 3", "timeout_s": 30},
             {"id": "words", "argv": ["/bin/sh", "-c", "echo ran >> /root/words"], "env": {"A": "1", "B": "2"}, "cwd": "/tmp", "user": "root"},
             {"id": "terminal", "argv": ["sh", "-c", "echo ran >> /root/terminal"], "pty": {"rows": 40, "cols": 100}, "ttl_s": -1}]
    with old.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "box"}).status_code == 201
        for body in asked:
            begun = http.post(url, json=body)
            assert begun.status_code in (200, 201) and begun.json()["state"] == "exited", begun.text
    old.terminate()
    old.program = CAY
    old.start()
    with old.http() as http:
        for body in asked:
            again = http.post(url, json=body)
            assert again.status_code == 200, again.text
            assert again.json()["state"] == "exited", again.text
            other = http.post(url, json={**body, "timeout_s": 31})
            assert (other.status_code, other.json()["error"]["reason"]) == (409, "command_id_in_use"), other.text
        for body in asked:
            count = http.post(url, json={"command": f"wc -l < /root/{body['id']}", "user": "root"}).json()
            assert count["stdout"].strip() == "1", (body, count)
