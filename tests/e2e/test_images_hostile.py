"""Archives that attack: each is refused with a typed error, or contained.

A refused one leaves no layer. CORPUS names every case with the tests that hold it.
"""
import gzip
import io
import json
import os
import pathlib
import subprocess
import tarfile
import threading
import time
import uuid

import pytest

from harness import ROOT, needs_root, processes_of, wait_until
from image_root import root_tar
from images import Image, digest

DIR, FILE, LINK, HARD, CHAR, BLOCK = (
    tarfile.DIRTYPE,
    tarfile.REGTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
)
READER, KEEPER = "src/image/layer_reader_test.cc", "src/keeper/layers_test.cc"
REGISTRY = "tests/e2e/test_images_registry.py"
HERE = "tests/e2e/test_images_hostile.py"

# Each attack, with the tests that hold it: (file, test).
CORPUS = {
    "an absolute path": [(HERE, "test_is_refused"), (READER, "RefusesPathsThatLeadOut")],
    "a path with ..": [(HERE, "test_is_refused"), (KEEPER, "PathsOutOfTheRootAreRefused")],
    "a symlink, then a write through it": [
        (HERE, "test_a_write_through_a_link_stays_inside"),
        (KEEPER, "LinksLeadNowhereOutOfTheRoot"),
    ],
    "a hard link out": [(HERE, "test_is_refused"), (KEEPER, "PathsOutOfTheRootAreRefused")],
    "devices": [(HERE, "test_devices_are_left_out"), (READER, "GivesEntriesAsTheyAre")],
    "setuid programs": [(HERE, "test_setuid_gives_nothing_on_the_host")],
    "owners that no sandbox has": [
        (HERE, "test_is_refused"),
        (KEEPER, "EntriesThatNoSandboxCanHaveAreRefused"),
    ],
    "a million entries": [(HERE, "test_a_million_entries")],
    "a bomb of 1:10,000": [(HERE, "test_a_bomb"), (READER, "EndsABombAtItsLimit")],
    "a layer that is cut off": [(HERE, "test_is_refused"), (READER, "RefusesWhatIsCutOffOrNoTar")],
    "a layer with a flipped bit": [
        (HERE, "test_a_flipped_bit_is_a_wrong_digest"),
        (REGISTRY, "test_bytes_that_are_not_what_they_are_called_are_refused"),
    ],
    "the digest of another tenant's layer": [
        (HERE, "test_another_tenants_layer_is_not_had_by_its_digest"),
    ],
    "wrong digests": [
        (REGISTRY, "test_bytes_that_are_not_what_they_are_called_are_refused"),
        (READER, "TheEndComesOnlyWithTheDigest"),
    ],
    "an index that leads to itself": [
        (REGISTRY, "test_an_index_that_leads_to_no_manifest_ends"),
    ],
    "a registry that sends more, or something else": [
        (REGISTRY, "test_bytes_that_are_not_what_they_are_called_are_refused"),
    ],
    "a redirect to a metadata address": [
        (REGISTRY, "test_a_redirect_never_leads_into_a_special_network"),
    ],
    "a token service elsewhere": [
        (REGISTRY, "test_a_token_service_gets_the_login_and_no_other_host_does"),
    ],
}


@pytest.mark.parametrize("attack", CORPUS)
def test_the_corpus_is_held(attack):
    for file, test in CORPUS[attack]:
        assert test in (ROOT / file).read_text(), f"{attack}: {file} has no {test}"


def archive(*members):
    """A root that boots, and then these (name, type, content or target, changes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        with tarfile.open(fileobj=io.BytesIO(root_tar())) as base:
            for entry in base:
                tar.addfile(entry, base.extractfile(entry) if entry.isfile() else None)
        for name, kind, data, *changes in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o644
            for change in changes:
                for key, value in change.items():
                    setattr(info, key, value)
            if kind == FILE:
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            else:
                info.linkname = data
                tar.addfile(info)
    return out.getvalue()


class Store:
    """The daemon's snapshots of one test; what it made goes with it."""

    def __init__(self, daemon, http):
        self.daemon, self.http, self.names = daemon, http, []

    def layers(self):
        found = (self.daemon.data / "layers").iterdir()
        return {one.name for one in found if not (one / "root").exists()}

    def load(self, content, wait=60):
        """(snapshot or None, the reason of the refusal, its message)."""
        name = f"hostile-{uuid.uuid4().hex[:8]}"
        self.names.append(name)
        where = {"name": name, "wait": wait}
        got = self.http.post(
            "/api/v1/snapshots/archive", params=where, content=content, timeout=wait + 60
        )
        if got.status_code != 201:
            return None, got.json()["error"]["reason"], got.json()["error"]["message"]
        made = got.json()
        if made["status"] != "ready":
            return None, made["status"], made["status_message"]
        return made["name"], "", ""

    def sandbox(self, name):
        made = self.http.post("/api/v1/sandboxes", json={"snapshot": name, "name": name})
        assert made.status_code == 201, made.text
        return made.json()["id"]

    def run(self, box, *argv, **fields):
        body = {"argv": argv, "wait": True, **fields}
        return self.http.post(f"/api/v1/sandboxes/{box}/commands", json=body).json()

    def clean(self):
        for name in self.names:
            self.http.delete(f"/api/v1/sandboxes/{name}")
            self.http.delete(f"/api/v1/snapshots/{name}")


