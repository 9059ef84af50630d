"""What an operator sees: usage, metrics, readiness, batches, top."""
import json
import os
import re
import select
import subprocess

import httpx

from harness import CAY, slow, wait_until

BUSY = "python3 -c 'import time; e=time.process_time()+0.4\nwhile time.process_time()<e: pass'"


def test_usage_survives_stops_and_kills(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post(
            "/api/v1/sandboxes", json={"name": "metered", "labels": {"team": "a"}}
        ).json()
        ref = f"/api/v1/sandboxes/{box['id']}"
        assert (
            http.post(f"{ref}/commands", json={"command": BUSY, "timeout_s": 60}).json()[
                "exit_code"
            ]
            == 0
        )
        http.put(f"{ref}/files", params={"path": "/root/f"}, content=b"x" * 1000)
        assert http.get(f"{ref}/files", params={"path": "/root/f"}).content == b"x" * 1000
        first = http.get(f"{ref}/usage").json()
        assert 0.35 < first["cpu_seconds"] < 10, first
        assert first["bytes_in"] >= 1000 and first["bytes_out"] >= 1000
        # Used while no daemon looks.
        http.post(
            f"{ref}/commands",
            json={
                "command": BUSY + " ; touch /root/done; sleep 1000",
                "wait": False,
                "timeout_s": 0,
            },
        )
        daemon.kill()
    wait_until(
        lambda: _cpu_of(box) is None or _cpu_of(box) > 0.75,
        "the command to use CPU without a daemon",
        limit=60,
    )
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    with daemon.http() as http:
        wait_until(
            lambda: http.get(f"{ref}/files", params={"path": "/root/done"}).status_code == 200,
            "the command's work",
            limit=60,
        )
        second = http.get(f"{ref}/usage").json()
        assert second["cpu_seconds"] > first["cpu_seconds"] + 0.35, (first, second)
        assert second["running_seconds"] > first["running_seconds"]
        http.post(f"{ref}/stop")
        stopped = http.get(f"{ref}/usage").json()
        assert stopped["cpu_seconds"] >= second["cpu_seconds"] and stopped["state"] == "stopped"
        http.post(
            f"{ref}/commands", json={"command": BUSY, "timeout_s": 60}
        )  # wakes it; counters began anew
        assert http.get(f"{ref}/usage").json()["cpu_seconds"] > stopped["cpu_seconds"] + 0.35
        last = http.get(f"{ref}/usage").json()["cpu_seconds"]
        http.delete(ref)
        team = http.get("/api/v1/usage", params={"label": "team=a", "group_by": "team"}).json()
        assert team["sandboxes"] == 1 and team["totals"]["cpu_seconds"] >= last
        assert team["groups"][0]["value"] == "a"
    shown = daemon.cli("usage", "--by", "team")
    assert shown.code == 0 and "team=a" in shown.text, shown


def _cpu_of(box):
    """The kernel's own count of the sandbox's commands, in seconds; None where this host does not
    show it."""
    from pathlib import Path

    for place in ("", "unified/"):
        for path in Path("/sys/fs/cgroup").glob(f"{place}cay-*/{box['id']}/cmds/cpu.stat"):
            return int(path.read_text().split()[1]) / 1e6
    return None


LINE = re.compile(
    r'^[a-z_]+(\{[a-z_]+="(?:[^"\\\n]|\\.)*"(,[a-z_]+="(?:[^"\\\n]|\\.)*")*\})? [0-9.e+-]+$'
)


def test_metrics_are_well_formed_bounded_and_true(daemon, http, box):
    http.post(f"/api/v1/sandboxes/{box['id']}/commands", json={"command": "exit 3"})
    text = http.get("/metrics").text
    for line in text.splitlines():
        assert line.startswith("# HELP ") or line.startswith("# TYPE ") or LINE.match(line), line
    value = lambda name: float(
        re.search(r"(?m)^" + re.escape(name) + r" (\S+)", http.get("/metrics").text).group(1)
    )
    before = value('cay_commands_ended_total{state="exited"}')
    http.post(f"/api/v1/sandboxes/{box['id']}/commands", json={"command": "exit 3"})
    wait_until(
        lambda: value('cay_commands_ended_total{state="exited"}') == before + 1,
        "the end in the metrics",
        limit=60,
    )
    assert value('cay_sandboxes{state="ready"}') >= 1 and value("cay_launcher_up") == 1
    for i in range(50):
        http.get(f"/api/v1/sandboxes/none-{i}/files/stat", params={"path": f"/{i}"})
        httpx.get(
            f"{daemon.url}/api/v1/sandboxes/none/nowhere/{i}", headers={"X-Api-Key": daemon.key}
        )
    assert len(http.get("/metrics").text.splitlines()) < 400
    assert value('cay_http_requests_total{route="none",status="404"}') >= 50
    assert httpx.get(f"{daemon.url}/metrics").status_code == 401


def test_ready_says_when_the_launcher_is_gone(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        answer = http.get("/readyz")
        assert answer.status_code == 200 and answer.json()["ready"], answer.text
        subprocess.run([CAY, "launcher", "--data", daemon.data, "--stop"], check=True, timeout=60)
        wait_until(lambda: http.get("/readyz").status_code == 503, "not ready without a launcher")
        checks = {c["name"]: c for c in http.get("/readyz").json()["checks"]}
        assert (
            not checks["launcher"]["ok"] and checks["launcher"]["detail"] and checks["store"]["ok"]
        )
        assert httpx.get(f"{daemon.url}/healthz").status_code == 200  # alive all the same
        daemon.restart("terminate")
        with daemon.http() as again:
            wait_until(lambda: again.get("/readyz").status_code == 200, "ready again")


def test_batch_delete_by_label(daemon, http):
    for i in range(6):
        http.post("/api/v1/sandboxes", json={"labels": {"batch": "x", "half": str(i % 2)}})
    got = http.post("/api/v1/sandboxes/batch-delete", json={"labels": ["batch=x", "half=0"]}).json()
    assert len(got["deleted"]) == 3 and not got["failed"]
    assert http.post("/api/v1/sandboxes/batch-delete", json={"labels": []}).status_code == 400
    done = daemon.cli("rm", "--label", "batch=x", "--json")
    assert done.code == 0 and len(json.loads(done.out)) == 3, done
    assert not http.get("/api/v1/sandboxes", params={"label": "batch"}).json()["items"]
    missing = daemon.cli("rm", "no-such-box")
    assert missing.code == 125 and b"no-such-box" in missing.err
    assert daemon.cli("rm", "-f", "no-such-box").code == 0


def test_top(daemon, http, box):
    http.post(
        f"/api/v1/sandboxes/{box['id']}/commands",
        json={"command": "while :; do :; done", "wait": False, "timeout_s": 60},
    )
    rows = json.loads(daemon.cli("top", "--once", "--json").out)
    mine = next(r for r in rows if r["sandbox_id"] == box["id"])
    assert (
        mine["cpu_percent"] > 5 and mine["running_commands"] == 1 and mine["memory_limit_bytes"] > 0
    ), mine
    assert box["name"] in daemon.cli("top", "--once").text


def test_top_outlives_the_daemon(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        assert http.post("/api/v1/sandboxes", json={"name": "seen"}).status_code == 201
    top = subprocess.Popen(
        [CAY, "top", "--json", "--every", "100ms"],
        stdout=subprocess.PIPE,
        env={**os.environ, **daemon.env},
    )
    try:
        assert b"seen" in top.stdout.readline()
        daemon.kill()
        while select.select([top.stdout], [], [], 0.5)[0]:  # what it had said already
            assert os.read(top.stdout.fileno(), 65536), "it ended"
        daemon.start(listen=f"127.0.0.1:{daemon.port}")
        assert select.select([top.stdout], [], [], slow(20))[0] and b"seen" in os.read(
            top.stdout.fileno(), 65536
        )
        assert top.poll() is None
    finally:
        top.kill()
        top.wait()


def test_top_on_a_terminal_puts_it_back(daemon, box):
    import pty
    import time

    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(daemon.env)
        os.execv(CAY, ["cay", "top", "--every", "200ms"])
    seen, end = b"", time.monotonic() + 30
    while box["name"].encode() not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 65536)
    assert seen.startswith(b"\x1b[?1049h") and box["name"].encode() in seen, seen
    os.write(terminal, b"q")
    rest = b""
    try:
        while True:
            rest += os.read(terminal, 65536)
    except OSError:
        pass  # the terminal ends with its program
    assert rest.endswith(b"\x1b[?25h\x1b[?1049l"), rest
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
