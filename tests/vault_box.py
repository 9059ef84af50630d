"""A daemon that keeps a secret of the vault world's, and sandboxes with rules for it."""
import contextlib
import importlib.metadata
import io
import json
import os
import pathlib
import re
import tarfile

import pytest
from harness import new_daemon, wait_until
from outside_world import standing
from vault_world import VaultWorld

SDKS = ("openai", "anthropic", "requests")  # from beside the tests


def sdk_tree(*names):
    """The SDKs with all that they need, as one tar."""
    asked = names or SDKS
    todo, done, out = list(asked), set(), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        while todo:
            name = todo.pop()
            if name in done:
                continue
            done.add(name)
            try:
                found = importlib.metadata.distribution(name)
            except importlib.metadata.PackageNotFoundError:
                if name in asked:
                    pytest.skip(f"{name} is not installed beside the tests")
                continue  # for another system, or another version of Python
            for wanted in found.requires or []:
                if "extra ==" not in wanted:
                    todo.append(re.match(r"[A-Za-z0-9._-]+", wanted).group())
            for file in found.files or []:
                at = pathlib.Path(found.locate_file(file))
                if ".." not in file.parts and at.is_file() and "__pycache__" not in file.parts:
                    tar.add(at, arcname=str(file))
    return out.getvalue()


def set_secret(daemon, name, value, *hosts):
    words = [word for host in hosts for word in ("--host", host)]
    done = daemon.cli("secret", "set", name, *words, stdin=value.encode() + b"\n")
    assert done.code == 0, done
    return done


class Box:
    def __init__(self, daemon, *rules, policy="packages"):
        self.daemon, self.name = daemon, f"vault-{os.urandom(3).hex()}"
        made = daemon.cli("create", "--json", "--name", self.name, "--policy", policy, "--ttl", "0")
        assert made.code == 0, made
        self.id = json.loads(made.text)["id"]
        if rules:
            self.rules(*rules)

    def rules(self, *rules):
        done = self.daemon.cli(
            "proxy", self.name, "--rules", "-", "--json", stdin=json.dumps(rules).encode()
        )
        assert done.code == 0, done
        return json.loads(done.text)

    def sh(self, line, timeout=60):
        return self.daemon.cli("exec", self.name, "--", "sh", "-c", line, timeout=timeout)

    def python(self, program, timeout=60):
        return self.daemon.cli(
            "exec",
            "-e",
            "PYTHONPATH=/opt/sdk",
            self.name,
            "--",
            "python3",
            "-c",
            program,
            timeout=timeout,
        )

    def opens(self, program, what):
        """Begins a program, waits for its line "open", and gives what reads all of its lines so
        far."""
        command = self.daemon.cli(
            "exec", "-d", self.name, "--", "python3", "-c", program
        ).text.strip()

        def lines():
            return self.daemon.cli("logs", self.name, command).text.splitlines()

        wait_until(lambda: lines() == ["open"], what)
        return lines

    def curl(self, url, *more):
        """(status, body); the exit code where there is no answer."""
        words = " ".join("'" + word.replace("'", "'\\''") + "'" for word in more)
        got = self.sh(
            f"curl -sS -m 30 -o /tmp/body -w '%{{http_code}}' {words} '{url}'; code=$?; echo; cat "
            "/tmp/body 2>/dev/null; rm -f /tmp/body; exit $code"
        )
        status, _, body = got.text.partition("\n")
        return (
            (int(status), body) if got.code == 0 else (-got.code, got.err.decode(errors="replace"))
        )

    def json(self, url, *more):
        status, body = self.curl(url, *more)
        assert status == 200, (status, body)
        return json.loads(body)

    def token(self):
        return self.sh(
            "env | sed -n 's/.*=\\(.*cay-token-[0-9A-Za-z]*\\).*/\\1/p' | head -n 1"
        ).text.strip()

    def net(self):
        return json.loads(self.daemon.cli("net", "--json", self.name).text)["items"]

    def line(self, when=lambda item: True, **facts):
        """That has these facts, once `when` is true of it: counts and bytes are written down later
        than what was decided."""

        def find():
            return next(
                (
                    item
                    for item in self.net()
                    if all(item[key] == value for key, value in facts.items()) and when(item)
                ),
                None,
            )

        return wait_until(find, f"a line with {facts}")

    def sdk(self, *names):
        done = self.daemon.cli(
            "cp", "-", f"{self.name}:/tmp/sdk.tar", stdin=sdk_tree(*names), timeout=120
        )
        assert done.code == 0, done
        done = self.sh(
            "mkdir -p /opt/sdk && tar -xf /tmp/sdk.tar -C /opt/sdk && rm /tmp/sdk.tar", timeout=120
        )
        assert done.code == 0, done

    def close(self):
        self.daemon.cli("rm", self.name)


@contextlib.contextmanager
def box(daemon, *rules, **how):
    made = Box(daemon, *rules, **how)
    try:
        yield made
    finally:
        made.close()


BASE = {"name": "api", "secret": "api", "way": "base_url", "hosts": ["api.vault.test"]}
HEADERS = {"name": "api", "secret": "api", "way": "headers", "hosts": ["api.vault.test"]}
STAND_IN = {"name": "api", "secret": "api", "way": "placeholder", "hosts": ["api.vault.test"]}


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def parts(daemon, word):
    """The processes of this daemon's `cay WORD`: whoever starts one comes before it. By their
    parents: numbers of processes begin anew at their end."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[1:2] == [word.encode()] and str(daemon.data).encode() in words:
                parents[int(pid)] = parent_of(pid)
    return sorted(parents, key=lambda pid: (parents[pid] in parents, pid))


def both(daemon, word):
    """Who starts `cay WORD` and who serves. Right after a start or an end there is, for a moment,
    the first alone."""
    return wait_until(
        lambda: len(found := parts(daemon, word)) == 2 and found, f"both parts of the {word}"
    )


def serving(daemon, word):
    return both(daemon, word)[1]


def brokers(daemon):
    """The parts of this daemon's broker: who starts and who serves."""
    return parts(daemon, "broker")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with standing(
        VaultWorld(tmp_path_factory.mktemp("vault-world"), "sk-live-" + os.urandom(24).hex())
    ) as made:
        yield made


@pytest.fixture(scope="module")
def vaulted(world, request):
    daemon = new_daemon(*world.settings)
    daemon.prefix = world.prefix
    daemon.start()
    set_secret(daemon, "api", world.secret, "api.vault.test", "api.vault.test:8443", "*.vault.test")
    yield daemon
    daemon.close(keep_log=request.session.testsfailed > 0)
