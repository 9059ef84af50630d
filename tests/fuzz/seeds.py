#!/usr/bin/env python3
"""Writes the first inputs of every fuzz target: seeds.py DIRECTORY makes DIRECTORY/TARGET/NUMBER.

What once broke a target is kept beside it, in tests/fuzz/corpus/TARGET, and runs with these.
"""
import io
import json
import pathlib
import struct
import sys
import tarfile

ID = "0b4c1c2e-5f7a-4d53-9d0e-6a1f2b3c4d5e"


def tlv(tag, value):
    return struct.pack("<HI", tag, len(value)) + value


def wire_messages():
    """One byte that picks the message, then its members: numbers, text, both, and nested."""
    number, text = struct.pack("<Q", 4096), ID.encode()
    nested = tlv(1, text) + tlv(2, number)
    bodies = [b"", *(b"".join(tlv(tag, value) for tag in range(1, 24)) for value in (number, text, nested, b"\1")),
              b"".join(tlv(tag, number if tag % 2 else text) for tag in range(1, 24))]
    yield from (bytes([which]) + body for which in range(26) for body in bodies)
    yield bytes([0, 1, 1]) + number + b"bytes of a DATA frame"


def gate_bytes():
    """What a sandbox sends first: DNS questions, a ClientHello, request heads."""
    name = b"\3www\7example\3com\0"
    yield struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + name + struct.pack(">HH", 1, 1)
    yield struct.pack(">HHHHHH", 2, 0x100, 1, 0, 0, 1) + name + struct.pack(">HH", 28, 1) + b"\0" + struct.pack(">HHIH", 41, 4096, 0, 0)
    entry = b"\0" + struct.pack(">H", 11) + b"example.com"
    extension = struct.pack(">HHH", 0, len(entry) + 2, len(entry)) + entry
    body = b"\3\3" + b"r" * 32 + b"\0" + struct.pack(">H", 2) + b"\x13\1\1\0" + struct.pack(">H", len(extension)) + extension
    hello = b"\1\0" + struct.pack(">H", len(body)) + body
    yield b"\x16\3\1" + struct.pack(">H", len(hello)) + hello
    yield b"\x16\3\1" + struct.pack(">H", 9) + hello[:9] + b"\x16\3\3" + struct.pack(">H", len(hello) - 9) + hello[9:]
    yield b"GET /a HTTP/1.1\r\nAccept: */*\r\nHost: example.com:80\r\n\r\nmore"


def policy_rules():
    """Rules of every kind, a default and an order."""
    yield b"pip, !registry.npmjs.org, *.example.com:443\n~^(a|b){1,3}\\.test$:80\nhttps://m.test:8443/x"
    yield b"open\nfirst-match\n!10.0.0.0/8\n[2001:db8::/32]:8000-8100\n192.0.2.7:*\n# what\ndeny evil.test"
    yield b"@packages, !@git, db:5432, example.com:*"


def frame(kind, channel, payload):
    return struct.pack("<IHHI", 8 + len(payload), kind, 0, channel) + payload


def wire_frames():
    yield frame(1, 0, b"") + frame(2, 1, tlv(1, ID.encode())) + frame(3, 7, b"x" * 300)
    yield frame(9, 2, b"half of it")[:-3]
    yield struct.pack("<I", 0xFFFFFFFF) + b"too long"
    yield struct.pack("<I", 3) + b"too short"


def yamux_frame(kind, flags, stream, length, payload=b""):
    return struct.pack(">BBHII", 0, kind, flags, stream, length) + payload


def yamux():
    opened = yamux_frame(1, 1, 1, 0)
    request = yamux_frame(0, 0, 1, 3, b"\1\x15\x38")
    yield opened + request + yamux_frame(0, 0, 1, 5, b"hello") + yamux_frame(1, 0, 1, 65536) + yamux_frame(0, 4, 1, 0)
    yield opened + yamux_frame(0, 1, 3, 3, b"abc") + yamux_frame(2, 1, 0, 7) + yamux_frame(1, 8, 1, 0) + yamux_frame(3, 0, 0, 0)
    yield opened + yamux_frame(0, 0, 1, 1 << 20, b"more than the window")
    yield opened + opened
    yield yamux_frame(0, 0, 9, 4, b"none") + yamux_frame(2, 2, 0, 1) + b"\1"


