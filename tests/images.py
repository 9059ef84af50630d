"""Container images made by hand, registries that serve them, and the image process's protocol."""
import contextlib
import crypt
import gzip
import hashlib
import http.server
import io
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tarfile
import threading
import time

from harness import CAY, slow

CONFIG, LAYER = (
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.oci.image.layer.v1.tar+gzip",
)
MANIFEST, INDEX = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def tar(*members):
    """A tar of (name, type, data or link, changes...)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, kind, data, *changes in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.mtime = kind, 0o755, 7
            for change in changes:
                for key, value in change.items():
                    setattr(info, key, value)
            if kind == tarfile.REGTYPE:
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            else:
                info.linkname = data
                archive.addfile(info)
    return out.getvalue()


class Image:
    """Blobs by digest, and the manifest that names them."""

    def __init__(self, *layers, config=None, diff_ids=None):
        self.blobs = {}
        packed = [gzip.compress(layer, mtime=0) for layer in layers]
        self.diff_ids = [digest(layer) for layer in layers]
        described = {
            "os": "linux",
            "architecture": "arm64" if os.uname().machine == "aarch64" else "amd64",
            "config": config or {},
            "rootfs": {"type": "layers", "diff_ids": diff_ids or self.diff_ids},
        }
        self.layers = [self.add(LAYER, one) for one in packed]
        self.manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": self.add(CONFIG, json.dumps(described).encode()),
                "layers": self.layers,
            }
        ).encode()

    def add(self, kind, data):
        self.blobs[digest(data)] = data
        return {"mediaType": kind, "digest": digest(data), "size": len(data)}

    def layout(self, folder, name="latest"):
        """Writes an OCI layout."""
        blobs = folder / "blobs/sha256"
        blobs.mkdir(parents=True)
        for key, data in {**self.blobs, digest(self.manifest): self.manifest}.items():
            (blobs / key.split(":")[1]).write_bytes(data)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        entry = {
            "mediaType": MANIFEST,
            "digest": digest(self.manifest),
            "size": len(self.manifest),
            "annotations": {"org.opencontainers.image.ref.name": name},
        }
        (folder / "index.json").write_text(
            json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]})
        )
        return folder


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def registry(folder, login=None):
    """Debian's docker-registry on loopback; gives its HOST:PORT."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    config = {
        "version": "0.1",
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }
    if login:
        (folder / "htpasswd").write_text(
            f"{login[0]}:{crypt.crypt(login[1], crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))}\n"
        )
        config["auth"] = {"htpasswd": {"realm": "test", "path": str(folder / "htpasswd")}}
    (folder / "config.yml").write_text(json.dumps(config))
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            ["docker-registry", "serve", folder / "config.yml"], stdout=log, stderr=log
        )
    try:
        limit = time.monotonic() + slow(20)
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            assert process.poll() is None and time.monotonic() < limit, (folder / "log").read_text()
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def skopeo(*words):
    done = subprocess.run(
        ["skopeo", "--insecure-policy", *map(str, words)], capture_output=True, timeout=slow(60)
    )
    assert done.returncode == 0, done


