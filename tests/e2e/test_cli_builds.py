"""Builds on the command line: what a Dockerfile gives, how a failure ends, and Debian packages."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import tempfile

import pytest
from harness import CAY, new_daemon, wait_until
from image_root import root_tar
from test_gate_installs import follow_doctor, registries


@pytest.fixture(scope="module")
def base(daemon):
    """The name of a snapshot with a shell and a few programs."""
    name = f"cli-base-{os.urandom(4).hex()}"
    done = daemon.cli("snapshot", "import", "-", "--name", f"{name}:1", stdin=root_tar())
    if done.code != 0 and b"without the process" in done.err:
        pytest.skip("the daemon runs without the process that reads images")
    assert done.code == 0, done
    yield f"{name}:1"
    daemon.cli("snapshot", "rm", f"{name}:1")


@pytest.fixture
def context():
    path = pathlib.Path(tempfile.mkdtemp(prefix="cay-context-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def name(daemon):
    made = f"cli-built-{os.urandom(4).hex()}"
    yield made
    daemon.cli("snapshot", "rm", made)


def snapshots(daemon):
    return {one["name"]: one for one in json.loads(daemon.cli("snapshots", "--json").text)}


def test_a_build_has_the_context_and_neither_ignored_files_nor_secrets(daemon, base, context, name):
    (context / "Dockerfile").write_text(
        f"FROM {base}\n"
        "ARG WHO=nobody\n"
        "WORKDIR /app\n"
        "COPY . .\n"
        "RUN --mount=type=secret,id=token cat /run/secrets/token && ls / > /listed\n"
        'RUN echo "for $WHO" > made\n'
        'CMD ["/bin/cat", "/app/made"]\n'
    )
    (context / ".dockerignore").write_text("*.key\nDockerfile\n")
    (context / "own.key").write_text("stays here")
    (context / "tool").write_text("#!/bin/sh\n")
    (context / "tool").chmod(0o751)
    (context / "link").symlink_to("tool")
    (context / "token").write_text("hunter2-of-the-build")
    (context / "token").rename(context.parent / f"{name}.token")
    secret = context.parent / f"{name}.token"
    words = ("--build-arg", "WHO=me", "--secret", f"id=token,src={secret}")
    try:
        built = daemon.cli("snapshot", "build", "-t", f"{name}:2", *words, str(context))
    finally:
        secret.unlink()
    assert (built.code, built.text) == (0, f"{name}:2\n"), built
    assert b"COPY . ." in built.err and b"hunter2" not in built.err, built
    ran = daemon.cli("run", "--rm", f"{name}:2", "--")
    assert (ran.code, ran.text) == (0, "for me\n"), ran
    listed = daemon.cli("run", "--rm", f"{name}:2", "--", "/bin/ls", "-l", "/app", "/run")
    assert "rwxr-x--x" in listed.text and "link -> tool" in listed.text, listed
    assert "own.key" not in listed.text and "Dockerfile" not in listed.text, listed
    assert "secrets" not in listed.text, listed
    # The control: the secret was there when that layer was made.
    assert snapshots(daemon)[name]["origin"] == "build"
    daemon.cli("snapshot", "rm", f"{name}:2")


def test_a_failed_step_ends_with_1_and_what_cannot_be_had_with_125(daemon, base, context, name):
    dockerfile = context / "Dockerfile"
    dockerfile.write_text(f"FROM {base}\n\nRUN echo about to fail && exit 7\n")
    failed = daemon.cli("build", "-t", name, str(context))
    assert failed.code == 1 and b"line 3: " in failed.err, failed
    assert b"about to fail\n" in failed.err and b"exit code 7" in failed.err, failed
    assert snapshots(daemon).get(name, {}).get("status") in (None, "failed")
    dockerfile.write_text("FROM a\nFORM b\n")
    wrong = daemon.cli("build", "-t", name, str(context))
    assert wrong.code == 1 and b"line 2: " in wrong.err, wrong
    dockerfile.write_text("FROM 127.0.0.1:9/nothing:1\n")
    away = daemon.cli("build", "-t", name, str(context))
    assert away.code == 125 and b"127.0.0.1:9" in away.err, away


def test_stdin_has_a_dockerfile_or_an_archive(daemon, base, name):
    text = f"FROM {base}\nCOPY note /note\n".encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, data in (("./Dockerfile", text), ("./note", b"of the archive")):
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    built = daemon.cli("build", "-q", "-t", name, "-", stdin=packed.getvalue())
    assert (built.code, built.text, built.err) == (0, f"{name}:latest\n", b""), built
    ran = daemon.cli("run", "--rm", name, "--", "/bin/cat", "/note")
    assert ran.text == "of the archive", ran
    plain = f'FROM {base}\nCMD ["/bin/cat", "/etc/os-release"]\n'.encode()
    built = daemon.cli("build", "-t", f"{name}:plain", "-", stdin=plain)
    assert (built.code, built.text) == (0, f"{name}:plain\n"), built
    assert "image of a test" in daemon.cli("run", "--rm", f"{name}:plain", "--").text
    daemon.cli("snapshot", "rm", f"{name}:plain")


def test_ctrl_c_gives_a_build_up(daemon, base, context, name):
    (context / "Dockerfile").write_text(f"FROM {base}\nRUN echo begun && sleep 600\n")
    log = context.parent / f"{name}.log"
    with open(log, "wb") as err:
        build = subprocess.Popen(
            [CAY, "build", "-t", name, context],
            env={**os.environ, **daemon.env},
            stdout=err,
            stderr=err,
        )
        try:
            wait_until(lambda: b"begun\n" in log.read_bytes(), "the step to begin", 60)
            build.send_signal(signal.SIGINT)
            assert build.wait(30) == 130, log.read_bytes()
        finally:
            build.kill()
            build.wait()
    told = log.read_bytes()
    log.unlink()
    assert b"gave the build up" in told, told
    wait_until(lambda: name not in snapshots(daemon), "its snapshot to go", 30)


def of_packages(daemon):
    return daemon.cli("ls", "-q", "--label", "cay.build=debian").text


def test_packages_that_cannot_be_had_leave_no_sandbox(daemon, name):
    done = daemon.cli("build", "--debian", "hello", "--policy", "off", "-t", name)
    assert done.code == 1 and b"mmdebstrap failed: " in done.err, done
    assert of_packages(daemon) == "" and name not in snapshots(daemon)


@pytest.mark.depth
def test_a_snapshot_of_debian_packages_runs_them(name):
    if "apt" not in registries():
        pytest.skip("no archive of packages answers this host")
    with contextlib.closing(new_daemon()) as daemon:
        daemon.start()
        follow_doctor(daemon)
        none = daemon.cli("build", "--debian", "no-such-package-of-debian", "-t", name, timeout=600)
        assert none.code == 1 and b"no-such-package-of-debian" in none.err, none
        made = daemon.cli("build", "--debian", "hello", "-t", f"{name}:1", timeout=900)
        assert (made.code, made.text) == (0, f"{name}:1\n"), made
        ran = daemon.cli("run", "--rm", f"{name}:1", "--", "hello")
        assert (ran.code, ran.text) == (0, "Hello, world!\n"), ran
        lists = daemon.cli("run", "--rm", f"{name}:1", "--", "ls", "/var/lib/apt/lists")
        assert "Packages" not in lists.text, lists
        assert of_packages(daemon) == ""
