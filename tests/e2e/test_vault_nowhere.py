"""A secret that the vault was given is found nowhere: in no process, no file, no answer; each
search finds what was put there."""
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import termios

import needles
import outside_world as world_of
import pytest
from harness import CAY, SANITIZED, keeper_of, processes_of, slow, wait_until
from vault_box import (
    BASE,
    HEADERS,
    STAND_IN,
    box,
    brokers,
    set_secret,
    vaulted,
    world,
)  # noqa: F401  (fixtures too)

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())


def memory_of(pid):
    """(mapping, bytes) of what can be read of a process's memory; a piece begins with the end of
    the one before it."""
    with contextlib.suppress(OSError, ValueError):
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                span, rights = line.split()[:2]
                if "r" not in rights or line.rstrip().endswith(("[vvar]", "[vsyscall]")):
                    continue
                begin, end = (int(part, 16) for part in span.split("-"))
                kept = b""
                for at in range(begin, end, 16 << 20):
                    with contextlib.suppress(OSError, OverflowError):
                        memory.seek(at)
                        kept = kept[-256:] + memory.read(min(end, at + (16 << 20)) - at)
                        yield line.strip(), kept


def readable_of(pid, needle):
    """Whether the memory of a process holds it."""
    return any(needle in kept for _, kept in memory_of(pid))


FROM_INSIDE = r"""
import os, sys
needle = bytes.fromhex(sys.argv[1])
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "maps"):
        try:
            if needle in open(f"/proc/{pid}/{name}", "rb").read(): found.append(f"{pid}/{name}")
        except OSError: pass
    try:
        spans = [line.split()[0].split("-") for line in open(f"/proc/{pid}/maps")
            if line.split()[1].startswith("r")]
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for begin, end in spans:
                try:
                    memory.seek(int(begin, 16))
                    got = memory.read(int(end, 16) - int(begin, 16))
                except (OSError, OverflowError, ValueError): continue
                if int(pid) == os.getpid(): got = got.replace(needle,
                    b"")  # its own copy of what it looks for
                if needle in got: found.append(f"{pid}/mem")
    except OSError: pass
for top in ("/etc", "/tmp", "/root", "/home", "/var", "/run", "/usr/local", "/opt"):
    for where, _, names in os.walk(top):
        for name in names:
            path = os.path.join(where, name)
            try:
                if os.path.isfile(path) and not os.path.islink(path) and needle in open(path,
                    "rb").read(): found.append(path)
            except OSError: pass
print(found)
"""


def told_of(pid, needle):
    """Which of the files that tell how a process was started hold it."""
    told = set()
    for name in ("environ", "cmdline"):
        with contextlib.suppress(OSError):
            if needle in pathlib.Path(f"/proc/{pid}/{name}").read_bytes():
                told.add(name)
    return told