class FakeRegistry(http.server.ThreadingHTTPServer):
    """A registry whose answers are a function's: answer(handler) writes one, or returns False."""

    daemon_threads = True

    def __init__(self, answer):
        self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.server.seen.append((self.path, dict(self.headers)))
                if self.path == "/v2/":
                    self.give(200, b"{}")
                elif answer(self) is False:
                    self.give(404, b"{}")

            def give(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def image(self, image):
                """What a registry that has this image answers."""
                last = self.path.rsplit("/", 1)[1]
                if "/manifests/" in self.path:
                    self.give(200, image.manifest, Content_Type=MANIFEST)
                elif last in image.blobs:
                    self.give(200, image.blobs[last])
                else:
                    self.give(404)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.name = f"127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def field(tag, value):
    if isinstance(value, bool):
        value = b"\1" if value else b"\0"
    elif isinstance(value, int):
        value = struct.pack("<q", value)
    elif isinstance(value, str):
        value = value.encode()
    return struct.pack("<HI", tag, len(value)) + value


def fields(data):
    out = {}
    while data:
        tag, size = struct.unpack_from("<HI", data)
        out.setdefault(tag, []).append(data[6 : 6 + size])
        data = data[6 + size :]
    return out


def text(message, tag):
    return message.get(tag, [b""])[0].decode()


def number(message, tag):
    return struct.unpack("<q", message.get(tag, [bytes(8)])[0])[0]


class Refused(Exception):
    def __init__(self, message):
        self.reason, self.told = text(message, 2), text(message, 3)
        super().__init__(f"{self.reason}: {self.told}")


KINDS = {1: "file", 2: "dir", 3: "symlink", 4: "link", 5: "fifo", 6: "gone", 7: "opaque"}


class Conversation:
    """One connection to the image process: src/wire/image.h."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(slow(60))
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")
        self.progress = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, kind, payload=b""):
        self.socket.sendall(struct.pack("<IHHI", 8 + len(payload), kind, 0, 1) + payload)

    def receive(self):
        """Returns (type, payload) of the next frame that is no progress."""
        while True:
            head = self.file.read(12)
            assert len(head) == 12, "the image process closed the connection"
            size, kind, _, _ = struct.unpack("<IHHI", head)
            payload = self.file.read(size - 8)
            if kind == 107:
                self.progress.append(text(fields(payload), 1))
            elif kind == 3:
                raise Refused(fields(payload))
            else:
                return kind, payload

    def opened(self):
        kind, payload = self.receive()
        assert kind == 202, kind
        message = fields(payload)
        config = fields(message.get(4, [b""])[0])
        self.name, self.tag, self.digest = (text(message, tag) for tag in (1, 2, 3))
        self.note = ""
        self.config = {
            name: [one.decode() for one in config.get(tag, [])]
            for tag, name in enumerate(
                ("user", "workdir", "env", "entrypoint", "command", "labels", "ports"), 1
            )
        }
        self.diff_ids = [text(fields(layer), 1) for layer in message.get(5, [])]
        return self

    def pull(self, name, special=True, login=("", "", ""), platform=""):
        words = [field(1, name), field(2, platform)]
        words += [field(3 + i, one) for i, one in enumerate(login)]
        self.send(200, b"".join(words) + field(6, special))
        return self.opened()

    def read(self, archive):
        self.send(201)
        for at in range(0, len(archive), 65536):
            piece = archive[at : at + 65536]
            self.send(4, struct.pack("<BBQ", 0, 0, at) + piece)
        self.send(6)
        return self.opened()

    def push(self, name, config, *layers, login=("", "", "")):
        """Pushes layers of (path, kind, size, content); gives the digest of the manifest."""
        words = [field(1, name), *(field(2 + i, one) for i, one in enumerate(login))]
        words += [field(5, True), field(6, config), field(7, len(layers))]
        self.send(204, b"".join(words))
        for layer in layers:
            for path, kind, content, target in layer:
                number_of = next(key for key, name in KINDS.items() if name == kind)
                entry = [field(1, path), field(2, number_of), field(3, len(content))]
                entry += [field(4, 0o755), field(8, target)]
                self.send(43, b"".join(entry))
                if content:
                    self.send(4, struct.pack("<BBQ", 0, 0, 0) + content)
            self.send(6)
        kind, payload = self.receive()
        assert kind == 205, kind
        return text(fields(payload), 1)

    def layer(self, index):
        """Returns {path: (kind, size or target, mode, uid, gid, content)}."""
        self.send(203, field(1, index))
        out = {}
        path = None
        while True:
            kind, payload = self.receive()
            if kind == 6:
                return out
            if kind == 4:
                out[path][-1] += payload[10:]
                continue
            if kind == 207:
                self.note = text(fields(payload), 1)  # what was left out
                continue
            assert kind == 43, kind
            entry = fields(payload)
            path = text(entry, 1)
            target = text(entry, 8)
            out[path] = [
                KINDS[entry[2][0][0]],
                target or number(entry, 3),
                number(entry, 4),
                number(entry, 5),
                number(entry, 6),
                b"",
            ]


@contextlib.contextmanager
def process(data, settings=""):
    """`cay images` for a data directory of its own; gives the path of its socket."""
    data.mkdir(parents=True)
    config = pathlib.Path(f"{data}.toml")
    config.write_text(settings)
    with open(f"{data}.log", "wb") as log:
        started = subprocess.Popen(
            [CAY, "images", "--config", config, "--data", data],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    path = data / "images/images.sock"
    try:
        limit = time.monotonic() + slow(20)
        while True:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(path))
                break
            assert started.poll() is None and time.monotonic() < limit, pathlib.Path(
                f"{data}.log"
            ).read_text()
            time.sleep(0.01)
        yield path
    finally:
        started.terminate()
        started.wait(timeout=slow(20))
        shutil.rmtree(data, ignore_errors=True)
