"""Requests as attackers send them: by hand, so that nothing tidies them up. (`talk`, `ask` and keys
of every scope.)"""
import http.client
import json
import socket
import subprocess

from harness import slow


def talk(host, data, limit=10.0, until=None):
    """All that the daemon answers to these bytes, until it closes, has said `until`, or is silent
    for `limit`."""
    got = b""
    with socket.create_connection(("127.0.0.1", host.daemon.port), timeout=slow(30)) as sock:
        try:
            sock.sendall(data)
            sock.settimeout(slow(limit))
            while part := sock.recv(65536):
                got += part
                if until and until in got:
                    break
        except (TimeoutError, ConnectionError):
            pass
    return got.decode("latin-1")


def ask(host, method, path, headers=None, body=None):
    """(status, text) of one request with exactly these headers (and Host)."""
    connection = http.client.HTTPConnection("127.0.0.1", host.daemon.port, timeout=slow(60))
    try:
        connection.request(method, path, body=body, headers=dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read().decode("latin-1")
    finally:
        connection.close()


def with_key(key):
    return {"X-Api-Key": key, "Content-Type": "application/json"}


def key(host, *words):
    """`cay key WORDS`."""
    done = subprocess.run(
        [host.daemon.program, "key", "--data", host.daemon.data, *words],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def keys(host):
    """One of each scope; "use" is for the sandbox `main`, "tenant" is another tenant's."""
    if not hasattr(host, "keys"):
        host.keys = {
            scope: key(host, "create", f"escape-{scope}", "--scope", scope)
            for scope in ("admin", "create", "read")
        }
        host.keys["use"] = key(host, "create", "escape-use", "--sandbox", host.box("main").id)
        host.keys["tenant"] = key(host, "create", "escape-tenant", "--tenant", "escape")
    return host.keys


def command(host, box, line, headers):
    return ask(
        host,
        "POST",
        f"/api/v1/sandboxes/{box.id}/commands",
        headers,
        json.dumps({"command": line, "wait": True}),
    )


def issue(host, box, **spec):
    """A link, as whoever was given it has it."""
    status, text = ask(
        host,
        "POST",
        f"/api/v1/sandboxes/{box.id}/links",
        with_key(host.daemon.key),
        json.dumps(spec),
    )
    assert status == 201, text
    return json.loads(text)
