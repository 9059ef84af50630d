"""Each system call that a guest may make is needed by somebody: a program of this system makes it
while it is watched in a sandbox, or imports the C library's function of that call, or the reason
stands here. A line that nobody needs is a wall with a hole in it."""
import functools
import pathlib
import platform
import re
import shutil
import struct
import subprocess

import pytest

from harness import ROOT
from inside import COMPILER, HERE, Sandbox, sandbox  # noqa: F401 (a fixture)
from test_profiles import host  # noqa: F401 (a fixture)

RULES = ROOT / "src/keeper/seccomp_rules.h"
RULE = re.compile(r'\{"(\w+)", (-?\d+), (-?\d+), k(\w+)\}')
REFUSED = {"Eperm", "Enosys"}
PROFILES = ROOT / "src/keeper/seccomp_profiles.h"
CHANGE = re.compile(r'\{"(\w+)", k(\w+)\},')

# The work of an agent's sandbox, each part watched with all that it starts.
WORK = (
    "for i in a b c; do echo $i; done | sort | uniq -c | tail -1; ls -lR /etc >/dev/null 2>&1; "
    "(sleep 0.01 & wait); ulimit -n; umask; cd /tmp && pwd -P",
    "cd /tmp && mkdir -p w/d && cp -a /etc/passwd w/d/p && ln -s p w/d/l && ln w/d/p w/d/h && tar "
    "czf w.tgz w && rm -r w && tar xzf w.tgz && mv w v && touch v/n "
    "&& chmod 600 v/n && chown 1:1 v/n && mkfifo v/f && find v -type f | xargs sha256sum && df . "
    "&& du -s v && stat v && truncate -s 9 v/n && dd if=/dev/zero of=v/z "
    "bs=4k count=9 conv=fsync status=none && sync v/z && fallocate -l 4096 v/z; rm -r v w.tgz",
    "cd /tmp && git init -q g && cd g && git config user.email a@b && git config user.name a && "
    "echo x >f && git add f && git commit -qm m && git log --oneline; rm -rf /tmp/g",
    "dpkg -l | wc -l; apt-get --version | head -1; apt-config dump | wc -l",
    "timeout 5 nice -n 3 taskset -c 0 chrt -o 0 true; setarch -R true; nproc; ps -ef | wc -l; "
    "uname -a; free; date; id; kill -0 $$; script -qc true /dev/null",
    "su user -c 'id -u'; setpriv --reuid 1000 --regid 1000 --clear-groups true; capsh --print | "
    "head -1; ping -c1 127.0.0.1 | head -1; chroot / true",
    "python3 -c 'import subprocess,threading,multiprocessing,sqlite3,asyncio,tempfile,socket,ssl,"
    "hashlib,mmap,select,shutil,os,signal,time,json\n"
    'asyncio.run(asyncio.create_subprocess_exec("true"))\n'
    "t=[threading.Thread(target=time.sleep,args=(.01,)) for _ in range(3)]; [x.start() for x in "
    "t]; [x.join() for x in t]\n"
    'c=sqlite3.connect("/tmp/d.sqlite"); c.execute("pragma journal_mode=wal"); c.execute("create '
    'table if not exists t(a)"); c.commit(); c.close(); os.unlink("/tmp/d.sqlite")\n'
    's=socket.create_server(("127.0.0.1",0)); k=socket.create_connection(s.getsockname()); '
    'p,_=s.accept(); k.sendall(b"x"); p.recv(1); k.shutdown(1); p.close(); k.close()\n'
    'multiprocessing.get_context("spawn"); multiprocessing.Pool(2).map(abs,[1]); '
    'shutil.copyfile("/etc/passwd","/tmp/p"); os.unlink("/tmp/p")\'',
    'perl -e \'alarm 9; select undef,undef,undef,0.01; my @p=getpwnam("root"); fork or exit; '
    "wait; print times'",
    "echo 'int main(void){return 0;}' >/tmp/m.c && gcc -o /tmp/m /tmp/m.c && /tmp/m; rm -f /tmp/m "
    "/tmp/m.c",
    "strace -o /dev/null true; ssh-keygen -q -t ed25519 -N '' -f /tmp/k; rm -f /tmp/k /tmp/k.pub; "
    "xz -T2 </etc/passwd | xz -d | tail -1",
    # Python's own words for calls that its library has no other use for, and the C library's behind
    # them.
    "python3 -c 'import mmap,os,signal,time\n"
    "p=os.pidfd_open(os.getpid()); signal.pidfd_send_signal(p,0); time.process_time()\n"
    'f=os.memfd_create("m"); os.pwritev(f,[b"x"*4096],0,os.RWF_SYNC); '
    "os.preadv(f,[bytearray(9)],0,os.RWF_HIPRI); m=mmap.mmap(f,4096); m.flush(); m.close()\n"
    'open("/tmp/n","w").close(); os.chmod("/tmp/n",0o600,**({"follow_symlinks":False} if os.chmod '
    'in os.supports_follow_symlinks else {})); os.unlink("/tmp/n")\n'
    'hasattr(os,"timerfd_gettime") and '
    "os.timerfd_gettime(os.timerfd_create(time.CLOCK_MONOTONIC))\n"
    'os.execve(os.open("/bin/true",os.O_RDONLY),["true"],os.environ)\'',
    # Stopped in the middle of a wait, which the kernel takes up again.
    "sleep 0.4 & p=$!; sleep 0.1; kill -STOP $p; sleep 0.1; kill -CONT $p; wait $p",
    "sync -f /tmp; /bin/kill -0 -q 1 $$; getent ahosts nowhere.invalid; setpriv --landlock-access "
    "fs --landlock-rule path-beneath:execute,read-file:/ true",
    "cd /tmp && mkdir -p p/DEBIAN p/opt/cay-none && printf 'Package: cay-none\\nVersion: "
    "1\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: none\\n' >p/DEBIAN/control "
    "&& echo x >p/opt/cay-none/x && dpkg-deb -b p p.deb && dpkg -i p.deb && dpkg -P cay-none; rm "
    "-r p p.deb",
    "touch /tmp/f && fakeroot chown 1:1 /tmp/f; rm -f /tmp/f; ipcrm -Q $(ipcmk -Q | tr -dc 0-9)",
    'python3 -c \'import ctypes; ctypes.CDLL("liburcu.so.8"); '
    'ctypes.CDLL("libseccomp.so.2").seccomp_init(0x7fff0000)\'',
    "LD_PRELOAD=$(ls /usr/lib/*-linux-gnu/libasan.so.? | tail -1) /bin/true",
    "valgrind -q --tool=none perl -MTime::HiRes -e 'print time, Time::HiRes::time'",
    'node -e \'require("fs").readFile("/etc/passwd",()=>{}); '
    'require("child_process").execSync("true")\'; timeout 1 tail -n1 -f /etc/passwd',
)
# Made by container programs that are not here: tests/kernel/test_containers.py runs them where they
# are.
OF_RUNTIMES = {"open_tree": "crun", "move_mount": "crun", "mount_setattr": "crun"}
# The parts of containers, in profile nested.
NESTED_WORK = (
    "unshare -Urmpf --mount-proc sh -c 'mount -t tmpfs none /mnt && umount /mnt && ps -ef | wc -l'",
    "unshare -Uru sh -c 'hostname inner && nsenter -t $$ -u hostname'",
    "cd /dev/shm && mkdir -p root && unshare -Urm sh -c 'mount --rbind / root && mkdir -p "
    "root/dev/shm/old && cd root && pivot_root . dev/shm/old && umount -l /dev/shm/old'",
)
# The C library's function, where it is not named as the call is; or where many functions come down
# to one call.
FUNCTIONS = {
    "pread64": ("pread", "pread64"),
    "pwrite64": ("pwrite", "pwrite64"),
    "fadvise64": ("posix_fadvise", "posix_fadvise64"),
    "newfstatat": ("fstatat", "fstatat64"),
    "fallocate": ("fallocate", "fallocate64", "posix_fallocate"),
    "sendfile": ("sendfile", "sendfile64"),
    "epoll_create": ("epoll_create",),
    "eventfd2": ("eventfd",),
    "signalfd4": ("signalfd",),
    "preadv": ("preadv", "preadv64"),
    "pwritev": ("pwritev", "pwritev64"),
    "preadv2": ("preadv2", "preadv64v2"),
    "pwritev2": ("pwritev2", "pwritev64v2"),
    "ftruncate": ("ftruncate", "ftruncate64"),
    "truncate": ("truncate", "truncate64"),
    "rt_sigqueueinfo": ("sigqueue",),
    "rt_sigpending": ("sigpending",),
    "rt_sigsuspend": ("sigsuspend",),
    "rt_sigtimedwait": ("sigtimedwait", "sigwait", "sigwaitinfo"),
    "tkill": ("pthread_kill",),
    "tgkill": ("pthread_kill", "tgkill"),
    "getcpu": ("sched_getcpu", "getcpu"),
    "faccessat": ("faccessat", "euidaccess"),
    "faccessat2": ("faccessat", "euidaccess"),
    "pselect6": ("pselect",),
    "semtimedop": ("semtimedop", "semop"),
    "select": ("select",),
    "sched_getscheduler": ("sched_getscheduler", "pthread_getschedparam"),
    "sched_setscheduler": ("sched_setscheduler", "pthread_setschedparam"),
    "sched_getparam": ("sched_getparam",),
    "mknod": ("mknod", "mkfifo"),
    "mknodat": ("mknodat", "mkfifoat", "mkfifo"),
    "getdents64": ("readdir", "readdir64"),
    "statfs": ("statfs", "statfs64", "statvfs"),
    "fstatfs": ("fstatfs", "fstatfs64"),
    "times": ("times",),
    "timer_getoverrun": ("timer_getoverrun",),
    "setrlimit": ("setrlimit", "setrlimit64"),
    "getrlimit": ("getrlimit", "getrlimit64"),
    "waitid": ("waitid",),
    "pause": ("pause",),
    # The vdso answers these: all but the clocks of processes, and all of time(). (Of gettimeofday()
    # only where it can read the clock itself.)
    "clock_gettime": (),
    "time": (),
}
# The programs that make calls which nothing here can make. No such program is looked for, so these
# are few. If the named program is there after all, it is watched and this entry does not count.
WITHOUT_A_WITNESS = {
    "openat2": "tar from GNU 1.35 on, Rust's cap-std, crun: by syscall()",
    "fchmodat2": "fchmodat() with AT_SYMLINK_NOFOLLOW of glibc 2.39 on, as Python's os.chmod asks "
    "for it",
    "landlock_create_ruleset": "xz from 5.6 on, setpriv --landlock-access of util-linux 2.40 on, "
    "coding agents: by "
    "syscall()",
    "landlock_add_rule": "likewise, setpriv",
    "landlock_restrict_self": "likewise, xz",
    "timerfd_gettime": "Python's os.timerfd_gettime from 3.13 on",
    "time": "Valgrind and rr, whose programs have no vdso, and static programs of old",
}
MOST_WITHOUT = 7


