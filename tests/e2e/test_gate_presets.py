"""What the presets are for: cargo, go, Git, the SDKs of model APIs and senders of traces reach what
they need by their preset alone, and by another nothing of it. Servers of the test's stand for the
hosts, by name and with certificates of an authority that the programs are told of as usual."""
import base64
import contextlib
import fcntl
import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import zipfile

import outside_world as world_of
import pytest
import vault_world
from outside_world import standing
from test_gate import gated  # noqa: F401 (a fixture)
from test_gate_installs import host_setting
from vault_box import box

pytestmark = [
    pytest.mark.depth,
    pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing()),
]

ADDRESS = "198.18.13.1"
GIT_HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "salsa.debian.org")
# The redirects of github.com to other hosts.
ELSEWHERE = {
    "/cay-test/tiny/archive/refs/tags/v1.0.tar.gz": (
        "codeload.github.com",
        "/cay-test/tiny/tar.gz/refs/tags/v1.0",
    ),
    "/cay-test/tiny/releases/download/v1.0/tiny": (
        "release-assets.githubusercontent.com",
        "/github-production-release-asset/1/tiny",
    ),
    "/cay-test/tiny/raw/main/README": ("raw.githubusercontent.com", "/cay-test/tiny/main/README"),
}
MODELS = ("api.openai.com", "api.anthropic.com")
LANGSMITH = (
    "api.smith.langchain.com",
    "eu.api.smith.langchain.com",
    "apac.api.smith.langchain.com",
    "aws.api.smith.langchain.com",
)
LANGSMITHS_INFO = {
    "version": "0.12.0",
    "instance_flags": {"zstd_compression_enabled": True},
    "batch_ingest_config": {
        "use_multipart_endpoint": True,
        "scale_up_qsize_trigger": 1000,
        "scale_up_nthreads_limit": 16,
        "scale_down_nempty_trigger": 4,
        "size_limit": 100,
        "size_limit_bytes": 20971520,
    },
}
OTLP = {
    **{
        f"{region}cloud.langfuse.com": "/api/public/otel/v1/traces"
        for region in ("", "us.", "jp.", "hipaa.")
    },
    **{
        host: "/v1/traces"
        for host in (
            "api.honeycomb.io",
            "api.eu1.honeycomb.io",
            "otlp.nr-data.net",
            "otlp.eu01.nr-data.net",
            "otlp.arize.com",
            "logfire-us.pydantic.dev",
            "logfire-eu.pydantic.dev",
            "logfire-api.pydantic.dev",
        )
    },
    "api.braintrust.dev": "/otel/v1/traces",
}
CARGO, GO = ("index.crates.io", "static.crates.io", "crates.io"), (
    "proxy.golang.org",
    "sum.golang.org",
)
# Go's proxy keeps some modules there, and everybody else what he likes.
BUCKETS = "storage.googleapis.com"
NAMES = (
    *GIT_HOSTS,
    *(host for host, _ in ELSEWHERE.values()),
    *CARGO,
    *GO,
    BUCKETS,
    *MODELS,
    *LANGSMITH,
    *OTLP,
)
SETTINGS = f"""[network]
networks = ["198.18.13.0/24", "{ADDRESS}"]
[mirrors]
of_host = false
"""
TRUST = "export {}\n".format(
    " ".join(
        f"{name}=/tmp/ca.pem"
        for name in (
            "GIT_SSL_CAINFO",
            "CARGO_HTTP_CAINFO",
            "SSL_CERT_FILE",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
        )
    )
)


def tar_of(**files):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return whole.getvalue()


