"""A sandbox that filled its disk stays one that its owner can clean up."""
import pytest

FILL = {
    "one file": "dd if=/dev/zero of=/root/fill bs=1M",
    "many files": """mkdir /root/fill; exec python3 -c 'for i in range(10**6): open(f"/root/fill/{i}", "w").write("x")'""",
}


@pytest.mark.parametrize("how", FILL)
def test_a_full_disk_survives_a_restart(http, how):
    box = http.post("/api/v1/sandboxes", json={"limits": {"disk_bytes": 16 << 20}}).json()
    url = f"/api/v1/sandboxes/{box['id']}"

    def run(command):
        answer = http.post(f"{url}/commands", json={"command": command, "user": "root", "timeout_s": 55})
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
