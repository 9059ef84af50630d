"""A restart of the host, or the loss of its power, as the programs see it: no process, no cgroup,
another boot id."""
import os
import pathlib
import signal
import socket
import struct

from harness import processes_of, wait_until


def guardian(daemon):
    """The launcher's first process."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(daemon.data / "run" / "launcher.sock"))
        return struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


def tops(daemon):
    name = "cay-" + (daemon.data / "instance").read_text().strip()
    return [
        pathlib.Path(root) / name for root, dirs, _ in os.walk("/sys/fs/cgroup") if name in dirs
    ]


def turn_off(daemon, keepers, meanwhile=lambda: None):
    """Ends everything of the instance, the daemon first. `meanwhile` is called when only the
    launcher is left."""
    launcher = guardian(daemon)
    daemon.kill()
    for box, keeper in keepers.items():
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda box=box: not processes_of(box), "the sandbox's processes are gone")
    meanwhile()
    os.kill(launcher, signal.SIGKILL)
    for top in tops(daemon):
        groups = [pathlib.Path(root) for root, _, _ in os.walk(top, topdown=False)]

        def removed():
            try:
                for group in groups:
                    if group.exists():
                        group.rmdir()
                return True
            except OSError:
                return False  # its last process is still on its way out

        wait_until(removed, f"{top} is removed")


def turn_on(daemon, folder, boot_id="11111111-2222-4333-8444-555555555555"):
    fake = folder / "boot_id"
    fake.write_text(boot_id + "\n")
    # A second /proc without that cover, or the kernel lets no sandbox mount one of its own.
    (folder / "proc").mkdir(exist_ok=True)
    daemon.prefix = [
        "unshare",
        "-m",
        "sh",
        "-c",
        f"mount -t proc proc {folder}/proc && "
        f'mount --bind {fake} /proc/sys/kernel/random/boot_id && exec "$@"',
        "sh",
    ]
    daemon.start(listen=f"127.0.0.1:{daemon.port}")
