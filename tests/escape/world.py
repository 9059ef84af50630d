"""The world outside for the suite: servers in its own network namespace, on addresses that
sandboxes may reach and that they may not."""
import fcntl
import socket
import threading

import nameserver
import notes_server
import outside_world
import retries
import upgrades
import vault_world
from outside_world import EACH, OWN, UNLISTED, V4, V6

METADATA, METADATA_6, PRIVATE = (
    "169.254.169.254",
    "fd00:ec2::254",
    ("10.9.8.7", "172.20.7.7", "192.168.77.7", "100.100.100.200"),
)
NOTES, NOTES_HOST = "198.18.7.66", "notes.gate.test"
OWN_IN_RANGE = "198.18.7.200"  # of this host, in a network that the operator lists
METADATA_FORMS = {"translated": "64:ff9b::a9fe:a9fe", "6to4": "2002:a9fe:a9fe::1"}
FORMS = ("fe80::7:7", *METADATA_FORMS.values())
HOSTS = f"""127.0.0.1 localhost loop.gate.test
{V4} allowed.gate.test other.gate.test
{V6} allowed.gate.test other.gate.test
{UNLISTED} private.gate.test
{OWN} own.gate.test
{METADATA} metadata.gate.test
{PRIVATE[0]} inner.gate.test
{retries.RETRIES} retries.gate.test
{NOTES} {NOTES_HOST}
""" + "".join(
    f"{address} {name}\n" for name, address in upgrades.NAMES.items()
)
SETTINGS = f"""[host]
profiles = ["strict", "default", "nested"]

[network]
networks = ["198.18.7.0/24", "fdca:7e57::/32", "64:ff9b::/96", "2002::/16", "{V6}", {EACH}]
hosts = ["allowed.gate.test", "allowed.gate.test:8081", "allowed.gate.test:8444", \
"private.gate.test", "loop.gate.test", "own.gate.test", "metadata.gate.test", "inner.gate.test",
         "sockets.gate.test", "retries.gate.test", "{NOTES_HOST}", "{METADATA}:80", \
"{PRIVATE[0]}:80"]
sandbox_sent_bytes = {8 << 20}
"""
# An operator's who opens what nobody may reach, and gives bytes without end: these walls, taken
# away by their own settings.
OPENED = SETTINGS.replace(
    "networks = [",
    'networks = ["'
    + '", "'.join(
        (METADATA, METADATA_6, UNLISTED, OWN_IN_RANGE, *PRIVATE, *METADATA_FORMS.values())
    )
    + '", ',
).replace("sandbox_sent_bytes = ", "sandbox_sent_bytes = 0  # ")


def heads(stream):
    """Answers each request with all that it said, so that it shows who was meant."""
    got = b""
    while b"\r\n\r\n" not in got:
        part = stream.recv(65536)
        if not part:
            break
        got += part
    if b"/redirect/" in got.split(b"\r\n")[0]:
        to = got.split(b"/redirect/")[1].split(b" ")[0]
        stream.sendall(
            b"HTTP/1.1 302 Found\r\nLocation: http://"
            + to
            + b"/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        return
    body = b"reached " + got + b"by " + stream.getsockname()[0].encode()
    stream.sendall(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )


class World(outside_world.World):
    def start(self):
        self.names, self.upgrades, self.retries, self.notes = (
            nameserver.NameServer(),
            upgrades.Servers(),
            retries.Server(),
            notes_server.Notes(),
        )
        self.flips = {}  # rows_rebinding.py: what was let through, of each daemon
        self.lock = (self.directory / "lock").open("w")
        fcntl.flock(
            self.lock, fcntl.LOCK_EX
        )  # of this directory alone: the addresses are this namespace's
        for address in (
            V4,
            V6,
            UNLISTED,
            OWN,
            OWN_IN_RANGE,
            METADATA,
            METADATA_6,
            nameserver.NAMESERVER,
            retries.RETRIES,
            NOTES,
            *upgrades.NAMES.values(),
            *PRIVATE,
            *FORMS,
        ):
            self.address(address)
        self.servers += self.names.start()
        context = self.certificate()
        for address in (
            V4,
            V6,
            UNLISTED,
            OWN,
            OWN_IN_RANGE,
            METADATA,
            METADATA_6,
            *PRIVATE,
            *METADATA_FORMS.values(),
            "127.0.0.1",
        ):
            self.serve(address, 80, heads)
        for address in (V4, V6):
            self.serve(address, 443, heads, context)
            self.serve(address, 8444, heads, context)
            for port in (22, 53, 853, 8080, 8081):
                self.serve(address, port, heads)
            for port in (53, 443, 9999):
                self.listen_udp(address, port)
        trusted = self.trusted_by_the_broker()
        for address in upgrades.NAMES.values():
            self.serve(address, 80, self.upgrades.handle)
            self.serve(address, 443, self.upgrades.handle, trusted)
        self.servers += [self.notes.serve(NOTES, 80), self.notes.serve(NOTES, 443, trusted)]
        self.serve(*upgrades.RELAY, self.upgrades.relay)
        self.serve(retries.RETRIES, 443, self.retries.handle)
        (self.directory / "hosts").write_text(HOSTS)
        (self.directory / "resolv.conf").write_text(f"nameserver {nameserver.NAMESERVER}\n")
        key = self.directory / "upstream-key"
        key.touch(0o600)
        key.write_text("key-of-the-operator-elsewhere\n")
        upstream = f'[langsmith]\nupstream = "http://{V4}"\nupstream_key_file = "{key}"\n'
        (self.directory / "net.toml").write_text(
            f'{SETTINGS}{upstream}[vault]\nca_file = "{self.directory}/ca.pem"\n'
        )
        (self.directory / "opened.toml").write_text(OPENED)

    def trusted_by_the_broker(self):
        """A certificate of the authority that ca.pem is."""
        made = vault_world.VaultWorld(self.directory, "")
        made.authority()
        return made.leaf("upgrades", [*upgrades.NAMES, NOTES_HOST])

    @property
    def prefix(self):
        """Words before `cay serve`: who is asked for names is the world's, too."""
        return self.with_etc("hosts", "resolv.conf")

    def listen_udp(self, address, port):
        server = socket.socket(
            socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM
        )
        server.bind((address, port))
        self.servers.append(server)

        def loop():
            try:
                while True:
                    data, peer = server.recvfrom(65536)
                    if peer is None:  # it was shut down
                        return
                    server.sendto(b"reached " + data, peer)
            except OSError:
                pass

        threading.Thread(target=loop, daemon=True).start()
