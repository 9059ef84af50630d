"""PostgreSQL and Redis of Debian inside a sandbox, each through a tunnel of its own, by real
clients on the host.

Needs the programs unpacked by `tests/long databases`; without them it is skipped.
"""
import hashlib
import os
import pathlib
import subprocess
import threading
import time

import pytest

from harness import ROOT, slow, wait_until

TREE = pathlib.Path(os.environ.get("CAY_DATABASES", ROOT / "build/long/databases"))
PG = "usr/lib/postgresql/15/bin"
pytestmark = pytest.mark.skipif(
    not (TREE / PG / "postgres").exists(), reason="PostgreSQL is not unpacked: tests/long databases"
)
ENV = {"LD_LIBRARY_PATH": "/opt/db/usr/lib/x86_64-linux-gnu", "HOME": "/tmp"}
MIB = 1 << 20


def free_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def host(*argv, **kwargs):
    """A client program on the host, from the same packages."""
    env = {
        **os.environ,
        "LD_LIBRARY_PATH": str(TREE / "usr/lib/x86_64-linux-gnu"),
        "PGCONNECT_TIMEOUT": "20",
    }
    return subprocess.run(
        [TREE / argv[0], *map(str, argv[1:])],
        env=env,
        capture_output=True,
        timeout=slow(300),
        **kwargs,
    )


@pytest.fixture(scope="module")
def databases(daemon, http):
    """A sandbox in which both servers run."""
    made = http.post(
        "/api/v1/sandboxes", json={"limits": {"memory_bytes": 1 << 30, "disk_bytes": 4 << 30}}
    )
    assert made.status_code == 201, made.text
    box = made.json()
    ref = f"/api/v1/sandboxes/{box['id']}/commands"

    def run(line, user="root", **more):
        body = {"command": line, "user": user, "env": ENV, "timeout_s": slow(120), **more}
        got = http.post(ref, json=body, timeout=slow(180)).json()
        assert more.get("wait") is False or got.get("exit_code") == 0, got
        return got

    assert daemon.cli("cp", f"{TREE}/.", f"{box['name']}:/opt/db", timeout=300).code == 0
    # initdb finds its templates beside the programs, so the tree stands where Debian would have it.
    run(
        "cp -a /opt/db/usr/lib/postgresql /usr/lib/ && cp -a /opt/db/usr/share/postgresql "
        "/usr/share/ && mkdir -m 777 /srv/pg"
    )
    pg = "/usr/lib/postgresql/15/bin"
    run(f"{pg}/initdb -D /srv/pg/data -U postgres -A trust -E UTF8 --no-locale", user="1000:1000")
    for server in (
        f"exec {pg}/postgres -D /srv/pg/data -k /tmp -c listen_addresses=127.0.0.1 -c fsync=off",
        "exec /opt/db/usr/bin/redis-server --port 6379 --bind 127.0.0.1 --save '' --dir /tmp",
    ):
        run(server, user="1000:1000", wait=False, timeout_s=0, idle_timeout_s=-1)
    yield box
    http.delete(f"/api/v1/sandboxes/{box['id']}")


def rows(count):
    """About 200 bytes each, as COPY reads and writes them."""
    for number in range(count):
        yield f"{number}\t{hashlib.sha256(str(number).encode()).hexdigest() * 3}\n".encode()


def test_postgres_and_redis_by_two_tunnels_of_the_python_client(daemon, databases):
    from langsmith.sandbox import SandboxClient

    count = 200 * MIB // 198
    data = b"".join(rows(count))
    assert len(data) > 195 * MIB
    with SandboxClient(api_endpoint=f"{daemon.url}/v2/sandboxes", api_key=daemon.key) as client:
        box = client.get_sandbox(databases["name"])
        with box.tunnel(remote_port=5432, local_port=free_port()) as pg, box.tunnel(
            remote_port=6379, local_port=free_port()
        ) as redis:

            def sql(text, **kwargs):
                return host(
                    f"{PG}/psql",
                    "-h",
                    "127.0.0.1",
                    "-p",
                    pg.local_port,
                    "-U",
                    "postgres",
                    "-qAtX",
                    "-v",
                    "ON_ERROR_STOP=1",
                    "-c",
                    text,
                    **kwargs,
                )

            def cache(*words):
                return host(
                    "usr/bin/redis-cli", "-h", "127.0.0.1", "-p", redis.local_port, *words
                ).stdout.strip()

            wait_until(lambda: sql("SELECT 1").stdout == b"1\n", "PostgreSQL answers", 60)
            wait_until(lambda: cache("PING") == b"PONG", "Redis answers", 60)
            assert sql("SELECT version()").stdout.startswith(b"PostgreSQL 15")
            stop, beats, spans = threading.Event(), [], []

            def beat():
                while not stop.is_set():
                    beats.append((cache("INCR", "beats"), time.monotonic()))

            def timed(text, **kwargs):
                begun = time.monotonic()
                done = sql(text, **kwargs)
                spans.append((begun, time.monotonic()))
                return done

            beating = threading.Thread(target=beat)
            beating.start()
            try:
                assert sql("CREATE UNLOGGED TABLE t (n bigint, h text)").returncode == 0
                copied = timed("COPY t FROM STDIN", input=data)
                assert copied.returncode == 0, copied.stderr
                assert sql("SELECT count(*) FROM t").stdout == b"%d\n" % count
                back = timed("COPY (SELECT * FROM t ORDER BY n) TO STDOUT")
            finally:
                stop.set()
                beating.join()
            assert hashlib.sha256(back.stdout).digest() == hashlib.sha256(data).digest()
            assert [said for said, _ in beats] == [b"%d" % n for n in range(1, len(beats) + 1)]
            for begun, ended in spans:  # Redis was used all the while, in both directions
                within = [begun, *(at for _, at in beats if begun < at < ended), ended]
                longest = max(after - before for before, after in zip(within, within[1:]))
                assert len(within) - 2 >= 5 and longest < slow(5), (
                    len(within) - 2,
                    longest,
                    ended - begun,
                )