def allowed_rules():
    column = 1 if platform.machine() == "x86_64" else 2
    rules = {
        name: (int(x86), int(arm))
        for name, x86, arm, action in RULE.findall(RULES.read_text())
        if action not in REFUSED
    }
    assert 150 < len(rules) <= 250
    return {
        name: numbers[column - 1] for name, numbers in rules.items() if numbers[column - 1] >= 0
    }


def imported(path):
    """Names that an ELF file's dynamic symbols leave to others to define."""
    try:
        data = path.read_bytes()
        if data[:5] != b"\x7fELF\2":
            return set()
        offset, size, count = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from(
            "<HH", data, 0x3A
        )
        sections = [
            struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)
        ]
        found = set()
        for one in sections:
            if one[1] != 11:  # SHT_DYNSYM
                continue
            names = sections[one[6]][4]
            for at in range(one[4], one[4] + one[5], 24):
                name, _, _, where = struct.unpack_from("<IBBH", data, at)
                if where == 0 and name:
                    found.add(data[names + name : data.index(b"\0", names + name)].decode())
        return found
    except (OSError, struct.error, IndexError, ValueError, UnicodeDecodeError):
        return set()


@functools.cache
def all_imported():
    found = set()
    library = pathlib.Path(f"/usr/lib/{platform.machine()}-linux-gnu")
    for directory in (pathlib.Path("/usr/bin"), pathlib.Path("/usr/sbin"), library):
        for path in directory.iterdir():
            if path.is_file() and not path.name.startswith(
                ("libc.so", "ld-linux", "libpthread", "librt")
            ):
                found |= imported(path)
    return found


