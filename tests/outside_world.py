"""Servers on addresses of this machine's own loopback that stand for the world outside, with names
that only the daemon under test knows: it runs in a mount namespace of its own, with a hosts file of
the test's."""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading

from notes_server import Notes

V4, V6 = "198.18.7.1", "fdca:7e57::7"  # the operator lists their networks
UNLISTED = "198.18.9.1"  # a special range, and not listed
OWN = "45.45.45.45"  # not special; an address of this host, and so not for sandboxes
HOSTS = f"""127.0.0.1 localhost loop.gate.test
{V4} allowed.gate.test other.gate.test bulk.gate.test
{V6} allowed.gate.test other.gate.test bulk.gate.test
{UNLISTED} private.gate.test
{OWN} own.gate.test
169.254.169.254 metadata.gate.test
"""
# The world is this host, whose addresses are opened each by itself alone.
EACH = ", ".join(f'"198.18.7.{last}"' for last in (*range(1, 10), 30, 53, 66))
SETTINGS = f"""[network]
networks = ["198.18.7.0/24", "fdca:7e57::/32", "{V6}", {EACH}]
hosts = ["allowed.gate.test", "bulk.gate.test:7001", "bulk.gate.test:7002", "{V4}:7003", \
"private.gate.test", "loop.gate.test",
         "own.gate.test", "metadata.gate.test"]
"""
BULK = 1 << 30
CHUNK = hashlib.sha256(b"cay").digest() * 2048  # 64 KiB