def crate():
    """What cargo asks for of a crate, by host and path."""
    files = {
        "Cargo.toml": '[package]\nname = "cay-tiny"\nversion = "1.0.0"\nedition = "2021"\n',
        "src/lib.rs": 'pub const SAYS: &str = "hello by cargo";\n',
    }
    whole = tar_of(**{f"cay-tiny-1.0.0/{name}": text for name, text in files.items()})
    line = {
        "name": "cay-tiny",
        "vers": "1.0.0",
        "deps": [],
        "cksum": hashlib.sha256(whole).hexdigest(),
        "features": {},
        "yanked": False,
    }
    found = {
        "crates": [{"name": "cay-tiny", "max_version": "1.0.0", "description": "tiny"}],
        "meta": {"total": 1},
    }
    return {
        ("crates.io", "/api/v1/crates"): json.dumps(found).encode(),
        ("index.crates.io", "/config.json"): json.dumps(
            {"dl": "https://static.crates.io/crates", "api": "https://crates.io"}
        ).encode(),
        ("index.crates.io", "/ca/y-/cay-tiny"): json.dumps(line).encode() + b"\n",
        ("static.crates.io", "/crates/cay-tiny/1.0.0/download"): whole,
    }


class Checksums:
    """A checksum database of Go's with one module in it: a log whose only leaf is its root, too,
    and which is signed."""

    def __init__(self, run, directory):
        run("genpkey", "-algorithm", "ed25519", "-out", "sum-key.pem")
        run("pkey", "-in", "sum-key.pem", "-pubout", "-outform", "DER", "-out", "sum.der")
        self.run, self.directory = run, directory
        key = b"\1" + (directory / "sum.der").read_bytes()[-32:]
        self.id = hashlib.sha256(b"sum.golang.org\n" + key).digest()[:4]
        # As GOSUMDB takes it.
        self.key = f"sum.golang.org+{self.id.hex()}+{base64.b64encode(key).decode()}"

    def files(self, module, record):
        leaf = hashlib.sha256(b"\0" + record).digest()
        head = b"go.sum database tree\n1\n" + base64.b64encode(leaf) + b"\n"
        (self.directory / "head").write_bytes(head)
        self.run(
            "pkeyutl",
            "-sign",
            "-rawin",
            "-inkey",
            "sum-key.pem",
            "-in",
            "head",
            "-out",
            "signature",
        )
        signed = base64.b64encode(self.id + (self.directory / "signature").read_bytes())
        return {
            ("sum.golang.org", f"/lookup/{module}"): b"0\n"
            + record
            + b"\n"
            + head
            + "\n— sum.golang.org ".encode()
            + signed
            + b"\n",
            ("sum.golang.org", "/tile/8/0/000.p/1"): leaf,
        }


