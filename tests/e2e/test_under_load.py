"""What must hold while the keeper has far more to do than it can do at once."""
import concurrent.futures

WRITERS = 45  # more ready descriptors than the keeper takes up in one turn
STARTS = 16


def test_a_program_that_stops_itself_is_started_once(daemon, http):
    box = http.post("/api/v1/sandboxes", json={"limits": {"cpu_millicores": 4000}}).json()
    url = f"/api/v1/sandboxes/{box['id']}/commands"

    def start(number):
        with daemon.http() as client:
            body = {"argv": ["/bin/sh", "-c", f"echo x >> /root/ran-{number}; kill -STOP $$"], "user": "root", "timeout_s": 0.3}
            answer = client.post(url, json=body)
            return answer.json().get("state", answer.text)

    try:
        for _ in range(WRITERS):
            assert http.post(url, json={"argv": ["yes"], "timeout_s": 60, "wait": False}).status_code == 201
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            ends = list(pool.map(start, range(STARTS)))
        assert ends == ["timed_out"] * STARTS
        ran = http.post(url, json={"command": "cat /root/ran-*", "user": "root"}).json()["stdout"]
        assert ran == "x\n" * STARTS
    finally:
        http.delete(f"/api/v1/sandboxes/{box['id']}")
