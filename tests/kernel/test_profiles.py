"""What each profile gives and takes, in real sandboxes: strict gains no privilege and still
installs packages, nested makes containers, default is as it was; and what none of them gets. Each
refusal stands beside the same act in a profile that allows it."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import textwrap

import pytest

from harness import needs_root, new_daemon, processes_of
from inside import COMPILER, Sandbox, attack  # noqa: F401 (a fixture)
from test_syscalls import is_refused, results_of

PROFILES = ("strict", "default", "nested")
CAPABILITIES = {"strict": 0x4FB, "default": 0xA00405FB, "nested": 0xA00405FB}
SETTINGS = '[host]\nprofiles = ["strict", "default", "nested"]\n'


@pytest.fixture(scope="module")
def host(tmp_path_factory, request):
    """A daemon whose operator allows all profiles."""
    settings = tmp_path_factory.mktemp("profiles") / "cay.toml"
    settings.write_text(SETTINGS)
    daemon = new_daemon("--config", str(settings))
    daemon.settings = settings
    daemon.start()
    yield daemon
    daemon.close(keep_log=request.session.testsfailed > 0)


@pytest.fixture(scope="module")
def boxes(host):
    made = {profile: Sandbox(host, "--profile", profile) for profile in PROFILES}
    yield made
    for box in made.values():
        box.close()


def info(daemon, name):
    return next(one for one in json.loads(daemon.cli("ls", "--json").text) if one["name"] == name)


def status_of(text):
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


# ---- requested, shown, kept ----


def test_a_profile_is_shown_and_kept_over_a_stop_and_a_restart(host, boxes):
    for profile, box in boxes.items():
        assert info(host, box.name)["profile"] == profile
    made = Sandbox(host, "--profile", "strict")
    try:
        assert host.cli("stop", made.name).code == 0
        host.restart()
        assert info(host, made.name)["profile"] == "strict"
        assert status_of(made.sh("cat /proc/self/status").text)["NoNewPrivs"] == "1"  # woken
    finally:
        made.close()


def test_who_asks_for_none_has_default_and_nested_is_the_operators_to_allow(daemon, http):
    made = http.post("/api/v1/sandboxes", json={}).json()
    assert made["profile"] == "default"
    http.delete(f"/api/v1/sandboxes/{made['id']}")
    refused = http.post("/api/v1/sandboxes", json={"profile": "nested"})
    assert (
        refused.status_code == 403 and refused.json()["error"]["reason"] == "profile_not_allowed"
    ), refused.text
    assert "host.profiles" in refused.json()["error"]["message"]
    unknown = http.post("/api/v1/sandboxes", json={"profile": "loose"})
    assert (
        unknown.status_code == 400 and unknown.json()["error"]["reason"] == "invalid_profile"
    ), unknown.text
    told = daemon.cli("create", "--profile", "nested")
    assert told.code != 0 and b"host.profiles" in told.err, told


def test_what_the_operator_allows_no_more_is_not_started(host):
    made = Sandbox(host, "--profile", "nested")
    try:
        assert host.cli("stop", made.name).code == 0
        host.settings.write_text("")
        host.restart()
        refused = made.sh("true")
        assert refused.code != 0 and b"host.profiles" in refused.err, refused
        assert info(host, made.name)["state"] == "stopped"
    finally:
        host.settings.write_text(SETTINGS)
        host.restart()
        assert made.sh("true").code == 0  # the control
        made.close()


def test_settings_that_allow_nothing_are_refused(own_daemon, tmp_path):
    settings = tmp_path / "cay.toml"
    settings.write_text('[host]\nprofiles = ["strict"]\n')
    with pytest.raises(RuntimeError, match="host.profiles, defaults.profile"):
        own_daemon("--config", str(settings))


# ---- what commands have ----


@needs_root
@pytest.mark.parametrize("profile", PROFILES)
def test_privileges(host, boxes, profile):
    box = boxes[profile]
    for status in (
        status_of(box.sh("cat /proc/self/status").text),
        status_of(terminal(host, box, "cat /proc/self/status")),
    ):
        assert status["NoNewPrivs"] == ("1" if profile == "strict" else "0"), status
        for held in ("CapPrm", "CapEff", "CapBnd"):
            assert int(status[held], 16) == CAPABILITIES[profile], (held, status[held])
        assert int(status["CapAmb"], 16) == int(status["CapInh"], 16) == 0
        assert status["Seccomp"] == "2"
    user = status_of(box.sh("cat /proc/self/status", user="user").text)
    assert int(user["CapPrm"], 16) == 0 and user["NoNewPrivs"] == (
        "1" if profile == "strict" else "0"
    )


def terminal(host, box, line):
    with host.http() as http:
        got = http.post(
            f"/api/v1/sandboxes/{box.name}/commands",
            json={"command": line, "pty": {"rows": 50, "cols": 200}, "wait": True},
        ).json()
    return got["stdout"].replace("\r\n", "\n")


@pytest.mark.parametrize("profile", PROFILES)
def test_file_helpers_and_init_are_held_the_same(host, boxes, profile):
    """Whatever the profile: no_new_privs, and of capabilities none or those of file work
    (src/keeper/confine_test.cc)."""
    box = boxes[profile]
    identity = info(host, box.name)["id"]
    inits = [
        pid
        for pid in processes_of(identity)
        if pathlib.Path(f"/proc/{pid}/comm").read_text() == "cay-init\n"
    ]
    assert len(inits) == 1
    status = status_of(pathlib.Path(f"/proc/{inits[0]}/status").read_text())
    assert (
        status["NoNewPrivs"] == "1" and int(status["CapBnd"], 16) == int(status["CapPrm"], 16) == 0
    )


def test_setuid_programs_gain_in_default_and_not_in_strict(boxes):
    prepare = "cp /usr/bin/id /usr/local/bin/set-id && chmod 4755 /usr/local/bin/set-id"
    for profile, box in boxes.items():
        assert box.sh(prepare).code == 0
        assert box.sh("set-id -u", user="user").text == (
            "0\n" if profile != "strict" else "1000\n"
        ), profile


def test_sudo_works_in_default_and_not_in_strict(boxes):
    if boxes["default"].sh("command -v sudo").code != 0:
        pytest.skip("no sudo in the default snapshot: the host has none")
    for profile, box in boxes.items():
        assert (
            box.sh(
                "echo 'user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/user && chmod 440 "
                "/etc/sudoers.d/user"
            ).code
            == 0
        )
        got = box.sh("sudo -n id -u", user="user")
        assert (got.text == "0\n") == (profile != "strict"), (profile, got)


REFUSED_IN_STRICT = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *words):
    if getattr(libc, name)(*words) < 0: raise OSError(ctypes.get_errno(), name)
for name, act in {
    "trace": lambda: call("ptrace", 0, 0, 0, 0),
    "read another's memory": lambda: call("process_vm_readv", os.getppid(), None, 0, None, 0, 0),
    "chroot": lambda: os.chroot("/tmp"),
    "no randomisation": lambda: call("personality", 0x40000),
    "message queue": lambda: call("msgget", 0, 0o600),
}.items():
    pid = os.fork()
    if pid == 0:
        try: act()
        except OSError as error: os._exit(error.errno)
        os._exit(0)
    print(name, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sep="=")
"""


