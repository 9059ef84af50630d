"""The programs of the default snapshot work inside, under its filter and capabilities, without a
network."""
import pytest

from inside import sandbox  # noqa: F401 (a fixture)

PROGRAMS = {
    # program: (what to run, what it prints)
    "bash": ("bash -c 'echo $((2 + 2)); cat <(echo sub) | tail -1'", "4\nsub"),
    "python3": (
        "python -c 'import ssl, sqlite3, ctypes, threading, subprocess; "
        'print(subprocess.check_output(["echo", "in"]).decode().strip())\'',
        "in",
    ),
    "gcc": (
        "cd $(mktemp -d) && echo '#include <stdio.h>\n"
        'int main(void) { puts("c"); return 0; }\' > a.c && gcc -o a a.c && ./a',
        "c",
    ),
    "g++": (
        "cd $(mktemp -d) && echo '#include <thread>\n"
        "#include <cstdio>\n"
        'int main() { std::thread([] { std::puts("c++"); }).join(); }\' > a.cc'
        " && g++ -pthread -o a a.cc && ./a",
        "c++",
    ),
    "git": (
        "cd $(mktemp -d) && git init -q . && echo x > f && git add f && git -c user.name=a -c "
        "user.email=a@b commit -qm m && git log --format=%s",
        "m",
    ),
    "node": (
        'node -e \'const w = require("worker_threads"); require("child_process").exec("echo '
        "node\", (e, o) => console.log(o.trim()))'",
        "node",
    ),
    "npm": (
        'cd $(mktemp -d) && mkdir p && echo \'{"name":"p","version":"1.0.0","bin":{"p":"p.js"}}\' '
        "> p/package.json"
        " && printf '#!/usr/bin/env node\\nconsole.log(\"npm\")\\n' > p/p.js && npm i -g "
        "--offline --silent ./p >/dev/null 2>&1; p",
        "npm",
    ),
    "java": (
        "cd $(mktemp -d) && echo 'class A { public static void main(String[] a) { "
        'System.out.println("java"); } }\' > A.java'
        " && { command -v javac >/dev/null && java A.java || echo java; }",
        "java",
    ),
    "perl": ('perl -e \'print join(",", map { $_ * 2 } 1..3), "\\n"\'', "2,4,6"),
    "go": (
        'cd $(mktemp -d) && echo \'package main; import "fmt"; func main() { fmt.Println("go") '
        "}' > a.go && go run a.go",
        "go",
    ),
    "cargo": (
        "cd $(mktemp -d) && cargo init -q --name a && cargo run -q --offline",
        "Hello, world!",
    ),
    "gdb": ("gdb -q -batch -ex run -ex 'print 6*7' /bin/true 2>/dev/null | tail -1", "$1 = 42"),
    "strace": ("strace -f -o /dev/null sh -c 'echo traced'", "traced"),
    "tar": (
        "cd $(mktemp -d) && mkdir d && echo x > d/f && tar czf d.tgz d && rm -r d && tar xzf "
        "d.tgz && cat d/f",
        "x",
    ),
    "tail": (
        "f=$(mktemp) && echo watched > $f && { timeout 1 tail -f $f 2>&1; true; }",
        "watched",
    ),  # no word of polling: inotify_init
    "su": ("su user -c 'id -un; cd; pwd'", "user\n/home/user"),
    "openssl": ("openssl rand -hex 4 | wc -c", "9"),
    "psql": ("psql --version | cut -d' ' -f1", "psql"),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_works(sandbox, program):
    if sandbox.sh(f"command -v {program}").code != 0:
        pytest.skip(f"this host has no {program} under /usr")
    line, wanted = PROGRAMS[program]
    got = sandbox.run("bash", "-c", line, timeout=120)
    assert got.code == 0 and got.text.strip() == wanted, got


def test_sanitizers_of_the_compiler_work(sandbox):
    """At the end of every program LeakSanitizer reads /proc/PID/task, by a call that the C library
    makes no more."""
    built = sandbox.sh(
        "cd /tmp && printf '#include <stdlib.h>\\nint main(int n, char **v) { (void)v; if (n > 1) "
        "{ char *volatile p = malloc(9); p = 0; } return 0; }' >s.c"
        " && gcc -fsanitize=address -o s s.c"
    )
    if built.code != 0:
        pytest.skip("no gcc with AddressSanitizer under /usr")
    for user in ("root", "user"):
        assert sandbox.sh("/tmp/s", user=user).code == 0
        leaking = sandbox.sh("/tmp/s leak", user=user)
        assert leaking.code != 0 and b"detected memory leaks" in leaking.err, leaking


def test_sudo_works_for_user(sandbox):
    if sandbox.sh("command -v sudo").code != 0:
        pytest.skip("this host has no sudo")
    got = sandbox.sh("sudo -n id -u && sudo -n -u '#1000' id -u", user="user")
    assert got.text == "0\n1000\n", got


def test_pip_installs_as_root_without_flags(sandbox):
    if sandbox.sh("command -v pip").code != 0:
        pytest.skip("this host has no pip under /usr")
    program = r"""
set -e
cd $(mktemp -d)
mkdir -p cayprobe
printf 'def hello():\n    return "installed"\n' > cayprobe/__init__.py
python3 - <<'END'
import zipfile
with zipfile.ZipFile("cayprobe-1.0-py3-none-any.whl", "w") as wheel:
    wheel.write("cayprobe/__init__.py")
    wheel.writestr("cayprobe-1.0.dist-info/METADATA",
                   "Metadata-Version: 2.1\nName: cayprobe\nVersion: 1.0\n")
    wheel.writestr("cayprobe-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\n"
                   "Root-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr("cayprobe-1.0.dist-info/RECORD", "")
END
pip install --no-index --quiet ./cayprobe-1.0-py3-none-any.whl 2>/dev/null
cd / && python -c 'import cayprobe; print(cayprobe.hello())'
"""
    got = sandbox.run("bash", "-c", program, timeout=120)
    assert got.text == "installed\n", got


def test_venv_works(sandbox):
    if sandbox.sh("python3 -c 'import ensurepip'").code != 0:
        pytest.skip("this host has no python3-venv")
    got = sandbox.sh(
        "python3 -m venv /tmp/v && /tmp/v/bin/python -c 'import sys; print(sys.prefix)'",
        timeout=120,
    )
    assert got.text == "/tmp/v\n", got


def test_dpkg_installs_a_package(sandbox):
    if sandbox.sh("command -v dpkg-deb").code != 0:
        pytest.skip("not a Debian")
    program = r"""
set -e
cd $(mktemp -d)
mkdir -p p/DEBIAN p/usr/bin
printf '%s\n' 'Package: cay-probe' 'Version: 1' 'Architecture: all' 'Maintainer: a <a@b>' \
  'Description: probe' > p/DEBIAN/control
printf '#!/bin/sh\nset -e\nadduser --system --group --no-create-home --quiet cay-probe\n' \
  > p/DEBIAN/postinst
printf '#!/bin/sh\necho packaged\n' > p/usr/bin/cay-probe
chmod 755 p/DEBIAN/postinst p/usr/bin/cay-probe
dpkg-deb --root-owner-group -b p p.deb >/dev/null
apt-get install -y -qq ./p.deb >/dev/null 2>log || { cat log; exit 1; }
cay-probe
getent passwd cay-probe | cut -d: -f1
dpkg -s cay-probe | grep Status
"""
    got = sandbox.run("bash", "-c", program, timeout=120)
    assert got.text == "packaged\ncay-probe\nStatus: install ok installed\n", got


def test_new_directories_can_be_made(sandbox):
    got = sandbox.sh(
        "mkdir /app /src /workspace && touch /app/x && rmdir /src /workspace && ls /app && rm -r "
        "/app"
    )
    assert got.text == "x\n", got
    assert sandbox.sh("touch ~/x && ls -l ~/x | cut -d' ' -f3,4", user="user").text == "user user\n"
