"""Images on the command line: import, and what cannot be had."""
import json
import os

import pytest

from image_root import root_tar


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
