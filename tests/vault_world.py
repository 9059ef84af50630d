"""Servers by TLS that stand for the APIs which sandboxes use with secrets: each knows its key, and
tells whether a request had it, never what it had. They speak as the OpenAI and the Anthropic API
do, as far as their SDKs look; some of them are hostile."""
import base64
import contextlib
import fcntl
import hashlib
import http.server
import json
import pathlib
import re
import socket
import ssl
import subprocess
import tempfile
import threading
import urllib.parse

from inside_web import Answering
from notes_server import Notes
from outside_world import World

ADDRESS = "198.18.11.1"
KNOWN = ("api.openai.com", "api.anthropic.com", "api.github.com", "github.com")  # as Cay knows them
NAMES = ("api.vault.test", "git.vault.test", "other.vault.test", *KNOWN)
UNTRUSTED = "untrusted.vault.test"
FAR = "far.vault.test"  # no host knows it; a proxy may
NOTES_PORT = 8444
MANY = " ".join(f"n{number}.many.vault.test" for number in range(20))
HOSTS = f"""127.0.0.1 localhost
{ADDRESS} {' '.join(NAMES)} {UNTRUSTED} {MANY}
198.18.12.1 private.vault.test
"""
SETTINGS = """[network]
networks = ["198.18.11.0/24", "198.18.11.1"]
[vault]
ca_file = "{ca}"
"""


class VaultWorld(World):
    """`secret`: what every server wants. `seen`: how requests came (path, host, whether the key was
    right, and in which header)."""

    def __init__(self, directory, secret):
        super().__init__(directory)
        self.secret, self.seen, self.raw = secret, [], []
        self.notes = Notes()  # at NOTES_PORT
        self.also = ""  # another secret that they heard

    def start(self):
        self.lock = (pathlib.Path(tempfile.gettempdir()) / "cay-test-vault-world").open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.address(ADDRESS)
        self.authority()
        self.serve_http(443, self.leaf("good", (*NAMES, FAR)))
        self.serve_http(80, None)
        self.serve_http(8443, self.leaf("good", NAMES))
        self.servers.append(self.notes.serve(ADDRESS, NOTES_PORT, self.leaf("good", NAMES)))
        own = self.leaf("stranger", (UNTRUSTED,), by=None)
        self.serve_http(9443, own)
        (self.directory / "hosts").write_text(HOSTS)
        (self.directory / "net.toml").write_text(SETTINGS.format(ca=self.directory / "ca.pem"))

    def run(self, *words):
        subprocess.run(
            ["openssl", *map(str, words)], check=True, capture_output=True, cwd=self.directory
        )

    def authority(self):
        self.run(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            2,
            "-subj",
            "/CN=outside",
            "-keyout",
            "ca-key.pem",
            "-out",
            "ca.pem",
            "-addext",
            "basicConstraints=critical,CA:TRUE",
            "-addext",
            "keyUsage=critical,keyCertSign",
        )

    def leaf(self, name, hosts, by="ca"):
        names = ",".join(f"DNS:{host}" for host in hosts)
        words = [
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            f"/CN={hosts[0]}",
            "-keyout",
            f"{name}-key.pem",
        ]
        if by is None:
            self.run(
                "req",
                "-x509",
                "-days",
                2,
                *words,
                "-out",
                f"{name}.pem",
                "-addext",
                f"subjectAltName={names}",
            )
        else:
            self.run("req", *words, "-out", f"{name}.csr")
            (self.directory / f"{name}.ext").write_text(f"subjectAltName={names}\n")
            self.run(
                "x509",
                "-req",
                "-in",
                f"{name}.csr",
                "-CA",
                "ca.pem",
                "-CAkey",
                "ca-key.pem",
                "-CAcreateserial",
                "-days",
                2,
                "-extfile",
                f"{name}.ext",
                "-out",
                f"{name}.pem",
            )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.directory / f"{name}.pem", self.directory / f"{name}-key.pem")
        return context

    def serve_http(self, port, context, address=ADDRESS, handler=None):
        world = self

        class Server(http.server.ThreadingHTTPServer):
            address_family, daemon_threads, request_queue_size = socket.AF_INET, True, 128

            def finish_request(self, request, client_address):
                with contextlib.suppress(OSError):
                    with (
                        context.wrap_socket(request, server_side=True) if context else request
                    ) as stream:
                        self.RequestHandlerClass(stream, client_address, self)

            def handle_error(self, request, client_address):
                pass

        server = Server((address, port), type("Handler", (handler or Handler,), {"world": world}))
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        self.servers.append(server)

    def how(self, headers):
        """In which header the key came: "Authorization", "X-Api-Key", "Basic"; "" if in none."""
        if headers.get("Authorization") == f"Bearer {self.secret}":
            return "Authorization"
        if headers.get("X-Api-Key") == self.secret:
            return "X-Api-Key"
        kind, _, text = (headers.get("Authorization") or "").partition(" ")
        with contextlib.suppress(ValueError):
            if kind == "Basic" and base64.b64decode(text).decode().endswith(":" + self.secret):
                return "Basic"
        return ""

    def fingerprint(self):
        return hashlib.sha256(self.secret.encode()).hexdigest()


