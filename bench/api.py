"""The native API over one kept-alive connection, for what is not timed, and for slow methods."""

import http.client
import json
import os
import socket
import sys
import urllib.parse


class Api:
    """Speaks with the daemon of `url` and `key`, else of CAY_URL and CAY_API_KEY."""

    def __init__(self, url=None, key=None):
        place = urllib.parse.urlsplit(url or os.environ.get("CAY_URL", "http://127.0.0.1:8787"))
        self.key = key or os.environ["CAY_API_KEY"]
        self.connection = http.client.HTTPConnection(place.hostname, place.port, timeout=300)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, method, path, body=None, raw=None):
        data = raw if raw is not None else (json.dumps(body).encode() if body is not None else None)
        self.connection.request(method, path, body=data, headers={"X-Api-Key": self.key})
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            sys.exit(f"bench: {method} {path}: {answer.status} {content[:300]!r}")
        return content

    def json(self, method, path, body=None):
        return json.loads(self.call(method, path, body))

    def create(self, **spec):
        """Returns the id of a new sandbox."""
        return self.json("POST", "/api/v1/sandboxes", spec)["id"]

    def run(self, box, *argv, **more):
        """Runs a program to its end, and returns the answer."""
        request = {"argv": argv, "wait": True, **more}
        got = self.json("POST", f"/api/v1/sandboxes/{box}/commands", request)
        if got["exit_code"] != 0:
            sys.exit(f"bench: {argv[:3]}: {str(got)[:1000]}")
        return got

    def remove(self, box):
        self.call("DELETE", f"/api/v1/sandboxes/{box}")
