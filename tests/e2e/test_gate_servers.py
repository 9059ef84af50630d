"""Clients of Debian inside a sandbox reach servers outside through the gate, at an
allowed host and port: PostgreSQL, MySQL, Redis, memcached, SMTP and SSH.

Needs the programs unpacked by `tests/long databases`; without them it is skipped.
"""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import pytest
from harness import ROOT, slow, wait_until
from outside_world import V4, V6
from test_gate import pytestmark as _of_the_gate
from test_gate_policies import new_box, policed, world  # noqa: F401 (fixtures)

TREE = pathlib.Path(os.environ.get("CAY_DATABASES", ROOT / "build/long/databases"))
pytestmark = [
    pytest.mark.depth,
    *(_of_the_gate if isinstance(_of_the_gate, list) else [_of_the_gate]),
    pytest.mark.skipif(
        not (TREE / "usr/sbin/sshd").exists(), reason="not unpacked: tests/long databases"
    ),
]
A = "allowed.gate.test"
PG = "usr/lib/postgresql/15/bin"
PORTS = {"postgres": 5432, "mysql": 3306, "redis": 6379, "memcached": 11211, "smtp": 25, "ssh": 22}
NOBODY = 65534
BOTH = (V4, V6)

SMTP_SERVER = """
import sys, time
from aiosmtpd.controller import Controller
class Keep:
    async def handle_DATA(self, server, session, envelope):
        open(sys.argv[2] + "/mail", "ab").write(envelope.content)
        return "250 kept"
for address in sys.argv[1].split(","): Controller(Keep(), hostname=address, port=25).start()
time.sleep(3600)
"""
SSHD = """ListenAddress {V4}:22
ListenAddress [{V6}]:22
HostKey {place}/host
PidFile none
AuthorizedKeysFile {place}/login.pub
StrictModes no
UsePAM no
"""


def environment(tree):
    libraries = f"{tree}/usr/lib/x86_64-linux-gnu:{tree}/lib/x86_64-linux-gnu"
    return {
        "LD_LIBRARY_PATH": libraries,
        "PYTHONPATH": f"{tree}/usr/lib/python3/dist-packages",
        "HOME": "/tmp",
    }


