"""What the daemon sends out by itself, over https: events to webhooks, traces to a collector."""
import pathlib
import shutil
import ssl
import subprocess
import tempfile

import pytest

import test_tracing
import test_webhooks
from harness import wait_until


@pytest.fixture
def tls():
    """A server's context; its certificate, for 127.0.0.1, is where the daemon's user can read
    it."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cay-test-ca-"))
    directory.chmod(0o755)
    cert, key = directory / "ca.pem", directory / "key.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=receiver",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            key,
            "-out",
            cert,
        ],
        check=True,
        capture_output=True,
    )
    cert.chmod(0o644)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.ca_file = str(cert)
    yield context
    shutil.rmtree(directory)


def test_events_go_over_https_to_a_receiver_that_is_trusted(own_daemon, tmp_path, tls):
    receiver = test_webhooks.Receiver(tls=tls)
    daemon = own_daemon(
        "--config", test_webhooks.configured(tmp_path, receiver.port, "https", ca_file=tls.ca_file)
    )
    with daemon.http() as http:
        http.post("/api/v1/sandboxes", json={})
        wait_until(
            lambda: [m["type"] for _, m in receiver.taken]
            == ["sandbox.created", "sandbox.started"],
            "both events",
            limit=60,
        )
    assert not receiver.bad, receiver.bad
    receiver.close()


def test_events_do_not_go_to_a_receiver_that_is_not_trusted(own_daemon, tmp_path, tls):
    receiver = test_webhooks.Receiver(tls=tls)
    daemon = own_daemon("--config", test_webhooks.configured(tmp_path, receiver.port, "https"))
    with daemon.http() as http:
        http.post("/api/v1/sandboxes", json={})
        failures = lambda: 'cay_webhook_failures_total{webhook="test"}' in http.get("/metrics").text
        wait_until(failures, "a failure in the metrics", limit=60)
    assert not receiver.attempts
    receiver.close()


def test_traces_go_over_https(own_daemon, tmp_path, tls):
    collector = test_tracing.Collector(tls=tls)
    config = tmp_path / "cay.toml"
    config.write_text(
        "[tracing]\n"
        f'otlp_endpoint = "https://127.0.0.1:{collector.port}"\n'
        f'otlp_ca_file = "{tls.ca_file}"\n'
    )
    daemon = own_daemon("--config", str(config))
    with daemon.http() as http:
        http.post("/api/v1/sandboxes", json={}, headers=test_tracing.PARENT)
        wait_until(lambda: collector.named("sandbox create"), "the span", limit=60)
    collector.close()