def test_strict_refuses_what_default_allows(boxes):
    told = {
        profile: dict(
            line.split("=") for line in boxes[profile].python(REFUSED_IN_STRICT).text.splitlines()
        )
        for profile in PROFILES
    }
    assert set(told["default"].values()) == {"0"}, told["default"]
    assert told["strict"] == {**dict.fromkeys(told["default"], "1"), "message queue": "38"}, told[
        "strict"
    ]  # EPERM, ENOSYS
    assert told["nested"] == {
        **dict.fromkeys(told["default"], "0"),
        "read another's memory": "1",
        "message queue": "38",
    }, told["nested"]


@pytest.mark.parametrize("profile", PROFILES)
def test_what_belongs_to_the_host_is_refused_in_every_profile(boxes, attack, profile):  # noqa: F811
    """The attacks of test_syscalls.py, whose controls are there. Of nested, root's own user
    namespace: it makes others, and has in this one what default's has."""
    names = subprocess.run(
        [attack, "--list"], capture_output=True, text=True, check=True
    ).stdout.split()
    boxes[profile].put(attack, "/usr/local/bin/attack")
    got = results_of(boxes[profile].run("attack", *names).text)
    gives = {"unshare_user", "clone_user"} if profile == "nested" else set()
    wrong = {
        name: got.get(name)
        for name in names
        if not name.startswith("control_")
        and name not in gives
        and not (
            is_refused(name, got.get(name))
            or profile == "nested"
            and got.get(name) in NESTED_ANSWERS.get(name, ())
        )
    }
    assert not wrong, wrong
    assert {got[name] for name in gives} <= {"ok"}, got


