"""The first inputs of every fuzz target."""

import base64
import gzip
import io
import json
import struct
import tarfile

ID = "0b4c1c2e-5f7a-4d53-9d0e-6a1f2b3c4d5e"


def tlv(tag, value):
    return struct.pack("<HI", tag, len(value)) + value


def wire_messages():
    """One byte that picks the message, then its members: numbers, text, both, and nested."""
    number, text = struct.pack("<Q", 4096), ID.encode()
    nested = tlv(1, text) + tlv(2, number)
    bodies = [
        b"",
        *(
            b"".join(tlv(tag, value) for tag in range(1, 24))
            for value in (number, text, nested, b"\1")
        ),
        b"".join(tlv(tag, number if tag % 2 else text) for tag in range(1, 24)),
    ]
    yield from (bytes([which]) + body for which in range(45) for body in bodies)
    yield bytes([0, 1, 1]) + number + b"bytes of a DATA frame"


def dns():
    name = b"\3www\7example\3com\0"
    yield struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + name + struct.pack(">HH", 1, 1)
    yield struct.pack(">HHHHHH", 2, 0x100, 1, 0, 0, 1) + name + struct.pack(
        ">HH", 28, 1
    ) + b"\0" + struct.pack(">HHIH", 41, 4096, 0, 0)
    yield struct.pack(
        ">HHHHHH", 3, 0, 1, 0, 0, 0
    ) + b"\x3f" + b"a" * 63 + b'\5A."\n\xff\0' + struct.pack(">HH", 1, 1)


def client_hello():
    entry = b"\0" + struct.pack(">H", 11) + b"example.com"
    extension = struct.pack(">HHH", 0, len(entry) + 2, len(entry)) + entry
    other = struct.pack(">HH", 16, 5) + b"\0\3\2h2"
    for extensions in (
        extension,
        other + extension,
        extension + other,
        extension + extension,
        other,
        b"",
    ):
        body = (
            b"\3\3"
            + b"r" * 32
            + b"\0"
            + struct.pack(">H", 2)
            + b"\x13\1\1\0"
            + struct.pack(">H", len(extensions))
            + extensions
        )
        hello = b"\1\0" + struct.pack(">H", len(body)) + body
        yield b"\x16\3\1" + struct.pack(">H", len(hello)) + hello
        yield b"\x16\3\1" + struct.pack(">H", 9) + hello[:9] + b"\x16\3\3" + struct.pack(
            ">H", len(hello) - 9
        ) + hello[9:]


def first_request():
    yield b"GET /a HTTP/1.1\r\nAccept: */*\r\nHost: example.com:80\r\n\r\nmore"
    yield b"POST / HTTP/1.0\r\nhost: Example.com.\r\nContent-Length: 1\r\n\r\nx"
    yield b"OPTIONS * HTTP/1.1\r\nHost:\t example.com \r\nHost: other\r\n\r\n"
    yield b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"
    yield b"GET http://other/ HTTP/1.1\r\nHost: example.com\r\n folded\r\nX\r\n\r\n"


def detect_protocol():
    """The last three bytes: where they are cut."""
    for said in (
        *first_request(),
        next(client_hello()),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"SSH-2.0-x y\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"0032git-upload-pack /a.git\0host=a\0",
        b"\r\n\r\nget / HTTP/1.1\n",
        b"get\t/ http/1.1\n",
        b"EHLO a\r\n",
        b"\x16\x02\x01\0\5\1\0",
    ):
        yield said + b"\x80\x80\x80"
        yield said + b"\xf6\xff\x80"


def requests():
    """The first byte: how the bytes are cut."""
    first = b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"
    post = b"POST /x HTTP/1.1\r\nHost: other.example:80\r\n"
    for more in (
        first,
        post + b"Content-Length: 5\r\n\r\nhello" + first,
        post
        + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0A\r\n0123456789\r\n0\r\n\r\n"
        + first,
        post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        post + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
        post + b"Content-Length: 3, 3\r\n\r\nabc",
        post + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"\r\n" + first,
        post + b"Transfer-Encoding: gzip\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx",
    ):
        yield b"\0" + first + more
        yield b"\6" + more


def hellos():
    for hello in client_hello():
        yield hello
        yield b"\x14\3\3\0\1\1" + hello
        yield b"\x17\3\3\0\3abc" + hello
    retry = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
    for random in (retry, b"r" * 32):
        message = b"\2\0\0\x28\3\3" + random + b"\0\x13\1\0"
        yield b"\x16\3\3" + struct.pack(">H", len(message)) + message
        yield b"\x16\3\3\0\x09" + message[:9] + b"\x16\3\3" + struct.pack(
            ">H", len(message) - 9
        ) + message[9:]
    yield b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
    yield (
        b"HTTP/1.1 100 Continue\r\n"
        b"\r\n"
        b"HTTP/1.1 103 Early Hints\r\n"
        b"Link: x\r\n"
        b"\r\n"
        b"HTTP/1.1 200 OK\r\n"
        b"\r\n"
    )
    yield b"HTTP/1.0 200 OK\r\n\r\n"


