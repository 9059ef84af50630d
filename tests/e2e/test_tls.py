"""The daemon serves https: with a certificate of its own, and with the operator's, renewed while it
runs."""
import ipaddress
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess

import httpx
import pytest

from harness import CAY, new_daemon, wait_until


def certificate(directory, name, days="2", mode=0o644):
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            days,
            "-subj",
            f"/CN={name}",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            directory / "key.new",
            "-out",
            directory / "cert.new",
        ],
        check=True,
        capture_output=True,
    )
    for part in ("cert", "key"):
        (directory / f"{part}.new").chmod(mode)  # the daemon's user reads them
        (directory / f"{part}.new").rename(directory / f"{part}.pem")
    return str(directory / "cert.pem")


@pytest.fixture
def secured(own_daemon):
    daemon = own_daemon("--tls")
    assert daemon.url.startswith("https://127.0.0.1:"), daemon.url
    ca_file = str(daemon.data / "tls" / "cert.pem")
    daemon.verify = ssl.create_default_context(cafile=ca_file)
    return daemon, ca_file


def client(daemon, ca_file):
    daemon.verify = ssl.create_default_context(cafile=ca_file)
    return daemon.http()


def subject(daemon, ca_file):
    port = int(daemon.url.rsplit(":", 1)[1])
    context = ssl.create_default_context(cafile=ca_file)
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(
        plain, server_hostname="127.0.0.1"
    ) as tls:
        return dict(pair[0] for pair in tls.getpeercert()["subject"])["commonName"]


def test_commands_files_and_streams_over_tls(secured, tmp_path):
    daemon, ca_file = secured
    env = {"CAY_URL": daemon.url, "CAY_API_KEY": daemon.key, "CAY_CA_FILE": ca_file}

    def cli(*words, stdin=None):
        return subprocess.run(
            [CAY, *words], input=stdin, capture_output=True, timeout=120, env={**os.environ, **env}
        )

    ran = cli(
        "run",
        "--rm",
        "-i",
        "--",
        "sh",
        "-c",
        "cat; echo err >&2; exit 7",
        stdin=b"through\n" * 100_000,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, b"through\n" * 100_000, b"err\n")
    assert cli("create", "--name", "box").returncode == 0
    blob = tmp_path / "blob"
    blob.write_bytes(os.urandom(8 << 20))
    assert cli("cp", str(blob), "box:/root/blob").returncode == 0
    assert cli("cp", "box:/root/blob", str(tmp_path / "back")).returncode == 0
    assert (tmp_path / "back").read_bytes() == blob.read_bytes()
    with client(daemon, ca_file) as http:
        box = http.get("/v2/sandboxes/boxes/box").json()
        assert box["dataplane_url"].startswith("https://127.0.0.1:")
    # Without the file it is not trusted, and the error has the remedy.
    untrusted = subprocess.run(
        [CAY, "ls"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **env, "CAY_CA_FILE": "", "CAY_DATA": str(tmp_path)},
    )
    assert untrusted.returncode == 125 and "CAY_CA_FILE" in untrusted.stderr, untrusted
    plain = subprocess.run(
        [CAY, "ls"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **env, "CAY_URL": daemon.url.replace("https", "http")},
    )
    assert plain.returncode == 125 and "https://" in plain.stderr, plain