@pytest.fixture
def store(daemon, http):
    made = Store(daemon, http)
    if http.post("/api/v1/snapshots/archive", params={"name": "x"}).status_code == 501:
        pytest.skip("the daemon runs without the process that reads images")
    before = made.layers()
    yield made
    made.clean()
    if os.geteuid() == 0:
        wait_until(lambda: made.layers() <= before, "no layer is left")


CUT = archive(("more", FILE, b"x" * 4000))[:-12_000]
REFUSED = {
    "absolute": archive(("/etc/cay-hostile", FILE, b"1")),
    "up": archive(("../../cay-hostile", FILE, b"1")),
    "up-within": archive(("etc/../../cay-hostile", FILE, b"1")),
    "hard-link-out": archive(("stolen", HARD, "../../../etc/shadow")),
    "hard-link-absolute": archive(("stolen", HARD, "/etc/shadow")),
    "owner": archive(("stranger", FILE, b"1", {"uid": 3_000_000})),
    "below-a-file": archive(("f", FILE, b"1"), ("f/g", FILE, b"2")),
    "cut-off": CUT,
    "cut-off-gzip": gzip.compress(archive())[:-1000],
    "no-tar": os.urandom(4096),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_is_refused(store, kind):
    made, reason, message = store.load(REFUSED[kind])
    assert made is None and reason in ("bad_layer", "bad_image", "failed") and message, reason
    for place in ("/cay-hostile", "/etc/cay-hostile", "/var/cay-hostile"):
        assert not os.path.exists(place)
    name, reason, message = store.load(archive(("good", FILE, b"1")))  # the control
    assert name, (reason, message)


@needs_root
def test_a_write_through_a_link_stays_inside(store, directory):
    canary = directory / "canary"
    canary.write_text("untouched")
    out = ("out", LINK, str(directory))
    made, _, message = store.load(archive(out, ("out/canary", FILE, b"overwritten")))
    # The link leads to a directory that the image does not have.
    assert made is None or message == ""
    assert canary.read_text() == "untouched" and list(directory.iterdir()) == [canary]
    up = ("up", LINK, "../../../../../..")
    name, reason, message = store.load(archive(up, ("up/cay-caught", FILE, b"inside\n")))
    assert name, (reason, message)
    assert store.run(store.sandbox(name), "/bin/cat", "/cay-caught")["stdout"] == "inside\n"
    assert not os.path.exists("/cay-caught")


def test_devices_are_left_out(store):
    memory = {"devmajor": 1, "devminor": 1, "mode": 0o666}
    disk = {"devmajor": 8, "devminor": 0, "mode": 0o666}
    content = archive(
        ("stolen/", DIR, "", {"mode": 0o755}),
        ("stolen/mem", CHAR, "", memory),
        ("stolen/disk", BLOCK, "", disk),
        ("stolen/file", FILE, b"control"),
    )
    name = f"hostile-{uuid.uuid4().hex[:8]}"
    store.names.append(name)
    done = store.daemon.cli("snapshot", "import", "-", "--name", name, stdin=content)
    told = "2 device nodes were left out, for a sandbox has its own /dev: /stolen/mem, /stolen/disk"
    assert done.code == 0 and done.err.decode().count(f"cay: {told}\n") == 1, done
    assert store.http.get(f"/api/v1/snapshots/{name}").json()["status_message"] == told
    assert store.run(store.sandbox(name), "/bin/ls", "/stolen")["stdout"] == "file\n"
    plain, reason, message = store.load(archive(("file", FILE, b"control")))
    assert plain, (reason, message)
    assert store.http.get(f"/api/v1/snapshots/{plain}").json()["status_message"] == ""


@needs_root
def test_setuid_gives_nothing_on_the_host(store):
    """A copy of `sleep` that belongs to root and has the bit: no process of it is root outside."""
    program = pathlib.Path("/bin/sleep").read_bytes()
    name, reason, message = store.load(archive(("bin/root-sleep", FILE, program, {"mode": 0o4755})))
    assert name, (reason, message)
    box = store.sandbox(name)
    assert store.run(box, "/bin/ls", "-l", "/bin/root-sleep")["stdout"].startswith("-rwsr-xr-x")
    body = {"argv": ["/bin/root-sleep", "1000"], "user": "65534", "wait": False}
    begun = store.http.post(f"/api/v1/sandboxes/{box}/commands", json=body)
    assert begun.status_code in (200, 201), begun.text

    def owners():
        found = []
        for pid in processes_of(box):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            if words[0] == b"/bin/root-sleep":
                lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
                found.append(lines["Uid"].split())
        return found

    ids = wait_until(owners, "it runs")
    assert all(int(one) > 65535 for row in ids for one in row), ids


def packed(image):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = {
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": digest(image.manifest),
            "size": len(image.manifest),
        }
        files = {
            "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
            "index.json": json_of({"schemaVersion": 2, "manifests": [entry]}),
            "blobs/sha256/" + digest(image.manifest)[7:]: image.manifest,
            **{"blobs/sha256/" + key[7:]: blob for key, blob in image.blobs.items()},
        }
        for path, data in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_a_flipped_bit_is_a_wrong_digest(store):
    """In an OCI archive: of the layer's blob, and of the plain tar that the configuration names."""

    layer = archive(("marked", FILE, uuid.uuid4().bytes))
    flipped = Image(layer)
    blob = flipped.layers[0]["digest"]
    data = bytearray(flipped.blobs[blob])
    data[len(data) // 2] ^= 1
    flipped.blobs[blob] = bytes(data)
    assert store.load(packed(flipped))[:2] == (None, "digest_mismatch")
    made, _, message = store.load(packed(Image(layer, diff_ids=["sha256:" + "0" * 64])))
    assert made is None and "digest" in message, message
    name, reason, message = store.load(packed(Image(layer)))  # the control
    assert name, (reason, message)


def test_another_tenants_layer_is_not_had_by_its_digest(daemon, store):
    private = os.urandom(16).hex().encode()
    layer = archive(("etc/private", FILE, private))
    image = Image(layer)
    name, reason, message = store.load(packed(image))
    assert name, (reason, message)
    words = ("key", "--data", daemon.data, "create", f"thief-{uuid.uuid4().hex[:8]}")
    made = daemon.cli(*words, "--tenant", "thief", "--scope", "create")
    assert made.code == 0, made
    without = Image(layer)
    del without.blobs[without.layers[0]["digest"]]
    others = Image(b"other bytes", diff_ids=image.diff_ids)
    with daemon.http() as http:
        http.headers["X-Api-Key"] = made.text.strip()
        thief = Store(daemon, http)
        try:
            assert thief.load(packed(without))[:2] == (None, "bad_image")
            assert thief.load(packed(others))[0] is None
            name, reason, message = thief.load(packed(image))  # the control: it has the bytes
            assert name, (reason, message)
            read = thief.run(thief.sandbox(name), "cat", "/etc/private")
            assert read["stdout"] == private.decode(), read
        finally:
            thief.clean()


def json_of(value):
    return json.dumps(value).encode()


def lines_of_entries(count):
    """A tar of so many empty files, in pieces: each header is the same but for its name."""
    info = tarfile.TarInfo("many/0000000")
    head = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    for number in range(count):
        head[5:12] = b"%07d" % number
        head[148:156] = b" " * 8
        head[148:156] = b"%06o\0 " % sum(head)
        yield bytes(head)
    yield b"\0" * 10240


@pytest.mark.heavy
@pytest.mark.skipif("CAY_LONG" not in os.environ, reason="tests/long images runs it")
def test_a_million_entries(daemon, store):
    """They become a snapshot, or are refused with an error; the daemon's memory stays small."""
    begun = time.monotonic()
    name, reason, message = store.load(lines_of_entries(1_000_000), wait=1200)
    assert name or reason not in ("building", "internal"), (reason, message)
    peak, took = peak_of(daemon), time.monotonic() - begun
    print(f"1,000,000 entries: {took:.0f} s, peak {peak} KiB, {reason} {message}")
    assert peak < 128 << 10, f"{peak} KiB"


def peak_of(daemon):
    """The most memory that the daemon had, in KiB."""
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


@pytest.mark.heavy
@pytest.mark.skipif("CAY_LONG" not in os.environ, reason="tests/long images runs it")
@pytest.mark.parametrize("byte", [b"\0", b"A"], ids=["zeros", "letters"])
def test_a_bomb(daemon, store, byte):
    """1 GiB out of less than 100 KB: it takes the sandbox's disk at most, and its size is told."""
    size = 1 << 30
    info = tarfile.TarInfo("bomb")
    info.size = size
    zstd = subprocess.Popen(
        ["zstd", "-q", "-19", "--long=27", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )

    def write():
        with zstd.stdin as to:
            to.write(info.tobuf())
            for _ in range(size >> 20):
                to.write(byte * (1 << 20))
            to.write(b"\0" * 10240)

    threading.Thread(target=write, daemon=True).start()
    bomb = zstd.stdout.read()
    assert len(bomb) * 10_000 < size
    begun = time.monotonic()
    name, reason, message = store.load(bomb, wait=600)
    assert name or reason in ("bad_layer", "failed"), (reason, message)
    if name:
        used = store.http.get(f"/api/v1/snapshots/{name}").json()["used_bytes"]
        assert used == 0 if byte == b"\0" else used >= size
    peak, took = peak_of(daemon), time.monotonic() - begun
    print(f"1 GiB in {len(bomb)} bytes: {took:.0f} s, peak {peak} KiB, {reason} {message}")
    assert peak < 128 << 10, f"{peak} KiB"
