"""The API from outside: without a right key, with too small a one, from a web page, with odd
requests."""
import base64
import http.client
import json
import os

import asking
import world
from asking import ask, command, keys, talk, with_key
from frame import Outcome, row
from harness import wait_until

A, W, T = "api", "web pages", "tenants"


def served(status_text, sign):
    status, text = status_text
    return Outcome(200 <= status < 300 and sign in text, f"{status}")


# ---- keys ----


def keyed(name, attack, wrong, wall="API key", **more):
    """wrong(right key) -> headers, or a path to ask."""

    @row(name, attack, A, wall, by="A5 A6", **more)
    def run(host, lifted):
        box, right = host.box("main"), host.daemon.key
        path, given = f"/api/v1/sandboxes/{box.id}", wrong(right)
        if (
            isinstance(given, str) and not lifted
        ):  # of LangSmith's, which pass over parameters that they do not know
            path, given = f"/v2/sandboxes/boxes/{box.name}{given}", {}
        return served(ask(host, "GET", path, with_key(right) if lifted else given), box.id)


keyed("no-key", "ask without a key", lambda right: {}, known=("OpenSandbox#750", "crawl4ai"))
keyed(
    "wrong-key",
    "ask with a key that was guessed",
    lambda right: with_key("cay_" + "A" * (len(right) - 4)),
)
keyed(
    "beginning-of-a-key",
    "ask with all but the last letter of a key",
    lambda right: with_key(right[:-1]),
)
keyed("longer-key", "ask with a key and something behind it", lambda right: with_key(right + "x"))
keyed("key-of-other-case", "ask with the key in capitals", lambda right: with_key(right.upper()))
keyed("empty-key", "ask with an empty key", lambda right: {"X-Api-Key": ""})
keyed(
    "key-in-the-url",
    "ask with the key in the address",
    lambda right: f"?api_key={right}&x-api-key={right}&token={right}&key={right}",
)
keyed(
    "key-in-a-cookie",
    "ask with the key as a cookie",
    lambda right: {"Cookie": f"X-Api-Key={right}; api_key={right}; token={right}"},
)
keyed(
    "key-as-password",
    "ask with the key as a Basic password",
    lambda right: {"Authorization": "Basic " + base64.b64encode(b"cay:" + right.encode()).decode()},
)
keyed(
    "hash-of-a-key",
    "ask with what is stored of a key",
    lambda right: {"X-Api-Key": __import__("hashlib").sha256(right.encode()).hexdigest()},
)
keyed(
    "forwarded-user",
    "claim to be somebody by a proxy's headers",
    lambda right: {
        "X-Forwarded-User": "admin",
        "X-Remote-User": "root",
        "X-Forwarded-For": "127.0.0.1",
        "X-Real-Ip": "127.0.0.1",
        "Forwarded": "for=127.0.0.1",
    },
    known=("agent-sandbox: label spoofing",),
)


@row("expired-key", "ask with a key whose time is over", A, "expiry of keys", by="A6")
def expired_key(host, lifted):
    name = "x" + os.urandom(4).hex()
    made = asking.key(host, "create", name, "--expires", "1h" if lifted else "1ms")
    return served(
        ask(host, "GET", f"/api/v1/sandboxes/{host.box('main').id}", with_key(made)),
        host.box("main").id,
    )


@row("removed-key", "ask with a key that was removed", A, "removal of keys", by="A6")
def removed_key(host, lifted):
    name = "x" + os.urandom(4).hex()
    made = asking.key(host, "create", name)
    assert served(
        ask(host, "GET", f"/api/v1/sandboxes/{host.box('main').id}", with_key(made)),
        host.box("main").id,
    ).won
    if not lifted:
        asking.key(host, "remove", name)
    return served(
        ask(host, "GET", f"/api/v1/sandboxes/{host.box('main').id}", with_key(made)),
        host.box("main").id,
    )


