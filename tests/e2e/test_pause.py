"""Pause and resume: no CPU by the kernel's own account, streams stay, a restart keeps it, every way
out."""
import threading
import time

from harness import keeper_of, slow, wait_until


def start(http, ref, command, **fields):
    body = {"command": command, "wait": False, "timeout_s": 0, **fields}
    answer = http.post(f"/api/v1/sandboxes/{ref}/commands", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def state(http, ref):
    return http.get(f"/api/v1/sandboxes/{ref}").json()["state"]


def stats(http, ref):
    return http.get(f"/api/v1/sandboxes/{ref}/stats").json()


def change(http, ref, verb):
    answer = http.post(f"/api/v1/sandboxes/{ref}/{verb}")
    assert answer.status_code == 200, answer.text
    return answer.json()["state"]


def test_no_cpu_while_paused_and_output_goes_on_afterwards(http, box):
    ref = box["id"]
    command = start(http, ref, "i=0; while :; do i=$((i+1)); echo $i; done")
    busy = stats(http, ref)["cpu_usec"]
    wait_until(
        lambda: stats(http, ref)["cpu_usec"] > busy + 100_000, "it uses CPU"
    )  # the positive control
    got = bytearray()

    def read():
        with http.stream(
            "GET", f"/api/v1/sandboxes/{ref}/commands/{command}/output", params={"follow": "true"}
        ) as answer:
            for chunk in answer.iter_raw():
                got.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: len(got) > 1000, "output")
    assert change(http, ref, "pause") == "paused" == state(http, ref)
    at_pause = stats(http, ref)
    assert at_pause["paused"]
    written = http.get(f"/api/v1/sandboxes/{ref}/commands/{command}").json()["stdout"]["bytes"]
    time.sleep(0.5)  # the time in which nothing may happen
    assert stats(http, ref)["cpu_usec"] == at_pause["cpu_usec"]
    assert (
        http.get(f"/api/v1/sandboxes/{ref}/commands/{command}").json()["stdout"]["bytes"] == written
    )
    assert reader.is_alive()
    assert change(http, ref, "resume") == "ready"
    wait_until(lambda: len(got) > written + 1000, "the attached stream goes on")
    http.post(f"/api/v1/sandboxes/{ref}/commands/{command}/kill", json={})
    reader.join(timeout=60)
    lines = bytes(got).decode().split("\n")[:-1]
    assert lines == [str(n) for n in range(1, len(lines) + 1)]


def test_what_a_paused_one_serves_and_refuses(http, box):
    ref = box["id"]
    http.put(f"/api/v1/sandboxes/{ref}/files", params={"path": "/root/f"}, content=b"kept")
    command = start(http, ref, "echo out; sleep 1000")
    wait_until(
        lambda: http.get(f"/api/v1/sandboxes/{ref}/commands/{command}").json()["stdout"]["bytes"]
        == 4,
        "output",
    )
    change(http, ref, "pause")
    refused = http.post(f"/api/v1/sandboxes/{ref}/commands", json={"argv": ["true"], "wait": True})
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert (error["code"], error["reason"]) == ("not_ready", "sandbox_paused")
    assert error["remedy"] == f"cay resume {box['name']}"
    assert http.get(f"/api/v1/sandboxes/{ref}/commands/{command}/output").text == "out\n"
    assert http.get(f"/api/v1/sandboxes/{ref}/files", params={"path": "/root/f"}).text == "kept"
    assert http.post(f"/api/v1/sandboxes/{ref}/commands/{command}/kill", json={}).status_code == 204
    wait_until(
        lambda: http.get(f"/api/v1/sandboxes/{ref}/commands/{command}").json()["state"] == "killed",
        "killed",
    )
    assert state(http, ref) == "paused"
    assert http.post(f"/api/v1/sandboxes/{ref}/start").json()["state"] == "ready"  # start resumes
    assert http.post(f"/api/v1/sandboxes/{ref}/stop").status_code == 200
    assert (
        http.post(f"/api/v1/sandboxes/{ref}/pause").json()["error"]["reason"] == "sandbox_not_ready"
    )


def test_timeouts_stand_still(http, box):
    ref = box["id"]
    command = start(http, ref, "sleep 1000", timeout_s=slow(4))  # which the pause must come before
    change(http, ref, "pause")
    time.sleep(slow(4) + 0.5)  # the time in which it would end
    assert http.get(f"/api/v1/sandboxes/{ref}/commands/{command}").json()["state"] == "running"
    change(http, ref, "resume")
    wait_until(
        lambda: http.get(f"/api/v1/sandboxes/{ref}/commands/{command}").json()["state"]
        == "timed_out",
        "timed out",
    )


def test_stop_and_delete_of_a_paused_one(http):
    for verb in ("stop", "delete"):
        ref = http.post("/api/v1/sandboxes", json={}).json()["id"]
        command = start(http, ref, "while :; do :; done")
        change(http, ref, "pause")
        if verb == "stop":
            assert change(http, ref, "stop") == "stopped"
            assert (
                http.get(f"/api/v1/sandboxes/{ref}/commands/{command}").json()["state"] == "killed"
            )
        assert http.delete(f"/api/v1/sandboxes/{ref}").status_code == 204
        assert http.get(f"/api/v1/sandboxes/{ref}").status_code == 404


def test_a_paused_one_survives_the_daemon(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        ref = http.post("/api/v1/sandboxes", json={"name": "held"}).json()["id"]
        command = start(http, ref, "while :; do echo x; sleep 0.01; done")
        change(http, ref, "pause")
        keeper = keeper_of(daemon, ref)
    daemon.restart("kill")
    with daemon.http() as http:
        assert state(http, ref) == "paused" and keeper_of(daemon, ref) == keeper
        before = stats(http, ref)["cpu_usec"]
        written = http.get(f"/api/v1/sandboxes/{ref}/commands/{command}").json()["stdout"]["bytes"]
        time.sleep(0.2)
        assert stats(http, ref)["cpu_usec"] == before
        change(http, ref, "resume")
        wait_until(
            lambda: http.get(f"/api/v1/sandboxes/{ref}/commands/{command}").json()["stdout"][
                "bytes"
            ]
            > written,
            "it goes on",
        )


def test_the_command_line_and_the_langsmith_facade(daemon, http):
    import httpx

    http.post("/api/v1/sandboxes", json={"name": "cli-pause"})
    try:
        assert daemon.cli("pause", "cli-pause").code == 0
        assert "paused" in daemon.cli("ls").text
        refused = daemon.cli("exec", "cli-pause", "--", "true")
        assert refused.code == 125 and b"resume" in refused.err
        box = httpx.get(
            f"{daemon.url}/v2/sandboxes/boxes/cli-pause", headers={"X-Api-Key": daemon.key}
        ).json()
        assert box["status"] == "stopped" and "paused" in box["status_message"]
        assert daemon.cli("resume", "cli-pause").code == 0
        assert daemon.cli("exec", "cli-pause", "--", "true").code == 0
    finally:
        daemon.cli("rm", "cli-pause")
