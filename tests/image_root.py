"""A small root file system as a tar: programs of this host with the libraries that they load."""
import io
import pathlib
import re
import shutil
import subprocess
import tarfile


def _files_of(program):
    """Returns the program's path and those of its libraries, as the loader finds them."""
    path = shutil.which(program)
    listed = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return [path, *re.findall(r"(/\S+) \(0x", listed)]


def root_tar(programs=("sh", "cat", "ls", "rm", "sleep", "id"), more=None, size=0):
    """Returns the bytes of the tar. `more`: contents by path. `size`: of a file /blob."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:

        def directory(name):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)

        def file(name, data, mode=0o644):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))

        names = {name for program in programs for name in _files_of(program)}
        texts = {
            "/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n",
            "/etc/group": b"root:x:0:\n",
            "/etc/os-release": b'NAME="image of a test"\n',
            **(more or {}),
        }
        if size:
            texts["/blob"] = b"\0" * size
        wanted = {str(pathlib.PurePath("/bin") / program) for program in programs}
        folders = {
            str(parent)
            for name in names | wanted | set(texts)
            for parent in pathlib.PurePath(name).parents
        }
        for folder in sorted(folders | {"/tmp", "/proc", "/sys", "/dev", "/run", "/root"}):
            if folder != "/":
                directory(folder[1:])
        for name in sorted(names):
            file(name[1:], pathlib.Path(name).read_bytes(), 0o755)
        for program in programs:
            if shutil.which(program) != f"/bin/{program}":
                file(f"bin/{program}", pathlib.Path(shutil.which(program)).read_bytes(), 0o755)
        for name, data in texts.items():
            file(name[1:], data)
    return out.getvalue()