# Let through by the filter, and refused for another reason or as by an older kernel
# (seccomp_profiles.h).
NESTED_ANSWERS = {
    "remount_root": ("EFAULT",),
    "fsopen": ("ENOSYS",),
    "move_mount": ("EBADF", "ENOENT"),
    "mount_setattr": ("EBADF", "EINVAL", "EFAULT"),
    "keyctl": ("ENOSYS",),
    "setns": ("EBADF", "EINVAL"),
    "pivot_root": ("EPERM", "ENOENT", "EFAULT"),
}


# ---- namespaces, by the kernel's own count ----


def maxima(box):
    text = box.sh("cd /proc/sys/user && grep . max_*_namespaces").text
    return {name: int(count) for name, count in re.findall(r"max_(\w+)_namespaces:(\d+)", text)}


def test_how_many_namespaces_may_be_made(boxes):
    for profile in ("strict", "default"):
        counts = maxima(boxes[profile])
        assert {kind for kind, count in counts.items() if count != 0} <= {
            "cgroup"
        } and "user" in counts, counts
    counts = maxima(boxes["nested"])
    assert (
        all(0 < counts[kind] <= 256 for kind in ("user", "mnt", "pid")) and counts["net"] == 0
    ), counts
    # Root inside has no CAP_SYS_RESOURCE, and /proc/sys is read-only.
    assert boxes["nested"].sh("echo 9999 >/proc/sys/user/max_user_namespaces").code != 0


def test_networks_inside_are_the_operators_to_allow(host, boxes):
    """host.nested_networks; what runs has what it was started with."""
    refused = boxes["nested"].sh("unshare -Urn true")
    assert refused.code != 0 and b"No space left on device" in refused.err, refused
    assert boxes["nested"].sh("unshare -Ur true").code == 0
    try:
        host.settings.write_text(SETTINGS + "nested_networks = true\n")
        host.restart()
        allowed = Sandbox(host, "--profile", "nested")
        try:
            assert 0 < maxima(allowed)["net"] <= 64
            assert (
                allowed.sh("unshare -Urn sh -c 'tail -n +3 /proc/net/dev | wc -l'").text == "1\n"
            )  # its lo
            got = allowed.sh(
                "unshare -Urn sh -c 'ip link set lo up; ip route; ip link add v0 type veth peer "
                "name v1 netns 1'; echo ends=$?"
            )
            assert "ends=0" not in got.text and "via" not in got.text, got
            writes_only_its_own(allowed, "-Urmpfniu")
            assert host.cli("stop", allowed.name).code == 0
            host.settings.write_text(SETTINGS)
            host.restart()
            assert allowed.sh("unshare -Urn true").code != 0
        finally:
            allowed.close()
    finally:
        host.settings.write_text(SETTINGS)
        host.restart()


