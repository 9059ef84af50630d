"""A sandbox that filled its disk stays one that its owner can clean up."""
import pytest

FILL = {
    "one file": "dd if=/dev/zero of=/root/fill bs=1M",
    "many files": """mkdir /root/fill; exec python3 -c 'for i in range(10**6): \
open(f"/root/fill/{i}", "w").write("x")'""",
}


@pytest.mark.parametrize("how", FILL)
def test_a_full_disk_survives_a_restart(http, how):
    box = http.post("/api/v1/sandboxes", json={"limits": {"disk_bytes": 16 << 20}}).json()
    url = f"/api/v1/sandboxes/{box['id']}"

    def run(command):
        answer = http.post(
            f"{url}/commands", json={"command": command, "user": "root", "timeout_s": 55}
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    try:
        full = run(FILL[how])
        assert full["exit_code"] != 0 and "Disk quota exceeded" in full["stderr"]
        for _ in range(2):
            assert http.post(f"{url}/stop", json={}).status_code == 200
            # Still at its limit, to the last block …
            assert run("head -c 1M /dev/urandom > /root/more")["exit_code"] != 0
        # … but not read-only: what fills it can go.
        got = run("rm -rf /root/fill /root/more && echo fine > /root/new && cat /root/new")
        assert (got["exit_code"], got["stdout"]) == (0, "fine\n"), got
    finally:
        http.delete(url)


OVERWRITE = """
import os, random
with open("/root/data", "wb") as data:
    data.write(os.urandom(60 << 20))
fd = os.open("/root/data", os.O_WRONLY)
order = random.Random(1)
for _ in range(150 * 16):
    os.pwrite(fd, bytes(65536 - 8192) + os.urandom(8192), order.randrange(60 * 16 - 1) * 65536
        + 4096)
    os.fdatasync(fd)
"""


def test_overwriting_in_place_takes_no_more_room(http):
    """As databases do: 150 MiB of writes into a file of 60, on a disk of 100."""
    box = http.post("/api/v1/sandboxes", json={"limits": {"disk_bytes": 100 << 20}}).json()
    url = f"/api/v1/sandboxes/{box['id']}"
    try:
        got = http.post(
            f"{url}/commands",
            json={"argv": ["python3", "-c", OVERWRITE], "user": "root", "timeout_s": 120},
        ).json()
        assert got["exit_code"] == 0, got
    finally:
        http.delete(url)


def test_what_goes_in_leaves_the_hosts_reserve(own_daemon, tmp_path):
    """An upload that could not be kept is refused as the host's fault, and changes nothing."""
    daemon = own_daemon()
    with daemon.http() as http:
        url = f"/api/v1/sandboxes/{http.post('/api/v1/sandboxes', json={}).json()['id']}"
        assert (
            http.put(f"{url}/files", params={"path": "/root/f"}, content=b"first").status_code < 300
        )
    settings = tmp_path / "cay.toml"
    settings.write_text(f"[host]\ndisk_reserve_bytes = {1 << 60}\n")
    daemon.args += ["--config", str(settings)]
    tmp_path.chmod(0o755)
    daemon.restart()
    with daemon.http() as http:
        refused = http.put(f"{url}/files", params={"path": "/root/f"}, content=b"second")
        assert (refused.status_code, refused.json()["error"]["reason"]) == (
            503,
            "host_disk_full",
        ), refused.text
        assert http.get(f"{url}/files", params={"path": "/root/f"}).content == b"first"
        command = http.post(
            f"{url}/commands", json={"command": "cat /root/f; ls /root", "user": "root"}
        ).json()
        assert (command["stdout"], command["exit_code"]) == ("firstf\n", 0)
