"""Fails on any answer of the native API that its OpenAPI document does not describe."""
import json
import pathlib
import re

DOCUMENT = json.loads((pathlib.Path(__file__).resolve().parent.parent / "src/api/native/openapi.json").read_text())
ROUTES = [(re.compile("^" + re.sub(r"\{[^}]+\}", "[^/]+", path) + "$"), path) for path in
          sorted(DOCUMENT["paths"], key=lambda path: path.count("{"))]
seen = set()  # (path, method, status): what the tests exercised


def _resolve(node):
    while "$ref" in node:
        target = DOCUMENT
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def check(response):
    """An httpx response hook."""
    raw = response.request.url.raw_path.decode().split("?")[0]
    if not raw.startswith("/api/v1/"):
        return
    method, status = response.request.method.lower(), str(response.status_code)
    for pattern, path in ROUTES:
        operations = DOCUMENT["paths"][path]
        if pattern.match(raw):
            if method not in operations:
                assert status == "405", f"{method} {path} answered {status}, but is not documented"
                return
            responses = operations[method]["responses"]
            assert status in responses, f"{method} {path} answered {status}, which is not documented"
            seen.add((path, method, status))
            declared = _resolve(responses[status]).get("content", {})
            kind = response.headers.get("content-type", "").split(";")[0]
            if declared and kind and int(response.headers.get("content-length", "1")) > 0:
                assert kind in declared or "*/*" in declared or "application/octet-stream" in declared, \
                    f"{method} {path} {status}: {kind} is not one of {list(declared)}"
            return
    assert status == "404", f"{raw} answered {status}, but no such route is documented"
