"""What a hostile sandbox gives to whoever copies out of it: the operator's own client unpacks
it."""
import os
import pathlib

import baits
from frame import Outcome, row
from holes_of_files import CLIENT_LINKS

G = "guest answers"


def client(host, *words):
    """The client of the build that the daemon is of."""
    return host.daemon.cli(*words, program=host.daemon.program, env=host.daemon.extra)


def copied(host, box, to):
    """The sandbox's tree into `to`, by the client."""
    return client(host, "cp", "-r", f"{box.name}:/srv/out/.", str(to)).code


@row(
    "copy-twice",
    "a tree that has a link first, and in the next copy a directory of that name",
    G,
    CLIENT_LINKS,
    by="A7",
    known=("CVE-2026-41397", "CVE-2026-31990"),
)
def copy_twice(host, lifted):
    box = host.box("main")
    with baits.Marker() as bait:
        to = pathlib.Path(host.world.directory) / ("copy-" + os.urandom(4).hex())
        to.mkdir()
        box.sh(f"rm -rf /srv/out; mkdir /srv/out; ln -s {bait.place} /srv/out/l")
        first = copied(host, box, to)
        if not (to / "l").is_symlink():
            os.symlink(
                bait.place, to / "l"
            )  # whatever the client made of it: the second copy meets a link
        box.sh("rm -rf /srv/out; mkdir -p /srv/out/l; echo changed > /srv/out/l/marker")
        if lifted:
            (to / "l" / "marker").write_text("changed")
            second = 0  # a careless client goes by names
        else:
            second = copied(host, box, to)
            fresh = to / "fresh"
            assert (
                copied(host, box, fresh) == 0
                and (fresh / "l" / "marker").read_text() == "changed\n"
            ), "the tree is not copied anywhere"
        return Outcome(bait.won(None), f"{first}, then {second}")


@row(
    "copy-link",
    "a tree with a link to a file of the operator's, and then that file",
    G,
    "the client writes to nothing that is there",
    by="A7",
    known=("CVE-2026-32055",),
)
def copy_link(host, lifted):
    box = host.box("main")
    with baits.Marker() as bait:
        to = pathlib.Path(host.world.directory) / ("copy-" + os.urandom(4).hex())
        to.mkdir()
        os.symlink(bait.file, to / "f")  # of an earlier copy
        box.sh("rm -rf /srv/out; mkdir /srv/out; echo changed > /srv/out/f")
        told = 0
        if lifted:
            (to / "f").write_text("changed")
        else:
            told = copied(host, box, to)
            assert (
                told != 0 or (to / "f").read_text() == "changed\n"
            ), "nothing was copied: the attack would prove nothing"
        return Outcome(bait.won(None), str(told))


@row(
    "copy-holes",
    "files of holes, one of them larger than any disk",
    G,
    "the client writes no zeros, and takes no more than is asked for",
    by="A7",
    holes=("zeros take no disk",),
)
def copy_holes(host, lifted):
    box = host.box("main")
    to = pathlib.Path(host.world.directory) / ("copy-" + os.urandom(4).hex())
    to.mkdir()
    box.sh(
        "rm -rf /srv/out /srv/giant; mkdir /srv/out; truncate -s 64M /srv/out/hole; truncate -s "
        "8T /srv/giant"
    )
    giant = 0
    if lifted:  # a careless client writes what it gets
        (to / "hole").write_bytes(host.daemon.cli("cp", f"{box.name}:/srv/out/hole", "-").out)
    else:
        assert (
            copied(host, box, to / "tree") == 0
            and client(host, "cp", f"{box.name}:/srv/out/hole", to / "hole").code == 0
        )
        assert (
            (to / "tree" / "hole").stat().st_size == (to / "hole").stat().st_size == 64 << 20
        ), "nothing was copied: the attack would prove nothing"
        giant = client(host, "cp", f"{box.name}:/srv/giant", to / "giant").code
    taken = sum(path.stat().st_blocks * 512 for path in to.rglob("*") if path.is_file())
    return Outcome(
        taken > 1 << 20 or (to / "giant").exists(), f"{taken >> 10} KiB taken; the giant: {giant}"
    )