@row("rotated-key", "ask with a key that was rotated", A, "rotation of keys", by="A6")
def rotated_key(host, lifted):
    name = "x" + os.urandom(4).hex()
    made = asking.key(host, "create", name)
    assert served(
        ask(host, "GET", f"/api/v1/sandboxes/{host.box('main').id}", with_key(made)),
        host.box("main").id,
    ).won
    asking.key(host, "rotate", name, *(["--grace", "1h"] if lifted else []))
    return served(
        ask(host, "GET", f"/api/v1/sandboxes/{host.box('main').id}", with_key(made)),
        host.box("main").id,
    )


# ---- scopes and tenants ----


def scoped(name, attack, small, great, act, kind=A, wall=None, **more):
    @row(name, attack, kind, wall or f"scope {small}", by="A2 A6", **more)
    def run(host, lifted):
        held = {**keys(host), "first": host.daemon.key}
        return act(host, with_key(held[great if lifted else small]))


def run_line(host, headers):
    box, mark = host.box("main"), f"/tmp/mark-{os.urandom(4).hex()}"
    status, _ = command(host, box, f"touch {mark}", headers)
    return Outcome("there" in box.sh(f"[ -e {mark} ] && echo there"), str(status))


def write_file(host, headers):
    box, mark = host.box("main"), f"/tmp/mark-{os.urandom(4).hex()}"
    status, _ = ask(
        host, "PUT", f"/api/v1/sandboxes/{box.id}/files?path={mark}", headers, b"changed"
    )
    return Outcome("changed" in box.sh(f"cat {mark} 2>&1"), str(status))


def delete_file(host, headers):
    box, mark = host.box("main"), f"/tmp/mark-{os.urandom(4).hex()}"
    box.sh(f"touch {mark}")
    status, _ = ask(host, "DELETE", f"/api/v1/sandboxes/{box.id}/files?path={mark}", headers)
    return Outcome("gone" in box.sh(f"[ -e {mark} ] || echo gone"), str(status))


def make_link(host, headers):
    return served(
        ask(
            host,
            "POST",
            f"/api/v1/sandboxes/{host.box('main').id}/links",
            headers,
            json.dumps({"path": "/etc/hostname"}),
        ),
        "cayl_",
    )


def make_sandbox(host, headers):
    status, text = ask(host, "POST", "/api/v1/sandboxes", headers, "{}")
    if status == 201:
        ask(host, "DELETE", "/api/v1/sandboxes/" + json.loads(text)["id"], headers)
    return Outcome(status == 201, str(status))


def list_all(host, headers):
    other = host.box("other").id
    return served(ask(host, "GET", "/api/v1/sandboxes", headers), other)


def see_events(host, headers):
    return served(ask(host, "GET", "/api/v1/events", headers), "items")


def see_metrics(host, headers):
    return served(ask(host, "GET", "/metrics", headers), "cay_")


def drain_state(host, headers):
    return served(ask(host, "GET", "/api/v1/drain", headers), "drain")


def other_sandbox(host, headers):
    return served(
        ask(host, "GET", f"/api/v1/sandboxes/{host.box('other').id}", headers), host.box("other").id
    )


def other_by_name(host, headers):
    return served(ask(host, "GET", "/api/v1/sandboxes/escape-other", headers), host.box("other").id)


def other_file(host, headers):
    return served(
        ask(
            host,
            "GET",
            f"/api/v1/sandboxes/{host.box('other').id}/files?path=/etc/hostname",
            headers,
        ),
        "escape-other",
    )


def other_command(host, headers):
    return served(command(host, host.box("other"), "echo in-the-other", headers), "in-the-other")


def other_by_path(host, headers):
    """The allowed sandbox, and out of it by dots that a proxy or a router may resolve."""
    box, other = host.box("main"), host.box("other")
    tried = [
        ask(host, "GET", f"/api/v1/sandboxes/{box.id}/{dots}{other.id}", headers)
        for dots in ("../", "%2e%2e/", "..%2f", "./../")
    ]
    direct = ask(host, "GET", f"/api/v1/sandboxes/{other.id}", headers)
    won = [text for status, text in [*tried, direct] if status == 200 and other.id in text]
    return Outcome(bool(won), " ".join(str(status) for status, _ in tried))


