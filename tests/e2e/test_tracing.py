"""Trace context: taken from the request, told to the command, and spans at a collector."""
import contextlib
import http.server
import json
import pathlib
import threading

from harness import processes_of, wait_until

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = {"traceparent": f"00-{TRACE}-{SPAN}-01"}


class Collector:
    def __init__(self, port=0, tls=None, answers=()):
        self.spans, self.answers = [], list(answers)  # of the first requests; then 200
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                assert (
                    self.path == "/v1/traces" and self.headers["content-type"] == "application/json"
                )
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                status = outer.answers.pop(0) if outer.answers else 200
                if status != 200:
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                for resource in body["resourceSpans"]:
                    assert {"key": "service.name", "value": {"stringValue": "cay"}} in resource[
                        "resource"
                    ]["attributes"]
                    for scope in resource["scopeSpans"]:
                        outer.spans += scope["spans"]
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def named(self, name):
        return [s for s in self.spans if s["name"] == name]


def attributes(span):
    return {a["key"]: a["value"]["stringValue"] for a in span["attributes"]}


def runs(box, name):
    """Whether a command that waits for /tmp/go-NAME runs in the sandbox."""
    for pid in processes_of(box):
        with contextlib.suppress(OSError):
            if (
                f"[ -e /tmp/go-{name} ]".encode()
                in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            ):
                return True
    return False


def configured(tmp_path, port):
    tmp_path.chmod(0o755)
    config = tmp_path / "cay.toml"
    config.write_text(f'[tracing]\notlp_endpoint = "http://127.0.0.1:{port}"\n')
    return str(config)


def test_a_trace_goes_from_the_client_to_the_command(own_daemon, tmp_path):
    collector = Collector()
    daemon = own_daemon("--config", configured(tmp_path, collector.port))
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}, headers=PARENT).json()
        commands = f"/api/v1/sandboxes/{box['id']}/commands"
        request = {"id": "once", "command": "echo $TRACEPARENT; exit 5"}
        done = http.post(commands, json=request, headers=PARENT).json()
        # The same request in another trace is still the same request.
        other = {"traceparent": f"00-{TRACE[::-1]}-{SPAN}-01"}
        assert http.post(commands, json=request, headers=other).json()["stdout"] == done["stdout"]
        assert (
            http.post(commands, json={"command": "echo [$TRACEPARENT]"}).json()["stdout"] == "[]\n"
        )
        mine = http.post(
            commands,
            json={"command": "echo $TRACEPARENT", "env": {"TRACEPARENT": "mine"}},
            headers=PARENT,
        ).json()
        assert mine["stdout"] == "mine\n"
        # The command line goes by its own environment; what is no trace context is left out.
        ran = daemon.cli(
            "exec",
            box["name"],
            "--",
            "sh",
            "-c",
            "echo $TRACEPARENT",
            env={"TRACEPARENT": PARENT["traceparent"]},
        )
        assert ran.text.startswith(f"00-{TRACE}-") and SPAN not in ran.text, ran
        for no_trace in ("", "garbage", f"00-{TRACE}-{SPAN}-01\r\nX-Api-Key: no"):
            assert (
                daemon.cli(
                    "exec",
                    box["name"],
                    "--",
                    "sh",
                    "-c",
                    "echo [$TRACEPARENT]",
                    env={"TRACEPARENT": no_trace},
                ).text
                == "[]\n"
            )
        wait_until(
            lambda: len(collector.named("command")) >= 2 and collector.named("sandbox create"),
            "spans",
            limit=60,
        )
        http.delete(f"/api/v1/sandboxes/{box['id']}")
    command = next(
        s for s in collector.named("command") if attributes(s)["cay.command.id"] == "once"
    )
    assert done["stdout"] == f"00-{TRACE}-{command['spanId']}-01\n"
    assert (
        attributes(command)["cay.command.state"] == "exited"
        and attributes(command)["process.exit.code"] == "5"
    )
    request = next(s for s in collector.spans if s["spanId"] == command["parentSpanId"])
    assert (
        request["name"] == "POST /api/v1/sandboxes/{ref}/commands"
        and request["parentSpanId"] == SPAN
        and request["kind"] == 2
    )
    create = collector.named("sandbox create")[0]
    asked = next(s for s in collector.spans if s["spanId"] == create["parentSpanId"])
    assert asked["name"] == "POST /api/v1/sandboxes" and asked["parentSpanId"] == SPAN
    assert {s["traceId"] for s in (command, request, create, asked)} == {TRACE}
    assert (
        int(request["startTimeUnixNano"])
        <= int(command["startTimeUnixNano"])
        <= int(command["endTimeUnixNano"])
    )
    collector.close()