def test_langsmith_over_tls(secured):
    daemon, ca_file = secured
    program = """
from langsmith.sandbox import SandboxClient
import json
with SandboxClient() as client, client.sandbox() as box:
    got = box.run("seq 1 100000; echo err >&2; exit 3")
    box.write("/root/a", "text")
    print(json.dumps([len(got.stdout), got.stderr, got.exit_code, box.read("/root/a").decode()]))
"""
    env = {
        **os.environ,
        "LANGSMITH_ENDPOINT": daemon.url,
        "LANGSMITH_API_KEY": daemon.key,
        "LANGSMITH_TRACING": "false",
        "SSL_CERT_FILE": ca_file,
    }
    done = subprocess.run(
        [shutil.which("python", path=str(pathlib.Path(os.sys.executable).parent)), "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [588895, "err\n", 3, "text"]


def test_the_certificate_stays_over_a_restart(secured):
    daemon, ca_file = secured
    before = pathlib.Path(ca_file).read_bytes()
    assert (pathlib.Path(ca_file).parent / "key.pem").stat().st_mode & 0o777 == 0o600
    daemon.restart()
    assert pathlib.Path(ca_file).read_bytes() == before
    with client(daemon, ca_file) as http:
        assert http.get("/api/v1/version").status_code == 200


def test_another_listen_address_makes_another_certificate(secured):
    daemon, ca_file = secured

    def named():
        text = subprocess.run(
            ["openssl", "x509", "-in", ca_file, "-noout", "-ext", "subjectAltName"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        words = [word.strip() for word in text.splitlines()[1].split(",")]
        addresses = {
            ipaddress.ip_address(word.removeprefix("IP Address:"))
            for word in words
            if word.startswith("IP")
        }
        return addresses, [word.removeprefix("DNS:") for word in words if word.startswith("DNS")]

    assert {str(one) for one in named()[0]} == {"127.0.0.1", "::1"}
    own = {
        ipaddress.ip_address(word)
        for word in subprocess.run(
            ["hostname", "-I"], capture_output=True, text=True
        ).stdout.split()
    }
    for _ in range(2):
        daemon.terminate()
        daemon.start(listen="0.0.0.0:0")
        addresses, names = named()
        assert own | {ipaddress.ip_address("0.0.0.0")} <= addresses
        with client(daemon, ca_file) as http:
            assert http.get("/api/v1/version").status_code == 200
        made = pathlib.Path(ca_file).read_bytes()
    daemon.terminate()
    daemon.start(listen="0.0.0.0:0")
    assert pathlib.Path(ca_file).read_bytes() == made, "the same address, the same certificate"
    assert "*.localhost" in names
    # A service domain of two labels is one that every client takes a wildcard for.
    daemon.args += ["--service-domain", "box.localhost"]
    daemon.restart()
    daemon.verify = ssl.create_default_context(cafile=ca_file)
    assert "*.box.localhost" in named()[1]
    with socket.create_connection(("127.0.0.1", daemon.port)) as plain, daemon.verify.wrap_socket(
        plain, server_hostname="x--80.box.localhost"
    ) as tls:
        tls.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: x--80.box.localhost\r\nConnection: close\r\n\r\n"
        )
        assert tls.recv(12) == b"HTTP/1.1 404", "a host of services, and none of that name"


def test_the_operators_certificate_is_renewed_under_way(own_daemon, directory):
    certificate(directory, "first")
    daemon = own_daemon(
        "--tls-cert", str(directory / "cert.pem"), "--tls-key", str(directory / "key.pem")
    )
    assert subject(daemon, str(directory / "cert.pem")) == "first"
    with client(daemon, str(directory / "cert.pem")) as kept:
        assert kept.get("/healthz").status_code == 200
        certificate(directory, "second")
        wait_until(lambda: renewed(daemon, directory), "the new certificate is shown", limit=30)
        daemon.verify = ssl.create_default_context(cafile=str(directory / "cert.pem"))
        assert kept.get("/healthz").status_code == 200  # a connection keeps what it began with
        (directory / "cert.pem").write_text("damaged")
        assert "second" in subject_of_any(daemon)


def test_a_certificate_that_becomes_readable_is_taken(own_daemon, directory):
    certificate(directory, "first")
    daemon = own_daemon(
        "--tls-cert", str(directory / "cert.pem"), "--tls-key", str(directory / "key.pem")
    )
    daemon.verify = ssl.create_default_context(cafile=str(directory / "cert.pem"))
    certificate(directory, "second", mode=0o000)
    wait_until(
        lambda: "first" in subject_of_any(daemon)
        and "the last good one stays" in daemon.log.read_text(),
        "it cannot be read",
        limit=30,
    )
    for part in ("cert", "key"):
        (directory / f"{part}.pem").chmod(0o644)
    daemon.verify.load_verify_locations(directory / "cert.pem")
    wait_until(lambda: renewed(daemon, directory), "the new certificate is shown", limit=30)


def renewed(daemon, directory):
    try:
        return subject(daemon, str(directory / "cert.pem")) == "second"
    except ssl.SSLError:
        return False


def subject_of_any(daemon):
    port = int(daemon.url.rsplit(":", 1)[1])
    text = ssl.get_server_certificate(("127.0.0.1", port))
    return subprocess.run(
        ["openssl", "x509", "-noout", "-subject"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_what_cannot_be_served_is_said(directory):
    for words, said in (
        (("--tls-cert", str(directory / "none.pem")), "go together"),
        (
            ("--tls-cert", str(directory / "none.pem"), "--tls-key", str(directory / "none.pem")),
            "cannot be used",
        ),
        ((), "--tls"),
    ):
        daemon = new_daemon(*words)
        with pytest.raises(RuntimeError, match=said):
            daemon.start(listen="127.0.0.1:0" if words else "0.0.0.0:0")
        daemon.process.wait(timeout=60)
        daemon.close()