def proxy_answer():
    yield b"HTTP/1.1 200 Connection established\r\nContent-Length: 7\r\nX: y\r\n\r\n220 hello"
    yield (
        b"HTTP/1.1 100 Continue\r\n"
        b"\r\n"
        b"HTTP/1.1 103 Early Hints\r\n"
        b"Link: x\r\n"
        b"\r\n"
        b"HTTP/1.0 200 OK\r\n"
        b"Transfer-Encoding: chunked\r\n"
        b"\r\n"
        b"0"
    )
    yield b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno"
    yield b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
    yield b"SSH-2.0-x\r\n"


def http_request():
    """The first byte: how the bytes are cut."""
    for request in (
        b"GET /v1/a%2Fb?x=1&y=%20 HTTP/1.1\r\n"
        b"Host: localhost:8080\r\n"
        b"Authorization: Bearer x\r\n"
        b"\r\n",
        b"POST / HTTP/1.1\r\n"
        b"Host: a\r\n"
        b"Content-Length: 5\r\n"
        b"\r\n"
        b"helloGET / HTTP/1.1\r\n"
        b"Host: a\r\n"
        b"\r\n",
        b"PUT /f HTTP/1.1\r\n"
        b"Host: a\r\n"
        b"Transfer-Encoding: chunked\r\n"
        b"Expect: 100-continue\r\n"
        b"\r\n"
        b'5;e="q"\r\n'
        b"hello\r\n"
        b"0\r\n"
        b"T: v\r\n"
        b"\r\n",
        b"GET http://b:1?q HTTP/1.1\r\n"
        b"Host: a\r\n"
        b"Connection: keep-alive, Upgrade\r\n"
        b"Upgrade: websocket\r\n"
        b"\r\n"
        b"\x81\0",
        b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\n"
        b"Host: a\r\n"
        b"Transfer-Encoding: gzip, chunked\r\n"
        b"Proxy-Connection: close\r\n"
        b" X: folded\r\n"
        b"\r\n",
    ):
        yield b"\0" + request
        yield b"\x3f" + request


