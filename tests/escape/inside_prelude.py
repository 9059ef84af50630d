import ctypes, errno, fcntl, json, mmap, os, select, signal, socket, stat, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    """A system call by its number, whatever the C library thinks of it."""
    words = [
        ctypes.c_char_p(one)
        if isinstance(one, bytes)
        else ctypes.c_long(one)
        if isinstance(one, int)
        else one
        for one in arguments
    ]
    libc.syscall.restype = ctypes.c_long
    got = libc.syscall(ctypes.c_long(number), *words)
    if got == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return got


def read(path, size=65536):
    with open(path, "rb") as file:
        return file.read(size).decode("latin-1")


def answer_at(host, port):
    with socket.create_connection((host, port), timeout=5) as client:
        return client.recv(100).decode()


def first(*ways):
    """What the first way that is not refused gives; else the last refusal."""
    refused = None
    for way in ways:
        try:
            return way()
        except OSError as error:
            refused = error
    raise refused


def in_child(work):
    """Runs work() in a process of its own; what it returned, as text, or None if it died."""
    out, inn = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(inn, json.dumps({"done": work()}).encode())
        except OSError as error:
            os.write(inn, json.dumps({"errno": error.errno}).encode())
        os._exit(0)
    os.close(inn)
    text = b"".join(iter(lambda: os.read(out, 65536), b""))
    os.close(out)
    _, status = os.waitpid(pid, 0)
    if not text:
        raise OSError(errno.EOWNERDEAD, f"died of {status}")
    got = json.loads(text)
    if "errno" in got:
        raise OSError(got["errno"], os.strerror(got["errno"]))
    return got["done"]


def linux(name, *arguments):
    """A function of the C library's that answers -1 where it fails."""
    got = getattr(libc, name)(*arguments)
    if got == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return got


USERS, MOUNTS, PIDS, NETWORK, GROUPS = 0x10000000, 0x20000, 0x20000000, 0x40000000, 0x2000000


def contained(work, users=True, kinds=MOUNTS | PIDS):
    """work() as root of a container's own namespaces. Without `users` they belong to the caller's
    user namespace, and pids are as they are: the kernel gives a stand-in of the host's none below
    those of a sandbox."""

    def inner():
        uid, gid = os.geteuid(), os.getegid()
        linux("unshare", kinds | USERS if users else kinds & ~PIDS)
        for name, text in (
            (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1"))
            if users
            else ()
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        if kinds & MOUNTS:
            linux("mount", b"none", b"/", None, 0x4000 | 0x40000, None)  # REC, PRIVATE
        return in_child(work)

    return in_child(inner)


def tell(act, arguments):
    try:
        told = {"done": act(**arguments)}
    except OSError as error:
        told = {"refused": errno.errorcode.get(error.errno, str(error))}
    print("\n@@" + json.dumps(told), flush=True)