def unneeded(names, made, functions):
    """Those that nobody makes, imports or gives a reason for."""
    return sorted(
        name
        for name in names
        if name not in made
        and not set(FUNCTIONS.get(name, (name,))) & functions
        and name not in WITHOUT_A_WITNESS
    )


@pytest.fixture(scope="module")
def watcher(tmp_path_factory):
    program = tmp_path_factory.mktemp("called") / "called"
    subprocess.run(
        [COMPILER, "-O1", "-static", "-o", program, HERE / "payloads/called.c"], check=True
    )
    return program


def calls_of(box, watcher, work):
    """The numbers of all calls that the work made in a sandbox."""
    box.put(watcher, "/usr/local/bin/called")
    for number, line in enumerate(work):
        box.put_text(line, f"/tmp/work-{number}")
        box.run(
            "sh",
            "-c",
            f"timeout -k 1 60 called sh /tmp/work-{number} 9>/tmp/calls-{number} >/dev/null 2>&1 "
            "</dev/null",
            timeout=180,
        )
    return {int(number) for number in box.sh("cat /tmp/calls-*").text.split()}


@pytest.fixture(scope="module")
def made(sandbox, watcher):  # noqa: F811
    return calls_of(sandbox, watcher, WORK)


def test_every_call_that_is_allowed_is_needed(made):
    rules, functions = allowed_rules(), all_imported()
    by_name = {name for name, number in rules.items() if number in made}
    assert len(by_name) > 100, "the watcher watches"
    wrong = unneeded(rules, by_name, functions)
    print(
        f"{len(rules)} calls allowed: {len(by_name)} seen in a sandbox, "
        f"{len(unneeded(rules, by_name, set())) - len(wrong)} more imported by programs"
    )
    assert (
        not wrong
    ), f"nobody needs {wrong}: take their lines out of {RULES.name}, or say here who does"