def core_of(pid, directory):
    """A core dump of a process, which goes on."""
    done = subprocess.run(
        ["gcore", "-o", str(directory / "core"), str(pid)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=slow(120),
    )
    dump = directory / f"core.{pid}"
    assert done.returncode == 0 and dump.exists(), done
    return dump


def answers_of(http, known):
    """(path, text) of every answer that the API gives to a GET; `known`: what stands in the place
    of a path's parameters. Its own, and that of LangSmith's clients."""
    ours = [
        path
        for path, verbs in http.get("/api/v1/openapi.json").json()["paths"].items()
        if "get" in verbs
        and not path.endswith(("/ws", "/tunnel", "/programs", "/push", "/build", "/archive"))
    ]
    theirs = [
        f"/v2/sandboxes/{path}"
        for path in (
            "boxes",
            "boxes/{ref}",
            "boxes/{ref}/status",
            "snapshots",
            "usage",
            "registries",
        )
    ]
    http.post("/api/v1/volumes", json={"name": "answers"})
    contexts = f"/api/v1/sandboxes/{known['ref']}/contexts"
    http.post(contexts, json={"id": "answers"})
    http.post(f"{contexts}/answers/run", json={"id": "answers", "code": "1"})
    for path in ours + theirs:
        path = path.replace("/volumes/{ref}", "/volumes/answers")
        if "/watches/{id}" in path:
            watches = f"/api/v1/sandboxes/{known['ref']}/watches"
            watch = http.post(watches, json={"path": "/etc"}).json()["id"]
            path = path.replace("/watches/{id}", f"/watches/{watch}")
        path = path.replace("/snapshots/{ref}", "/snapshots/default")
        path = path.replace("/contexts/{id}", "/contexts/answers").replace("{run}", "answers")
        for name, word in known.items():
            path = path.replace("{" + name + "}", word)
        assert "{" not in path, path
        of_a_file = path.endswith(("/files", "/stat", "/list", "/tree"))
        answer = http.get(
            path,
            params={"path": "/etc" if path.endswith(("/list", "/tree")) else "/etc/hostname"}
            if of_a_file
            else {"limit": 1000}
            if path.endswith("/events")
            else {},
        )
        assert answer.status_code == 200, (path, answer.text)
        yield path, answer.text


def files_with(needle, *tops):
    # An image of a disk is nearly all holes, and what it holds is seen mounted, below the same
    # folder.
    return needles.files_with(
        [needle], (path for path in needles.files_below(*tops) if path.stat().st_size < 8 << 30)
    )


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's shadow of the memory is terabytes to read")
def test_a_secret_is_found_nowhere(vaulted, world, tmp_path):
    """Given by the CLI, used in three ways by real clients; then looked for everywhere. A value
    that was put there is found."""
    value = world.secret
    needle = value.encode()
    planted = "planted-" + os.urandom(16).hex()
    with box(
        vaulted,
        BASE,
        {**HEADERS, "name": "set"},
        {**STAND_IN, "name": "stand-in", "hosts": ["git.vault.test"]},
    ) as one:
        one.sh(
            f"echo {planted} > /root/planted; nohup env PLANTED={planted} sh -c 'sleep 600; :' "
            f"{planted} >/dev/null 2>&1 &"
        )
        set_secret(vaulted, "api", value)
        token = one.token()
        asked = one.python(
            """
import json, os, urllib.request as u
def get(url, **headers): return json.load(u.urlopen(u.Request(url, headers=headers)))["how"]
print(get("http://192.0.0.3/api/x", Authorization="Bearer " + os.environ["API_API_KEY"]),
    get("https://api.vault.test/x"),
      get("https://git.vault.test/x", Authorization="Bearer " + os.environ["STAND_IN_API_KEY"]))
"""
        )
        assert asked.text == "Authorization Authorization Authorization\n", asked
        assert token

        def from_inside(what):
            got = vaulted.cli(
                "exec",
                one.name,
                "--",
                "python3",
                "-c",
                FROM_INSIDE,
                what.encode().hex(),
                timeout=120,
            )
            assert got.code == 0, got
            return got.text.strip()

        shown = from_inside(planted)
        assert all(
            where in shown for where in ("/root/planted", "/environ", "/cmdline", "/mem")
        ), "the control"
        assert from_inside(value) == "[]"

        # Outside: every process of this daemon's but the broker, their environments, arguments and
        # memory.
        ours = {vaulted.process.pid, *processes_of(one.id)}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                if str(vaulted.data).encode() in words:
                    ours.add(int(pid))
        served = set(brokers(vaulted))
        assert vaulted.process.pid in ours and keeper_of(vaulted, one.id) in ours and served <= ours
        everybody = [
            int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()
        ]
        told = {pid: told_of(pid, needle) for pid in everybody}
        assert not any(told.values()), told
        assert set().union(*(told_of(pid, planted.encode()) for pid in everybody)) == {
            "environ",
            "cmdline",
        }, "the control"
        assert any(
            readable_of(pid, planted.encode()) for pid in processes_of(one.id)
        ), "the control"
        if not SANITIZED:  # which keeps what was freed
            for pid in sorted(ours - served):
                assert not readable_of(pid, needle), (
                    pid,
                    pathlib.Path(f"/proc/{pid}/cmdline").read_bytes(),
                )

        # Core dumps of daemon and keeper; each holds what it has to know of this sandbox.
        if not SANITIZED:
            for pid, known in (
                (vaulted.process.pid, one.name),
                (keeper_of(vaulted, one.id), token),
            ):
                dump = core_of(pid, tmp_path)
                assert needles.holds(dump, known.encode()), "the control"
                assert not needles.holds(dump, needle), pid
                dump.unlink()

        # All answers of the API.
        with vaulted.http() as http:
            command = next(
                item["id"]
                for item in http.get(f"/api/v1/sandboxes/{one.id}/commands").json()["items"]
                if planted in json.dumps(item)
            )
            answers = dict(answers_of(http, {"ref": one.id, "id": command}))
            assert len(answers) > 30
            assert [
                path for path, text in answers.items() if planted in text
            ], "the control: a command's line is told"
            assert [path for path, text in answers.items() if value in text] == []
            assert (
                token not in http.get(f"/api/v1/sandboxes/{one.id}").text
            ), "nor is the token told"

        # The disk: database with its journal, logs, spools, what the broker keeps; and a backup.
        backup = tmp_path / "backup.tar.zst"
        done = subprocess.run(
            [CAY, "backup", "--data", vaulted.data, "--without-snapshots", backup],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        unpacked = tmp_path / "unpacked"
        unpacked.mkdir()
        subprocess.run(["tar", "--zstd", "-xf", backup, "-C", unpacked], check=True)
        with vaulted.http() as http:
            assert http.post("/api/v1/vault/rotate", json={}).status_code == 200
        subprocess.run(["sync"], check=True)
        assert files_with(planted.encode(), vaulted.data, unpacked), "the control"
        assert files_with(needle, vaulted.data, unpacked, vaulted.data.parent) == []
        assert not (unpacked / "vault" / "key").exists(), "a backup alone opens nothing"


# --- a value that is given in clear ---

KNOWN = "planted-" + os.urandom(12).hex()  # the name of a secret: the daemon has it in memory


def new_mark():
    """Values are made of it over and over, so that each 15 characters of one hold it."""
    return base64.b32encode(os.urandom(5)).decode().lower()


def value_of(mark, number=0):
    return f"sk-{number:02}-" + mark * 6


def forms_of(mark):
    """What to look for: the mark in clear and as UTF-16, and what values are in base64, at each
    alignment."""
    whole = [base64.b64encode(b"\0" * shift + mark.encode() * 6)[4:-4] for shift in range(3)]
    return [
        mark.encode(),
        mark.encode("utf-16-le"),
        mark.encode("utf-16-be"),
        *(one[at : at + 16] for one in whole for at in (0, 16, 32)),
    ]


def found_in(pid, needles):
    """Where they lie in the memory of a process, with what is around."""
    found = []
    for mapping, kept in memory_of(pid):
        places = [place for needle in needles if (place := kept.find(needle)) >= 0]
        found += [(mapping, kept[max(0, place - 40) : place + 80]) for place in places]
    return found


class Plain:
    """A client that writes HTTP itself, and keeps its connection."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.socket = socket.create_connection(("127.0.0.1", int(daemon.url.rsplit(":", 1)[1])))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if daemon.url.startswith("https"):
            self.socket = daemon.verify.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.socket.settimeout(slow(30))

    def send(self, *pieces):
        for piece in pieces:
            self.socket.sendall(piece)
            # Taken by the other side's kernel, so that the next one is another segment.
            wait_until(
                lambda: not int.from_bytes(
                    fcntl.ioctl(self.socket.fileno(), termios.TIOCOUTQ, bytes(4)), "little"
                ),
                "what was sent has arrived",
            )

    def status(self):
        """Of the answer, which is read to its end."""
        have = b""
        while b"\r\n\r\n" not in have:
            have += self.more()
        head, _, body = have.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        while length and len(body) < int(length[1]):
            body += self.more()
        return int(head.split()[1])

    def more(self):
        got = self.socket.recv(65536)
        assert got, "the connection ended"
        return got

    def head(self, *lines, method="PUT", path="/api/v1/secrets/plain", key=None):
        words = [
            f"{method} {path} HTTP/1.1",
            "Host: 127.0.0.1",
            f"X-Api-Key: {key or self.daemon.key}",
            "Content-Type: application/json",
            *lines,
        ]
        return ("\r\n".join(words) + "\r\n\r\n").encode()

    def ask(self, body, method="PUT", path="/api/v1/secrets/plain", key=None, pieces=1):
        """With a length, in so many segments."""
        text = self.head(f"Content-Length: {len(body)}", method=method, path=path, key=key) + body
        step = -(-len(text) // pieces)
        self.send(*(text[at : at + step] for at in range(0, len(text), step)))
        return self.status()

    def ask_chunked(self, body, size, path="/api/v1/secrets/plain"):
        chunks = [
            f"{len(body[at:at + size]):x}\r\n".encode() + body[at : at + size] + b"\r\n"
            for at in range(0, len(body), size)
        ]
        self.send(self.head("Transfer-Encoding: chunked", path=path), *chunks, b"0\r\n\r\n")
        return self.status()


def given(value, **more):
    return json.dumps({"value": value, "hosts": ["api.vault.test"], **more}).encode()


def ways_to_give(daemon, mark, small_key):
    """Each request of a value of its own, with the status that it is to get, on a connection of its
    own that stays open."""
    open_ones, values = [], []

    def client():
        open_ones.append(Plain(daemon))
        return open_ones[-1]

    def fresh():
        values.append(value_of(mark, len(values)))
        return values[-1]

    told = {
        "with a length": (client().ask(given(fresh())), 200),
        "in segments": (client().ask(given(fresh()), pieces=9), 200),
        "in chunks": (client().ask_chunked(given(fresh()), 4096), 200),
        "in chunks that cut it": (client().ask_chunked(given(fresh()), 24), 200),
        "with escapes": (client().ask(given("x" + fresh()).replace(b'"x', b'"\\u0078')), 200),
        "with escapes, in chunks": (
            client().ask_chunked(given("x" + fresh()).replace(b'"x', b'"\\u0078'), 30),
            200,
        ),
        "bad JSON": (client().ask(given(fresh())[:-1]), 400),
        "bad JSON, in segments": (client().ask(given(fresh())[:-1] + b"]", pieces=5), 400),
        "no object": (client().ask(b"[" + given(fresh()) + b"]"), 400),
        "an unknown member": (client().ask(given(fresh()).replace(b'"value"', b'"valeu"')), 400),
        "value and sealed": (client().ask(given(fresh(), sealed="AAAA")), 400),
        "no string": (client().ask(given([fresh()])), 400),
        "a bad value": (client().ask(given(fresh() + " \u00e9")), 400),
        "a bad host": (
            client().ask(json.dumps({"value": fresh(), "hosts": ["not a host"]}).encode()),
            400,
        ),
        "too large": (client().ask(given(fresh(), more="m" * 200_000)), 413),
        "too large, in chunks": (
            client().ask_chunked(given(fresh(), more="m" * 200_000), 30_000),
            413,
        ),
        "another method": (client().ask(given(fresh()), method="POST"), 405),
        "no route": (client().ask(given(fresh()), path="/api/v1/secret/plain"), 404),
        "an unknown key": (client().ask(given(fresh()), key="nobody"), 401),
        "a small key": (client().ask(given(fresh()), key=small_key), 403),
        "LangSmith's settings": (
            client().ask(
                json.dumps(
                    {"proxy_config": {"rules": [{"headers": [{"value": fresh()}]}]}}
                ).encode(),
                method="POST",
                path="/v2/sandboxes/boxes",
            ),
            422,
        ),
    }
    # Two requests in one segment: the second lies behind the first in what was read.
    one, first, second = client(), given(fresh()), given(fresh())
    both = [one.head(f"Content-Length: {len(body)}") + body for body in (first, second)]
    one.send(b"".join(both))
    told["one behind another"] = (one.status(), 200)
    told["the other"] = (one.status(), 200)
    return told, open_ones


@pytest.mark.skipif(SANITIZED, reason="a sanitizer keeps copies of its own")
@pytest.mark.parametrize("more", [(), ("--tls",)], ids=["http", "https"])
def test_a_value_given_in_clear_is_found_nowhere_either(more, own_daemon):
    """Neither once it is kept, nor where it was refused. One that is half given is there, and gone
    with its connection."""
    daemon = own_daemon(*more)
    if more:
        daemon.verify = ssl.create_default_context(cafile=str(daemon.data / "tls" / "cert.pem"))
    made = subprocess.run(
        [CAY, "key", "--data", daemon.data, "create", "small", "--scope", "read"],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    small = made.stdout.strip()
    control, mark = Plain(daemon), new_mark()
    assert control.ask(given("sk-of-no-matter"), path=f"/api/v1/secrets/{KNOWN}") == 200
    told, open_ones = ways_to_give(daemon, mark, small)
    assert {name: got for name, (got, _) in told.items()} == {
        name: want for name, (_, want) in told.items()
    }
    served = set(brokers(daemon))
    others = [
        int(pid)
        for pid in filter(str.isdigit, os.listdir("/proc"))
        if int(pid) not in served and is_of(pid, daemon)
    ]
    assert daemon.process.pid in others and served
    assert found_in(daemon.process.pid, [KNOWN.encode()]), "the control"
    for when in ("while their connections are open", "when they are gone"):
        for pid in others:
            assert found_in(pid, forms_of(mark)) == [], (
                when,
                pathlib.Path(f"/proc/{pid}/cmdline").read_bytes(),
            )
        for one in open_ones:
            one.socket.close()
        assert control.ask(given("sk-of-no-matter"), path=f"/api/v1/secrets/{KNOWN}") == 200
    half, other = Plain(daemon), new_mark()
    half.send(half.head("Content-Length: 500") + given(value_of(other)))
    wait_until(
        lambda: found_in(daemon.process.pid, forms_of(other)),
        "the control: what is waited for is there, and found",
    )
    half.socket.close()
    wait_until(
        lambda: not found_in(daemon.process.pid, forms_of(other)), "it goes with its connection"
    )
    assert files_with(mark.encode(), daemon.data, daemon.data.parent) == []


def is_of(pid, daemon):
    with contextlib.suppress(OSError):
        return str(daemon.data).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
