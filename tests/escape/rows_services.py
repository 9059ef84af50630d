"""Links (`cay url`): who may use one and for what, what passes through, and what a hostile service
answers."""
import base64
import os
import time
import urllib.parse

import service_links
from asking import ask, issue, key, talk, with_key
from frame import Outcome, row
from harness import slow, wait_until
from places import Sandbox

L, G = "service links", "guest answers"
PORT = 8081
TOKEN = "X-Cay-Service-Token"


def web(host):
    """The service, and a link to it."""
    if not hasattr(host, "service"):
        box = host.box("main")
        box.host.http.put(
            f"{box.url}/files", params={"path": "/root/web.py"}, content=service_links.WEB
        ).raise_for_status()
        for port in (PORT, PORT + 1):
            box.start(["python3", "/root/web.py", str(port)])
            probe = (
                f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\" "
                "&& echo ok"
            )
            wait_until(lambda probe=probe: "ok" in box.sh(probe), "the service listens", 30)
        host.service = issue(host, box, port=PORT)
    return host.service


def host_of(host, box="main", port=PORT):
    return f"{host.box(box).id}--{port}.localhost:{host.daemon.port}"


def through(host, path="/headers", token=None, at=None, **headers):
    """(status, text) by the link's host."""
    given = {
        "Host": at or host_of(host),
        **({TOKEN: token} if token is not None else {}),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return ask(host, "GET", path, given)


def linked(name, attack, wrong, wall="token of the link", sign='"path"', by="A6", **more):
    """wrong(host) -> how it is asked; the control asks with the link's own token."""

    @row(name, attack, L, wall, by=by, **more)
    def run(host, lifted):
        link = web(host)
        status, text = through(host, token=link["token"]) if lifted else wrong(host, link)
        return Outcome(status == 200 and sign in text, str(status))


def other_link(host):
    return issue(host, host.box("other"), port=PORT)


linked("link-without-token", "open a service without its token", lambda host, link: through(host))
linked(
    "link-wrong-token",
    "open it with a token that was guessed",
    lambda host, link: through(host, token=link["token"][:-8] + "AAAAAAAA"),
)
linked(
    "link-beginning",
    "open it with the beginning of a token",
    lambda host, link: through(host, token=link["token"][:-1]),
)
linked(
    "link-empty-token", "open it with an empty token", lambda host, link: through(host, token="")
)
linked(
    "link-other-port",
    "open another port of the sandbox with a link",
    lambda host, link: through(host, token=link["token"], at=host_of(host, port=PORT + 1)),
    wall="a link is for one port",
)
linked(
    "link-of-other-sandbox",
    "open a service with another sandbox's link",
    lambda host, link: through(host, token=other_link(host)["token"]),
    wall="a link is for one sandbox",
    by="A2 A6",
)
linked(
    "link-of-a-file",
    "open a service with a link to a file",
    lambda host, link: through(
        host, token=issue(host, host.box("main"), path="/etc/hostname")["token"]
    ),
    wall="a link is for one port",
)
linked(
    "key-is-no-token",
    "open a service with an API key",
    lambda host, link: through(host, X_Api_Key=host.daemon.key),
)
linked(
    "link-in-the-query",
    "open it with the token in the address",
    lambda host, link: through(host, path=f"/headers?token={link['token']}"),
)
linked(
    "link-as-cookie-by-path",
    "open it by path with the token as a cookie",
    lambda host, link: ask(
        host,
        "GET",
        f"/svc/{link['sandbox_id']}/{PORT}/headers",
        {"Host": "localhost", "Cookie": f"cay_service={link['token']}"},
    ),
    wall="by path only a header opens",
    by="A5 A6",
)
linked(
    "link-host-suffix",
    "open it under a host that only begins like it",
    lambda host, link: through(
        host, token=link["token"], at=f"{link['sandbox_id']}--{PORT}.localhost.evil.example"
    ),
    wall="check of Host",
    by="A5 A6",
    holes=("check of Host", "a service's host ends with the domain"),
)


@row("withdrawn-link", "use a link that was withdrawn", L, "withdrawal of links", by="A6")
def withdrawn_link(host, lifted):
    web(host)
    link = issue(host, host.box("main"), port=PORT)
    if not lifted:
        ask(
            host,
            "DELETE",
            f"/api/v1/sandboxes/{link['sandbox_id']}/links/{link['id']}",
            with_key(host.daemon.key),
        )
    status, _ = through(host, token=link["token"])
    return Outcome(status == 200, str(status))


@row("expired-link", "use a link whose time is over", L, "expiry of links", by="A6")
def expired_link(host, lifted):
    web(host)
    link = issue(host, host.box("main"), port=PORT, expires_in_s=3600 if lifted else 1)
    if not lifted:
        over = time.monotonic() + 1.5
        wait_until(lambda: time.monotonic() > over, "its end", 30)
    status, _ = through(host, token=link["token"])
    return Outcome(status == 200, str(status))


@row(
    "link-of-a-removed-key",
    "use a link whose maker's key was removed",
    L,
    "a link ends with its key",
    by="A6",
)
def link_of_a_removed_key(host, lifted):
    web(host)
    name = "x" + os.urandom(4).hex()
    made = key(host, "create", name)
    status, text = ask(
        host,
        "POST",
        f"/api/v1/sandboxes/{host.box('main').id}/links",
        with_key(made),
        f'{{"port": {PORT}}}',
    )
    assert status == 201, text
    if not lifted:
        key(host, "remove", name)
    status, _ = through(host, token=text.split('"token":"')[1].split('"')[0])
    return Outcome(status == 200, str(status))


@row("token-is-no-key", "use a link's token as an API key", L, "tokens are no keys", by="A6")
def token_is_no_key(host, lifted):
    status, text = ask(
        host,
        "GET",
        "/api/v1/sandboxes",
        with_key(host.daemon.key if lifted else web(host)["token"]),
    )
    return Outcome(status == 200 and "items" in text, str(status))


@row(
    "file-link-other-file",
    "reach another file with a link to one",
    L,
    "a link is for one file",
    by="A6",
)
def file_link(host, lifted):
    box = host.box("main")
    box.sh("echo one-file > /srv/one; echo other-file > /srv/other")
    link = issue(host, box, path="/srv/one")
    if lifted:
        link = issue(host, box, path="/srv/other")
        tries = [f"/dl/{box.id}/{link['token']}"]
    else:
        tries = [
            f"/dl/{box.id}/{link['token']}{more}"
            for more in (
                "/../other",
                "/../../srv/other",
                "?path=/srv/other",
                "/srv/other",
                "%2f..%2fother",
            )
        ]
    got = [ask(host, "GET", one, {"Host": "127.0.0.1"}) for one in tries]
    return Outcome(
        any("other-file" in text for _, text in got), " ".join(str(status) for status, _ in got)
    )


@row(
    "api-under-a-service",
    "reach the API under a service's host",
    L,
    "the API is never under such a host",
    by="A5 A6",
)
def api_under_a_service(host, lifted):
    status, text = ask(
        host,
        "GET",
        "/api/v1/version",
        {
            **with_key(host.daemon.key),
            TOKEN: web(host)["token"],
            "Host": "localhost" if lifted else host_of(host),
        },
    )
    return Outcome(status == 200 and "version" in text, str(status))


def of_page(name, attack, wall, **headers):
    """A browser that has the service's cookie, led by another page; the control is the service's
    own page."""

    @row(name, attack, "web pages", wall, by="A5", known=("cross-site requests",))
    def run(host, lifted):
        cookie = {"Cookie": f"cay_service={web(host)['token']}"}
        status, text = through(host, **cookie, **({} if lifted else headers))
        return Outcome(status == 200 and '"path"' in text, str(status))


of_page(
    "service-cross-origin",
    "another sandbox's page uses a service with its reader's cookie",
    "check of Origin",
    Origin="http://evil--80.localhost",
)
of_page(
    "service-same-site",
    "a page of the same site reads it",
    "check of Sec-Fetch-Site",
    Sec_Fetch_Site="same-site",
    Sec_Fetch_Mode="cors",
)
of_page(
    "service-cross-site",
    "a page of another site reads it",
    "check of Sec-Fetch-Site",
    Sec_Fetch_Site="cross-site",
    Sec_Fetch_Mode="no-cors",
)


# ---- what reaches the service, and what leaves it: the control speaks to the service itself ----


def direct(host, text):
    """What the service answers to these bytes, asked inside."""
    web(host)
    told = host.box("main").run(
        say_inside, {"port": PORT, "text": base64.b64encode(text.encode("latin-1")).decode()}
    )
    return told.get("done") or ""


def say_inside(port, text):
    import base64

    with socket.create_connection(("127.0.0.1", port), timeout=3) as stream:
        stream.sendall(base64.b64decode(text))
        got = b""
        try:
            while True:
                part = stream.recv(65536)
                if not part:
                    break
                got += part
        except TimeoutError:
            pass
        return got.decode("latin-1")


def goes_in(name, attack, line, sign, wall="headers are written anew", **more):
    @row(name, attack, L, wall, by="A6", **more)
    def run(host, lifted):
        link = web(host)
        line_now = line(host, link)
        if lifted:
            got = direct(
                host, f"GET /headers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{line_now}\r\n\r\n"
            )
        else:
            got = talk(
                host,
                (
                    "GET /headers HTTP/1.1\r\n"
                    f"Host: {host_of(host)}\r\n"
                    f"{TOKEN}: {link['token']}\r\n"
                    "Connection: close\r\n"
                    f"{line_now}\r\n"
                    "\r\n"
                ).encode(),
            )
            assert got.startswith("HTTP/1.1 200"), got[:200]
        return Outcome(sign(host, link) in got.split("\r\n\r\n", 1)[1], "not there")


goes_in(
    "key-to-the-service",
    "have a client's API key sent to the service",
    lambda host, link: f"X-Api-Key: {host.daemon.key}",
    lambda host, link: host.daemon.key,
    known=("secrets at the proxy",),
)
goes_in(
    "token-to-the-service",
    "have the link's token sent to the service",
    lambda host, link: f"Cookie: cay_service={link['token']}",
    lambda host, link: link["token"],
)
goes_in(
    "forged-address",
    "claim another client's address",
    lambda host, link: "X-Forwarded-For: 203.0.113.77",
    lambda host, link: "203.0.113.77",
    known=("agent-sandbox: label spoofing",),
)
goes_in(
    "forged-forwarded",
    "claim it by Forwarded",
    lambda host, link: "Forwarded: for=203.0.113.78",
    lambda host, link: "203.0.113.78",
)
goes_in(
    "forged-user",
    "claim a LangSmith user",
    lambda host, link: "X-Langsmith-User-Id: somebody-else",
    lambda host, link: "somebody-else",
)
goes_in(
    "hop-header",
    "have the proxy's own header sent on",
    lambda host, link: "Proxy-Authorization: Basic aG9w",
    lambda host, link: "aG9w",
)
goes_in(
    "old-upgrade",
    "have a connection upgraded past the proxy by h2c",
    lambda host, link: "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk",
    lambda host, link: "h2c",
)


def smuggled(name, framing, body):
    @row(
        f"service-smuggle-{name}",
        f"a second request to the service behind '{framing}'",
        L,
        "strict framing of requests",
        by="A6",
        known=("HTTP smuggling",),
    )
    def run(host, lifted):
        link, mark = web(host), os.urandom(6).hex()
        rest = f"{body}GET /answer?{mark} HTTP/1.1\r\nHost: x\r\n\r\n"
        if lifted:
            got = direct(host, f"POST /digest HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n{rest}")
        else:
            got = talk(
                host,
                (
                    "POST /digest HTTP/1.1\r\n"
                    f"Host: {host_of(host)}\r\n"
                    f"{TOKEN}: {link['token']}\r\n"
                    f"{framing}\r\n"
                    "\r\n"
                    f"{rest}"
                ).encode(),
            )
        return Outcome(got.endswith(mark), got.split("\r\n")[0])


smuggled("both", "Content-Length: 60\r\nTransfer-Encoding: chunked", "0\r\n\r\n")
smuggled("twice", "Content-Length: 2\r\nContent-Length: 90", "ab")
smuggled("sign", "Content-Length: +2", "ab")
smuggled("underscore", "Content-Length: 0_2", "ab")


def goes_out(name, attack, path, sign, known=(), by_path=False):
    @row(name, attack, G, "what reaches beyond the service's host is dropped", by="A7", known=known)
    def run(host, lifted):
        link = web(host)
        if lifted:
            got = direct(host, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        elif by_path:
            got = talk(
                host,
                (
                    f"GET /svc/{link['sandbox_id']}/{PORT}{path} HTTP/1.1\r\n"
                    "Host: 127.0.0.1\r\n"
                    f"{TOKEN}: {link['token']}\r\n"
                    "Connection: close\r\n"
                    "\r\n"
                ).encode(),
            )
        else:
            got = talk(
                host,
                (
                    f"GET {path} HTTP/1.1\r\n"
                    f"Host: {host_of(host)}\r\n"
                    f"{TOKEN}: {link['token']}\r\n"
                    "Connection: close\r\n"
                    "\r\n"
                ).encode(),
            )
        assert lifted or got.startswith("HTTP/1.1 200"), got[:200]
        return Outcome(sign.lower() in got.split("\r\n\r\n")[0].lower(), "dropped")


def answer(text):
    return "/answer?" + urllib.parse.quote(text)


def with_header(line):
    return answer(f"HTTP/1.1 200 OK\r\n{line}\r\nContent-Length: 0\r\n\r\n")


goes_out(
    "cookie-for-all", "a service sets a cookie for all services", "/cookies", "domain=localhost"
)
goes_out("cookie-of-ours", "a service sets Cay's own cookie", "/cookies", "cay_service=stolen")
goes_out("clear-site-data", "a service clears its site's data", "/cookies", "clear-site-data")
goes_out(
    "internal-redirect", "a service has a proxy send its own file", "/cookies", "x-accel-redirect"
)
goes_out(
    "transport-security",
    "a service pins TLS for the domain",
    with_header("Strict-Transport-Security: max-age=9; includeSubDomains"),
    "strict-transport",
)
goes_out(
    "other-service",
    "a service leads clients to another server",
    with_header('Alt-Svc: h2="evil.example:443"'),
    "alt-svc",
)
goes_out(
    "error-reports",
    "a service has browsers report errors elsewhere",
    with_header('NEL: {"report_to":"x","max_age":9}'),
    "nel:",
)
goes_out(
    "open-to-all",
    "a service opens Cay's origin to all pages",
    with_header("Access-Control-Allow-Origin: *"),
    "access-control",
    by_path=True,
)
goes_out(
    "worker-of-all",
    "a service puts a worker over Cay's origin",
    with_header("Service-Worker-Allowed: /"),
    "service-worker-allowed",
    by_path=True,
)
goes_out(
    "cookie-by-path",
    "a service sets a cookie in Cay's origin",
    "/cookies",
    "set-cookie",
    by_path=True,
)


def malformed(name, attack, text):
    """Passed on by nobody who did not understand it; the control is what a proxy that copies bytes
    passes on: the service's own bytes."""

    @row(
        f"answer-{name}",
        attack,
        G,
        "answers are read strictly and written anew",
        by="A4 A7",
        known=("HTTP smuggling",),
    )
    def run(host, lifted):
        link = web(host)
        if lifted:
            got = direct(host, f"GET {answer(text)} HTTP/1.1\r\nHost: x\r\n\r\n")
        else:
            got = talk(
                host,
                (
                    f"GET {answer(text)} HTTP/1.1\r\n"
                    f"Host: {host_of(host)}\r\n"
                    f"{TOKEN}: {link['token']}\r\n"
                    "Connection: close\r\n"
                    "\r\n"
                ).encode(),
            )
        return Outcome("evil" in got, got.split("\r\n")[0])


malformed(
    "two-lengths",
    "a service answers with two lengths",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 9\r\n\r\nevil",
)
malformed(
    "both-framings",
    "a service answers with a length and chunks",
    "HTTP/1.1 200 OK\r\n"
    "Content-Length: 4\r\n"
    "Transfer-Encoding: chunked\r\n"
    "\r\n"
    "4\r\n"
    "evil\r\n"
    "0\r\n"
    "\r\n",
)
malformed(
    "second-answer",
    "a service sends an answer nobody asked for",
    "HTTP/1.1 200 OK\r\n"
    "Content-Length: 2\r\n"
    "\r\n"
    "okHTTP/1.1 200 OK\r\n"
    "Content-Length: 4\r\n"
    "\r\n"
    "evil",
)
malformed(
    "unasked-switch",
    "a service switches protocols unasked",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nevil",
)
malformed("no-http", "a service answers with something else", "evil\r\n\r\n")
malformed(
    "odd-coding",
    "a service answers in an odd coding",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n",
)
malformed(
    "split-header",
    "a service splits a header",
    "HTTP/1.1 200 OK\r\nX-A: b\rSet-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n",
)


# ---- the guest's claims about itself ----


@row(
    "forged-name",
    "a file whose name looks like two in a listing",
    G,
    "names are data, never text",
    by="A7",
)
def forged_name(host, lifted):
    box = host.box("main")
    box.sh("rm -rf /srv/names; mkdir /srv/names; cd /srv/names; touch \"$(printf 'a\\nforged')\"")
    if lifted:  # by a listing's text
        return Outcome("forged" in box.sh("cat /dev/null; ls /srv/names").splitlines())
    import json

    _, text = ask(
        host,
        "GET",
        f"/api/v1/sandboxes/{box.id}/files/list?path=/srv/names",
        with_key(host.daemon.key),
    )
    names = [one["path"].rsplit("/", 1)[-1] for one in json.loads(text)["items"]]
    assert names, text
    return Outcome("forged" in names, f"{len(names)} name")


def hostile_accounts(name, attack, line):
    """In a sandbox of its own, whose accounts are broken. The control is a lookup by the C
    library's rule: read the file."""

    @row(name, attack, G, "accounts are read without waiting, and bounded", by="A1 A7", short=False)
    def run(host, lifted):
        box = Sandbox(host, "escape-" + os.urandom(4).hex())
        try:
            box.sh(line)
            if lifted:
                got = box.command(["timeout", "3", "cat", "/etc/passwd"])
                return Outcome(got["shell_exit_code"] == 124)
            got = host.http.post(
                f"{box.url}/commands",
                json={"argv": ["echo", "in"], "user": "user", "wait": True, "timeout_s": 5},
                timeout=slow(40),
            )
            return Outcome(
                got.status_code == 200 and got.json()["state"] == "timed_out", str(got.status_code)
            )
        finally:
            box.close()


hostile_accounts(
    "accounts-fifo",
    "the list of accounts is a FIFO that nobody writes",
    "rm /etc/passwd; mkfifo /etc/passwd",
)
