"""Files of the host are not there, hanging files hang nobody else, set-id files do not get out."""
import gzip
import io
import os
import pathlib
import shutil
import socket
import statistics
import stat
import subprocess
import tarfile
import tempfile
import time

import pytest

from harness import CAY, needs_root, slow, wait_until
from inside import sandbox  # noqa: F401 (a fixture)

SECRET = "cay-planted-" + os.urandom(8).hex()


@pytest.fixture
def planted():
    """Files of the host outside the snapshot, with a secret in them."""
    made = [
        pathlib.Path(tempfile.mkdtemp(prefix="cay-host-", dir=where))
        for where in ("/tmp", "/root", "/var/tmp", "/home")
    ]
    for place in made:
        place.chmod(0o755)
        (place / "secret").write_text(SECRET)
        (place / "secret").chmod(0o644)
    yield [str(place / "secret") for place in made]
    for place in made:
        shutil.rmtree(place)


@needs_root
def test_host_files_are_not_there(sandbox, planted):
    for path in planted:
        assert pathlib.Path(path).read_text() == SECRET  # positive control
        for way in (
            path,
            "/.." * 12 + path,
            "/proc/1/root" + path,
            "/proc/self/root/../.." + path,
            "/dev/fd/../../../.." + path,
        ):
            got = sandbox.run("cat", way)
            assert got.code != 0 and SECRET.encode() not in got.out, way


@needs_root
def test_file_verbs_do_not_leave_by_links(sandbox, planted, tmp_path):
    sandbox.sh(
        "rm -rf /work1 && mkdir /work1 && ln -s "
        + planted[0]
        + " /work1/link && ln -s / /work1/root"
        " && ln -s ../../../../../../../.. /work1/up && ln -s /proc/self/root /work1/magic && "
        "echo in > /work1/in"
    )
    assert sandbox.get("/work1/in", tmp_path / "in").code == 0  # positive control
    for way in (
        "/work1/link",
        "/work1/root" + planted[0],
        "/work1/up" + planted[0],
        "/work1/magic" + planted[0],
    ):
        got = sandbox.get(way, tmp_path / "out")
        assert got.code != 0 and not (tmp_path / "out").exists(), way


@needs_root
def test_etc_tells_nothing_of_the_host(sandbox):
    for line in open("/etc/passwd"):
        name, _, uid = line.split(":")[:3]
        if 1000 <= int(uid) < 60000 and name not in ("user", "nobody"):
            assert sandbox.run("grep", f"^{name}:", "/etc/passwd").code == 1, name
    for line in open("/etc/shadow"):
        word = line.split(":")[1]
        if len(word) > 3:
            assert sandbox.run("grep", "-F", word, "/etc/shadow").code == 1
    machine_id = (
        pathlib.Path("/etc/machine-id").read_text().strip()
        if os.path.exists("/etc/machine-id")
        else ""
    )
    if machine_id:
        assert sandbox.sh("cat /etc/machine-id").text.strip() != machine_id
    assert sandbox.sh("ls /etc/ssh/ssh_host_* /etc/ssl/private/* 2>/dev/null").text == ""
    assert (
        sandbox.run("grep", "^root:", "/etc/passwd").code == 0
    )  # positive control: the file is there and is read


def test_unreadable_files_of_usr_are_not_there(sandbox):
    hidden = subprocess.run(
        [
            "find",
            "/usr",
            "-xdev",
            "-path",
            "/usr/local",
            "-prune",
            "-o",
            "-type",
            "f",
            "!",
            "-perm",
            "-004",
            "-print",
        ],
        capture_output=True,
        text=True,
    ).stdout.split()
    for path in hidden[:50]:
        assert sandbox.run("test", "-e", path).code == 1, path
    assert sandbox.run("test", "-e", "/usr/bin/users").code == 0  # positive control


def run_as_nobody(path):
    """What `path -u` prints for an ordinary user of the host; None if it does not start."""
    try:
        return subprocess.run(
            [path, "-u"], capture_output=True, text=True, user=65534, group=65534, extra_groups=[]
        ).stdout.strip()
    except (PermissionError, FileNotFoundError):
        return None


def disks(view, data, name):
    """Where `name` lies in the sandboxes' disks below `data`, under the root directory `view`."""
    store = view / str(pathlib.Path(data) / "store").lstrip("/")
    try:
        found = []
        for root, directories, files in os.walk(store):
            found += [os.path.join(root, name)] if name in files else []
            if len(pathlib.Path(root).relative_to(store).parts) >= 3:
                directories.clear()
        return found
    except OSError:
        return []