@needs_root
def test_without_the_filter_the_count_holds(host, boxes):
    """The host's root in the sandbox's user namespace, with every capability there and no filter:
    the kernel makes none."""
    identity = info(host, boxes["default"].name)["id"]
    init = next(
        pid
        for pid in processes_of(identity)
        if pathlib.Path(f"/proc/{pid}/comm").read_text() == "cay-init\n"
    )

    def inside(line):
        return subprocess.run(
            ["nsenter", "-t", str(init), "-U", "--", "sh", "-c", line],
            capture_output=True,
            text=True,
        )

    refused = inside("unshare -U true")
    assert refused.returncode != 0 and "No space left on device" in refused.stderr, refused
    setting = "/proc/sys/user/max_user_namespaces"
    control = inside(
        f"echo 5 >{setting} && unshare -U true; code=$?; echo 0 >{setting}; exit $code"
    )
    assert control.returncode == 0, control


# ---- programs that try what is refused ----

OWN_FILTER = """
import ctypes, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
passes = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000), 8)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(passes)), 16)
libc.prctl(38, 1, 0, 0, 0)
for way in (lambda: libc.prctl(22, 2, program, 0, 0), lambda: libc.syscall(317
    if sys.argv[1] == "x86_64" else 277, 1, 0, program)):
    ctypes.set_errno(0)
    way()
    print(ctypes.get_errno())
"""


def test_filters_of_its_own_are_for_nested_alone(boxes):
    for profile, box in boxes.items():
        got = box.python(OWN_FILTER, os.uname().machine)
        assert got.text == ("0\n0\n" if profile == "nested" else "22\n22\n"), (profile, got)


# Programs that load a filter where they can, and their reports about a system without. Each does
# its work all the same.
WITH_FILTERS = {
    "man": "printf '.TH a 1\\n.SH NAME\\na\\n' >/tmp/a.1 && man -P cat -l /tmp/a.1",
    "file": "file -b /etc/passwd | grep -q text",
    "ssh": "rm -f /tmp/key; ssh-keygen -q -t ed25519 -N '' -f /tmp/key && { ssh -o "
    "ConnectTimeout=2 "
    "-p 1 127.0.0.1 true 2>&1 | grep -q refused; }",
    "apt-get": "apt-get -o APT::Sandbox::Seccomp=true --version >/dev/null",
    "systemd-analyze": "systemd-analyze --version >/dev/null",
}


@pytest.mark.parametrize("profile", ["strict", "default"])
@pytest.mark.parametrize("program", sorted(WITH_FILTERS))
def test_programs_that_filter_themselves_go_on_without(boxes, profile, program):
    box = boxes[profile]
    if box.sh(f"command -v {program}").code != 0:
        pytest.skip(f"no {program} in the default snapshot: the host has none")
    got = box.sh(WITH_FILTERS[program])
    assert got.code == 0, got


def test_names_and_interfaces_in_strict(boxes):
    """Route netlink stays for these: Node's servers do not start where a list of interfaces cannot
    be had, whatever the error."""
    box = boxes["strict"]
    got = box.python(
        "import socket; print(sorted({one[4][0] for one in socket.getaddrinfo('localhost', 80, "
        "type=socket.SOCK_STREAM)}))"
    )
    assert "127.0.0.1" in got.text, got
    assert box.sh("getent ahosts localhost | head -1").text.startswith(("127.0.0.1", "::1"))
    if box.sh("command -v node").code == 0:
        got = box.sh("node -p 'JSON.stringify(require(\"os\").networkInterfaces())'")
        assert set(json.loads(got.text)) == {"lo"}, got
        served = box.sh(
            'node -e \'const s = require("http").createServer((q, r) => '
            'r.end("served")).listen(0, () => '
            'require("http").get({port: s.address().port}, r => r.on("data", d => { '
            "console.log(String(d)); process.exit() })))'"
        )
        assert served.text == "served\n", served


# ---- package managers, in every profile ----

