"""Secrets that a server says again, fetched through the broker in ways that do not show it a whole
one. The control: a broker without exactly that check (holes_of_vault.py); in the short form the
same of a secret that the broker does not keep for that sandbox, or of a relay that holds back only
what may be one."""
import contextlib
import os

from frame import Outcome, row
from holes_of_vault import EVERY, NO_GUESS, NOT_ASKED, NOT_TAKEN, WHOLE
from rows_upgrades import HOST, N, RULE, brokered, give_rules, request, upgrade

KNOWN = ("secrets at the proxy",)


def parts(host, port, tls, more):
    """All that a server's answer has, asked for by six bytes at a time."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    out = b""
    for begin in range(0, 600, 6):
        bare = socket.create_connection((host, port), timeout=10)
        got = b""
        try:
            with context.wrap_socket(bare, server_hostname=host) if tls else bare as stream:
                stream.sendall(
                    "GET /reflects HTTP/1.1\r\n"
                    f"Host: {host}\r\n"
                    f"{more}Range: bytes={begin}-{begin + 5}\r\n"
                    "Connection: close\r\n"
                    "\r\n".encode()
                )
                while not got.partition(b"\r\n\r\n")[2]:
                    part = stream.recv(65536)
                    if not part:
                        break
                    got += part
        except OSError:
            pass
        body = got.partition(b"\r\n\r\n")[2]
        out += body
        if len(body) != 6:  # the last of them, or a refusal
            break
    return out.decode("latin-1")


def sizes(host, port, tls, path, texts):
    """Of each text, which a server says and then nothing: the sizes of what comes."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    out = []
    for text in texts:
        bare = socket.create_connection((host, port), timeout=10)
        with context.wrap_socket(bare, server_hostname=host) if tls else bare as stream:
            stream.sendall(f"GET {path}?{text} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            got = b""
            while b"\r\n\r\n" not in got:
                got += stream.recv(65536)
            body, mine = len(got.partition(b"\r\n\r\n")[2]), []
            stream.settimeout(1)
            try:
                while body < len(text):
                    part = stream.recv(65536)
                    if not part:
                        break
                    body += len(part)
                    mine.append(body)
            except TimeoutError:
                pass
            out.append(mine or [body])
    return out


def until_quiet(host, port, tls, more):
    """What a server says before it pauses within what it heard."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    bare = socket.create_connection((host, port), timeout=10)
    with context.wrap_socket(bare, server_hostname=host) if tls else bare as stream:
        stream.sendall(f"GET /pauses HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
        got = stream.recv(65536)
        stream.settimeout(1)
        try:
            while part := stream.recv(65536):
                got += part
        except TimeoutError:
            pass
    return got.decode("latin-1")


def set_secret(host, name, value):
    done = host.daemon.cli("secret", "set", f"sockets-{name}", "--host", HOST, stdin=value.encode())
    assert done.code == 0, done


@contextlib.contextmanager
def secrets_of_host(host, box, **values):
    """A rule for each, which the box has not yet."""
    for name, value in values.items():
        set_secret(host, name, value)
    try:
        yield [{**RULE, "name": name, "secret": f"sockets-{name}"} for name in values]
    finally:
        give_rules(host, box.name, RULE)
        for name in values:
            host.daemon.cli("secret", "rm", f"sockets-{name}")


def asked(box, path):
    told = box.run(
        upgrade,
        {
            "host": HOST,
            "port": 443,
            "then": "",
            "waits": True,
            "tls": True,
            "first": request(path, HOST),
        },
    )
    return str(told.get("refused") or told.get("done", ""))


@row(
    "reflected-in-parts",
    "fetch a secret that a server says again in parts by Range",
    N,
    f"{NOT_ASKED}; {NOT_TAKEN}",
    by="A1",
    known=KNOWN,
    proof="succeeds with a secret that no broker keeps",
    holes=(NOT_ASKED, NOT_TAKEN),
)
def in_parts(host, lifted):
    brokered(host)
    secret = "sk-" + os.urandom(12).hex() if lifted else host.broker_secret
    told = host.box("open" if lifted else "brokered").run(
        parts,
        {
            "host": HOST,
            "port": 80 if lifted else 443,
            "tls": not lifted,
            "more": f"Authorization: Bearer {secret}\r\n" if lifted else "",
        },
    )
    text = str(told.get("refused") or told.get("done", ""))
    return Outcome(secret in text, "in no part" if secret not in text else text[:60])


@row(
    "reflected-of-another-rule",
    "hear a secret from a server that heard it in a request by another rule",
    N,
    EVERY,
    by="A1",
    known=KNOWN,
    proof="succeeds with a secret that is not this sandbox's",
)
def of_another_rule(host, lifted):
    brokered(host)
    box, heard = host.box("brokered"), "sk-" + os.urandom(12).hex()  # which no broker sent
    host.world.upgrades.heard.add(heard.encode())
    with secrets_of_host(host, box, heard=heard, too="sk-" + os.urandom(12).hex()) as (
        by_heard,
        by_too,
    ):
        give_rules(
            host,
            box.name,
            *([] if lifted else [{**by_heard, "paths": ["/plain"]}]),
            {**by_too, "paths": ["/recalls"]},
        )
        text = asked(box, f"/recalls?{heard[:9]}")
    return Outcome(heard in text, text.split("\r\n")[0][:60])


@row(
    "reflected-by-guesses",
    "see by what comes late how far a guess at a secret is right, which a server says",
    N,
    NO_GUESS,
    by="A1",
    known=KNOWN,
    proof="a careless relay is taken in",
)
def by_guesses(host, lifted):
    brokered(host)
    secret = host.broker_secret
    host.world.upgrades.heard.add(secret.encode())
    texts = ["-" * 900 + secret[:12], "-" * 900 + secret[:11] + "!"] * 3
    told = host.box("open" if lifted else "brokered").run(
        sizes,
        {
            "host": HOST,
            "port": 80 if lifted else 443,
            "tls": not lifted,
            "path": "/holds" if lifted else "/says",
            "texts": texts,
        },
    )
    got = told.get("done") or []
    won = len(got) == len(texts) and all(got[i] != got[i + 1] for i in range(0, len(got), 2))
    return Outcome(won, str(told.get("refused") or got[:2])[:60])


@row(
    "reflected-before-a-pause",
    "have a secret up to where a server that says it again pauses within it",
    N,
    WHOLE,
    by="A1",
    known=KNOWN,
    proof="succeeds with a secret that no broker keeps",
)
def before_a_pause(host, lifted):
    brokered(host)
    secret = "sk-" + os.urandom(12).hex() if lifted else host.broker_secret
    told = host.box("open" if lifted else "brokered").run(
        until_quiet,
        {
            "host": HOST,
            "port": 80 if lifted else 443,
            "tls": not lifted,
            "more": f"Authorization: Bearer {secret}\r\n" if lifted else "",
        },
    )
    text = str(told.get("refused") or told.get("done", ""))
    return Outcome(secret[:8] in text, text[:30])