def other_by_langsmith(host, headers):
    return served(
        ask(host, "GET", f"/v2/sandboxes/boxes/{host.box('other').name}", headers), "escape-other"
    )


scoped("reader-runs", "run a command with a key that reads", "read", "create", run_line)
scoped("reader-writes", "write a file with a key that reads", "read", "create", write_file)
scoped("reader-deletes", "delete a file with a key that reads", "read", "create", delete_file)
scoped("reader-links", "make a link with a key that reads", "read", "create", make_link)
scoped("reader-makes", "make a sandbox with a key that reads", "read", "create", make_sandbox)
scoped(
    "creator-drains",
    "see and set the drain with a key that creates",
    "create",
    "admin",
    drain_state,
)
scoped("user-makes", "make a sandbox with a key for one sandbox", "use", "create", make_sandbox)
scoped("user-lists", "list sandboxes with a key for one sandbox", "use", "create", list_all, T)
scoped(
    "user-sees-events",
    "see everybody's events with a key for one sandbox",
    "use",
    "create",
    see_events,
    T,
)
scoped(
    "user-sees-metrics",
    "see the daemon's metrics with a key for one sandbox",
    "use",
    "admin",
    see_metrics,
    T,
)
scoped(
    "creator-sees-metrics",
    "see what all tenants do in the daemon's metrics with a key that creates",
    "create",
    "admin",
    see_metrics,
    T,
)
scoped("user-other", "see another sandbox with a key for one", "use", "create", other_sandbox, T)
scoped(
    "user-other-name",
    "see another sandbox by its name with a key for one",
    "use",
    "create",
    other_by_name,
    T,
)
scoped(
    "user-other-file",
    "read another sandbox's file with a key for one",
    "use",
    "create",
    other_file,
    T,
)
scoped(
    "user-other-command",
    "run in another sandbox with a key for one",
    "use",
    "create",
    other_command,
    T,
)
scoped(
    "user-other-path",
    "reach another sandbox by dots in the path",
    "use",
    "create",
    other_by_path,
    T,
    known=("GHSA-fjv8-j4p5-cr9m",),
)


def other_links(host, headers):
    made = asking.issue(host, host.box("other"), path="/etc/hostname")
    return served(
        ask(host, "GET", f"/api/v1/sandboxes/{host.box('other').id}/links", headers), made["id"]
    )


def other_events(host, headers):
    other = host.box("other").id
    return served(ask(host, "GET", f"/api/v1/events?sandbox={other}", headers), f'"{other}"')


def other_usage(host, headers):
    return served(
        ask(host, "GET", f"/api/v1/sandboxes/{host.box('other').id}/usage", headers),
        host.box("other").id,
    )


def other_stats(host, headers):
    other = host.box("other").id
    return served(ask(host, "GET", "/api/v1/stats", headers), other)


def other_network(host, headers):
    return served(
        ask(host, "GET", f"/api/v1/sandboxes/{host.box('other').id}/network", headers), "policy"
    )


def other_output(host, headers):
    box, mark = host.box("other"), "m" + os.urandom(4).hex()
    status, text = ask(
        host,
        "POST",
        f"/api/v1/sandboxes/{box.id}/commands",
        with_key(host.daemon.key),
        json.dumps({"id": mark, "command": f"echo {mark}-out", "wait": True}),
    )
    assert status == 200, text
    return served(
        ask(
            host, "GET", f"/api/v1/sandboxes/{box.id}/commands/{mark}/output?stream=stdout", headers
        ),
        f"{mark}-out",
    )