def module(checksums):
    """What go asks for of a module, by host and path."""

    def h1(**files):
        lines = "".join(
            f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n"
            for name, text in sorted(files.items())
        )
        return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()

    mod, whole = "module example.com/tiny\n", io.BytesIO()
    files = {
        f"example.com/tiny@v1.0.0/{name}": text
        for name, text in {"go.mod": mod, "tiny.go": "package tiny\n"}.items()
    }
    with zipfile.ZipFile(whole, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    at = "/example.com/tiny/@v/"
    told = {
        "list": b"v1.0.0\n",
        "v1.0.0.info": b'{"Version": "v1.0.0", "Time": "2024-01-01T00:00:00Z"}',
        "v1.0.0.mod": mod.encode(),
        "v1.0.0.zip": whole.getvalue(),
    }
    record = (
        f"example.com/tiny v1.0.0 {h1(**files)}\n"
        f"example.com/tiny v1.0.0/go.mod {h1(**{'go.mod': mod})}\n"
    ).encode()
    return {("proxy.golang.org", at + name): body for name, body in told.items()} | checksums.files(
        "example.com/tiny@v1.0.0", record
    )


class Hosts(vault_world.VaultWorld):
    """`files`: bodies by host and path, or where else one is. `traces`: (host, path) of what was
    posted."""

    def start(self):
        self.lock = (pathlib.Path(tempfile.gettempdir()) / "cay-test-preset-hosts").open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.address(ADDRESS)
        self.authority()
        self.checksums, self.traces = Checksums(self.run, self.directory), []
        self.files = crate() | module(self.checksums)
        self.files |= {(host, "/info"): json.dumps(LANGSMITHS_INFO).encode() for host in LANGSMITH}
        self.repository()
        self.serve_http(443, self.leaf("hosts", NAMES), ADDRESS, Handler)
        (self.directory / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {' '.join(NAMES)}\n")
        (self.directory / "net.toml").write_text(SETTINGS)

    def repository(self):
        def git(*words):
            subprocess.run(
                ["git", "-c", "user.name=test", "-c", "user.email=test@example.com", *words],
                check=True,
                capture_output=True,
                cwd=self.directory,
            )

        (self.directory / "tree").mkdir()
        (self.directory / "tree/README").write_text("hello by git\n")
        git("init", "-q", "--bare", "git/cay-test/tiny.git")
        git("init", "-q", "tree")
        git("-C", "tree", "add", "README")
        git("-C", "tree", "commit", "-q", "-m", "tiny")
        git("-C", "tree", "push", "-q", "../git/cay-test/tiny.git", "HEAD:refs/heads/main")
        git("-C", "git/cay-test/tiny.git", "symbolic-ref", "HEAD", "refs/heads/main")
        for path, (host, other) in ELSEWHERE.items():
            self.files |= {
                ("github.com", path): f"https://{host}{other}",
                (host, other): f"hello by {host}\n".encode(),
            }

    @contextlib.contextmanager
    def elsewhere(self, place, other):
        """Meanwhile what lies at the place (host, path) is at another, and the place says so."""
        before = dict(self.files)
        self.files |= {place: f"https://{other[0]}{other[1]}", other: before[place]}
        try:
            yield
        finally:
            self.files = before


class Handler(vault_world.Handler):
    def handle_any(self):
        host, path = self.headers["Host"], self.path.partition("?")[0]
        if host in MODELS:
            return super().handle_any()
        body = b"".join(self.pieces())
        found = self.world.files.get((host, path))
        if isinstance(found, str):
            return self.reply(302, b"", Location=found)
        if found is not None:
            return self.reply(200, found, "application/octet-stream")
        if host in GIT_HOSTS:
            return self.git(path, body)
        if self.command in ("POST", "PATCH") and host in (*LANGSMITH, *OTLP):
            self.world.traces.append((host, path))
            return self.reply(202 if host in LANGSMITH else 200, b"{}")
        return self.reply(404, b"{}")

    do_PATCH = vault_world.Handler.do_GET

    def git(self, path, body):
        """Git's own server, as hosts run it."""
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.world.directory / "git"),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "REQUEST_METHOD": self.command,
            "QUERY_STRING": self.path.partition("?")[2],
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        head, _, answer = subprocess.run(
            ["git", "http-backend"], input=body, env=env, capture_output=True
        ).stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.reply(
            int(fields.get("Status", "200").split()[0]),
            answer,
            fields.get("Content-Type", "text/plain"),
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    if shutil.which("git") is None:
        pytest.skip("git is missing: one of the servers is its own")
    with standing(
        Hosts(tmp_path_factory.mktemp("hosts"), "sk-live-" + os.urandom(24).hex())
    ) as made:
        yield made


@contextlib.contextmanager
def sandbox(gated, world):
    """One that knows the authority of the hosts, and has another preset than the one that its test
    is about."""
    with box(gated, policy="pip") as one:
        assert gated.cli("cp", world.directory / "ca.pem", f"{one.name}:/tmp/ca.pem").code == 0
        yield one


def by_its_preset_alone(one, preset, line, hosts):
    """What the line says with that preset, to these hosts and to no other. Before, the control: by
    pip's it fails at the first of them, which was not allowed."""
    shut = one.sh(TRUST + line, timeout=120)
    assert shut.code not in (0, 126, 127), shut
    assert one.line(host=hosts[0], port=0, verdict="refused")["reason"] == "not_in_policy"
    assert not [item for item in one.net() if item["verdict"] == "allowed"]
    told = one.daemon.cli("policy", "set", one.name, preset)
    assert told.code == 0, told
    got = one.sh(TRUST + line, timeout=120)
    assert got.code == 0, got
    for host in hosts:
        one.line(lambda item: item["received_bytes"] > 0, host=host, port=443, verdict="allowed")
    assert {item["host"] for item in one.net()} == set(hosts)
    return got.text


def in_it(one, program):
    return one.sh(f"command -v {program}").code == 0


def bring(one, program, root, *paths):
    """A toolchain of this host's to /opt/tools, where it is not in every sandbox anyway. `root`:
    words that tell where it is."""
    if in_it(one, program):
        return
    root = host_setting(*root)
    if not root:
        pytest.skip(f"{program} is neither in the sandbox nor on this host")
    for path in filter(lambda path: os.path.exists(f"{root}/{path}"), paths):
        assert one.sh(f"mkdir -p /opt/tools/{os.path.dirname(path)}").code == 0
        done = one.daemon.cli("cp", f"{root}/{path}", f"{one.name}:/opt/tools/{path}", timeout=120)
        assert done.code == 0, done


@pytest.mark.parametrize("host", GIT_HOSTS)
def test_git_clones(gated, world, host):
    with sandbox(gated, world) as one:
        if not in_it(one, "git"):
            pytest.skip("git is not in the sandbox")
        line = (
            f"rm -rf /tmp/tiny; git clone -q https://{host}/cay-test/tiny.git /tmp/tiny && cat "
            "/tmp/tiny/README"
        )
        assert by_its_preset_alone(one, "git", line, (host,)) == "hello by git\n"


def test_archives_releases_and_single_files_of_github_come_from_where_it_sends_for_them(
    gated, world
):
    with sandbox(gated, world) as one:
        if not in_it(one, "curl"):
            pytest.skip("curl is not in the sandbox")
        line = " && ".join(f"curl -fsSL -m 30 https://github.com{path}" for path in ELSEWHERE)
        hosts = [host for host, _ in ELSEWHERE.values()]
        assert by_its_preset_alone(one, "git", line, ("github.com", *hosts)) == "".join(
            f"hello by {host}\n" for host in hosts
        )


@pytest.mark.heavy
def test_cargo_finds_adds_and_builds_a_crate(gated, world):
    with sandbox(gated, world) as one:
        bring(one, "cargo", ("rustc", "--print", "sysroot"), "bin/cargo", "bin/rustc", "lib")
        line = (
            "export PATH=$PATH:/opt/tools/bin CARGO_HOME=/tmp/cargo CARGO_NET_RETRY=0; rm -rf "
            "/tmp/cargo /tmp/own && cargo init -q --vcs none /tmp/own && cd /tmp/own"
            " && cargo add -q cay-tiny && echo 'fn main() { println!(\"{}\", cay_tiny::SAYS); }' "
            "> src/main.rs && cargo fetch && cargo check -q && cargo search cay-tiny"
        )
        assert by_its_preset_alone(one, "cargo", line, CARGO).startswith('cay-tiny = "1.0.0"')


def go(one, world, line):
    """The line, with go in the sandbox, in an empty module."""
    bring(
        one, "go", ("go", "env", "GOROOT"), "bin/go", "VERSION", "go.env"
    )  # a program that is only to get modules needs no more
    return (
        "export PATH=$PATH:/opt/tools/bin GOTOOLCHAIN=local GOFLAGS=-modcacherw GOPATH=/tmp/go "
        f"GOSUMDB={world.checksums.key}; [ ! -x /opt/tools/bin/go ] || export GOROOT=/opt/tools\n"
        f"rm -rf /tmp/go /tmp/own && mkdir /tmp/own && cd /tmp/own && go mod init own && {line}"
    )


def test_go_gets_a_module_and_its_checksum(gated, world):
    with sandbox(gated, world) as one:
        got = by_its_preset_alone(
            one,
            "go",
            go(one, world, "go get example.com/tiny@latest && go mod verify && cat go.sum"),
            GO,
        )
        assert "all modules verified\nexample.com/tiny v1.0.0 h1:" in got


def test_a_module_that_gos_proxy_keeps_among_everybodys_buckets_is_told_and_had_by_one_rule_more(
    gated, world
):
    with sandbox(gated, world) as one, world.elsewhere(
        ("proxy.golang.org", "/example.com/tiny/@v/v1.0.0.zip"),
        (BUCKETS, "/proxy-golang-org-prod/tiny.zip"),
    ):
        line = TRUST + go(one, world, "go get example.com/tiny@latest")
        assert gated.cli("policy", "set", one.name, "go").code == 0
        got = one.sh(line, timeout=120)
        assert got.code not in (0, 126, 127) and BUCKETS.encode() in got.err, got
        one.line(host=BUCKETS, verdict="refused")
        told = re.search(
            rf"^ *{BUCKETS}: cay (policy set .*? --add '[^']*')",
            gated.cli("net", one.name).text,
            re.M,
        )
        assert told and gated.cli(*shlex.split(told[1])).code == 0, told
        got = one.sh(line, timeout=120)
        assert got.code == 0, got
        one.line(lambda item: item["received_bytes"] > 0, host=BUCKETS, verdict="allowed")


ASK = {
    "openai": (
        "api.openai.com",
        "import openai; print(openai.OpenAI().chat.completions.create(model='m', "
        "messages=[]).choices[0].message.content)",
    ),
    "anthropic": (
        "api.anthropic.com",
        "import anthropic; print(anthropic.Anthropic().messages.create(model='m', max_tokens=5, "
        "messages=[{'role': 'user', 'content': 'hi'}]).content[0].text)",
    ),
}


@pytest.mark.parametrize("name", ASK)
def test_an_sdk_asks_its_model(gated, world, name):
    host, program = ASK[name]
    with sandbox(gated, world) as one:
        one.sdk(name)
        line = (
            f"{name.upper()}_API_KEY={world.secret} PYTHONPATH=/opt/sdk python3 -c "
            f"{shlex.quote(program)}"
        )
        assert by_its_preset_alone(one, "models", line, (host,)).startswith("hello by ")


TRACE = r"""
import langsmith, sys
failed = []
for host in sys.argv[1:]:
    client = langsmith.Client(api_url="https://" + host, api_key="lsv2_test",
        tracing_error_callback=failed.append)
    with langsmith.tracing_context(enabled=True, client=client):
        langsmith.traceable(lambda word: word, name="tiny")("hello")
    client.flush()
    if failed: sys.exit(str(failed[0]))
"""


def test_langsmiths_client_sends_its_traces(gated, world):
    with sandbox(gated, world) as one:
        one.sdk("langsmith")
        by_its_preset_alone(
            one,
            "tracing",
            f"PYTHONPATH=/opt/sdk python3 -c {shlex.quote(TRACE)} {' '.join(LANGSMITH)}",
            LANGSMITH,
        )
        assert {host for host, path in world.traces if path.startswith("/runs")} == set(LANGSMITH)


POST = r"""
import json, sys, urllib.request
span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "tiny",
    "kind": 1, "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
body = json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "test"},
    "spans": [span]}]}]}).encode()
for url in sys.argv[1:]:
    assert urllib.request.urlopen(urllib.request.Request(url, body,
        {"Content-Type": "application/json"}), timeout=30).status == 200
"""


def test_spans_by_otlp_are_taken_by_every_collector(gated, world):
    with sandbox(gated, world) as one:
        line = f"python3 -c {shlex.quote(POST)} " + " ".join(
            f"https://{host}{path}" for host, path in OTLP.items()
        )
        by_its_preset_alone(one, "tracing", line, tuple(OTLP))
        assert [one for one in world.traces if one[0] in OTLP] == list(OTLP.items())
