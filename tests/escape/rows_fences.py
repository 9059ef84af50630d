"""Requests past the methods and paths that the rules of a host let through, as root inside would
try them. Won is what reached the server. The control: a broker that does not read that
(holes_of_vault.py), or a gate that lets go past a fence; in the short form the same request where
the rule names neither."""
import os

import holes_of_vault as checks
from frame import Outcome, row
from places import Sandbox
from rows_upgrades import HOST, RULE, brokered, request
from upgrades import SOCKETS

READS = {**RULE, "methods": ["GET"], "paths": ["/v1/**"]}
FENCE = {"name": "fence", "hosts": [HOST], "methods": ["GET"], "paths": ["/v1/**"]}


def ask(host, port, tls, said):
    """What is answered, as far as it comes."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    bare = socket.create_connection((host, port), timeout=10)
    with (
        context.wrap_socket(bare, server_hostname=host if tls == "named" else None) if tls else bare
    ) as stream:
        stream.settimeout(5)
        stream.sendall(said.encode("latin-1"))
        got = b""
        try:
            while part := stream.recv(65536):
                got += part
                stream.settimeout(0.5)
        except TimeoutError:
            pass
        return got.decode("latin-1")


def tried(host, rules, mark, said, policy=HOST, **how):
    brokered(host)  # there is a secret
    box = Sandbox(host, f"fence-{os.urandom(4).hex()}", policy=policy, proxy=rules)
    try:
        told = box.run(ask, {"host": HOST, "port": 443, "tls": "named", "said": said(mark), **how})
        text = str(told.get("refused") or told.get("done", "").split("\r\n")[0])
        return Outcome(host.comes(lambda: host.world.upgrades.reached(SOCKETS, mark)), text)
    finally:
        host.daemon.cli("rm", box.name)


def past(name, attack, holes, said, rule=READS, without=RULE, **further):
    """`said(mark)`: what has the mark in it, of which nothing may come. `holes`: what holds it,
    each alone."""
    how = further.pop("how", {})

    @row(
        f"fence-{name}",
        attack,
        "network",
        "; ".join(holes),
        by="A1",
        holes=holes,
        known=("secrets at the proxy", "AgentCore (Sonrai)"),
        proof="succeeds where the rule names neither",
        **further,
    )
    def run(host, lifted):
        rules = [one for one in (without if lifted else rule,) if one]
        return tried(host, rules, "mark-" + os.urandom(8).hex(), said, **how)


def asks(method, path, more=""):
    return f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n{more}\r\n"


past(
    "method",
    "use a secret by a method that its rule does not name",
    (checks.METHODS,),
    lambda mark: asks("DELETE", f"/v1/{mark}"),
)
past(
    "small-method",
    "the same, with the rule's method in small letters",
    (checks.METHODS,),
    lambda mark: asks("get", f"/v1/{mark}"),
    short=False,
)
past(
    "method-override",
    "by a header that asks to be taken for another method",
    (checks.BY_HEADER,),
    lambda mark: asks("GET", f"/v1/{mark}", "X-HTTP-Method-Override: DELETE\r\n"),
)
past(
    "query-override",
    "by one in the query",
    (checks.BY_QUERY,),
    lambda mark: asks("GET", f"/v1/{mark}?_method=DELETE"),
    short=False,
)
past(
    "path",
    "use it at a path that its rule does not name",
    (checks.PATHS,),
    lambda mark: asks("GET", f"/admin/{mark}"),
)
for name, spelled, *holes in (
    ("dots", "/v1/../admin", checks.DOTS),
    ("encoded-dots", "/v1/%2e%2e/admin", checks.DOT, checks.DOTS),
    ("encoded-slash", "/v1/..%2fadmin", checks.SLASH),
    ("encoded-twice", "/v1/..%252fadmin", checks.PERCENT),
    ("backslash", "/v1/..\\admin", checks.BACK),
    ("parameters", "/v1/..;/admin", checks.HIDDEN),
    ("two-slashes", "/v1//../../admin", checks.SLASHES, checks.DOTS),
    ("overlong", "/v1/%c0%ae%c0%ae/admin", checks.BYTES),
):
    past(
        f"path-by-{name}",
        f"the same behind one that it names: {spelled}",
        tuple(holes),
        lambda mark, spelled=spelled: asks("GET", f"{spelled}/{mark}"),
        short=name in ("dots", "encoded-dots", "encoded-slash"),
    )
past(
    "kept-connection",
    "behind a request that is let through, on one connection",
    (checks.METHODS,),
    lambda mark: request("/v1/plain", HOST) + asks("DELETE", f"/v1/{mark}"),
)
past(
    "rewritten-path",
    "by a header that names another path",
    (checks.OTHER_PATH,),
    lambda mark: asks("GET", f"/v1/{mark}", "X-Original-URL: /admin\r\n"),
    short=False,
)
past(
    "without-a-secret",
    "the same at a host with a fence alone",
    (checks.METHODS,),
    lambda mark: asks("DELETE", f"/v1/{mark}"),
    FENCE,
    None,
)
past(
    "no-name",
    "go past a fence by TLS that names no host, under `open`",
    (checks.PAST,),
    lambda mark: asks("DELETE", f"/v1/{mark}"),
    FENCE,
    None,
    how={"tls": "unnamed", "policy": "open"},
)
past(
    "plain-http",
    "go past one by plain HTTP",
    (checks.PAST,),
    lambda mark: asks("DELETE", f"/v1/{mark}"),
    FENCE,
    None,
    how={"tls": "", "port": 80},
)