def other_secrets(host, headers):
    name = "s" + os.urandom(4).hex()
    body = json.dumps({"value": "a-value-of-the-first", "hosts": ["api.example.com"]})
    status, text = ask(host, "PUT", f"/api/v1/secrets/{name}", with_key(host.daemon.key), body)
    assert status == 200, text
    try:
        return served(ask(host, "GET", "/api/v1/secrets", headers), name)
    finally:
        ask(host, "DELETE", f"/api/v1/secrets/{name}", with_key(host.daemon.key))


for name, act in {
    "links": other_links,
    "events": other_events,
    "usage": other_usage,
    "stats": other_stats,
    "network": other_network,
    "output": other_output,
    "secrets": other_secrets,
    "sandbox": other_sandbox,
    "name": other_by_name,
    "list": list_all,
    "file": other_file,
    "command": other_command,
    "langsmith": other_by_langsmith,
}.items():
    scoped(
        f"tenant-{name}",
        f"another tenant's key: {act.__name__.replace('_', ' ')}",
        "tenant",
        "create",
        act,
        T,
        "tenant of the key",
    )


# ---- what is passed on to LangSmith with the operator's key ----


def upstream(method, path):
    return lambda host, headers: served(ask(host, method, path, headers), f"reached {method} ")


RUN = "6f1c2a0e-8d54-4a43-9a55-0f6a8f0f3b11"
scoped(
    "creator-reads-traces",
    "read the operator's traces elsewhere with a key that creates",
    "create",
    "admin",
    upstream("GET", "/api/v1/sessions"),
    T,
)
scoped(
    "creator-asks-for-runs",
    "search the operator's runs elsewhere with a key that creates",
    "create",
    "admin",
    upstream("POST", "/runs/query"),
    T,
)
scoped(
    "creator-deletes-traces",
    "delete the operator's traces elsewhere with a key that creates",
    "create",
    "admin",
    upstream("DELETE", "/sessions/x"),
    T,
)
scoped(
    "creator-reads-prompts",
    "ask elsewhere for a path that Cay does not know with a key that creates",
    "create",
    "admin",
    upstream("GET", "/v1/platform/x"),
    T,
)
scoped(
    "creator-posts-by-dots",
    "reach another path elsewhere behind that of runs",
    "create",
    "admin",
    upstream("POST", "/runs/batch/../../sessions"),
    T,
    known=("GHSA-fjv8-j4p5-cr9m",),
)
scoped(
    "reader-posts-runs",
    "post runs elsewhere with a key that reads",
    "read",
    "create",
    upstream("POST", "/runs/batch"),
)
scoped(
    "user-posts-runs",
    "post runs elsewhere with a key for one sandbox",
    "use",
    "create",
    upstream("POST", "/runs/multipart"),
)
scoped(
    "tenant-posts-runs",
    "post runs elsewhere with a key of a tenant that the operator did not name",
    "tenant",
    "create",
    upstream("POST", "/runs/batch"),
    T,
    "tenant of the key",
)


@row(
    "run-of-another-path",
    "name another path elsewhere as the id of a run",
    A,
    "a run's id is a UUID",
    by="A2 A6",
    known=("GHSA-fjv8-j4p5-cr9m",),
)
def run_of_another_path(host, lifted):
    return served(
        ask(
            host,
            "PATCH",
            f"/runs/{RUN if lifted else '..%2fsessions%2fx'}",
            with_key(keys(host)["create"]),
        ),
        "reached PATCH ",
    )


@row(
    "credentials-elsewhere",
    "have a caller's key and cookies told elsewhere",
    T,
    "headers upstream are chosen",
    by="A2 A6",
    proof="the same request, not through Cay, tells them",
)
def credentials_elsewhere(host, lifted):
    right = host.daemon.key
    headers = {
        "X-Api-Key": right,
        "Authorization": f"Bearer {right}",
        "Cookie": f"token={right}",
        "X-Service-Key": right,
        "Proxy-Authorization": right,
    }
    if lifted:
        asked = http.client.HTTPConnection(world.V4, timeout=30)
        asked.request("GET", "/sessions", headers=headers)
        text = asked.getresponse().read().decode()
    else:
        text = ask(host, "GET", "/sessions", headers)[1]
        assert "key-of-the-operator-elsewhere" in text, text  # it was asked
    return Outcome(right in text, "not told")


