"""What tests put into a sandbox to open through its URL: a web application of the standard library.

web.py PORT. GET / a page with absolute links, a WebSocket and an upload; /headers what was asked,
as JSON; /bytes?N and /chunked?N so many bytes; /events an event, and another once somebody posts to
/go; /cookies sets some; /answer?TEXT sends TEXT (percent-encoded) as its whole answer; /moved
redirects; POST /digest answers with length and SHA-256 of the body; POST /early answers before it
has read a byte; POST /stall reads nothing for ever; POST /upload keeps a file of a form, which GET
/uploaded gives; POST /report keeps what the page saw, and GET /report gives it; /ws echoes
WebSocket messages; /quiet accepts and never answers.
"""
import base64
import hashlib
import http.server
import json
import struct
import sys
import threading
import urllib.parse

released = threading.Event()
uploaded = report = b""
BLOCK = hashlib.sha256(b"block").digest() * 2048  # 64 KiB
PAGE = """<!doctype html><title>a page</title>
<a id=link href="http://{host}/headers">absolute</a> <form id=form method=post action="/upload" \
enctype="multipart/form-data"></form>
<script>
(async () => {{
  const seen = {{}};
  seen.absolute = (await (await fetch(document.getElementById('link').href)).json()).path;
  const form = new FormData();
  form.append('file', new Blob(['uploaded from a page']), 'a.txt');
  await fetch('/upload', {{method: 'POST', body: form}});
  seen.upload = await (await fetch('/uploaded')).text();
  seen.socket = await new Promise((done, failed) => {{
    const ws = new WebSocket('ws://' + location.host + '/ws');
    ws.onopen = () => ws.send('over a socket');
    ws.onmessage = (m) => done(m.data);
    ws.onerror = () => failed(new Error('socket'));
  }});
  seen.cookie = document.cookie;
  await fetch('/report', {{method: 'POST', body: JSON.stringify(seen)}});
}})();
</script>"""


class Answering(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def pieces(self):
        """The body, as it comes."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
            piece = self.rfile.read(min(left, 1 << 16))
            if not piece:
                raise ConnectionError("a short body")
            left -= len(piece)
            yield piece

    def answer(self, body, kind="text/plain", status=200, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def begin_chunks(self, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()


class Handler(Answering):
    def do(self):
        path, _, query = self.path.partition("?")
        if path == "/":
            self.answer(PAGE.format(host=self.headers["Host"]).encode(), "text/html")
        elif path == "/headers":
            body = {
                "method": self.command,
                "path": self.path,
                "headers": [[k, v] for k, v in self.headers.items()],
                "peer": self.client_address[0],
            }
            self.answer(json.dumps(body).encode(), "application/json")
        elif path == "/bytes":
            self.send_response(200)
            self.send_header("Content-Length", query)
            self.end_headers()
            for at in range(0, int(query), len(BLOCK)):
                self.wfile.write(BLOCK[: int(query) - at])
        elif path == "/chunked":
            self.begin_chunks("application/octet-stream")
            for at in range(0, int(query), len(BLOCK)):
                self.chunk(BLOCK[: int(query) - at])
            self.chunk(b"")
        elif path == "/events":
            self.begin_chunks("text/event-stream")
            self.chunk(b"data: one\n\n")
            released.wait()
            self.chunk(b"data: two\n\n")
            self.chunk(b"")
        elif path == "/go":
            released.set()
            self.answer(b"going")
        elif path == "/cookies":
            self.send_response(200)
            self.send_header("Set-Cookie", "mine=1; Domain=localhost; Path=/")
            self.send_header("Set-Cookie", "cay_service=stolen; Path=/")
            self.send_header("Clear-Site-Data", '"*"')
            self.send_header("X-Accel-Redirect", "/etc/passwd")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path == "/answer":
            self.wfile.write(urllib.parse.unquote_to_bytes(query))
            self.close_connection = True
        elif path == "/moved":
            self.answer(b"", status=302, Location="/headers")
        elif path == "/digest":
            seen, size = hashlib.sha256(), 0
            for piece in self.pieces():
                seen.update(piece)
                size += len(piece)
            self.answer(
                json.dumps({"size": size, "sha256": seen.hexdigest()}).encode(), "application/json"
            )
        elif path == "/early":
            self.answer(b"no", status=413, Connection="close")
            self.close_connection = True
        elif path in ("/stall", "/quiet"):
            threading.Event().wait()
        elif path == "/upload":
            global uploaded
            body = b"".join(self.pieces())
            boundary = self.headers["Content-Type"].split("boundary=")[1].strip('"').encode()
            uploaded = body.split(b"--" + boundary)[1].split(b"\r\n\r\n", 1)[1][:-2]
            self.answer(b"kept")
        elif path == "/report":
            global report
            if self.command == "POST":
                report = b"".join(self.pieces())
            self.answer(report)
        elif path == "/uploaded":
            self.answer(uploaded)
        elif path == "/ws":
            self.websocket()
        else:
            self.answer(b"nothing here", status=404)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = do

    def websocket(self):
        accept = hashlib.sha1(
            self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        ).digest()
        self.wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + base64.b64encode(accept) + b"\r\n\r\n"
        )
        self.close_connection = True
        while True:
            first, second = self.rfile.read(2)
            size = second & 127
            if size > 125:
                size = struct.unpack(
                    ">H" if size == 126 else ">Q", self.rfile.read(2 if size == 126 else 8)
                )[0]
            mask = self.rfile.read(4)
            data = self.rfile.read(size)
            data = (
                int.from_bytes(data, "big") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "big")
            ).to_bytes(size, "big")
            head = bytes([first]) + (
                bytes([size])
                if size < 126
                else struct.pack(">BH", 126, size)
                if size < 65536
                else struct.pack(">BQ", 127, size)
            )
            self.wfile.write(head + data)
            self.wfile.flush()
            if first & 15 == 8:
                return


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


def main():
    server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    print("up", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
