"""A service as people write it with the standard library's HTTP server: it keeps connections, reads
a body only where it wants one, and never says again what stood in a head. POST /notes/ID keeps the
body, GET /notes/ID?FROM-TO gives some of it; any other POST is answered at once, as unknown; /twice
has an answer too many."""
import contextlib
import http.server
import socket
import threading

UNASKED = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nunasked"


class Notes:
    """`asked`: (method, host, path) of each request that was understood. `connections`: how many
    there were."""

    def __init__(self):
        self.asked, self.kept, self.connections = [], {}, 0

    def reached(self, mark):
        return any(mark in path for _, _, path in list(self.asked))

    def serve(self, address, port, context=None):
        """Returns its socket."""
        notes = self

        class Server(http.server.ThreadingHTTPServer):
            address_family, daemon_threads, request_queue_size = (
                socket.AF_INET6 if ":" in address else socket.AF_INET,
                True,
                128,
            )

            def finish_request(self, request, client_address):
                notes.connections += 1
                with contextlib.suppress(OSError), (
                    context.wrap_socket(request, server_side=True) if context else request
                ) as stream:
                    self.RequestHandlerClass(stream, client_address, self)

            def handle_error(self, request, client_address):
                pass

        server = Server((address, port), type("OfNotes", (Handler,), {"notes": notes}))
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        return server


class Handler(http.server.BaseHTTPRequestHandler):
    notes, protocol_version = None, "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, body, status=200, more=b""):
        self.notes.asked.append((self.command, self.headers.get("Host"), self.path))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.write(more)

    def do_GET(self):
        path, _, part = self.path.partition("?")
        if path.startswith("/notes/"):
            begin, end = part.split("-")
            return self.answer(self.notes.kept.get(path, b"")[int(begin) : int(end)])
        return self.answer(b"ok", more=UNASKED if path == "/twice" else b"")

    do_DELETE = do_OPTIONS = do_GET

    def do_POST(self):
        if not self.path.startswith("/notes/"):
            return self.answer(b"unknown", 404)
        self.notes.kept[self.path] = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return self.answer(b"kept")