@row(
    "redirect-elsewhere",
    "have the upstream send a client, and its key, to another host",
    A,
    "redirects are not passed on",
    by="A2 A6",
    proof="the same request, not through Cay, is redirected",
)
def redirect_elsewhere(host, lifted):
    if lifted:
        asked = http.client.HTTPConnection(world.V4, timeout=30)
    else:
        asked = http.client.HTTPConnection("127.0.0.1", host.daemon.port, timeout=30)
    asked.request("GET", "/public/redirect/evil.example", headers=with_key(host.daemon.key))
    answer = asked.getresponse()
    return Outcome("evil.example" in (answer.getheader("Location") or ""), str(answer.status))


# ---- web pages on the operator's machine ----


def page(name, attack, wall, evil, good, key=True, path="/api/v1/version", **more):
    @row(name, attack, W, wall, by="A5", **more)
    def run(host, lifted):
        lines = good if lifted else evil
        lines = [line.replace("PORT", str(host.daemon.port)) for line in lines] + (
            [f"X-Api-Key: {host.daemon.key}"] if key else []
        )
        got = talk(
            host,
            f"GET {path} HTTP/1.1\r\n".encode()
            + "\r\n".join([*lines, "Connection: close", "", ""]).encode(),
        )
        return Outcome(got.startswith("HTTP/1.1 200"), got.split("\r\n")[0])


GOOD = ["Host: 127.0.0.1:PORT"]
for name, value in {
    "rebound": "evil.example:PORT",
    "rebound-suffix": "127.0.0.1.evil.example:PORT",
    "rebound-localhost": "localhost.evil.example",
    "rebound-userinfo": "127.0.0.1@evil.example",
    "rebound-number": "2130706433:PORT",
    "rebound-hex": "0x7f000001",
    "rebound-any": "0.0.0.0:PORT",
    "rebound-empty": "",
    "rebound-mapped": "[::ffff:7f00:1]:PORT",
    "rebound-short": "127.1:PORT",
}.items():
    page(
        name,
        f"a page whose name was rebound: Host {value or '(empty)'}",
        "check of Host",
        [f"Host: {value}"],
        GOOD,
        holes=("check of Host", "one proper Host") if "@" in value else ("check of Host",),
    )
page(
    "no-host",
    "a request without a Host",
    "check of Host",
    ["X-None: 1"],
    GOOD,
    holes=("check of Host", "one proper Host"),
)
page(
    "two-hosts",
    "two Host headers of which one is right",
    "one proper Host",
    ["Host: 127.0.0.1:PORT", "Host: evil.example"],
    GOOD,
)
page(
    "cross-origin",
    "a page of another origin asks without a key",
    "check of Origin",
    [*GOOD, "Origin: http://evil.example"],
    GOOD,
    key=False,
    path="/healthz",
)
page(
    "cross-origin-null",
    "a page without an origin asks without a key",
    "check of Origin",
    [*GOOD, "Origin: null"],
    GOOD,
    key=False,
    path="/healthz",
)
page(
    "cross-origin-port",
    "a page of another port of this machine asks without a key",
    "check of Origin",
    [*GOOD, "Origin: http://127.0.0.1:1"],
    GOOD,
    key=False,
    path="/healthz",
)
page(
    "cross-origin-prefix",
    "a page whose origin begins with ours",
    "check of Origin",
    [*GOOD, "Origin: http://127.0.0.1:PORT.evil.example"],
    GOOD,
    key=False,
    path="/healthz",
)


