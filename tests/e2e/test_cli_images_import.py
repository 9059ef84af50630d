"""Images on the command line: import, and what cannot be had."""
import io
import json
import os
import tarfile

import pytest

from image_root import root_tar
from images import Image


@pytest.fixture(scope="module")
def image(daemon):
    """A root file system that was imported, and the name of its snapshot."""
    name = f"cli-image-{os.urandom(4).hex()}"
    done = daemon.cli("snapshot", "import", "-", "--name", f"{name}:1", stdin=root_tar())
    if done.code != 0 and b"without the process" in done.err:
        pytest.skip("the daemon runs without the process that reads images")
    assert (done.code, done.text) == (0, f"{name}:1\n"), done
    yield name
    daemon.cli("snapshot", "rm", f"{name}:1")


def test_an_imported_root_is_listed_and_runs(daemon, image):
    listed = {one["name"]: one for one in json.loads(daemon.cli("snapshots", "--json").text)}
    assert listed[image]["status"] == "ready" and listed[image]["tags"] == ["1"], listed[image]
    assert listed[image]["origin"] == "archive" and listed[image]["used_bytes"] > 0
    assert f"{image}:1\n" in daemon.cli("snapshot", "ls", "-q").text
    assert "From         archive\n" in daemon.cli("snapshot", "inspect", f"{image}:1").text
    for words in (
        ("run", "--rm", f"{image}:1", "--"),
        ("run", "--rm", "--image", f"{image}:1"),
    ):
        done = daemon.cli(*words, "/bin/cat", "/etc/os-release")
        assert (done.code, done.text) == (0, 'NAME="image of a test"\n'), (words, done)
    # The control: the host's own.
    assert "image of a test" not in daemon.cli("run", "--rm", "--", "cat", "/etc/os-release").text


def saved_by_docker(name):
    """Returns an archive of `docker save`. `name`: what it calls the image; None: nothing."""
    image = Image(root_tar())
    config = image.blobs[json.loads(image.manifest)["config"]["digest"]]
    described = {"Config": "c.json", "RepoTags": [name] if name else None, "Layers": ["1.tar"]}
    files = {
        "manifest.json": json.dumps([described]).encode(),
        "c.json": config,
        "1.tar": root_tar(),
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def oci_archive(folder, name):
    """Returns an OCI archive whose index calls the image by this name."""
    Image(root_tar()).layout(folder, name)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(folder, ".")
    return out.getvalue()


def test_an_archive_gives_its_snapshot_the_name_in_it(daemon, image, directory):
    one = f"cli-named-{os.urandom(4).hex()}"
    cases = (
        (saved_by_docker(f"docker.io/foo/{one}:9"), f"foo/{one}:9"),
        (saved_by_docker(f"{one}:3.12"), f"{one}:3.12"),
        (oci_archive(directory / "oci", f"{one}:8"), f"{one}:8"),
    )
    for at, (archive, ref) in enumerate(cases):
        file = directory / f"{at}.tar"
        file.write_bytes(archive)
        done = daemon.cli("snapshot", "import", str(file))
        assert (done.code, done.text) == (0, f"{ref}\n"), done
        done = daemon.cli("run", "--rm", "--snapshot", ref, "--", "/bin/cat", "/etc/os-release")
        assert (done.code, done.text) == (0, 'NAME="image of a test"\n'), done
        assert daemon.cli("snapshot", "rm", ref).code == 0
    # The next has a tag and no name, the others have neither.
    for archive in (oci_archive(directory / "tag", "latest"), saved_by_docker(None), root_tar()):
        done = daemon.cli("snapshot", "import", "-", stdin=archive)
        assert done.code == 125 and b"no name in it" in done.err and b"--name" in done.err, done


@pytest.mark.parametrize(
    "archive",
    [b"", b"\x1f\x8b no gzip", b"x" * 2048],
    ids=["empty", "broken-gzip", "no-tar"],
)
def test_what_is_no_archive_leaves_no_snapshot(daemon, archive):
    name = f"cli-broken-{os.urandom(4).hex()}"
    done = daemon.cli("snapshot", "import", "-", "--name", name, stdin=archive)
    assert done.code == 125 and done.err.startswith(b"cay: "), done
    refused = daemon.cli("run", "--rm", "--snapshot", name, "--", "true")
    assert refused.code == 125, refused


def test_a_registry_that_is_not_reached_is_named(daemon):
    done = daemon.cli("run", "--rm", "127.0.0.1:9/nothing:1", "--", "true")
    assert done.code == 125 and b"127.0.0.1:9" in done.err, done
    ready = [
        one["name"]
        for one in json.loads(daemon.cli("snapshots", "--json").text)
        if one["status"] == "ready"
    ]
    assert "127.0.0.1-9/nothing" not in ready