def bulk_digest():
    digest = hashlib.sha256()
    for _ in range(BULK // len(CHUNK)):
        digest.update(CHUNK)
    return digest.hexdigest()


class World:
    def __init__(self, directory):
        self.directory, self.servers, self.added, self.lock = pathlib.Path(directory), [], [], None
        self.release = threading.Event()  # the second half of a bulk transfer waits for it
        self.release.set()
        self.half = threading.Event()
        self.heads = []  # that came over kept connections
        self.notes = Notes()

    def address(self, text):
        subprocess.run(
            ["ip", "address", "add", f"{text}/{128 if ':' in text else 32}", "dev", "lo"],
            check=True,
        )
        self.added.append(text)

    def serve(self, address, port, handle, context=None):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        server = socket.create_server((address, port), family=family, backlog=2048)
        self.servers.append(server)

        def one(connection):
            try:
                with (
                    context.wrap_socket(connection, server_side=True) if context else connection
                ) as stream:
                    handle(stream)
            except OSError:
                pass

        def loop():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=one, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=loop, daemon=True).start()

    def certificate(self):
        key, cert = self.directory / "key.pem", self.directory / "cert.pem"
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=gate.test",
                "-keyout",
                key,
                "-out",
                cert,
            ],
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        return context

    def retrying(self):
        """Of a group that clients send no key for: it asks for another ClientHello
        (HelloRetryRequest)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.directory / "cert.pem", self.directory / "key.pem")
        context.set_ecdh_curve("secp384r1")
        return context

    def kept(self, stream):
        """Answers one request after the other, until one says that it is the last (but for
        `/stays`); `/switch` becomes an echo, where it is asked to."""
        rest = b""
        while True:
            while b"\r\n\r\n" not in rest:
                part = stream.recv(65536)
                if not part:
                    return
                rest += part
            head, _, rest = rest.partition(b"\r\n\r\n")
            self.heads.append(head)
            fields = {
                line.split(b":", 1)[0].lower(): line.split(b":", 1)[1].strip()
                for line in head.split(b"\r\n")[1:]
            }
            while len(rest) < int(fields.get(b"content-length", 0)):
                rest += stream.recv(65536)
            rest = rest[int(fields.get(b"content-length", 0)) :]
            if b"upgrade" in fields and b"/switch" in head:
                stream.sendall(
                    b"HTTP/1.1 101 Switching Protocols\r\n"
                    b"Upgrade: echo\r\n"
                    b"Connection: Upgrade\r\n"
                    b"\r\n" + rest
                )
                return echo(stream)
            body = b"hello " + fields.get(b"host", b"?")
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            if fields.get(b"connection") == b"close" and b"/stays" not in head:
                return

    def bulk(self, stream):
        for number in range(BULK // len(CHUNK)):
            if number == BULK // len(CHUNK) // 2:
                self.half.set()
                self.release.wait(300)
            stream.sendall(CHUNK)

    def start(self):
        # The addresses are the machine's: another run of the tests beside this one waits for them.
        self.lock = (pathlib.Path(tempfile.gettempdir()) / "cay-test-outside-world").open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        for address in (V4, V6, UNLISTED, OWN):
            self.address(address)
        context = self.certificate()
        for address in (V4, V6):
            self.serve(address, 80, http)
            self.serve(address, 443, http, context)
            self.serve(address, 7001, echo)
            self.serve(address, 7002, self.bulk)
            self.serve(address, 7003, echo)
            self.serve(address, 7004, echo)  # of no rule
            self.serve(address, 7005, self.kept)
            self.serve(address, 7006, http, self.retrying())
            self.serve(address, 7008, http, context)
            self.serve(address, 7009, greeting)
            self.servers.append(self.notes.serve(address, 7007))
        for address in (UNLISTED, OWN):
            self.serve(address, 80, http)
            self.serve(address, 7001, echo)
        (self.directory / "hosts").write_text(HOSTS)
        (self.directory / "net.toml").write_text(SETTINGS)

    def stop(self):
        for server in self.servers:
            if isinstance(
                server, socketserver.BaseServer
            ):  # its loop would go on over the closed socket, and take a processor
                server.shutdown()
                server.server_close()
                continue
            with contextlib.suppress(OSError):
                server.shutdown(
                    socket.SHUT_RDWR
                )  # or who waits in accept() keeps it, and its address, alive
            server.close()
        for text in self.added:
            subprocess.run(
                ["ip", "address", "del", f"{text}/{128 if ':' in text else 32}", "dev", "lo"],
                check=False,
            )
        self.lock.close()

    @property
    def settings(self):
        return ["--config", str(self.directory / "net.toml")]

    @property
    def prefix(self):
        return self.with_etc("hosts")

    def with_etc(self, *names):
        """Words before `cay serve`: these files of /etc are the test's, for it and all that it
        starts."""
        binds = " && ".join(f"mount --bind {self.directory}/{name} /etc/{name}" for name in names)
        return ["unshare", "-m", "sh", "-c", f'{binds} && exec "$@"', "sh"]

    @contextlib.contextmanager
    def nameserver(self):
        """The socket of one, asked by daemons that are started with_etc("hosts", "resolv.conf").
        The test answers, or nobody does."""
        (self.directory / "resolv.conf").write_text(f"nameserver {V4}\n")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
            made.bind((V4, 53))
            try:
                yield made
            finally:
                with contextlib.suppress(OSError):
                    made.shutdown(
                        socket.SHUT_RDWR
                    )  # or who waits in recvfrom() keeps it, and its address, alive


def http(stream):
    head = b""
    while b"\r\n\r\n" not in head:
        got = stream.recv(65536)
        if not got:
            return
        head += got
    host = next(
        (
            line.split(b":", 1)[1].strip()
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"host:")
        ),
        b"?",
    )
    body = b"hello " + host
    stream.sendall(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )


def echo(stream):
    while True:
        got = stream.recv(65536)
        if not got:
            stream.sendall(b"end")  # after the client's half-close
            return
        stream.sendall(got)


def greeting(stream):
    stream.sendall(b"ready\r\n")
    echo(stream)


def missing():
    if os.geteuid() != 0:
        return "root alone may give the loopback more addresses"
    for tool in ("ip", "unshare", "openssl"):
        if shutil.which(tool) is None:
            return f"{tool} is missing"
    return ""


@contextlib.contextmanager
def standing(world):
    os.chmod(world.directory, 0o755)
    try:
        world.start()
        yield world
    finally:
        world.stop()
