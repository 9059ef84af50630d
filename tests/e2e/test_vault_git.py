"""Git with a secret: the placeholder in a URL is replaced inside Basic authentication, for the
rule's host alone, and what Git sends compressed reaches the server as it was sent."""
import base64
import contextlib
import os
import subprocess

import outside_world as world_of
import pytest
from outside_world import standing
from vault_box import STAND_IN, box, vaulted  # noqa: F401  (fixtures too)
from vault_world import ADDRESS, Handler, VaultWorld

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())

HOST, OTHER = "git.vault.test", "other.vault.test"
RULE = {**STAND_IN, "hosts": [HOST], "env": {"GIT_KEY": "${TOKEN}"}}
BRANCHES = 60  # as many wants are more than the kilobyte from which on Git compresses


class GitHandler(Handler):
    """Git's own server. HOST wants the key, OTHER takes any."""

    def handle_any(self):
        body = b"".join(self.pieces())
        sent = self.headers.get("Authorization") or ""
        encoding = self.headers.get("Content-Encoding", "")
        host, (path, _, query) = self.headers.get("Host"), self.path.partition("?")
        self.world.git.append((host, self.command, path, sent, encoding, body[:2]))
        if not sent or (host == HOST and self.world.how(self.headers) != "Basic"):
            return self.reply(401, b"", **{"WWW-Authenticate": 'Basic realm="git"'})
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.world.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": encoding,
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        status = int(fields.get("Status", "200").split()[0])
        return self.reply(status, answer, fields.get("Content-Type", "text/plain"))


class GitWorld(VaultWorld):
    def __init__(self, directory, secret):
        super().__init__(directory, secret)
        self.git = []

    def serve_http(self, port, context, address=ADDRESS, handler=None):
        super().serve_http(port, context, address, handler or GitHandler)

    def start(self):
        where = self.directory / "r.git"
        subprocess.run(["git", "init", "-q", "--bare", where], check=True)
        commits = "".join(
            f"commit refs/heads/b{number}\ncommitter a <a@b> {number} +0000\n" "data 1\nx\n"
            for number in range(BRANCHES)
        )
        command = ["git", "-C", where, "fast-import", "--quiet"]
        subprocess.run(command, input=commits.encode(), check=True)
        super().start()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    secret = "sk-live-" + os.urandom(24).hex()
    with standing(GitWorld(tmp_path_factory.mktemp("git"), secret)) as made:
        yield made


@pytest.mark.depth
def test_the_placeholder_in_a_url_is_the_secret_for_its_host_alone(vaulted, world):  # noqa: F811
    with box(vaulted, RULE, policy="open") as one:
        got = one.sh(f'git ls-remote "https://u:$GIT_KEY@{HOST}/r.git"')
        assert got.code == 0 and got.text.count("refs/heads/b") == BRANCHES, got
        # Another host gets the placeholder itself, which is worth nothing there.
        world.git.clear()
        got = one.sh(f'git -c http.sslVerify=false ls-remote "https://u:$GIT_KEY@{OTHER}/r.git"')
        assert got.code == 0 and got.text.count("refs/heads/b") == BRANCHES, got
        sent = {decoded(line[3]) for line in world.git if line[3]}
        assert sent == {f"u:{one.token()}"} and all(line[0] == OTHER for line in world.git)


@pytest.mark.depth
def test_what_git_compresses_reaches_the_server_as_it_was_sent(vaulted, world):  # noqa: F811
    with box(vaulted, RULE) as one:
        world.git.clear()
        got = one.sh(f'git clone -q --mirror "https://u:$GIT_KEY@{HOST}/r.git" /root/r')
        assert got.code == 0, got
        assert one.sh("git -C /root/r branch | wc -l").text.strip() == str(BRANCHES)
        posts = [line[4:] for line in world.git if line[1:3] == ("POST", "/r.git/git-upload-pack")]
        # The header stands exactly where the body is compressed.
        assert ("gzip", b"\x1f\x8b") in posts
        for encoding, begin in posts:
            assert (encoding == "gzip") == (begin == b"\x1f\x8b"), posts


def decoded(sent):
    kind, _, text = sent.partition(" ")
    with contextlib.suppress(ValueError):
        return base64.b64decode(text).decode() if kind == "Basic" else sent
    return sent