def socket_row(name, attack, evil, path, wall="API key of WebSockets", **more):
    @row(name, attack, W, wall, by="A5", **more)
    def run(host, lifted):
        extra = [f"X-Api-Key: {host.daemon.key}"] if lifted else evil

        def listens():
            return "ok" in host.box("main").sh(
                "python3 -c \"import socket; socket.create_connection(('127.0.0.1', 8765))\" && "
                "echo ok"
            )

        if (
            "PORT" in path and not listens()
        ):  # something has to, and the try before may have begun it: a second one would end at once
            host.box("main").start(["python3", "-m", "http.server", "8765", "--bind", "127.0.0.1"])
            wait_until(listens, "it listens", 20)
        target = path.format(host.box("main").id).replace("PORT", "8765")
        lines = [
            "Host: 127.0.0.1",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode(),
            *extra,
            "",
            "",
        ]
        got = talk(
            host,
            f"GET {target} HTTP/1.1\r\n".encode() + "\r\n".join(lines).encode(),
            until=b"\r\n\r\n",
        )
        return Outcome(got.startswith("HTTP/1.1 101"), got.split("\r\n")[0])


COMMANDS, TUNNEL = "/api/v1/sandboxes/{}/commands/ws", "/api/v1/sandboxes/{}/tunnel?port=PORT"
socket_row("socket-without-key", "open a WebSocket of commands without a key", [], COMMANDS)
BOTH = ("API key", "check of Origin")
socket_row(
    "socket-of-a-page",
    "a page opens a WebSocket of commands",
    ["Origin: http://evil.example"],
    COMMANDS,
    holes=BOTH,
)
socket_row(
    "socket-by-protocol",
    "a page opens it with a key's place in the subprotocol",
    ["Origin: http://evil.example", "Sec-WebSocket-Protocol: x-api-key"],
    COMMANDS,
    holes=BOTH,
)
socket_row("tunnel-without-key", "open a tunnel without a key", [], TUNNEL)
socket_row(
    "langsmith-socket-without-key",
    "open LangSmith's WebSocket without a key",
    [],
    "/v2/sandboxes/dp/escape-main/execute/ws",
)


# ---- odd requests: the control is the same request without what is odd ----


def odd(name, attack, wall, evil, good, won, by="A2 A6", **more):
    @row(name, attack, A, wall, by=by, **more)
    def run(host, lifted):
        body = good if lifted else evil
        status, text = ask(
            host,
            "POST",
            "/api/v1/sandboxes",
            with_key(host.daemon.key),
            json.dumps(body) if not isinstance(body, (str, bytes)) else body,
        )
        made = json.loads(text).get("id") if status == 201 else None
        try:
            return Outcome(status == 201 and won(host, made, text), f"{status}")
        finally:
            if made:
                ask(host, "DELETE", f"/api/v1/sandboxes/{made}", with_key(host.daemon.key))


def always(host, made, text):
    return True


odd(
    "name-of-dots",
    "a sandbox named ../../etc",
    "checked names",
    {"name": "../../etc"},
    {"name": "a-fair-name"},
    always,
    known=("GHSA-fjv8-j4p5-cr9m", "CubeSandbox#842"),
)
odd(
    "name-with-zero",
    "a name with a zero byte",
    "checked names",
    {"name": "a\0b"},
    {"name": "a-fair-name"},
    always,
)
odd(
    "name-with-option",
    "a name that begins with a dash and a space",
    "checked names",
    {"name": "--privileged --mount=/"},
    {"name": "a-fair-name"},
    always,
    known=("CVE-2026-44210",),
)
odd(
    "name-with-newline",
    "a name with a line end",
    "checked names",
    {"name": "a\nb"},
    {"name": "a-fair-name"},
    always,
)
odd(
    "snapshot-of-dots",
    "a snapshot named ../../..",
    "checked names",
    {"snapshot": "../../../../etc"},
    {"snapshot": "default"},
    always,
    known=("GHSA-fjv8-j4p5-cr9m", "CubeSandbox#756"),
    holes=(),
)  # looked up by name: there is no path to check
odd(
    "too-much-memory",
    "a sandbox of a petabyte of memory",
    "bounds of limits",
    {"limits": {"memory_bytes": 1 << 50}},
    {"limits": {"memory_bytes": 1 << 28}},
    always,
    holes=("bounds of limits", "room on the host"),
)
odd(
    "negative-limit",
    "a negative number of processes",
    "numbers are read strictly",
    {"limits": {"pids": -1}},
    {"limits": {"pids": 100}},
    always,
)
odd(
    "too-many-processes",
    "a sandbox of four billion processes",
    "numbers are read strictly",
    {"limits": {"pids": 1 << 32}},
    {"limits": {"pids": 100}},
    always,
)
odd(
    "relative-workdir",
    "a working directory of ../..",
    "checked paths",
    {"workdir": "../../.."},
    {"workdir": "/tmp"},
    always,
)
odd("large-body", "a body of 64 MiB", "bounds of bodies", b"{}" + b" " * (64 << 20), "{}", always)
odd(
    "invalid-utf8",
    "a name that is not UTF-8",
    "JSON is read strictly",
    b'{"name": "a\xff\xfeb"}',
    "{}",
    always,
)


