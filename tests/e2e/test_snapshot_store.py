"""What disks and snapshots contain, by the command line: diff, export, fsck, engines, `default`."""
import contextlib
import hashlib
import http.server
import io
import json
import os
import pathlib
import shutil
import socket
import socketserver
import subprocess
import tarfile
import tempfile
import threading
import uuid

import pytest
from harness import new_daemon, slow, wait_until
from image_root import root_tar
from images import FakeRegistry, Image, skopeo

needs_skopeo = pytest.mark.skipif(not shutil.which("skopeo"), reason="not installed: skopeo")
needs_podman = pytest.mark.skipif(not shutil.which("podman"), reason="not installed: podman")


def name_of(kind):
    return f"{kind}-{os.urandom(4).hex()}"


@pytest.fixture(scope="module")
def image(daemon):
    name = name_of("store")
    more = {"/srv/keep": b"keep", "/srv/grow": b"1", "/srv/lose": b"lose", "/srv/d/x": b"x"}
    done = daemon.cli("snapshot", "import", "-", "--name", name, stdin=root_tar(more=more))
    assert done.code == 0, done
    yield name
    daemon.cli("snapshot", "rm", name)


@pytest.fixture
def folder():
    made = pathlib.Path(tempfile.mkdtemp(prefix="cay-store-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def changes(daemon, box):
    done = daemon.cli("diff", box, "--json")
    assert done.code == 0, done
    return {one["path"]: one for one in map(json.loads, done.text.splitlines())}


@pytest.mark.parametrize("snapshot", ["default", "image"])
def test_a_new_sandbox_differs_in_nothing(daemon, image, snapshot):
    box = name_of("same")
    base = image if snapshot == "image" else "default"
    assert daemon.cli("create", "--snapshot", base, "--name", box).code == 0
    try:
        assert changes(daemon, box) == {}
        done = daemon.cli("diff", box)
        assert done.text == "" and b"nothing differs" in done.err, done
    finally:
        daemon.cli("rm", box)


def test_a_diff_names_each_change_of_a_running_and_a_stopped_sandbox(daemon, image):
    box = name_of("diff")
    assert daemon.cli("create", "--snapshot", image, "--name", box).code == 0
    script = (
        "echo more >> /srv/grow; rm /srv/lose; echo new > /srv/new; : >> /srv/keep; "
        "rm -r /srv/d; echo t > /tmp/t"
    )
    try:
        assert daemon.cli("exec", box, "--", "/bin/sh", "-c", script).code == 0
        running = changes(daemon, box)
        assert {path: one["change"] for path, one in running.items()} == {
            "/srv/d": "deleted",
            "/srv/grow": "changed",
            "/srv/lose": "deleted",
            "/srv/new": "added",
            "/tmp/t": "added",
        }
        grown = running["/srv/grow"]
        assert (grown["before"]["size"], grown["after"]["size"]) == (1, 6), grown
        assert running["/srv/d"]["before"]["kind"] == "directory"
        assert running["/srv/new"]["after"]["mode"] == "0644"
        assert daemon.cli("exec", box, "--", "/bin/true").code in (0, 127), "it goes on"
        assert daemon.cli("stop", box).code == 0
        assert changes(daemon, box) == running
        assert "~ /srv/grow  (1 B -> 6 B)\n" in daemon.cli("diff", box).text
    finally:
        daemon.cli("rm", box)
    # The disk was sealed for it. Nothing of that is left.
    assert daemon.cli("snapshot", "fsck").code == 0


@needs_skopeo
def test_an_exported_snapshot_is_read_by_others_and_by_import(daemon, image, folder):
    file = folder / "image.tar"
    done = daemon.cli("snapshot", "export", image, file)
    assert done.code == 0 and not (folder / "image.tar.part").exists(), done
    skopeo("copy", f"oci-archive:{file}", f"oci:{folder / 'layout'}:1")
    again = name_of("again")
    done = daemon.cli("snapshot", "import", file, "--name", again)
    assert done.code == 0, done
    try:
        done = daemon.cli("run", "--rm", again, "--", "/bin/cat", "/srv/keep")
        assert (done.code, done.text) == (0, "keep"), done
        streamed = daemon.cli("snapshot", "export", again, "-")
        assert streamed.code == 0
        with tarfile.open(fileobj=io.BytesIO(streamed.out)) as tar:
            names = tar.getnames()
            assert "oci-layout" in names and "index.json" in names
            for name in names:
                if name.startswith("blobs/sha256/"):
                    content = tar.extractfile(name).read()
                    assert hashlib.sha256(content).hexdigest() == name.rsplit("/", 1)[1]
    finally:
        daemon.cli("snapshot", "rm", again)
    missing = daemon.cli("snapshot", "export", "no-such", folder / "none.tar")
    assert missing.code == 125 and not list(folder.glob("none*")), missing


def test_fsck_finds_what_is_planted_and_mends_what_is_safe(daemon, image):
    assert daemon.cli("snapshot", "fsck").text == "clean\n"
    layers = pathlib.Path(daemon.data) / "layers"
    if not os.access(layers, os.W_OK):
        pytest.skip("only root can plant a fault in the store")
    begun, broken = str(uuid.uuid4()), str(uuid.uuid4())
    (layers / f".sealing-{begun}").mkdir()
    (layers / broken).mkdir()
    try:
        found = daemon.cli("snapshot", "fsck", "--json")
        assert found.code == 1, found
        report = json.loads(found.text)
        kinds = {(one["kind"], one["subject"]): one for one in report["findings"]}
        assert ("unfinished_seal", begun) in kinds and ("layer_without_list", broken) in kinds
        assert kinds["unfinished_seal", begun]["can_repair"]
        assert not kinds["layer_without_list", broken]["can_repair"]
        assert not report["clean"]
        mended = daemon.cli("snapshot", "fsck", "--repair")
        assert not (layers / f".sealing-{begun}").exists()
        assert "repaired" in mended.text
    finally:
        shutil.rmtree(layers / broken, ignore_errors=True)
    assert daemon.cli("snapshot", "fsck").code == 0
    # Nothing that was needed went with it.
    assert daemon.cli("run", "--rm", image, "--", "/bin/cat", "/srv/keep").text == "keep"


def saved(name):
    """A `docker save` archive of a root file system."""
    layer = root_tar(more={"/srv/from": b"engine"})
    config = json.dumps(
        {
            "os": "linux",
            "architecture": "amd64",
            "rootfs": {
                "type": "layers",
                "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()],
            },
        }
    ).encode()
    manifest = json.dumps(
        [{"Config": "config.json", "RepoTags": [name], "Layers": ["one/layer.tar"]}]
    ).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, data in (
            ("one/layer.tar", layer),
            ("config.json", config),
            ("manifest.json", manifest),
        ):
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


@contextlib.contextmanager
def engine(path, images):
    """An engine's API on a UNIX socket, with these archives by name."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            data = images.get(self.path.removeprefix("/images/").removesuffix("/get"))
            self.send_response(404 if data is None else 200)
            self.end_headers()
            self.wfile.write(data or b'{"message": "No such image"}')

        def address_string(self):
            return "local"

        def log_message(self, *_):
            pass

    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    with Server(str(path), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"unix://{path}"
        server.shutdown()


def test_an_image_of_an_engine_becomes_a_snapshot(daemon, folder):
    name = name_of("engine")
    with engine(folder / "engine.sock", {f"team/{name}:1": saved(f"team/{name}:1")}) as url:
        env = {"DOCKER_HOST": url}
        done = daemon.cli("snapshot", "pull", f"docker-daemon:team/{name}:1", env=env)
        assert (done.code, done.text) == (0, f"team/{name}:1\n"), done
        ran = daemon.cli("run", "--rm", f"team/{name}:1", "--", "/bin/cat", "/srv/from")
        assert (ran.code, ran.text) == (0, "engine"), ran
        none = daemon.cli("snapshot", "pull", "docker-daemon:none:1", env=env)
        assert none.code == 125 and b"has no image none:1" in none.err, none
    daemon.cli("snapshot", "rm", f"team/{name}:1")
    gone = daemon.cli("snapshot", "pull", "podman:x", env={"CONTAINER_HOST": url})
    assert gone.code == 125 and b"podman system service" in gone.err, gone


@needs_podman
def test_an_image_of_podman_becomes_a_snapshot(daemon, folder):
    name = name_of("podman")
    base = ["podman", "--root", folder / "root", "--runroot", folder / "run"]
    base += ["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"]
    tree = root_tar(more={"/srv/from": b"podman"})
    made = subprocess.run([*base, "import", "-", f"{name}:1"], input=tree, capture_output=True)
    if made.returncode != 0:
        pytest.skip(f"podman does not work here: {made.stderr[-300:]}")
    path = folder / "podman.sock"
    service = subprocess.Popen([*base, "system", "service", "--time", "0", f"unix://{path}"])
    try:
        wait_until(path.exists, "podman's socket")
        env = {"CONTAINER_HOST": f"unix://{path}"}
        done = daemon.cli("snapshot", "pull", f"podman:localhost/{name}:1", env=env)
        assert (done.code, done.text) == (0, f"localhost/{name}:1\n"), done
        ran = daemon.cli("run", "--rm", f"localhost/{name}:1", "--", "/bin/cat", "/srv/from")
        assert (ran.code, ran.text) == (0, "podman"), ran
        daemon.cli("snapshot", "rm", f"localhost/{name}:1")
    finally:
        service.terminate()
        service.wait(timeout=slow(20))


def test_an_image_is_the_default_as_soon_as_it_is_pulled(folder):
    root = Image(root_tar(more={"/srv/who": b"default image"}))
    allowed = threading.Event()

    def answer(handler):
        if "/manifests/" in handler.path:
            allowed.wait(slow(60))
        return handler.image(root)

    with FakeRegistry(answer) as registry:
        settings = folder / "cay.toml"
        settings.write_text(
            '[images]\ndefault = "tool:1"\n'
            f'[images.mirrors]\n"docker.io" = "http://{registry.name}"\n'
        )
        daemon = new_daemon("--config", str(settings)).start()
        try:
            early = daemon.cli("run", "--rm", "--", "/bin/cat", "/srv/who")
            assert early.code == 125 and b"not here yet" in early.err, early
            assert daemon.cli("run", "--rm", "--snapshot", "host", "--", "true").code == 0
            allowed.set()

            def is_default():
                return daemon.cli("run", "--rm", "--", "/bin/cat", "/srv/who").text

            wait_until(lambda: is_default() == "default image", "the default image")
            listed = json.loads(daemon.cli("snapshot", "ls", "--json").text)
            assert listed[0]["name"] == "tool" and listed[0]["origin"] == "image", listed[0]
            assert any("host" == one["origin"] for one in listed), listed
        finally:
            allowed.set()
            daemon.close()
