"""A secret that the vault was given is found nowhere: in no process, no file, no answer; each search finds what was put there."""
import contextlib
import os
import pathlib
import shutil
import subprocess

import outside_world as world_of
import pytest
from harness import CAY, SANITIZED, keeper_of, processes_of
from vault_box import BASE, HEADERS, STAND_IN, box, brokers, set_secret, vaulted, world  # noqa: F401  (fixtures too)

pytestmark = pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing())


def readable_of(pid, needle):
    """Whether the memory of a process holds it."""
    with contextlib.suppress(OSError, ValueError):
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                span, rights = line.split()[:2]
                if "r" not in rights or line.rstrip().endswith(("[vvar]", "[vsyscall]")):
                    continue
                begin, end = (int(part, 16) for part in span.split("-"))
                for at in range(begin, end, 16 << 20):
                    with contextlib.suppress(OSError, OverflowError):
                        memory.seek(at)
                        if needle in memory.read(min(end, at + (16 << 20) + 256) - at):
                            return True
    return False


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
        spans = [line.split()[0].split("-") for line in open(f"/proc/{pid}/maps") if line.split()[1].startswith("r")]
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for begin, end in spans:
                try:
                    memory.seek(int(begin, 16))
                    got = memory.read(int(end, 16) - int(begin, 16))
                except (OSError, OverflowError, ValueError): continue
                if int(pid) == os.getpid(): got = got.replace(needle, b"")  # its own copy of what it looks for
                if needle in got: found.append(f"{pid}/mem")
    except OSError: pass
for top in ("/etc", "/tmp", "/root", "/home", "/var", "/run", "/usr/local", "/opt"):
    for where, _, names in os.walk(top):
        for name in names:
            path = os.path.join(where, name)
            try:
                if os.path.isfile(path) and not os.path.islink(path) and needle in open(path, "rb").read(): found.append(path)
            except OSError: pass
print(found)
"""


def files_with(needle, *tops):
    found = []
    for top in tops:
        for where, directories, names in os.walk(top):
            if pathlib.Path(where) == pathlib.Path(top):
                directories[:] = [name for name in directories if name not in ("layers",)]  # the host's own programs
            for name in names:
                path = pathlib.Path(where) / name
                with contextlib.suppress(OSError):
                    if path.is_file() and not path.is_symlink() and path.stat().st_size < 8 << 30 and holds(path, needle):
                        found.append(str(path))
    return found


def holds(path, needle):
    kept = b""
    with open(path, "rb") as file:
        while piece := file.read(4 << 20):
            if needle in kept + piece:
                return True
            kept = piece[-len(needle):]
    return False


def test_a_secret_is_found_nowhere(vaulted, world, tmp_path):
    """Given by the CLI, used in three ways by real clients; then looked for everywhere. A value that was put there is found."""
    value = world.secret
    needle = value.encode()
    planted = "planted-" + os.urandom(16).hex()
    with box(vaulted, BASE, {**HEADERS, "name": "set"}, {**STAND_IN, "name": "stand-in", "hosts": ["git.vault.test"]}) as one:
        one.sh(f"echo {planted} > /root/planted; nohup env PLANTED={planted} sleep 600 >/dev/null 2>&1 &")
        set_secret(vaulted, "api", value)
        token = one.token()
        asked = one.python("""
import json, os, urllib.request as u
def get(url, **headers): return json.load(u.urlopen(u.Request(url, headers=headers)))["how"]
print(get("http://192.0.0.3/api/x", Authorization="Bearer " + os.environ["API_API_KEY"]), get("https://api.vault.test/x"),
      get("https://git.vault.test/x", Authorization="Bearer " + os.environ["STAND_IN_API_KEY"]))
""")
        assert asked.text == "Authorization Authorization Authorization\n", asked
        assert token

        def from_inside(what):
            got = vaulted.cli("exec", one.name, "--", "python3", "-c", FROM_INSIDE, what.encode().hex(), timeout=120)
            assert got.code == 0, got
            return got.text.strip()
        shown = from_inside(planted)
        assert "/root/planted" in shown and "environ" in shown and "/mem" in shown, "the control"
        assert from_inside(value) == "[]"

        # Outside: every process of this daemon's but the broker, their environments, arguments and memory.
        ours = {vaulted.process.pid, *processes_of(one.id)}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                if str(vaulted.data).encode() in words:
                    ours.add(int(pid))
        served = set(brokers(vaulted))
        assert vaulted.process.pid in ours and keeper_of(vaulted, one.id) in ours and served <= ours
        everybody = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
        for pid in everybody:
            for name in ("environ", "cmdline"):
                with contextlib.suppress(OSError):
                    assert needle not in pathlib.Path(f"/proc/{pid}/{name}").read_bytes(), (pid, name)
        assert any(readable_of(pid, planted.encode()) for pid in processes_of(one.id)), "the control"
        if not SANITIZED:  # which keeps what was freed
            for pid in sorted(ours - served):
                assert not readable_of(pid, needle), (pid, pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())

        # Core dumps of daemon and keeper.
        if shutil.which("gcore") and not SANITIZED:
            for pid in (vaulted.process.pid, keeper_of(vaulted, one.id)):
                done = subprocess.run(["gcore", "-o", str(tmp_path / "core"), str(pid)], capture_output=True)
                dump = tmp_path / f"core.{pid}"
                if done.returncode == 0 and dump.exists():
                    assert not holds(dump, needle), pid
                    dump.unlink()

        # What the API tells.
        with vaulted.http() as http:
            document = http.get("/api/v1/openapi.json").json()
            known = {"ref": one.id, "name": "api", "id": "none"}
            asked = 0
            for path, verbs in document["paths"].items():
                if "get" not in verbs or path.endswith(("/ws", "/tunnel", "/events")) or "stream" in path:
                    continue
                for name, word in known.items():
                    path = path.replace("{" + name + "}", word)
                if "{" in path:
                    continue
                answer = http.get(path, params={"path": "/etc/hostname"} if path.endswith(("files", "stat", "list", "tree")) else {})
                assert value not in answer.text, path
                asked += 1
            assert asked > 20
            assert token not in http.get(f"/api/v1/sandboxes/{one.id}").text, "nor is the token told"

        # The disk: database with its journal, logs, spools, what the broker keeps; and a backup.
        backup = tmp_path / "backup.tar.zst"
        done = subprocess.run([CAY, "backup", "--data", vaulted.data, "--without-snapshots", backup], capture_output=True, text=True)
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