def test_a_command_that_ended_while_no_daemon_was_there_has_its_span(own_daemon, tmp_path):
    collector = Collector()
    daemon = own_daemon("--config", configured(tmp_path, collector.port))
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        script = "until [ -e /tmp/go ]; do sleep 0.05; done; touch /tmp/gone; exit 7"
        for name in ("unseen", "seen"):
            request = {
                "id": name,
                "command": script.replace("/tmp/go", f"/tmp/go-{name}"),
                "wait": False,
                "timeout_s": 0,
            }
            assert (
                http.post(
                    f"/api/v1/sandboxes/{box}/commands", json=request, headers=PARENT
                ).status_code
                == 201
            )
        request = {"command": "(sleep 2; touch /tmp/go-unseen) &", "timeout_s": 0}
        assert http.post(f"/api/v1/sandboxes/{box}/commands", json=request).status_code == 200

        def told():
            events = http.get(
                "/api/v1/events", params={"sandbox": box, "type": "command.started"}
            ).json()["items"]
            return {"unseen", "seen"} <= {event["command_id"] for event in events}

        wait_until(told, "their starts, with what they are traced by, are on disk")
    daemon.kill()
    assert runs(box, "seen") and runs(box, "unseen"), "the control"
    wait_until(lambda: not runs(box, "unseen"), "it has ended, and nobody heard of it", limit=30)
    assert runs(box, "seen")
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
    with daemon.http() as http:
        assert (
            http.put(
                f"/api/v1/sandboxes/{box}/files", params={"path": "/tmp/go-seen"}, content=b""
            ).status_code
            < 300
        )
        wait_until(lambda: len(collector.named("command")) == 2, "both spans", limit=60)
    ends = {
        attributes(span)["cay.command.id"]: attributes(span)["process.exit.code"]
        for span in collector.named("command")
    }
    assert ends == {"unseen": "7", "seen": "7"}
    collector.close()


def test_a_command_whose_daemon_is_killed_right_after_its_start_has_its_span(own_daemon, tmp_path):
    collector = Collector()
    daemon = own_daemon("--config", configured(tmp_path, collector.port))
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()["id"]
        for number in range(5):
            request = {
                "id": f"c{number}",
                "command": "until [ -e /tmp/go ]; do sleep 0.05; done; exit 7",
                "wait": False,
                "timeout_s": 0,
            }
            assert (
                http.post(
                    f"/api/v1/sandboxes/{box}/commands", json=request, headers=PARENT
                ).status_code
                == 201
            )
            daemon.kill()  # with what it had not written yet
            daemon.start(listen=f"127.0.0.1:{daemon.port}")
        # Only now do they end: a span that is made and not sent yet is lost with its daemon.
        assert (
            http.put(
                f"/api/v1/sandboxes/{box}/files", params={"path": "/tmp/go"}, content=b""
            ).status_code
            < 300
        )
        wait_until(lambda: len(collector.named("command")) >= 5, "a span for each", limit=60)
    spans = collector.named("command")
    assert sorted(attributes(span)["cay.command.id"] for span in spans) == [
        f"c{number}" for number in range(5)
    ]
    assert {span["traceId"] for span in spans} == {TRACE} and len(
        {span["spanId"] for span in spans}
    ) == 5
    collector.close()


def test_a_collector_that_is_away_costs_spans_and_nothing_else(own_daemon, tmp_path):
    gone = Collector()
    gone.close()
    daemon = own_daemon("--config", configured(tmp_path, gone.port))
    with daemon.http() as http:
        for _ in range(2300):  # one span each: more than the queue holds
            assert http.get("/api/v1/version", headers=PARENT).status_code == 200
            assert http.get("/api/v1/version", headers=PARENT).status_code == 200
        dropped = [
            l
            for l in http.get("/metrics").text.splitlines()
            if l.startswith("cay_trace_spans_dropped_total ")
        ]
        assert dropped and float(dropped[0].split()[1]) >= 100, dropped


def test_what_a_collector_refuses_is_dropped_and_what_it_cannot_take_now_is_kept(
    own_daemon, tmp_path
):
    """400 is for good: later spans must not wait behind it for ever. 503 is for now."""
    collector = Collector(answers=[400, 503])
    daemon = own_daemon("--config", configured(tmp_path, collector.port))
    with daemon.http() as http:
        assert http.get("/api/v1/version", headers=PARENT).status_code == 200
        wait_until(
            lambda: "cay_trace_spans_dropped_total 1\n" in http.get("/metrics").text,
            "the refused one is counted",
        )
        assert len(collector.answers) == 1 and not collector.spans
        assert http.get("/api/v1/snapshots", headers=PARENT).status_code == 200
        wait_until(
            lambda: collector.named("GET /api/v1/snapshots"),
            "the next one, at the second try",
            limit=60,
        )
        assert not collector.answers and not collector.named("GET /api/v1/version")
    collector.close()
