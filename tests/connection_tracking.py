"""Entries of connections that the kernel keeps for a sandbox's network namespace, and the rules
that bound them (src/launcher/guest_filter.h).

Run by itself, in that namespace, it takes those rules away: `python3 connection_tracking.py`."""
import pathlib
import socket
import struct
import subprocess

MOST = 19_456  # entries
BOUNDING = ("untracked", "bound")  # chains


def in_namespace(pid, *words):
    return subprocess.run(
        ["nsenter", f"--net=/proc/{pid}/ns/net", *words], capture_output=True, text=True, check=True
    ).stdout


def entries(pid):
    """How many there are in the network namespace of that process."""
    return int(in_namespace(pid, "cat", "/proc/sys/net/netfilter/nf_conntrack_count"))


def unbound(pid):
    in_namespace(pid, "python3", pathlib.Path(__file__).resolve())


def flood():
    """Empty datagrams to ports where nobody is: for a program inside."""
    import socket

    for number in range(20):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.bind(("127.0.0.1", 0))
            for port in range(1, 3001):
                try:
                    one.sendto(b"", ("127.0.%d.%d" % (number, port % 250 + 1), port))
                except OSError:
                    pass  # what an earlier one came to
    return True


def flood_outwards():
    """The same to name servers everywhere, which is redirected."""
    import socket

    for _ in range(4):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            for number in range(10_000):
                try:
                    one.sendto(b"", ("8.8.%d.%d" % (number >> 8, number & 255), 53))
                except OSError:
                    pass
    return True


def message(kind, flags, family, resource, attributes=b""):
    return (
        struct.pack(
            "=IHHIIBBH",
            20 + len(attributes),
            kind,
            flags | 1,
            0,
            0,
            family,
            0,
            socket.htons(resource),
        )
        + attributes
    )


def text(kind, word):
    value = word.encode() + b"\0"
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def main():
    nftables, delete_rule, inet = 10, 10 << 8 | 8, 1
    batch = message(0x10, 0, 0, nftables)
    for chain in BOUNDING:
        batch += message(delete_rule, 4, inet, 0, text(1, "cay") + text(2, chain))
    batch += message(0x11, 0, 0, nftables)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as kernel:
        kernel.settimeout(10)
        kernel.sendto(batch, (0, 0))
        for _ in BOUNDING:
            answer = kernel.recv(65536)
            error = struct.unpack_from("=i", answer, 16)[0]
            if error != 0:
                raise OSError(-error, "take rules away")


if __name__ == "__main__":
    main()