def as_nobody(*argv, users=None):
    """A program on the host that may serve ports under 1024. `users` replaces /etc/passwd."""
    prefix = (
        ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', users]
        if users
        else []
    )
    prefix += ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    prefix += ["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"]
    env = {"PATH": "/usr/bin:/bin", **environment(TREE)}
    return subprocess.Popen(
        [*prefix, *map(str, argv)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )


def is_listening(port):
    with contextlib.suppress(OSError):
        for address in BOTH:
            socket.create_connection((address, port), timeout=1).close()
        return True
    return False


@pytest.fixture(scope="module")
def servers(world):  # noqa: F811
    """A directory of theirs, and the servers on the outside address."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="cay-servers-", dir="/tmp"))
    os.chown(place, NOBODY, NOBODY)
    keygen = {**os.environ, **environment(TREE)}
    for name in ("host", "login"):
        subprocess.run(
            [TREE / "usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name],
            check=True,
            env=keygen,
        )
        os.chown(place / name, NOBODY, NOBODY)
    (place / "sshd").write_text(SSHD.format(V4=V4, V6=V6, place=place))
    (place / "passwd").write_text(f"visitor:x:{NOBODY}:{NOBODY}::/tmp:/bin/sh\n")
    (place / "smtp.py").write_text(SMTP_SERVER)
    for name in ("mysql", "postgres"):
        (place / name).mkdir()
        os.chown(place / name, NOBODY, NOBODY)
    initdb = as_nobody(
        TREE / PG / "initdb",
        "-D",
        place / "postgres",
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-locale",
    )
    assert initdb.wait(slow(120)) == 0
    with open(place / "postgres/pg_hba.conf", "a") as rules:
        rules.write(f"host all all {V4}/32 trust\nhost all all {V6}/128 trust\n")
    mysql = [
        "--no-defaults",
        f"--basedir={TREE}/usr",
        f"--datadir={place}/mysql",
        "--skip-grant-tables",
        f"--socket={place}/mysql.sock",
    ]
    mysql += [
        f"--bind-address={V4},{V6}",
        "--skip-networking=0",
        "--port=3306",
        "--innodb-buffer-pool-size=16M",
    ]
    started = [
        as_nobody(
            TREE / PG / "postgres",
            "-D",
            place / "postgres",
            "-k",
            place,
            "-c",
            f"listen_addresses={V4},{V6}",
            "-c",
            "fsync=off",
        ),
        as_nobody(TREE / "usr/sbin/mariadbd", *mysql),
        as_nobody(
            TREE / "usr/bin/redis-server",
            "--bind",
            *BOTH,
            "--save",
            "",
            "--dir",
            place,
            "--protected-mode",
            "no",
        ),
        as_nobody(TREE / "usr/bin/memcached", "-l", f"{V4},{V6}"),
        as_nobody("/usr/bin/python3", place / "smtp.py", f"{V4},{V6}", place),
        as_nobody(TREE / "usr/sbin/sshd", "-D", "-f", place / "sshd", users=place / "passwd"),
    ]
    try:
        for name, port in PORTS.items():
            wait_until(lambda at=port: is_listening(at), f"{name} listens", slow(60))
        yield place
    finally:
        for one in started:
            one.terminate()
        for one in started:
            one.wait(slow(60))
        shutil.rmtree(place)


@pytest.fixture(scope="module")
def boxes(policed, servers):  # noqa: F811
    """Two sandboxes with the clients. The first may reach the servers, the second another port."""
    made = [
        new_box(policed, *(f"{A}:{port}" for port in PORTS.values())),
        new_box(policed, f"{A}:7001"),
    ]
    for box in made:
        for part in (PG, "usr/bin", "usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"):
            if (TREE / part).exists():
                assert box.sh(f"mkdir -p /opt/db/{part}").code == 0
                assert (
                    box.daemon.cli(
                        "cp", f"{TREE}/{part}/.", f"{box.name}:/opt/db/{part}", timeout=slow(300)
                    ).code
                    == 0
                )
        assert box.daemon.cli("cp", str(servers / "login"), f"{box.name}:/tmp/login").code == 0
        assert box.sh("chmod 600 /tmp/login").code == 0
    yield made
    for box in made:
        box.close()


CLIENTS = {
    "postgres": f"/opt/db/{PG}/psql -h {A} -U postgres -qAtXc 'SELECT 40 + 2'",
    "mysql": "/opt/db/usr/bin/mariadb --no-defaults --skip-ssl "
    f"-h {A} -u root -NBe 'SELECT 40 + 2'",
    "redis": f"/opt/db/usr/bin/redis-cli -h {A} INCRBY answer 42",
    # The value looks like a request.
    "memcached": "cd /tmp && printf '42 GET / HTTP/1.1' > key && "
    f"/opt/db/usr/bin/memccp --servers={A} key && /opt/db/usr/bin/memccat --servers={A} key && "
    f"/opt/db/usr/bin/memcexist --servers={A} key",
    "smtp": "printf 'Subject: 42\\n\\nhello\\n' | "
    f"/opt/db/usr/bin/msmtp --host={A} --from=a@gate.test b@gate.test && echo 42",
    "ssh": "/opt/db/usr/bin/ssh -i /tmp/login -o StrictHostKeyChecking=no "
    "-o UserKnownHostsFile=/dev/null "
    f"visitor@{A} 'echo $((40 + 2))'",
}


@pytest.mark.parametrize("protocol", CLIENTS)
def test_a_real_client_passes_where_its_host_and_port_are_allowed(boxes, servers, protocol):
    variables = " ".join(f"{name}={value}" for name, value in environment("/opt/db").items())
    line = f"export {variables}; {CLIENTS[protocol]}"
    allowed, refused = boxes
    got = allowed.sh(line, timeout=slow(60))
    assert got.code == 0 and "42" in got.text, got
    assert allowed.line(host=A, port=PORTS[protocol])["verdict"] == "allowed"
    assert refused.sh(line, timeout=slow(60)).code != 0, "the control"
    if protocol == "smtp":
        assert b"Subject: 42" in (servers / "mail").read_bytes()