CONTROL = """Package: cay-example
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@example.com>
Description: example
"""
POSTINST = """#!/bin/sh
set -e
useradd --system --no-create-home cay-example 2>/dev/null || adduser --system cay-example
chown cay-example /usr/share/cay-example/data
chmod 2750 /usr/share/cay-example
setcap cap_net_raw+ep /usr/share/cay-example/program 2>/dev/null || true
"""


@pytest.mark.parametrize("profile", PROFILES)
def test_apt_and_dpkg_install(boxes, profile):
    if not shutil.which("dpkg-deb"):
        pytest.skip("no dpkg on this host")
    box = boxes[profile]
    assert (
        box.sh(
            "mkdir -p /srv/deb/DEBIAN /srv/deb/usr/share/cay-example && echo data "
            ">/srv/deb/usr/share/cay-example/data && "
            "cp /usr/bin/id /srv/deb/usr/share/cay-example/program"
        ).code
        == 0
    )
    box.put_text(CONTROL, "/srv/deb/DEBIAN/control")
    box.put_text(POSTINST, "/srv/deb/DEBIAN/postinst")
    built = box.sh(
        "chmod 755 /srv/deb/DEBIAN /srv/deb/DEBIAN/postinst && dpkg-deb --root-owner-group "
        "--build /srv/deb /srv/example.deb"
    )
    assert built.code == 0, built
    for install, remove in (
        ("dpkg -i /srv/example.deb", "dpkg -P cay-example"),
        ("apt-get install -y -q /srv/example.deb", "apt-get purge -y -q cay-example"),
    ):
        done = box.sh(install, timeout=180)
        assert done.code == 0, done
        assert (
            box.sh(
                "stat -c '%U %A' /usr/share/cay-example/data; stat -c %a /usr/share/cay-example"
            ).text
            == "cay-example -rw-r--r--\n2750\n"
        )
        assert box.sh(remove, timeout=180).code == 0
        assert box.sh("dpkg -s cay-example").code != 0


WHEEL = """
import zipfile
with zipfile.ZipFile("/srv/cay_example-1.0-py3-none-any.whl", "w") as out:
    out.writestr("cay_example.py", "told = 'installed'\\n")
    out.writestr("cay_example-1.0.dist-info/METADATA",
        "Metadata-Version: 2.1\\nName: cay-example\\nVersion: 1.0\\n")
    out.writestr("cay_example-1.0.dist-info/WHEEL",
        "Wheel-Version: 1.0\\nGenerator: by hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    out.writestr("cay_example-1.0.dist-info/RECORD",
        "cay_example.py,,\\ncay_example-1.0.dist-info/METADATA,,\\n"
        "cay_example-1.0.dist-info/WHEEL,,\\ncay_example-1.0.dist-info/RECORD,,\\n")
"""


@pytest.mark.parametrize("profile", ["strict", "nested"])
@pytest.mark.parametrize("user", ["root", "user"])
def test_pip_installs(boxes, profile, user):
    box = boxes[profile]
    if box.sh("python3 -m pip --version").code != 0:
        pytest.skip("no pip in the default snapshot: the host has none")
    assert box.python(WHEEL).code == 0
    done = box.sh(
        "rm -rf /tmp/pip-$(id -u) && python3 -m pip install --no-index --target /tmp/pip-$(id -u) "
        "/srv/cay_example-1.0-py3-none-any.whl",
        user=user,
        timeout=180,
    )
    assert done.code == 0, done
    assert (
        box.sh(
            "PYTHONPATH=/tmp/pip-$(id -u) python3 -c 'import cay_example; print(cay_example.told)'",
            user=user,
        ).text
        == "installed\n"
    )