def http_answer():
    """The first byte: the request's kind (1 HEAD, 2 WebSocket), and how the bytes are cut."""
    for first, answer in (
        (0, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello"),
        (
            0x10,
            b"HTTP/1.1 200 OK\r\n"
            b"Transfer-Encoding: chunked\r\n"
            b"\r\n"
            b"5;a=b\r\n"
            b"hello\r\n"
            b"1\r\n"
            b"!\r\n"
            b"0\r\n"
            b"T: v\r\n"
            b"\r\n",
        ),
        (
            4,
            b"HTTP/1.1 100 Continue\r\n"
            b"\r\n"
            b"HTTP/1.1 103 Early Hints\r\n"
            b"Link: x\r\n"
            b"\r\n"
            b"HTTP/1.0 404 No\r\n"
            b"\r\n"
            b"until the end",
        ),
        (1, b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nConnection: close\r\n\r\n"),
        (
            2,
            b"HTTP/1.1 101 Switching Protocols\r\n"
            b"Upgrade: websocket\r\n"
            b"Connection: Upgrade\r\n"
            b"\r\n"
            b"\x81\2hi",
        ),
        (0, b"HTTP/1.1 204 No Content\r\n\r\n"),
        (0, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
        (0, b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (0xFC, b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"),
    ):
        yield bytes([first]) + answer


def ws_frame(opcode, payload, final=True, mask=b"\1\2\3\4"):
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
    return (
        bytes([opcode | (0x80 if final else 0)])
        + length
        + mask
        + bytes(one ^ mask[at % 4] for at, one in enumerate(payload))
    )


def websocket():
    none = b"\0\0\0\0"
    yield ws_frame(1, "naïve €".encode()) + ws_frame(2, bytes(range(200))) + ws_frame(
        8, struct.pack(">H", 1000) + b"bye"
    )
    yield ws_frame(1, b"a\xe2", False, none) + ws_frame(9, b"ping", mask=none) + ws_frame(
        0, b"\x82\xac", mask=none
    ) + ws_frame(10, b"", mask=none)
    yield ws_frame(1, b"\xff", mask=none) + ws_frame(8, b"", mask=none)
    yield ws_frame(2, b"x" * 300, mask=none) + ws_frame(8, b"\1", mask=none)
    yield b"\x82\xff" + struct.pack(">Q", 1 << 40) + none
    yield b"\x81\5hello" + ws_frame(0x43, b"", mask=none)
    yield ws_frame(2, b"x" * 400, False, none) + ws_frame(0, b"y" * 400, mask=none)


def socket_frames():
    """The first byte: where the bytes are cut."""
    plain = b"\x81\5hello" + b"\x82\x7e\0\xc8" + b"x" * 200 + b"\x88\2\3\xe8"
    yield from (bytes([cut]) + plain for cut in (0, 9, 100, 250))
    yield b"\x20" + ws_frame(1, b"masked") + b"\x82\x7f" + struct.pack(">Q", 1 << 33) + b"begins"


def service_head():
    sandbox = "0b4c1c2e-5f7a-4d53-9d0e-6a1f2b3c4d5e"
    for host in (
        f"{sandbox}--8080.box.example",
        f"{sandbox}--dl.box.example:8443",
        "box.example",
        "s.example",
        "",
    ):
        yield (
            f"{host}\n"
            "Connection: close, X-Own\n"
            "X-Own: 1\n"
            "X_Real_IP: ::1\n"
            "X_Forwarded_For: ::1\n"
            "Cookie: a=b; cay_service=t; __Host-cay_service = u\n"
            "X-Api-Key: key\n"
            "Authorization: Bearer key\n"
            "X-Forwarded-For: 1.2.3.4\n"
            f"Origin: https://{host}\n"
            "Sec-Fetch-Site: cross-site\n"
        ).encode()
        yield (
            f"{host}\n"
            "Set-Cookie: a=b; Domain=example; Path=/\n"
            "Set-Cookie: cay_service=x\n"
            "Location: /a\n"
            "Alt-Svc: h3\n"
            "X-Accel-Redirect: /\n"
            "Access-Control-Allow-Origin: *\n"
            "Transfer-Encoding: chunked\n"
            "Sec-Fetch-Site: none\n"
            "Sec-Fetch-Mode: navigate\n"
            "Sec-Fetch-Dest: document\n"
        ).encode()


def policy_rules():
    """Rules of every kind, a default and an order."""
    yield (
        b"pip, !registry.npmjs.org, *.example.com:443\n"
        b"~^(a|b){1,3}\\.test$:80\n"
        b"https://m.test:8443/x"
    )
    yield (
        b"open\n"
        b"first-match\n"
        b"!10.0.0.0/8\n"
        b"[2001:db8::/32]:8000-8100\n"
        b"192.0.2.7:*\n"
        b"# what\n"
        b"deny evil.test"
    )
    yield b"@packages, !@git, db:5432, example.com:*"
    yield b"a.b.example.com, pypi.org:443"
    yield b"# nothing\n , ,\t\n"
    yield ",".join(a + b for a in "abcdefghijk" for b in "abcdefghijklmnopqrstuvwxyz").encode()
    yield b"\n".join(b"~[a-z0-9-]{1,63}\\.region%d\\.example\\.com" % one for one in range(8))


def dockerfile():
    """Dockerfiles of many forms, some with a .dockerignore and a path behind them."""
    yield b"FROM python:3.11\nRUN pip install deepagents-cli\n"
    yield (
        b"# syntax=docker/dockerfile:1\n# escape=`\nARG V=3.12\nFROM --platform=$BUILDPLATFORM"
        b" a:${V%.*} AS one\nRUN a && `\n # why\n\n b\nFROM one\nCOPY --from=one --chown=a:b"
        b' --chmod=755 --link ["x y", "../z"] /w/\nONBUILD RUN x\n'
    )
    yield (
        b"FROM scratch\nENV A=\"b $C\" D=e\\ f G='h'\nENV old style $A\nARG I=${A:-${D:+j}} K\n"
        b'WORKDIR a/../../b\nUSER $K:0\nLABEL "x"=y\nEXPOSE 80 90-91/udp $P\nSHELL ["b", "-c"]\n'
        b'CMD ["a", "\\u00e9\\ud83d\\ude00\\n"]\nENTRYPOINT x ${A##*/} ${A#?}\nVOLUME /v\n'
        b"HEALTHCHECK --interval=1s CMD x\nSTOPSIGNAL 9\nMAINTAINER m\nCMD ['a']\nRUN [1, null]\n"
    )
    yield (
        b"FROM a\nRUN <<EOF\n#!/bin/sh\nEOF\nRUN 3<<-'X' cat <<\"Y\" | sh\n\t1\n\tX\n2\nY\n"
        b"COPY <<../f <<g /d/\n$A \\$B\n../f\ng\nADD https://x.test/a.tar ../../b c/\nCOPY ../q .\n"
    )
    yield (
        b"FROM a AS b\nRUN --mount=type=cache,target=../c,id=$X,sharing=locked,mode=0755,uid=1 x\n"
        b"RUN --mount=type=secret,id=k,env=K,required --mount=type=tmpfs,dst=t,size=64mb"
        b" --mount=from=0,source=../s,target=/t,rw=false y\nCOPY --from=b . .\nFROM 1\n"
        b"COPY --from=0 a b\n"
    )
    yield b"FROM a\nCOPY . /x\n\0*\n!src/**\n!a[b-d^]?/*.txt\n# c\n**/x*\nd/**\n**/l\0src/a/b.txt"
    yield b"FROM a\0**\n!keep/*.md\n[^a]\\*/..//b\n!**/k\n\0keep/x/y/z.md"


def request_path():
    """Paths as they come, and a pattern behind each."""
    for path in (
        "/v1/chat/completions",
        "/v1/../admin",
        "/v1/%61%20b/./c/",
        "/a;b=c/x.tar.gz",
        "/%C3%A9",
        "/v1/..%2fadmin",
        "/v1/%2e%2e/x",
        "/v1/..;/x",
        "/a/b/../../c/..",
    ):
        yield f"{path}\n/v1/**/*.gz".encode()


def server_frame(first, said):
    size = len(said)
    return (
        bytes([first]) + (bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size)) + said
    )


def message_boundaries():
    """First byte: how the bytes are cut. Second: kind of boundaries (0: read from the head, which
    an empty line ends), status, body."""
    events = b": alive\n\ndata: one\n\ndata: two\r\n\r\nid: 7\r\rdata: thr"
    for head in (
        b"Content-Type: text/event-stream",
        b"content-type: Application/JSONL; charset=utf-8\nContent-Encoding: identity",
        b"Content-Encoding: gzip",
        b"Content-Range: bytes 0-4/100",
        b"Content-Type: multipart/byteranges; boundary=x",
        b"Content-Type: text/event-stream\nContent-Type: text/plain",
        b"Upgrade: h2c, websocket",
        b"Upgrade: websocket\nSec-WebSocket-Extensions: permessage-deflate",
        b"X\n: y",
        b"",
    ):
        yield from (bytes([90, flags]) + head + b"\n\n" + events for flags in (0, 4, 8, 12, 16, 24))
    yield b"\x60\1" + events
    yield b"\x60\2" + b'{"a":1}\n\x1e{"b":2}\n{"c'
    message = (
        server_frame(0x81, b"hello")
        + server_frame(1, b"sk-live")
        + server_frame(0x89, b"alive?")
        + server_frame(0, b"-0123")
        + server_frame(0x80, b"")
    )
    for more in (
        server_frame(0x82, b"x" * 300),
        server_frame(0x88, b"\3\xe8why"),
        b"\x81\x83mask",
        b"\xc1\1x",
        b"\x8b\1x",
        b"\x89\x7e\0\x7f",
        b"\x80\1x",
        b"\x81\x7e\0\5hello",
        b"\x82\x7f" + struct.pack(">Q", 1 << 20) + b"begins",
        b"\x82\x7f" + struct.pack(">Q", 1 << 63),
        b"HTTP/1.1 ",
    ):
        yield b"\x80\3" + message + more + server_frame(0x81, b"end")
        yield b"\x10\3" + more


def response_scanner():
    """The secret, boundaries and layout; the encoding; its place; how the response is cut; what
    surrounds it, or its frames. Then the rest."""
    said = (
        b'{"error":"no such key","you sent":"Bearer ","at":[1, 2,\r\n'
        b'  3],"b64":"c2stbGl2ZS0wMTIz","path":"\\/a%2Fb\\n"}\n'
        b"\n" + b"data: " + b"x" * 200 + b"\n\nsk-live-0123456789abcde!"
    )
    for form in range(12):
        for first in (0, 1, 2, 0x12, 0x31, 0x91, 0xA4, 0xB0, 0x1C, 0xA9, 0x8D):
            yield bytes(
                [first, form, 40 + 3 * form, 60 + 3 * form, (form * 37 + first) & 255]
            ) + said
    yield b"\x8c\x80\0\x80\0" + server_frame(0x01, b"sk-live-0123") + server_frame(
        0x8A, b"any"
    ) + server_frame(0x80, b"456789abcdef") + server_frame(0x81, b"more")
    yield bytes(5) + b"sk-live-0123456789abcdef"


def guest_head():
    """Which rules a sandbox has, whom it asks, which letters of names are others. Then the
    request."""
    basic = base64.b64encode(b"user:cay-token-PPPP").decode()
    for grant in range(13):
        for asked, (host, path) in enumerate(
            (
                ("api.test", "/v1/x"),
                ("", "/api/v1/x?y=z"),
                ("A.wild.test:443", "/v2/../v1/%63?a=b"),
                ("ports.test:8443", "/v1/a/b?_method=PUT"),
                ("other.test", "/"),
            )
        ):
            named = f"Host: {host}\n" if host else "Host: 192.0.0.3\n"
            for method, lines in (
                (
                    "GET",
                    "Authorization: Bearer cay-token-PPPP\n"
                    "X-Token: cay-token-NNNN\n"
                    "X-Note: cay-token-NNNN\n"
                    "x-api-key: cay-token-BBBB\n"
                    "Accept-Encoding: gzip\n"
                    "Range: bytes=0-5\n",
                ),
                (
                    "POST",
                    f"authorization: basic {basic}\n"
                    "Connection: close, X-Drop , x-token\n"
                    "X-Drop: 1\n"
                    "X-Token: a\n"
                    "TE: trailers\n"
                    "Upgrade: h2c\n"
                    "Api-Key: cay-token-BBBB\n",
                ),
                (
                    "HEAD",
                    "Authorization: Bearer cay-token-BBBB\n"
                    "X_Original_URL: /admin\n"
                    "X-HTTP-Method: DELETE\n"
                    "X_Other: cay-token-NNNN\n",
                ),
            ):
                yield bytes([grant, asked, 0x55]) + f"{method} {path}\n{named}{lines}".encode()
    yield b"\0\0\0GET /\nHost: api.test\nHost: api.test\n"
    yield b"\0\0\0GET http://evil.test/\nHost: evil.test\n"
    for path in ("/nowhere/", "/elsewhere", "/none", "/api?x"):
        yield f"\4\1\0GET {path}\nX-Api-Key: cay-token-BBBB\n".encode()
    yield b"\7\0\0DELETE /v1/x\nHost: api.test\n"
    yield b"\7\0\0GET /v3/x\nHost: api.test\n"
    yield b"\6\0\0GET /v1//x?a&%5fmethod[]=PUT\nHost: api.test\n"


def frame(kind, channel, payload):
    return struct.pack("<IHHI", 8 + len(payload), kind, 0, channel) + payload


def wire_frames():
    yield frame(1, 0, b"") + frame(2, 1, tlv(1, ID.encode())) + frame(3, 7, b"x" * 300)
    yield frame(9, 2, b"half of it")[:-3]
    yield struct.pack("<I", 0xFFFFFFFF) + b"too long"
    yield struct.pack("<I", 3) + b"too short"


def vault_frames():
    yield b"".join(
        struct.pack("<I", len(one)) + one for one in (tlv(1, ID.encode()), b"", b"x" * 300)
    )
    yield struct.pack("<I", 12) + b"half of it"
    yield struct.pack("<I", 0) + struct.pack("<I", (4 << 20) + 1) + b"too long"
    yield struct.pack("<I", 4 << 20) + b"as long as can be"


def yamux_frame(kind, flags, stream, length, payload=b""):
    return struct.pack(">BBHII", 0, kind, flags, stream, length) + payload


def yamux():
    """The last byte says where the pieces are cut."""
    where = b"\x40"
    opened = yamux_frame(1, 1, 1, 0)
    request = yamux_frame(0, 0, 1, 3, b"\1\x15\x38")
    yield opened + request + yamux_frame(0, 0, 1, 5, b"hello") + yamux_frame(
        1, 0, 1, 65536
    ) + yamux_frame(0, 4, 1, 0) + where
    yield opened + yamux_frame(0, 1, 3, 3, b"abc") + yamux_frame(2, 1, 0, 7) + yamux_frame(
        1, 8, 1, 0
    ) + yamux_frame(3, 0, 0, 0) + where
    yield opened + yamux_frame(0, 0, 1, 1 << 20, b"more than the window") + where
    yield opened + opened + where
    yield yamux_frame(0, 0, 9, 4, b"none") + yamux_frame(2, 2, 0, 1) + b"\1" + where


def spool_layout():
    for words in (
        (1000, 1000, 0, 0, 0, 0, 0, 0),
        (5000, 4000, 1000, 3000, 1500, 1000, 4500, 1),
        (1 << 31, 1 << 30, 512, 1 << 29, 700, 4096, 1 << 30, 0),
    ):
        yield struct.pack("<8I", *words)


def guest_user():
    users = (
        "root:x:0:0::/root:/bin/sh\n"
        "user:x:1000:1000:,,,:/home/user:/bin/bash\n"
        "group:x:27:user,root\n"
    )
    for asked in ("user", "1000", "root", "", "user:group", "1:27", "0", "no such", "user:no such"):
        yield f"{asked}\n{users}".encode()


def guest_names():
    for pattern in ("**/*.py", "src/[a-z]?/**", "a/b[!x-z]/*", "{a,b}*", "**", "[]a]*", ".*"):
        yield f"{pattern}\nsome name".encode()
    yield b"*\n" + "naïve \u2028 ends in half".encode() + b"\xe2\x82"


def http_target():
    for target in (
        "/api/v1/sandboxes/%2e%2e/x?limit=5&name=a%20b&flag",
        "/%c0%af",
        "http://host:80/a//b/./c?x=1#y",
        "*",
        "/a%00b",
        "/files?path=%2Ftmp%2Fa+b&start=0&end=",
        "/boxes?labels%5Ba%5D=b&labels%5Bc%5D=d",
    ):
        yield target.encode()


def json_():
    limits = {"cpu_millicores": 500, "memory_bytes": 1 << 28, "disk_bytes": 1 << 30, "pids": 64}
    proxy = [
        {
            "secret": "key",
            "name": "api",
            "way": "headers",
            "hosts": ["*.api.test:443"],
            "methods": ["GET"],
            "paths": ["/v1/**"],
            "env": {"K": "v"},
            "gone": False,
            "headers": [{"name": "Authorization", "value": "Bearer {}", "basic_user": "u"}],
        },
        {"hosts": ["*.fence.test:8443"]},
    ]
    create = {
        "name": "box",
        "snapshot": "default",
        "labels": {"a": "b"},
        "limits": limits,
        "user": "user",
        "workdir": "/",
        "env": {"A": "1"},
        "policy": "rules",
        "rules": ["a.test", "!b.test"],
        "proxy": proxy,
        "idle_ttl_s": 60,
        "delete_after_stop_s": -1,
        "lifetime_s": 5.0,
        "commands_keep_awake": True,
        "record_programs": True,
        "profile": "strict",
        "wait": True,
        "timeout_s": 5,
    }
    create["tmpfs"] = {"/tmp": 0}
    create["read_only_paths"] = ["/repo/vendor"]
    create["hidden_paths"] = ["/secrets", "/repo/.env"]
    command = {
        "id": "make-1",
        "argv": ["sh", "-c", "true"],
        "env": {"A": "1"},
        "cwd": "/",
        "user": "user",
        "pty": {"rows": 24, "cols": 80},
        "timeout_s": 1.5,
        "idle_timeout_s": -1,
        "ttl_s": 0.0001,
        "output_limit_bytes": 4096,
        "kill_on_disconnect": True,
        "close_stdin": False,
        "end_tree": True,
        "ignore_mismatch": True,
        "wait": True,
        "stdin": "aGk=",
        "max_output_bytes": 10,
    }
    line = {"id": ID, "command": "exit 7", "shell": "/bin/bash", "wait": True}
    sandbox = {
        "id": "sb_1",
        "state": "ready",
        "name": "box",
        "reason": "",
        "snapshot": "default",
        "snapshot_id": "sn_1",
        "labels": {"a": "b", "c": 1},
        "limits": limits,
        "user": "u",
        "workdir": "/",
        "env": {},
        "policy": "rules",
        "rules": ["a.test", 1, "b.test"],
        "network": {"state": "on", "reason": "why"},
        "idle_ttl_s": 60,
        "profile": "nested",
        "record_programs": True,
        "created_at": "2026-01-02T03:04:05.678Z",
        "stopped_at": "2026-01-02T03:04:05Z",
    }
    ended = {
        "id": ID,
        "state": "oom_killed",
        "argv": ["sh", 1],
        "exit_code": 137,
        "signal": 9,
        "oom_kills": 1,
        "stdout": {"bytes": 4, "end_offset": 4, "gap_begin": 1, "gap_end": 2},
        "stderr": 1,
        "timeout_s": 1e300,
        "cpu_usec": -1,
        "pty": True,
        "created_at": "2026-01-02T03:04:05.678Z",
    }
    error = {"error": {"code": "internal", "reason": "bug", "message": "none", "error_id": "e1"}}
    file = {
        "path": "/a",
        "path_base64": "L2E=",
        "size": 3,
        "mode": "0644",
        "kind": "file",
        "mtime": "2026-01-02T03:04:05Z",
    }
    wrong = {
        "name": "",
        "snapshot": 1,
        "labels": [],
        "limits": {
            "pids": -1,
            "memory_bytes": 1 << 63,
            "disk_bytes": 1e18,
            "cpu_millicores": "1",
            "x": 0,
        },
        "env": {"": "1"},
        "policy": "",
        "rules": [],
        "proxy": [{"way": "x", "headers": [1]}, 1],
        "commands_keep_awake": 1,
        "profile": "",
        "wait": "x",
        "timeout_s": 5e3,
        "idle_ttl_s": 0.5,
        "unknown": {},
    }
    yield from (
        json.dumps(value).encode()
        for value in (
            create,
            command,
            line,
            sandbox,
            ended,
            error,
            file,
            wrong,
            [1, None, -2.5e300, "\ud83d\ude00"],
        )
    )
    for one in (
        {"argv": ["a"]},
        {"argv": []},
        {"argv": ["a\0"], "command": 1, "id": "-", "stdin": "a", "close_stdin": True, "shell": "x"},
        {"argv": ["a", 1], "stdin": "aGk=", "close_stdin": True, "timeout_s": []},
        {"rules": ["a\nb"], "policy": "open"},
        {"rules": "a", "proxy": {}, "limits": 1, "env": {"A": 1}},
        {"limits": {"cpu_millicores": 1, "memory_bytes": 2, "disk_bytes": 3}},
        {"rows": 24, "cols": 80, "signal": "SIGTERM"},
        {"rows": 0, "signal": "NONE"},
        {"signal": 15},
        {"signal": "15"},
        {"proxy": [{"hosts": [""] * 300, "env": {str(one): "" for one in range(100)}}]},
        {"error": {"code": "not_found", "reason": "no_such_sandbox", "message": "none"}},
    ):
        yield json.dumps(one, separators=(",", ":")).encode()
    yield from (
        b'{"a":"\\ud800"}',
        b"SIGTERM",
        b"15",
        b"65",
        b"0644",
        b"7777",
        b"17777",
        b"not_found",
        b"exited",
    )


def text():
    yield from (
        b"2026-01-02T03:04:05.678901Z",
        b"2026-02-29T23:59:60+01:30",
        b"aGVsbG8=",
        b"AA==",
        b"a",
        b"\xf0\x9f\x98\x80\xff",
        "naïve € \U0001f600".encode(),
        b"\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80",
    )


def archives():
    for form in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as archive:
            for name, kind, data in (
                ("d", tarfile.DIRTYPE, b""),
                ("d/f", tarfile.REGTYPE, b"text"),
                ("l", tarfile.SYMTYPE, b""),
                (
                    "d/" + "n" * (120 if form != tarfile.USTAR_FORMAT else 80),
                    tarfile.REGTYPE,
                    b"x" * 700,
                ),
            ):
                info = tarfile.TarInfo(name)
                info.type, info.size, info.linkname = (
                    kind,
                    len(data),
                    "d/f" if kind == tarfile.SYMTYPE else "",
                )
                archive.addfile(info, io.BytesIO(data))
        yield out.getvalue()
    for name, kind, link in (
        ("../up", tarfile.REGTYPE, ""),
        ("/etc/x", tarfile.REGTYPE, ""),
        ("h", tarfile.LNKTYPE, "d/f"),
        ("c", tarfile.CHRTYPE, ""),
        ("out", tarfile.SYMTYPE, "/etc"),
        ("p", tarfile.FIFOTYPE, ""),
    ):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode = kind, link, 0o4755
            archive.addfile(info)
        yield out.getvalue()[:1536]


def tar():
    """The first byte: how the bytes are cut."""
    yield from (bytes([first]) + one for one in archives() for first in (0, 0x40, 0xFF))


def image_layer():
    """The first byte: how the bytes are cut."""
    for name in (".wh.gone", "d/.wh..wh..opq", ".wh..wh.plnk/1", "a/.wh."):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            archive.addfile(tarfile.TarInfo(name))
        yield b"\xff" + out.getvalue()[:1536]
    for one in archives():
        yield b"\xff" + one
        yield b"\xff" + gzip.compress(one, mtime=0)


def image_json():
    """The first byte: which of the decoders."""
    digest = "sha256:" + "a" * 64
    blob = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "size": 1, "digest": digest}
    entry = {**blob, "platform": {"os": "linux", "architecture": "amd64", "variant": "v8"}}
    for made in (
        {"schemaVersion": 2, "config": blob, "layers": [blob, blob]},
        {"schemaVersion": 2, "manifests": [entry]},
    ):
        yield b"\0" + json.dumps(made).encode()
    config = {"User": "a", "WorkingDir": "/w", "Env": ["A=b"], "Entrypoint": ["a"], "Cmd": ["b"]}
    config |= {"Labels": {"a": "b"}, "ExposedPorts": {"80/tcp": {}}}
    yield b"\1" + json.dumps({"config": config, "rootfs": {"diff_ids": [digest]}}).encode()
    for name in ("python:3.12", "localhost:5000/a/b@" + digest, "[::1]:5000/x", "a.example/b:c"):
        yield b"\2" + name.encode()
    yield b'\3Bearer realm="https://a/b",service="c", scope="repository:a/b:pull"'
    yield b'\3Basic realm="a \\"b"'
    for url in ("https://a.example:8443/b?c=d#e", "http://[::1]:5000/"):
        yield b"\4" + url.encode()


def unpack():
    yield from (b"\xff" + one for one in archives())


def model_answer():
    """The first byte picks the format, the second the place of a cut."""
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    choices = [
        {"delta": {"reasoning_content": "hm", "content": "a\u00e9"}},
        {"delta": {"reasoning": "hm", "content": [{"type": "text", "text": "b"}]}},
        {"delta": {"tool_calls": [{"index": 0, **call}, {"index": 1, **call, "id": "c2"}]}},
        {"delta": {"tool_calls": [{"function": {"name": "ls", "arguments": {"path": "/"}}}]}},
        {"delta": {"refusal": "no"}, "finish_reason": "content_filter"},
        {"message": {"content": "c", "tool_calls": [call, call]}, "finish_reason": "stop"},
    ]
    usage = {"prompt_tokens": 5, "completion_tokens": 6, "prompt_cache_hit_tokens": 2}
    chat = [{"model": "m", "choices": [one]} for one in choices] + [{"usage": usage}]
    chat += [{"error": {"code": 429, "message": "slow"}}, {"error": "plain"}]
    message = {"type": "message", "content": [{"type": "output_text", "text": "a"}]}
    function = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}
    thought = {"type": "reasoning", "summary": [{"text": "hm"}], "encrypted_content": "x"}
    response = {"status": "completed", "model": "m", "output": [thought, message, function]}
    responses = [
        {"type": "response.output_item.added", "item": function},
        {"type": "response.function_call_arguments.delta", "delta": "{}"},
        {"type": "response.output_text.delta", "delta": "a"},
        {"type": "response.output_item.done", "output_index": 1, "item": message},
        {"type": "error", "code": "context_length_exceeded", "message": "too long"},
        {"type": "response.completed", "response": {"status": "completed"}},
        {"type": "response.incomplete", "response": {**response, "status": "incomplete"}},
        {"type": "response.completed", "response": response},
        response,
    ]
    anthropic = [
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 4}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
        {"type": "content_block_delta", "index": 0, "delta": {"thinking": "hm", "signature": "s"}},
        {"type": "content_block_start", "content_block": {"type": "redacted", "data": "x"}},
        {"type": "content_block_start", "index": 1, "content_block": {"text": "a"}},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "c", "name": "ls", "input": {}},
        },
        {"type": "content_block_delta", "index": 2, "delta": {"partial_json": '{"a":1}'}},
        {"type": "error", "error": {"type": "overloaded_error"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
        {"content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn"},
    ]
    for which, events in enumerate((chat, responses, anthropic)):
        texts = [json.dumps(one).encode() for one in events]
        for text_ in texts:
            yield bytes([which, 128]) + text_
            yield bytes([which, 250]) + b"data: " + text_ + b"\n\n"
        for end in (b"\n", b"\r\n", b"\r"):
            stream = b"".join(b"event: x" + end + b"data: " + one + end * 2 for one in texts)
            yield bytes([which, 90]) + b"\xef\xbb\xbf: c" + end + stream + b"data: [DONE]"
    yield bytes([0, 0]) + b"<html>"
    yield bytes([0, 128]) + b'data: {"a":\ndata: 1}\n\ndata: {\n\n'


def daytona_toolbox():
    """The first byte: how the bytes are cut."""
    frames = (
        b'Content-Length: 8\r\n\r\n{"id":1}content-length: 2\r\nX: y\r\n\r\n{}Con',
        b"Length: 3\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
    )
    of_git = (
        b"# branch.oid 0123\0# branch.head main\0# branch.ab +1 -2\0"
        b"1 .M N... 100644 100644 100644 a b c.txt\0? new\0",
        b"0123\0a\0a@b\x002026-01-02T03:04:05+00:00\0text\n\0\n",
        b"origin\thttps://example.com/a.git (fetch)\n",
    )
    others = (
        b"LISTEN 0 128 0.0.0.0:8080 0.0.0.0:*\n",
        b"MemTotal: 1024 kB\nCached: 12 kB\n",
        b"files[0].path",
        b"files[1].file",
        b'dtn_artifact_k39fd2:{"type":"chart","value":{}}\nmore\n',
        b"0.167.0",
        b"X-Daytona-SDK-Version~0.27.1",
        b"one\ntwo \1\1\1\2\2\2",
        b"-_8",
    )
    for one in frames + of_git + others:
        yield from (bytes([first]) + one for first in (0, 5))


def multipart():
    """The first byte: how the bytes are cut."""
    part = (
        b"--b\r\n"
        b'Content-Disposition: form-data; name="file"; filename="a"\r\n'
        b"Content-Type: text/plain\r\n"
        b"\r\n"
        b"hello\r\n"
        b"--b--\r\n"
    )
    yield from (bytes([first]) + part for first in (0, 3, 0xFE))
    several = (
        b'--b\r\nContent-Disposition: form-data; name="files[0].path"\r\n\r\n/a\r\n'
        b"--b \r\nContent-Disposition: form-data; name=f; filename*=UTF-8''%C3%A9\r\n\r\n"
        b"\r\n--x\r\n"
        b'--b\r\nContent-Disposition: form-data; name="q\\"u"; filename="C:\\d"\r\n\r\n\r\n--b--'
    )
    yield from (bytes([first]) + several for first in (0, 5))
    for text_ in (
        b'multipart/form-data; boundary="b"',
        b"multipart/form-data; charset=x; boundary=b",
        b"bytes=5-10",
        b"bytes=-5",
        b"bytes=5-",
        b'W/"tag", "other"',
        b"*",
        b"Thu, 01 Jan 1970 00:00:00 GMT",
    ):
        yield b"\1" + text_
        yield b"\2" + text_


def spool_record():
    head = b"cayrec\0\2"
    members = b"".join(tlv(tag, ID.encode()) for tag in (1, 2, 3, 8, 9, 14, 15)) + b"".join(
        tlv(tag, struct.pack("<Q", 1)) for tag in (4, 7, 11, 12, 13, 19)
    )
    yield members
    yield head + checked(members) + checked(tlv(11, struct.pack("<Q", 2)))
    yield head + checked(members)[:-1]
    yield checked(members)


def checked(payload):
    total = 0xCBF29CE484222325
    for one in payload:
        total = (total ^ one) * 0x100000001B3 % (1 << 64)
    return struct.pack("<IQ", len(payload), total) + payload


def program_record():
    text_ = b"/bin/sh\0sh\0-c\0true\0"
    for kind, status in ((1, 0), (2, 0), (3, 0x700), (3, 9)):
        yield struct.pack(
            "<4I3QIiII", kind, 9, 7, 1, 4_000_000_000, 5_000_000_000, 0, 0, status, 8, len(text_)
        ) + text_
    yield checked(tlv(1, struct.pack("<Q", 2)) + tlv(7, b"/bin/sh") + tlv(8, b"sh"))


def decision_log():
    def line(number, kind):
        return (
            tlv(1, struct.pack("<Q", number))
            + tlv(2, struct.pack("<Q", kind))
            + tlv(4, struct.pack("<Q", 2))
            + tlv(5, b"a.test")
            + tlv(7, struct.pack("<Q", 443))
        )

    for lines in ([line(1, 1), line(2, 2)], [line(7, 3), line(1 << 20, 4), line(0, 5)]):
        yield b"\0" + b"".join(bytes([len(one)]) + one for one in lines)
    yield b"caydec\0\1" + checked(line(1, 1)) + checked(line(2, 1))[:-1]


# The seeds of every target. Inputs that broke a target, and kept findings, are in corpus/.
ALL = {
    make.__name__.rstrip("_"): make
    for make in (
        dns,
        client_hello,
        first_request,
        detect_protocol,
        requests,
        hellos,
        proxy_answer,
        http_target,
        http_request,
        http_answer,
        websocket,
        socket_frames,
        service_head,
        yamux,
        tar,
        unpack,
        image_layer,
        image_json,
        multipart,
        model_answer,
        json_,
        text,
        wire_frames,
        wire_messages,
        vault_frames,
        spool_layout,
        spool_record,
        program_record,
        decision_log,
        guest_user,
        guest_names,
        policy_rules,
        dockerfile,
        daytona_toolbox,
        request_path,
        message_boundaries,
        response_scanner,
        guest_head,
    )
}
