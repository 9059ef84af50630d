#!/usr/bin/env python3
"""The time of an evaluation in a warm context above the evaluation itself, over the native API.

    bench/contexts.py [COUNT [LANGUAGE]]        against the daemon of CAY_URL and CAY_API_KEY
"""
import http.client
import json
import os
import statistics
import sys
import time
import urllib.parse


# Each evaluation measures itself, so its own time is taken off: begin, code.
CODE = {
    "python": (
        "import time",
        "begun = time.perf_counter()\nx = sum(range(100))\ntime.perf_counter() - begun",
    ),
    "javascript": (
        "var begun, x",
        "begun = performance.now(); x = 0; for (let i = 0; i < 100; ++i) x += i;\n"
        "(performance.now() - begun) / 1000",
    ),
}


class Api:
    def __init__(self):
        place = urllib.parse.urlsplit(os.environ.get("CAY_URL", "http://127.0.0.1:8787"))
        self.connection = http.client.HTTPConnection(place.hostname, place.port)
        self.headers = {
            "X-Api-Key": os.environ["CAY_API_KEY"],
            "Content-Type": "application/json",
        }

    def call(self, method, path, body=None):
        text = None if body is None else json.dumps(body)
        self.connection.request(method, "/api/v1" + path, text, self.headers)
        answer = self.connection.getresponse()
        got = answer.read()
        assert answer.status < 300, got
        return json.loads(got) if got else None


def measured(api, box, count, language):
    """The seconds of each evaluation above its own."""
    begin, code = CODE[language]
    context = f"/sandboxes/{box}/contexts/warm"
    spec = {"id": "warm", "language": language}
    api.call("POST", f"/sandboxes/{box}/contexts", spec)
    api.call("POST", context + "/run", {"code": begin})
    above = []
    for i in range(count + 50):
        begun = time.perf_counter()
        got = api.call("POST", context + "/run", {"code": code})
        taken = time.perf_counter() - begun
        assert got["state"] == "ok", got
        if i >= 50:
            above.append(taken - float(got["events"][-1]["data"]["text/plain"]))
    return sorted(above)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    language = sys.argv[2] if len(sys.argv) > 2 else "python"
    api = Api()
    box = api.call("POST", "/sandboxes", {})["id"]
    try:
        above = measured(api, box, count, language)
    finally:
        api.call("DELETE", f"/sandboxes/{box}")
    print(
        f"warm evaluation in {language}, above itself: "
        f"p50 {statistics.median(above) * 1e3:.2f} ms, "
        f"p99 {above[int(count * 0.99)] * 1e3:.2f} ms ({count} evaluations)"
    )


if __name__ == "__main__":
    main()