@pytest.mark.parametrize("profile", ["strict", "nested"])
def test_npm_installs(boxes, profile):
    box = boxes[profile]
    if box.sh("npm --version").code != 0:
        pytest.skip("no npm in the default snapshot: the host has none")
    script = json.dumps(
        {
            "name": "cay-example",
            "version": "1.0.0",
            "main": "i.js",
            "scripts": {"install": "echo ran >ran"},
        }
    )
    assert (
        box.sh(
            f"mkdir -p /srv/example /srv/app && echo '{script}' >/srv/example/package.json && "
            "echo 'module.exports = \"installed\"' >/srv/example/i.js"
        ).code
        == 0
    )
    done = box.sh(
        "cd /srv/app && npm pack --silent ../example && npm install --offline --no-audit "
        "--no-fund --foreground-scripts ./cay-example-1.0.0.tgz",
        timeout=180,
    )
    assert done.code == 0, done
    assert (
        box.sh(
            "cd /srv/app && node -p 'require(\"cay-example\")' && cat node_modules/cay-example/ran"
        ).text
        == "installed\nran\n"
    )


def test_a_compiler_a_repository_and_a_server_in_strict(boxes):
    box = boxes["strict"]
    lines = [
        "cd /tmp && git init -q g && cd g && git -c user.name=a -c user.email=a@b commit -q "
        "--allow-empty -m m && git log --oneline | wc -l"
    ]
    if shutil.which("gcc"):
        lines.append(
            "echo 'int main(void){return 7;}' >/tmp/m.c && gcc -o /tmp/m /tmp/m.c && /tmp/m; echo "
            "$?"
        )
    lines.append("runuser -u user -- id -u; su user -c 'id -u'")
    for line in lines:
        got = box.sh(line)
        assert got.code == 0 and not got.err, (line, got)
    served = textwrap.dedent(
        """
        import http.server, threading, urllib.request
        server = http.server.HTTPServer(("127.0.0.1", 80), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=server.handle_request).start()
        print(urllib.request.urlopen("http://127.0.0.1/").status)
    """
    )
    assert box.python(served).text == "200\n"


# ---- containers inside ----


def test_namespaces_of_its_own(boxes):
    box = boxes["nested"]
    for user in ("root", "user"):
        got = box.sh(
            "unshare --user --map-root-user --mount --pid --fork --mount-proc sh -c 'echo $$; id "
            "-u; ls /proc | grep -c ^[0-9]; mount -t tmpfs none /mnt && touch /mnt/x && echo made'",
            user=user,
        )
        assert got.code == 0, got
        assert (
            got.text.split()[:2] == ["1", "0"]
            and int(got.text.split()[2]) < 6
            and got.text.split()[3] == "made"
        ), got
    got = box.sh("unshare -Uui --map-root-user sh -c 'hostname inner && hostname'")
    assert got.text == "inner\n", got
    assert box.sh("hostname").text != "inner\n"
    refused = boxes["default"].sh("unshare -Ur true")
    assert refused.code != 0  # the control of what is new


PIVOT = """
set -e
mkdir -p /dev/shm/o/up /dev/shm/o/work /dev/shm/o/root && cd /dev/shm/o/root
mkdir -p usr old proc && for one in bin lib lib64; do [ ! -e /$one ] || ln -sfn usr/$one $one; done
mount --bind . . && cd /dev/shm/o/root
mount -t proc none proc
mount -t overlay none usr -o lowerdir=/usr,upperdir=/dev/shm/o/up,workdir=/dev/shm/o/work
echo inner >usr/marker
pivot_root . old
cat /usr/marker
umount -l /old
ls /old | wc -l
"""


def test_overlay_bind_and_pivot_inside(boxes):
    boxes["nested"].put_text(PIVOT, "/srv/pivot.sh")
    got = boxes["nested"].sh(
        "unshare -Urmpf sh /srv/pivot.sh && cat /dev/shm/o/up/marker; ls /usr/marker 2>/dev/null"
    )
    assert got.text == "inner\n0\ninner\n", got


