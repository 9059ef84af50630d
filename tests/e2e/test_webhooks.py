"""Webhooks against a receiver that checks, refuses, hangs, redirects and goes away."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import queue
import threading
import time

from harness import wait_until

KEY = os.urandom(32)


class Receiver:
    """Answers as `script` says, one item a request, then 200 for ever."""

    def __init__(self, port=0, tls=None):
        self.script, self.taken, self.bad, self.attempts = queue.Queue(), [], [], 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.attempts += 1
                ident, stamp = self.headers["webhook-id"], self.headers["webhook-timestamp"]
                mac = hmac.new(KEY, f"{ident}.{stamp}.".encode() + body, hashlib.sha256).digest()
                if self.headers["webhook-signature"] != "v1," + base64.b64encode(mac).decode():
                    outer.bad.append("signature")
                if abs(time.time() - int(stamp)) > 60:
                    outer.bad.append("timestamp")
                what = outer.script.get() if not outer.script.empty() else 200
                if what == "hang":
                    time.sleep(20)
                    return
                if what == 200:
                    outer.taken.append((ident, json.loads(body)))
                self.send_response(what)
                if what == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                outer.bad.append("followed a redirect")

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def configured(tmp_path, port, scheme="http", **more):
    tmp_path.chmod(0o755)
    secret = tmp_path / "secret"
    secret.write_text("whsec_" + base64.b64encode(KEY).decode() + "\n")
    secret.chmod(0o600)
    config = tmp_path / "cay.toml"
    extra = "".join(f"{k} = {json.dumps(v)}\n" for k, v in more.items())
    config.write_text(
        f'[[webhooks]]\nname = "test"\nurl = "{scheme}://127.0.0.1:{port}/hook?x=1"\n'
        f'secret_file = "{secret}"\n{extra}'
    )
    return str(config)


def test_signed_in_order_at_least_once_over_failures_and_kills(own_daemon, tmp_path):
    receiver = Receiver()
    daemon = own_daemon(
        "--config", configured(tmp_path, receiver.port, events=["sandbox.", "command.ended"])
    )
    for what in (500, 302, "hang"):
        receiver.script.put(what)
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "hooked"}).json()
        begin = time.monotonic()
        assert (
            http.post(f"/api/v1/sandboxes/{box['id']}/commands", json={"command": "exit 4"}).json()[
                "exit_code"
            ]
            == 4
        )
        assert time.monotonic() - begin < 15, "a receiver that fails holds up the daemon"
        wait_until(lambda: receiver.attempts >= 2, "attempts", limit=60)
    daemon.kill()
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    with daemon.http() as http:
        http.delete(f"/api/v1/sandboxes/{box['id']}")
        wait_until(
            lambda: any(m["type"] == "sandbox.deleted" for _, m in receiver.taken),
            "all of them",
            limit=90,
        )
        journal = http.get("/api/v1/events", params={"limit": 1000}).json()["items"]
    expected = [
        e for e in journal if e["type"].startswith("sandbox.") or e["type"] == "command.ended"
    ]
    order = list(
        dict.fromkeys(ident for ident, _ in receiver.taken)
    )  # repeats are allowed; order is kept
    by_id = dict(receiver.taken)
    assert [by_id[i]["data"] for i in order] == expected
    assert all(
        m["timestamp"] == m["data"]["at"] and m["type"] == m["data"]["type"]
        for _, m in receiver.taken
    )
    assert not receiver.bad, receiver.bad
    receiver.close()


def test_a_receiver_that_comes_late_misses_nothing(own_daemon, tmp_path):
    port = Receiver()
    number = port.port
    port.close()
    daemon = own_daemon("--config", configured(tmp_path, number))
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        failures = lambda: 'cay_webhook_failures_total{webhook="test"}' in http.get("/metrics").text
        wait_until(failures, "a failure in the metrics", limit=60)
        receiver = Receiver(number)
        wait_until(lambda: len(receiver.taken) >= 2, "both events", limit=90)
        assert [m["type"] for _, m in receiver.taken[:2]] == ["sandbox.created", "sandbox.started"]
        http.delete(f"/api/v1/sandboxes/{box['id']}")
        receiver.close()


def test_a_bad_configuration_is_refused_with_words(daemon, tmp_path):
    config = configured(tmp_path, 1)
    (tmp_path / "secret").chmod(0o644)
    import subprocess
    from harness import CAY

    done = subprocess.run(
        [CAY, "serve", "--config", config, "--data", str(tmp_path / "data")],
        capture_output=True,
        timeout=30,
    )
    assert done.returncode == 125 and b"chmod 640" in done.stderr, done
