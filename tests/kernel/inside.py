"""Attacks from inside, as root of a sandbox, through the real product. Each comes with a positive
control:
the same attempt, where it must work, so that a test cannot pass because the attempt itself was
broken."""
import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
# The first is of tools/deps.sh: a fresh machine has no cc, and the guest (tests/guest/run) no
# clang.
COMPILER = next(filter(shutil.which, ("clang-19", "clang", "gcc", "cc")), "cc")


class Sandbox:
    """One sandbox, by the CLI: the surface that does not change."""

    def __init__(self, daemon, *args):
        self.daemon, self.name = daemon, f"kernel-{os.urandom(4).hex()}"
        made = daemon.cli("create", "--name", self.name, *args)
        assert made.code == 0, made

    def run(self, *argv, user=None, stdin=None, timeout=60):
        options = [*(["--user", user] if user else []), *(["-i"] if stdin is not None else [])]
        return self.daemon.cli(
            "exec", *options, self.name, "--", *argv, stdin=stdin, timeout=timeout
        )

    def sh(self, line, **kwargs):
        return self.run("sh", "-c", line, **kwargs)

    def python(self, program, *argv, **kwargs):
        return self.run("python3", "-c", program, *argv, **kwargs)

    def start(self, line):
        """Leaves `line` running; the command's id."""
        got = self.daemon.cli("exec", "-d", self.name, "--", "sh", "-c", line)
        assert got.code == 0, got
        return got.text.strip()

    def put(self, program, path):
        self.put_text(pathlib.Path(program).read_bytes(), path)

    def put_text(self, text, path):
        data = text.encode() if isinstance(text, str) else text
        got = self.sh(f"cat > {path} && chmod 755 {path}", stdin=data)
        assert got.code == 0, got

    def get(self, path, to, timeout=60):
        return self.daemon.cli("cp", f"{self.name}:{path}", to, timeout=timeout)

    def close(self):
        self.daemon.cli("rm", self.name)


@pytest.fixture(scope="module")
def sandbox(daemon):
    made = Sandbox(daemon)
    yield made
    made.close()


@pytest.fixture(scope="session")
def attack(tmp_path_factory):
    """The compiled payload, on the host."""
    program = tmp_path_factory.mktemp("payload") / "attack"
    subprocess.run(
        [COMPILER, "-O1", "-static", "-o", program, HERE / "payloads" / "attack.c"], check=True
    )
    return program
