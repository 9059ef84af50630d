"""What a keeper says to the daemon, by hand (docs/wire.md), so that it can be said wrongly."""
import os
import struct
import time

HELLO, OK, ERROR, DATA, CREDIT, EOF = 1, 2, 3, 4, 5, 6
ATTACH, LIST, COMMAND, FILE_OP, FILE_INFO, NOTE, OPEN_TUNNEL, TUNNEL_OPEN = (
    21,
    27,
    29,
    40,
    41,
    57,
    60,
    61,
)
MOST_PAYLOAD, CHUNK = 256 * 1024, 64 * 1024
ROLE, SANDBOX = 3, 6  # members of HELLO
READ_TREE = 10  # a verb of FILE_OP
RUNNING, EXITED = 1, 2
FILE, DIRECTORY = 1, 2


def encode(members):
    """{tag: whole number, bool, text, bytes, or members again}."""
    out = b""
    for tag, value in members.items():
        if isinstance(value, bool):
            value = bytes([value])
        elif isinstance(value, int):
            value = value.to_bytes(8, "little", signed=value < 0)
        elif isinstance(value, dict):
            value = encode(value)
        elif isinstance(value, str):
            value = value.encode()
        out += struct.pack("<HI", tag, len(value)) + value
    return out


def decode(payload):
    """{tag: bytes}: of members that come once."""
    out, at = {}, 0
    while at < len(payload):
        tag, size = struct.unpack_from("<HI", payload, at)
        out[tag] = payload[at + 6 : at + 6 + size]
        at += 6 + size
    return out


def number(value):
    return int.from_bytes(value, "little")


def frame(kind, channel, payload=b"", length=None):
    return (
        struct.pack("<IHHI", len(payload) + 8 if length is None else length, kind, 0, channel)
        + payload
    )


def data(channel, offset, content, stream=0):
    return frame(DATA, channel, struct.pack("<BBQ", stream, 0, offset) + content)


def ended(command, code, life=None, at=1):
    """The payload of a NOTE: that the command exited with this code."""
    now = int(time.time() * 1000)
    life = life or int.from_bytes(os.urandom(7), "little")
    return encode({1: life, 2: at, 3: {1: command, 7: now, 11: EXITED, 12: code, 19: now}})


def started(command, life=None, at=1):
    """The same: that it started."""
    return encode(
        {
            1: life or int.from_bytes(os.urandom(7), "little"),
            2: at,
            3: {1: command, 7: int(time.time() * 1000), 11: RUNNING},
        }
    )