def archive(*entries):
    """A tar of files (a name and contents) and directories (a name that ends in a slash), all with
    every bit of their mode."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in entries:
            info = tarfile.TarInfo(name.rstrip("/"))
            info.type, info.mode, info.size = (
                tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE,
                0o7755,
                len(data),
            )
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_an_uploaded_tree_brings_no_set_id_program(sandbox, http):
    place = f"/api/v1/sandboxes/{sandbox.name}/files/tree"
    got = http.put(
        place,
        params={"path": "/uploaded"},
        content=archive(("dir/", b""), ("dir/file", pathlib.Path("/usr/bin/id").read_bytes())),
    )
    assert got.status_code < 300, got.text
    assert sandbox.sh("stat -c '%a %u' /uploaded/dir /uploaded/dir/file").text == "1755 0\n755 0\n"
    assert sandbox.run("/uploaded/dir/file", "-u", user="user").text.strip() != "0"
    # Positive control: whoever is root inside may set them, and they are the sandbox's own: a stop
    # keeps them.
    assert sandbox.sh("chmod 6755 /uploaded/dir/file").code == 0
    assert sandbox.daemon.cli("stop", sandbox.name).code == 0
    assert sandbox.sh("stat -c %a /uploaded/dir/file").text == "6755\n"
    assert sandbox.run("/uploaded/dir/file", "-u", user="user").text.strip() == "0"


def test_an_uploaded_tree_has_bounds(sandbox, http):
    place = f"/api/v1/sandboxes/{sandbox.name}/files/tree"

    def put(content):
        got = http.put(place, params={"path": "/bounds"}, content=content)
        return "" if got.status_code < 300 else got.json()["error"]["reason"]

    deep = archive(("d/" * 255 + "f", b"x"))
    assert put(deep) == ""  # positive control
    assert put(archive(("d/" * 256 + "f", b"x"))) == "unsafe_path"
    assert put(archive(("d" * 255 + "/" + "n" * 200, b"x"))) == ""  # positive control
    assert put(archive(("n/" * 20 + "n" * 5000, b"x"))) == "unsafe_path"
    assert put(gzip.compress(deep)) in (
        "malformed_tar",
        "truncated_tar",
    )  # the second: shorter than a header


@needs_root
def test_a_set_id_file_does_not_get_out(sandbox, daemon):
    """A set-id root shell made inside lies in the data directory: an ordinary user of the host
    cannot run it."""
    name = "cay-setuid-" + os.urandom(4).hex()
    got = sandbox.sh(f"cp /usr/bin/id /{name} && chmod 6755 /{name} && stat -c %a /{name}")
    assert got.text == "6755\n", got
    ran = sandbox.run(f"/{name}", "-u", user="user")
    assert (
        ran.text.strip() == "0"
    ), ran  # positive control: inside the bit works, to the sandbox's own root
    waiting = sandbox.start("sleep 60")
    pids = [pid for pid in os.listdir("/proc") if pid.isdigit()]
    # Looks in the data directory as each mount namespace has it. Only the launcher's has the store.
    # Looks in the sandbox's own tree through its processes, too.
    views = [pathlib.Path("/"), *(pathlib.Path(f"/proc/{pid}/root") for pid in pids)]
    stored = {path for view in views for path in disks(view, daemon.data, name)}
    inside = {f"/proc/{pid}/root/{name}" for pid in pids}
    tries = sorted(stored | inside)
    assert stored and any(
        os.path.exists(path) for path in inside
    )  # positive control: root does find it, in both
    assert [path for path in tries if run_as_nobody(path) is not None] == []
    sandbox.daemon.cli("kill", sandbox.name, waiting)
    ordinary = pathlib.Path(tempfile.mkdtemp(prefix="cay-setuid-", dir="/var/tmp"))
    ordinary.chmod(0o755)
    shutil.copy("/usr/bin/id", ordinary / "id")
    (ordinary / "id").chmod(0o4755)
    control = run_as_nobody(ordinary / "id")
    shutil.rmtree(ordinary)
    assert control == "0"  # positive control: in an ordinary directory it would have worked


def test_special_files_are_refused_at_once(sandbox, tmp_path):
    sandbox.sh(
        "rm -f /fifo /sock /zero; mkfifo /fifo; ln -s /dev/zero /zero;"
        " python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('/sock')\""
    )
    for path in ("/fifo", "/sock", "/zero", "/dev/zero", "/dev/tty"):
        begun = time.monotonic()
        got = sandbox.get(path, tmp_path / "out", timeout=20)
        assert got.code == 125 or got.code == 1, (path, got)
        assert time.monotonic() - begun < slow(5), path


def test_the_program_of_a_file_operation_is_not_read_or_written(sandbox, tmp_path):
    """/proc/self/exe of whoever does a file operation is Cay's, which lies outside the sandbox and
    has no name in it."""
    (tmp_path / "in").write_text("new")
    sandbox.sh(
        "ln -sf /proc/self/exe /exe; ln -sf /etc/hostname /plain; cp /bin/true /mine; ln -sf "
        "/mine /to-mine"
    )
    before = sandbox.sh("ls -A /").text
    for path in ("/proc/self/exe", "/exe"):
        got = sandbox.get(path, tmp_path / "out")
        assert (
            got.code != 0 and b"permission denied" in got.err and not (tmp_path / "out").exists()
        ), got
        got = sandbox.daemon.cli("cp", tmp_path / "in", f"{sandbox.name}:{path}")
        assert got.code != 0 and b"permission denied" in got.err, got
    assert sandbox.sh("ls -A /").text == before
    # Positive controls: links, and programs of the sandbox's own.
    assert (
        sandbox.get("/plain", tmp_path / "plain").code == 0
        and sandbox.get("/to-mine", tmp_path / "mine").code == 0
    )
    assert (
        sandbox.daemon.cli("cp", tmp_path / "in", f"{sandbox.name}:/to-mine").code == 0
        and sandbox.sh("cat /mine").text == "new"
    )


def test_hanging_files_delay_no_command(sandbox, daemon):
    """Helpers in the middle of their work (uploads that stall), and asks for a FIFO that nobody
    writes, leave the latency of commands alone."""

    def median():
        taken = []
        for _ in range(15):
            begun = time.monotonic()
            assert sandbox.run("true").code == 0
            taken.append(time.monotonic() - begun)
        return statistics.median(taken)

    def processes():
        return int(sandbox.sh("ls -d /proc/[0-9]* | wc -l").text)

    quiet, before = median(), processes()
    sandbox.sh("rm -f /fifo; mkfifo /fifo")
    uploads = []
    for number in range(8):
        upload = socket.create_connection(("127.0.0.1", daemon.port))
        upload.sendall(
            f"PUT /api/v1/sandboxes/{sandbox.name}/files?path=/stalled-{number} HTTP/1.1\r\n"
            "Host: 127.0.0.1\r\n"
            f"X-Api-Key: {daemon.key}\r\nContent-Length: 1000000\r\n\r\n".encode() + b"x" * 100_000
        )
        uploads.append(upload)
    wait_until(lambda: processes() >= before + 8, "eight helpers are at work")
    copies = [
        subprocess.Popen(
            [CAY, "cp", f"{sandbox.name}:/fifo", "/dev/null"],
            env={**os.environ, **daemon.env},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(8)
    ]
    reader = sandbox.start("cat /fifo")  # a command may wait as long as it likes
    busy = median()
    assert processes() >= before + 8  # they still were
    for copy in copies:
        assert copy.wait(timeout=slow(90)) != 0
    for upload in uploads:
        upload.close()
    daemon.cli("kill", sandbox.name, reader)
    afterwards = median()  # the machine may have become busy meanwhile by itself
    assert busy < 4 * max(quiet, afterwards) + slow(0.05), (quiet, busy, afterwards)
    wait_until(lambda: processes() <= before, "the helpers are gone")
    assert sandbox.sh("ls /stalled-* 2>/dev/null").text == ""  # nothing half is left in their place


def test_device_nodes_cannot_be_made(sandbox):
    for kind in ("b 7 0", "c 1 1", "c 10 229"):
        assert sandbox.sh(f"mknod /node {kind}").code != 0, kind
    assert sandbox.sh("rm -f /node; mknod /node p && test -p /node").code == 0  # positive control
    # So there is no FUSE inside, and no mount of it that could hang a file helper.
    assert (
        sandbox.sh(
            "mkdir -p /fuse && mount -t fuse none /fuse -o "
            "fd=0,rootmode=40000,user_id=0,group_id=0 </dev/null"
        ).code
        != 0
    )
    nodes = sandbox.sh("find / -xdev \\( -type b -o -type c \\) 2>/dev/null").text
    assert nodes == "", nodes
    listed = sandbox.sh("ls /dev").text.split()
    assert {"null", "zero", "full", "random", "urandom", "tty"} <= set(listed)
    assert not {"mem", "kmsg", "vda", "sda", "loop0", "fuse", "kvm"} & set(listed)


def test_usr_of_the_host_stays_as_it_is(sandbox):
    """The snapshot's files are links to the host's: writing inside must reach a copy."""
    before = pathlib.Path("/usr/bin/users").read_bytes()
    mode = os.stat("/usr/bin/users").st_mode
    assert (
        sandbox.sh(
            "echo changed >> /usr/bin/users && chmod 4777 /usr/bin/users && chown 1000 "
            "/usr/bin/users"
        ).code
        == 0
    )
    assert (
        sandbox.sh("tail -c 8 /usr/bin/users").text == "changed\n"
    )  # positive control: inside it did change
    assert pathlib.Path("/usr/bin/users").read_bytes() == before
    assert os.stat("/usr/bin/users").st_mode == mode and stat.S_ISREG(mode)
