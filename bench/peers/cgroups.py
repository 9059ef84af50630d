"""crun refuses a host with controllers in both versions of cgroups. So a controller of the second
version becomes one of the first while it runs."""

import pathlib
import subprocess
import tempfile

SECOND = pathlib.Path("/sys/fs/cgroup/unified/cgroup.controllers")


def lend_controllers():
    """Returns the mounts that hold the controllers, for give_back()."""
    names = SECOND.read_text(encoding="ascii").split() if SECOND.exists() else []
    mounts = []
    for name in names:
        place = tempfile.mkdtemp(prefix="cay-bench-", dir="/var/tmp")
        words = ["mount", "-t", "cgroup", "-o", name, "bench", place]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            mounts.append(place)
    return mounts


def give_back(mounts):
    for place in mounts:
        subprocess.run(["umount", place], check=False)
        pathlib.Path(place).rmdir()
