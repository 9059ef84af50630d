"""A server of Git's inside a sandbox that wants a password, whatever one gives it."""

PORT = 8431
REFUSER = f"http://127.0.0.1:{PORT}"
# One answer for any request.
REFUSING = f"""import http.server
class Refuse(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", {PORT}), Refuse).serve_forever()
"""
# The command that begins it, from the file e/refuse.py.
BEGIN = (
    "(setsid python3 e/refuse.py >/dev/null 2>&1 &); "
    f"until curl -s -o /dev/null {REFUSER}/ || [ $((n+=1)) -gt 100 ]; do sleep 0.1; done"
)
