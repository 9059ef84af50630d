"""Fails on any answer of the native API that its OpenAPI document does not describe: route, status,
kind, members."""
import json
import pathlib
import re

DOCUMENT = json.loads(
    (pathlib.Path(__file__).resolve().parent.parent / "src/api/native/openapi.json").read_text()
)
ROUTES = [
    (re.compile("^" + re.sub(r"\{[^}]+\}", "[^/]+", path) + "$"), path)
    for path in sorted(DOCUMENT["paths"], key=lambda path: path.count("{"))
]
seen = set()  # (path, method, status): what the tests exercised


def _resolve(node):
    while "$ref" in node:
        target = DOCUMENT
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def members_of(schema):
    """Properties and required names, those of allOf included; None: any member."""
    properties, required, open_ended = (
        dict(schema.get("properties", {})),
        set(schema.get("required", ())),
        False,
    )
    for part in schema.get("allOf", ()):
        more, names, anything = members_of(_resolve(part))
        properties.update(more)
        required |= names
        open_ended |= anything
    extra = schema.get("additionalProperties")
    return properties, required, open_ended or extra is True or (not properties and extra is None)


def complaints(value, schema, where):
    """What of `value` the schema does not describe, or requires in vain."""
    schema = _resolve(schema)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    fits = [
        kind
        for kind in kinds
        if isinstance(value, TYPES[kind])
        and not (isinstance(value, bool) and kind in ("integer", "number"))
    ]
    if kinds and not fits:
        return [f"{where} is {value!r}, not {kinds}"]
    if (
        "const" in schema
        and value != schema["const"]
        or "enum" in schema
        and value not in schema["enum"]
    ):
        return [f"{where} is {value!r}"]
    out = []
    if isinstance(value, list):
        for item in value:
            out += complaints(item, schema.get("items", {}), where + "[]")
    if isinstance(value, dict) and (kinds or "allOf" in schema):
        properties, required, open_ended = members_of(schema)
        extra = schema.get("additionalProperties")
        out += [f"{where} lacks {name}" for name in sorted(required - set(value))]
        for name, member in value.items():
            if name in properties:
                out += complaints(member, properties[name], f"{where}.{name}")
            elif isinstance(extra, dict):
                out += complaints(member, extra, f"{where}.{name}")
            elif not open_ended:
                out.append(f"{where}.{name} is not documented")
    return out


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
            assert (
                status in responses
            ), f"{method} {path} answered {status}, which is not documented"
            seen.add((path, method, status))
            declared = _resolve(responses[status]).get("content", {})
            kind = response.headers.get("content-type", "").split(";")[0]
            if kind == "application/json" and "application/json" in declared:
                response.read()
                wrong = (
                    complaints(
                        response.json(), declared["application/json"].get("schema", {}), "answer"
                    )
                    if response.content
                    else []
                )
                assert not wrong, f"{method} {path} {status}: {wrong}: {response.text[:500]}"
            if declared and kind and int(response.headers.get("content-length", "1")) > 0:
                assert (
                    kind in declared or "*/*" in declared or "application/octet-stream" in declared
                ), f"{method} {path} {status}: {kind} is not one of {list(declared)}"
            return
    assert status == "404", f"{raw} answered {status}, but no such route is documented"