def spool_layout():
    for words in ((1000, 1000, 0, 0, 0, 0, 0, 0), (5000, 4000, 1000, 3000, 1500, 1000, 4500, 1),
                  (1 << 31, 1 << 30, 512, 1 << 29, 700, 4096, 1 << 30, 0)):
        yield struct.pack("<8I", *words)


def guest_text():
    users = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000:,,,:/home/user:/bin/bash\ngroup:x:27:user,root\n"
    for first in ("user", "**/*.py", "src/[a-z]?/**", "1000", "{a,b}*", "no such"):
        yield f"{first}\n{users}".encode()
    yield b"*\n" + "naïve \u2028 ends in half".encode() + b"\xe2\x82"


def http():
    for target in ("/api/v1/sandboxes/%2e%2e/x?limit=5&name=a%20b&flag", "/%c0%af", "http://host:80/a//b/./c?x=1#y", "*",
                   "/a%00b", "/files?path=%2Ftmp%2Fa+b&start=0&end=", "/boxes?labels%5Ba%5D=b&labels%5Bc%5D=d"):
        yield target.encode()


def codec():
    create = {"name": "box", "snapshot": "default", "labels": {"a": "b"}, "memory_bytes": 1 << 28, "disk_bytes": 1 << 30,
              "cpu_millicores": 500, "pids": 64, "idle_ttl_s": 60, "env": {"A": "1"}, "wait_for_ready": True, "timeout_s": 5}
    command = {"id": ID, "command": "exit 7", "argv": ["sh", "-c", "true"], "env": {"A": "1"}, "cwd": "/", "user": "user",
               "timeout_s": 1.5, "idle_timeout_s": -1, "wait": True, "stdin": "aGk=", "tty": {"rows": 24, "cols": 80}}
    end = {"id": ID, "state": "oom_killed", "exit_code": 137, "signal": 9, "oom_kills": 1, "stdout": {"bytes": 4},
           "created_at": "2026-01-02T03:04:05.678Z"}
    error = {"error": {"code": "not_found", "reason": "no_such_sandbox", "message": "none", "remedy": "create it"}}
    file = {"path": "/a", "size": 3, "mode": "0644", "type": "file", "mtime": "2026-01-02T03:04:05Z"}
    yield from (json.dumps(value).encode() for value in (create, command, end, error, file, [1, None, -2.5e300, "\ud83d\ude00"]))
    yield from (b"2026-01-02T03:04:05.678901Z", b"aGVsbG8=", b'{"a":"\\ud800"}', b"\xf0\x9f\x98\x80\xff")


def body():
    """The first byte chooses: odd for tar, even for multipart; the rest of it, how the bytes are cut."""
    for form in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as tar:
            for name, kind, data in (("d", tarfile.DIRTYPE, b""), ("d/f", tarfile.REGTYPE, b"text"), ("l", tarfile.SYMTYPE, b""),
                                     ("d/" + "n" * (120 if form != tarfile.USTAR_FORMAT else 80), tarfile.REGTYPE, b"x" * 700), ("../up", tarfile.REGTYPE, b"no")):
                info = tarfile.TarInfo(name)
                info.type, info.size, info.linkname = kind, len(data), "d/f" if kind == tarfile.SYMTYPE else ""
                tar.addfile(info, io.BytesIO(data))
        yield from (bytes([first]) + out.getvalue() for first in (1, 0x41, 0xFF))
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b--\r\n'
    yield from (bytes([first]) + part for first in (0, 2, 0xFE))
    yield b"\0multipart/form-data; boundary=\"b\""
    yield b"\0bytes=5-10"


def main():
    for make in (wire_messages, wire_frames, gate_bytes, policy_rules, yamux, spool_layout, guest_text, http, codec, body):
        place = pathlib.Path(sys.argv[1]) / make.__name__
        place.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(make()):
            (place / f"{number:03}").write_bytes(data)


if __name__ == "__main__":
    main()
