"""Images on the command line: import, run, capture, fork, roll back, remove."""
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


@pytest.fixture
def box(daemon):
    name = f"cli-image-{os.urandom(4).hex()}"
    made = daemon.cli("create", "--image", "default", "--name", name)
    assert made.code == 0, made
    yield name
    daemon.cli("rm", name)


def shell(daemon, box, script):
    done = daemon.cli("exec", box, "--", "/bin/sh", "-c", script)
    assert done.code == 0, done
    return done.text


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


def test_without_a_command_a_snapshot_that_names_none_says_so(daemon):
    done = daemon.cli("run", "--rm", "default", "--")
    assert done.code == 125 and b"names no command of its own" in done.err, done


def test_a_capture_has_what_the_sandbox_wrote(daemon, box):
    shell(daemon, box, "echo kept > /root/note")
    captured = daemon.cli("snapshot", "capture", box, "--name", f"{box}-captured")
    try:
        assert (captured.code, captured.text) == (0, f"{box}-captured:latest\n"), captured
        shell(daemon, box, "echo later > /root/note")
        done = daemon.cli("run", "--rm", f"{box}-captured", "--", "/bin/cat", "/root/note")
        assert (done.code, done.text) == (0, "kept\n"), done
        assert f"{box}-captured:latest\n" in daemon.cli("snapshot", "ls", "-q").text
    finally:
        removed = daemon.cli("snapshot", "rm", f"{box}-captured")
    assert removed.code == 0, removed
    assert f"{box}-captured" not in daemon.cli("snapshots").text


def test_forks_share_the_moment_and_nothing_after_it(daemon, box):
    shell(daemon, box, "echo base > /root/note")
    made = daemon.cli("fork", box, "-n", "2", "--name", f"{box}-fork")
    names = [f"{box}-fork-1", f"{box}-fork-2"]
    try:
        assert (made.code, made.text.split()) == (0, names), made
        shell(daemon, names[0], "echo changed > /root/note")
        assert shell(daemon, names[0], "cat /root/note") == "changed\n"
        assert shell(daemon, names[1], "cat /root/note") == "base\n"
        assert shell(daemon, box, "cat /root/note") == "base\n"
    finally:
        daemon.cli("rm", *names)


def test_a_rollback_drops_what_changed(daemon, box):
    shell(daemon, box, "echo good > /root/note")
    name = f"{box}-good"
    assert daemon.cli("snapshot", "capture", box, "--name", name).code == 0
    try:
        shell(daemon, box, "echo bad > /root/note; echo new > /root/other")
        back = daemon.cli("rollback", box, "--to", name)
        assert (back.code, back.text) == (0, f"{box}\n"), back
        assert shell(daemon, box, "cat /root/note; ls /root") == "good\nnote\n"
        shell(daemon, box, "echo bad > /root/note")
        assert daemon.cli("rollback", box).code == 0
        assert shell(daemon, box, "cat /root/note") == "good\n", "it stands on that snapshot now"
    finally:
        daemon.cli("rm", box)
        daemon.cli("snapshot", "rm", name)


def test_a_tag_moves_and_a_removal_harms_no_sandbox(daemon, box):
    shell(daemon, box, "echo kept > /root/note")
    lone = f"{box}-lone"
    assert daemon.cli("snapshot", "capture", box, "--name", f"{lone}:1").code == 0
    assert daemon.cli("snapshot", "tag", f"{lone}:1", "stable").code == 0
    assert daemon.cli("create", "--snapshot", f"{lone}:stable", "--name", lone).code == 0
    try:
        assert daemon.cli("snapshot", "rm", f"{lone}:1").code == 0
        assert shell(daemon, lone, "cat /root/note") == "kept\n"
        refused = daemon.cli("create", "--snapshot", f"{lone}:1")
        assert refused.code == 125 and lone.encode() in refused.err, refused
    finally:
        daemon.cli("rm", lone)


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