def changes_of(profile):
    """name -> action of the profile's lines."""
    text = PROFILES.read_text().partition(f"k{profile}Changes")[2].partition("}();")[0]
    found = dict(CHANGE.findall(text))
    assert len(found) > 5, profile
    return found


def test_every_call_that_nested_opens_is_made_by_containers(host, watcher):  # noqa: F811
    column = 0 if platform.machine() == "x86_64" else 1
    numbers = {
        name: (int(x86), int(arm))[column] for name, x86, arm, _ in RULE.findall(RULES.read_text())
    }
    refused = {name for name, _, _, action in RULE.findall(RULES.read_text()) if action in REFUSED}
    opened = {
        name
        for name, action in changes_of("Nested").items()
        if action not in REFUSED and name in refused
    }
    assert {"mount", "unshare"} <= opened
    box = Sandbox(host, "--profile", "nested")
    try:
        seen = calls_of(box, watcher, NESTED_WORK)
    finally:
        box.close()
    wrong = sorted(name for name in opened if numbers[name] not in seen and name not in OF_RUNTIMES)
    assert set(OF_RUNTIMES) <= opened
    assert not wrong, (
        f"no container makes {wrong}: take their lines out of {PROFILES.name}, or have "
        "NESTED_WORK show who does"
    )


def test_what_the_profiles_change_has_a_line_and_strict_opens_nothing():
    actions = {name: action for name, _, _, action in RULE.findall(RULES.read_text())}
    for profile in ("Strict", "Nested"):
        assert set(changes_of(profile)) <= set(actions)
    assert not [name for name in changes_of("Strict") if actions[name] in REFUSED]


def test_a_call_that_nobody_needs_is_seen():
    """The control: lines that no filter should have."""
    nobodys = {"lookup_dcookie", "nfsservctl", "vserver"}
    assert (
        set(unneeded([*allowed_rules(), *nobodys], set(allowed_rules()), all_imported())) >= nobodys
    )


def test_the_reasons_are_few_and_of_lines_that_are_there():
    named = {name for name, *_ in RULE.findall(RULES.read_text())}
    assert set(WITHOUT_A_WITNESS) <= named and set(FUNCTIONS) <= named
    assert (
        len(WITHOUT_A_WITNESS) <= MOST_WITHOUT
    ), "a sentence never fails: have WORK show who makes the call, or take its line out"


def test_without_its_work_a_call_is_needed_by_nobody():
    """The control: what is seen alone is what keeps these, no sentence and no import."""
    alone = {
        "execveat",
        "getdents",
        "membarrier",
        "pidfd_open",
        "pidfd_send_signal",
        "restart_syscall",
        "seccomp",
    }
    assert set(unneeded(alone, set(), all_imported())) == alone


def test_the_work_is_done_here():
    """A host without these programs would call too little needed."""
    missing = [
        one
        for one in (
            "git",
            "python3",
            "perl",
            "tar",
            "apt-get",
            "dpkg-deb",
            "ps",
            "fakeroot",
            "strace",
            "cyclictest",
            "gdbus",
        )
        if not shutil.which(one)
    ]
    assert not missing, f"install {missing}: what they call is part of what is needed"