class Handler(Answering):
    world = None

    def reply(self, status, body, kind="application/json", **headers):
        self.answer(body, kind, status, **headers)

    def do_GET(self):
        self.handle_any()

    do_POST = do_PUT = do_HEAD = do_GET

    def handle_any(self):
        body = b"".join(self.pieces())
        how = self.world.how(self.headers)
        path = self.path.partition("?")[0]
        self.world.seen.append(
            {
                "method": self.command,
                "path": self.path,
                "host": self.headers.get("Host"),
                "how": how,
                "body": len(body),
                "digest": hashlib.sha256(body).hexdigest(),
                "headers": sorted(name.lower() for name in self.headers),
            }
        )
        self.world.raw.append(str(self.headers).encode() + body)
        if path == "/socket" and (self.headers.get("Upgrade") or "").lower() == "websocket":
            return self.socket(how)
        if path.startswith("/open/"):
            return self.reply(200, json.dumps({"how": how}).encode())
        if not how:
            return self.reply(401, b'{"error":{"message":"no key","type":"invalid_request_error"}}')
        return getattr(
            self,
            "at_" + path.strip("/").replace("/", "_").replace(".", "_").replace("-", "_"),
            self.at_else,
        )(body, how)

    def at_else(self, body, how):
        self.reply(
            200,
            json.dumps(
                {
                    "how": how,
                    "path": self.path,
                    "bytes": len(body),
                    "digest": hashlib.sha256(body).hexdigest(),
                }
            ).encode(),
        )

    # --- as the vendors' SDKs want it ---
    def at_v1_chat_completions(self, body, how):
        ask = json.loads(body)
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "hello by " + how},
        }
        head = {"id": "c1", "object": "chat.completion", "created": 1, "model": ask["model"]}
        if not ask.get("stream"):
            return self.reply(
                200,
                json.dumps(
                    {
                        **head,
                        "choices": [choice],
                        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                    }
                ).encode(),
            )
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for word in ("one ", "two ", "three"):
            part = {
                **head,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}],
            }
            self.chunk(b"data: " + json.dumps(part).encode() + b"\n\n")
            if not self.world.release.wait(60):
                return None
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        return None

    def at_v1_messages(self, body, how):
        ask = json.loads(body)
        self.reply(
            200,
            json.dumps(
                {
                    "id": "m1",
                    "type": "message",
                    "role": "assistant",
                    "model": ask["model"],
                    "stop_reason": "end_turn",
                    "stop_sequence": None,
                    "content": [{"type": "text", "text": "hello by " + how}],
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                }
            ).encode(),
        )

    # --- hostile ones ---
    def at_folded(self, body, how):
        secret, half = self.world.secret.encode(), len(self.world.secret) // 2
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Said: "
            + secret[:half]
            + b"\r\n \t"
            + (b"" if self.path.endswith("?part") else secret[half:])
            + b"\r\n\r\n"
        )

    def at_reflect_body(self, body, how):
        self.reply(
            200,
            b"x" * 100_000
            + b'{"you sent": "'
            + self.headers.get("Authorization", "").encode()
            + b'"}'
            + b"y" * 1000,
        )

    def at_reflect_base64(self, body, how):
        self.reply(200, base64.b64encode(b"you sent " + self.world.secret.encode() + b"!"))

    def at_reflect_header(self, body, how):
        self.reply(200, b"{}", X_You_Sent=self.world.secret)

    def at_reflect_chunks(self, body, how):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for byte in b"begin " + self.world.secret.encode() + b" end":
            self.chunk(bytes([byte]))
        self.wfile.write(b"0\r\n\r\n")

    def at_reflect_also(self, body, how):
        """What it heard in some other request."""
        self.reply(200, b"you said " + self.world.also.encode() + b" before")

    def at_reflect_written(self, body, how):
        """In the way that the query names, all of it or what a writer must."""
        way, secret = self.path.partition("?")[2], self.world.secret
        long = b"Authorization: Bearer " + b"=" * 30 + secret.encode()
        ways = {
            "plain": lambda: secret,
            "base64": lambda: base64.b64encode(b"??" + secret.encode() + b">>").decode(),
            "urlsafe": lambda: base64.urlsafe_b64encode(b"??" + secret.encode() + b">>").decode(),
            "mime": lambda: base64.encodebytes(long).decode(),
            "mime-in-json": lambda: json.dumps(base64.encodebytes(long).decode()),
            "percent": lambda: urllib.parse.quote(secret, safe=""),
            "every-percent": lambda: "".join(f"%{ord(c):02x}" for c in secret),
            "every-PERCENT": lambda: "".join(f"%{ord(c):02X}" for c in secret),
            "json": lambda: json.dumps({"sent": secret}),
            "every-json": lambda: "".join(f"\\u{ord(c):04x}" for c in secret),
            "hex": secret.encode().hex,
            "UPPER": secret.upper,
            "every-html": lambda: "".join(f"&#{ord(c)};" for c in secret),
            "list": lambda: json.dumps(list(secret.encode())),
        }
        self.reply(200, ("x" * 5000 + "you sent " + ways[way]() + "y" * 5000).encode("latin-1"))

    def at_parts(self, body, how):
        """A server that does what Range says."""
        text = b"you sent " + self.world.secret.encode() + b"!"
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if not asked:
            return self.reply(200, text)
        begin, end = int(asked[1]), int(asked[2])
        return self.reply(
            206, text[begin : end + 1], Content_Range=f"bytes {begin}-{end}/{len(text)}"
        )

    def at_part(self, body, how):
        """One that gives a part unasked."""
        self.reply(
            206, b"you sent " + self.world.secret[:6].encode(), Content_Range="bytes 0-14/40"
        )

    def at_parts_of_many(self, body, how):
        self.reply(
            200,
            b"--x\r\n\r\n" + self.world.secret[:6].encode(),
            kind="multipart/byteranges; boundary=x",
        )

    def at_say(self, body, how):
        """What it was sent, and no end of it until it is released."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + 1))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        self.world.release.wait(60)
        self.wfile.write(b".")

    def at_pauses(self, body, how):
        """Something whole, then the beginning of the secret, and the rest when it is released: as
        the query's type has it."""
        kind, secret = self.path.partition("?")[2], self.world.secret.encode()
        whole = {
            "text/event-stream": b"data: one\n\n",
            "application/x-ndjson": b'{"one": 1}\n',
        }.get(kind, b"-" * 3000)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(whole) + 10 + len(secret)))
        self.end_headers()
        self.wfile.write(whole + b"you sent: " + secret[:-2])  # in a record of its own
        self.wfile.flush()
        self.world.release.wait(60)
        self.wfile.write(secret[-2:])

    def at_event(self, body, how):
        """An event, and then nothing until it is released."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"data: one\n\n")
        self.wfile.flush()
        self.world.release.wait(60)
        self.close_connection = True

    def at_around(self, body, how):
        """The secret where an answer has no body: before it, and behind it."""
        secret = self.world.secret.encode()
        self.wfile.write(
            b"HTTP/1.1 103 Early Hints\r\nLink: <"
            + secret
            + b">\r\n\r\nHTTP/1.1 200 "
            + secret
            + b"\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sent\r\n\r\n"
            b"4\r\nbody\r\n0\r\nX-Sent: " + secret + b"\r\n\r\n"
        )

    def at_packed(self, body, how):
        import gzip

        self.reply(200, gzip.compress(self.world.secret.encode()), Content_Encoding="gzip")

    def at_smuggle(self, body, how):
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\n"
            b"Content-Length: 3\r\n"
            b"Transfer-Encoding: chunked\r\n"
            b"\r\n"
            b"3\r\n"
            b"abc\r\n"
            b"0\r\n"
            b"\r\n"
        )
        self.close_connection = True

    def at_half(self, body, how):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
        self.close_connection = True

    def socket(self, how):
        key = self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header(
            "Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key).digest()).decode()
        )
        self.end_headers()
        self.frame(b"how:" + how.encode())
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                break
            size = head[1] & 127
            if size == 126:
                size = int.from_bytes(self.rfile.read(2), "big")
            mask = self.rfile.read(4)
            text = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(size)))
            secret = self.world.secret.encode()
            if text == b"pause":  # in the middle of a message that says it
                self.wfile.write(bytes([0x81, len(secret)]) + secret[:-2])
                self.wfile.flush()
                self.world.release.wait(60)
                self.wfile.write(secret[-2:])
            elif text == b"fragments":
                self.wfile.write(
                    bytes([0x01, 8])
                    + secret[:8]
                    + bytes([0x8A, 4])
                    + b"pong"
                    + bytes([0x80, len(secret) - 8])
                    + secret[8:]
                )
            else:
                self.frame(secret if text == b"reflect" else b"echo:" + text)
        self.close_connection = True

    def frame(self, text):
        head = (
            bytes([0x81, len(text)])
            if len(text) < 126
            else bytes([0x81, 126]) + len(text).to_bytes(2, "big")
        )
        self.wfile.write(head + text)
        self.wfile.flush()
