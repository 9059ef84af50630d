"""A server outside that answers every ClientHello by asking for another one, and tells what
came."""

RETRIES = "198.18.7.6"
# A HelloRetryRequest (RFC 8446, 4.1.4): TLS_AES_128_GCM_SHA256, TLS 1.3, secp384r1.
MESSAGE = (
    b"\x03\x03"
    + bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
    + b"\0\x13\x01\0"
    + b"\0\x0c"
    + b"\0\x2b\0\x02\x03\x04"
    + b"\0\x33\0\x02\0\x18"
)
RETRY = (
    b"\x16\x03\x03"
    + (len(MESSAGE) + 4).to_bytes(2, "big")
    + b"\x02"
    + len(MESSAGE).to_bytes(3, "big")
    + MESSAGE
)


class Server:
    """`came`: of each connection, all that followed the first ClientHello."""

    def __init__(self):
        self.came = []

    def handle(self, stream):
        got = b""
        while len(got) < 5 or len(got) < 5 + int.from_bytes(got[3:5], "big"):
            part = stream.recv(65536)
            if not part:
                return
            got += part
        rest = got[5 + int.from_bytes(got[3:5], "big") :]
        self.came.append(rest)
        stream.sendall(RETRY)
        while part := stream.recv(65536):
            self.came.append(part)

    def seen(self, name):
        return any(name.encode() in one for one in self.came)