def test_many_users_inside(boxes):
    """Root of the sandbox gives a container ids of its own, out of the sandbox's."""
    program = textwrap.dedent(
        """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        ready, go = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            assert libc.unshare(0x10000000) == 0
            os.write(ready[1], b"x"); os.read(go[0], 1)
            os.setgroups([]); os.setgid(7); os.setuid(7)
            os._exit(os.getuid())
        os.read(ready[0], 1)
        for name in ("uid_map", "gid_map"):
            open(f"/proc/{pid}/{name}", "w").write("0 10000 1000")
        os.write(go[1], b"x")
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    )
    got = boxes["nested"].python(program)
    assert got.text == "7\n", got


def test_its_own_proc_keeps_its_covers(boxes):
    """In nested, too: what a container's own procfs tells more is told there alone."""
    for box in boxes.values():
        assert (
            box.sh("cat /proc/cmdline /proc/kallsyms /proc/partitions 2>/dev/null | wc -c").text
            == "0\n"
        )
    fresh = boxes["nested"].sh("unshare -Urmpf --mount-proc cat /proc/partitions | wc -c")
    assert int(fresh.text) > 0  # which is why docs/hardening.md tells it


WRITABLE = """
import os
for root, names, files in os.walk("/proc"):
    names[:] = [name for name in names if not (root == "/proc" and (name.isdigit()
        or name in ("self", "thread-self")))]
    for name in files:
        path = os.path.join(root, name)
        try: fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError: continue
        os.close(fd); print(path)
"""


def writes_only_its_own(box, flags):
    """Outside of /proc/PID: what can be opened for writing is of the container's own namespaces."""
    # pid_max is of a pid namespace from Linux 6.14 on. A write to pressure only requests a notice,
    # and changes nothing.
    own = re.compile(
        r"/proc/sys/(user|net|fs/mqueue)/|/proc/sys/kernel/(shm\w*|msg\w*|sem\w*|auto_msgmni|"
        r"ns_last_pid|pid_max)$|/proc/mounts$|/proc/pressure/"
    )
    box.put_text(WRITABLE, "/srv/writable.py")
    got = box.sh(f"unshare {flags} --mount-proc python3 /srv/writable.py")
    assert got.code == 0, got
    wrong = [path for path in got.text.split() if not own.search(path)]
    assert not wrong, wrong
    assert "/proc/sys/user/max_user_namespaces" in got.text, "the walk finds what is its own"


def test_no_file_of_a_containers_proc_that_is_the_hosts_can_be_written(boxes):
    for flags in ("-Urmpf", "-Urmpfiu"):
        writes_only_its_own(boxes["nested"], flags)
    # And a maximum that a container sets for itself gives it no more: the sandbox's is counted,
    # too.
    counted = boxes["nested"].sh(
        "unshare -Urmpf --mount-proc sh -c 'echo 100000 >/proc/sys/user/max_mnt_namespaces && "
        'python3 -c "'
        "import ctypes,os\n"
        "libc=ctypes.CDLL(None)\n"
        "n=0\n"
        'while n<1000 and libc.unshare(0x20000)==0: os.open(\\"/proc/self/ns/mnt\\",0); n+=1\n'
        "print(n)\"'"
    )
    assert counted.code == 0 and 0 < int(counted.text) <= 256, counted


def test_the_gate_is_not_gone_around(boxes):
    """Root of a container has no say over the sandbox's network. One of its own leads nowhere:
    test_networks_inside_are_the_operators_to_allow."""
    box = boxes["nested"]
    entered = box.sh("unshare -Ur sh -c 'ip link set lo down'; echo ends=$?")
    assert "ends=0" not in entered.text, entered


def test_ended_with_what_it_contains(host):
    """A container is part of its command: the sandbox's stop ends it."""
    made = Sandbox(host, "--profile", "nested")
    identity = info(host, made.name)["id"]
    made.start("unshare -Urmpf --mount-proc sh -c 'sleep 1000 & exec sleep 1000'")
    assert host.cli("stop", made.name).code == 0
    assert not processes_of(identity)
    made.close()