@row("deep-json", "a body of 100,000 brackets", A, "bounds of JSON", by="A2 A6")
def deep_json(host, lifted):
    depth = 1 if lifted else 100_000
    status, text = ask(
        host,
        "POST",
        "/api/v1/sandboxes",
        with_key(host.daemon.key),
        '{"later":' + "[" * depth + "]" * depth + "}",
    )
    return Outcome("is not a member" in text, str(status))  # it was read to its end


@row("long-header", "headers of a megabyte", A, "bounds of headers", by="A2 A6")
def long_header(host, lifted):
    size = 100 if lifted else 1 << 15
    headers = "".join(f"X-{number}: {'a' * size}\r\n" for number in range(32))
    got = talk(
        host,
        "GET /api/v1/version HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\n"
        f"X-Api-Key: {host.daemon.key}\r\n"
        f"{headers}Connection: close\r\n"
        "\r\n".encode(),
    )
    return Outcome(got.startswith("HTTP/1.1 200"), got.split("\r\n")[0])


def smuggled(name, framing, wall="strict framing of requests"):
    """Two readers of one connection may disagree where a request ends: whatever is odd is refused,
    and nothing behind it is read."""

    @row(
        f"smuggle-{name}",
        f"a second request behind '{framing.strip() or 'a body'}'",
        A,
        wall,
        by="A2 A6",
        known=("HTTP smuggling",),
    )
    def run(host, lifted):
        box, mark = host.box("main"), f"/tmp/mark-{os.urandom(4).hex()}"
        second = (
            f"PUT /api/v1/sandboxes/{box.id}/files?path={mark} HTTP/1.1\r\n"
            "Host: 127.0.0.1\r\n"
            f"X-Api-Key: {host.daemon.key}\r\n"
            "Content-Length: 7\r\nConnection: close\r\n\r\nchanged"
        )
        body = "0\r\n\r\n"
        frame = f"Content-Length: {len(body)}" if lifted else framing
        talk(
            host,
            (
                "POST /api/v1/sandboxes/none/start HTTP/1.1\r\n"
                "Host: 127.0.0.1\r\n"
                f"X-Api-Key: {host.daemon.key}\r\n"
                f"{frame}\r\n"
                "\r\n"
                f"{body}{second}"
            ).encode(),
        )
        return Outcome("changed" in box.sh(f"cat {mark} 2>&1"), "refused")


for name, framing in {
    "both": "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "twice": "Content-Length: 5\r\nContent-Length: 6",
    "obscured": "Transfer-Encoding: xchunked",
    "space": "Transfer-Encoding : chunked",
    "sign": "Content-Length: +5",
    "folded": "X: y\r\n Transfer-Encoding: chunked\r\nContent-Length : 5",
}.items():
    smuggled(name, framing)
smuggled("list", "Content-Length: 5, 5", "a length is one number")  # which another's parser takes
