"""The daemon behind a TLS proxy, and keys that come and go while it runs."""
import subprocess

import httpx
import pytest

from harness import AS_ROOT, CAY, new_daemon


def key(daemon, *words):
    done = subprocess.run(
        [*AS_ROOT, CAY, "key", "--data", daemon.data, *words],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done
    return done.stdout.strip()


def status(daemon, secret):
    return httpx.get(f"{daemon.url}/api/v1/version", headers={"X-Api-Key": secret}).status_code


def test_keys_are_taken_and_refused_at_once(daemon):
    secret = key(daemon, "create", "brief")
    assert status(daemon, secret) == 200
    other = key(daemon, "create", "longer")
    key(daemon, "remove", "brief")
    assert (status(daemon, secret), status(daemon, other), status(daemon, daemon.key)) == (
        401,
        200,
        200,
    )
    key(daemon, "remove", "longer")  # the last one takes the file with it
    assert (status(daemon, other), status(daemon, daemon.key)) == (401, 200)


def dataplane(daemon, **headers):
    with httpx.Client(
        base_url=daemon.url, headers={"X-Api-Key": daemon.key, **headers}, timeout=60
    ) as client:
        boxes = client.get("/v2/sandboxes/boxes")
        assert boxes.status_code == 200, boxes.text
        return boxes.json()["sandboxes"][0]["dataplane_url"]


def test_urls_in_answers_are_the_public_ones(own_daemon):
    daemon = own_daemon("--public-url", "https://cay.example")
    assert daemon.cli("create").code == 0
    assert dataplane(daemon, Host="cay.example").startswith("https://cay.example/v2/sandboxes/dp/")
    assert dataplane(daemon).startswith(f"{daemon.url}/v2/sandboxes/dp/")
    refused = httpx.get(f"{daemon.url}/healthz", headers={"Host": "evil.example"})
    assert (refused.status_code, refused.json()["error"]["reason"]) == (421, "wrong_host")
    # Only a trusted proxy is believed.
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "cay.example"}
    assert dataplane(daemon, **forwarded).startswith(f"{daemon.url}/v2/sandboxes/dp/")
    daemon.args += ["--trusted-proxy", "127.0.0.0/8"]
    daemon.restart()
    assert dataplane(daemon, **forwarded).startswith("https://cay.example/v2/sandboxes/dp/")


def test_a_public_url_that_is_none_is_said():
    daemon = new_daemon("--public-url", "cay.example")
    with pytest.raises(RuntimeError, match="cay.example.*https://"):
        daemon.start()
    daemon.process.wait(timeout=60)
    daemon.close()
