"""A keeper that was taken over: the daemon believes it about its own sandbox, and nothing more.
What its frames may be, how much they may hold, and what it passes. Success is what the daemon
tells: an end that it put on record, bytes that a client got; or a daemon that others do not reach
any more. The control is a daemon without that check (holes_of_keepers.py); where there is none to
take out, and in the short form, it says the same in a frame as it should be, from the keeper whose
word counts, or to a careless reader."""
import contextlib
import os
import shutil

import baits
import keeper_frames as wire
from asking import talk
from frame import Outcome, row
from harness import slow, wait_until
from keeper_frames import frame
from taken_keeper import TakenKeeper, ends, others_are_true, with_command

P = "our processes"
CODE = 77


def judged(host, won, told):
    """Others' commands must stay true whatever a keeper says."""
    return (
        Outcome(won, told)
        if others_are_true(host)
        else Outcome(True, "another sandbox's command went wrong")
    )


def on_record(host, command, boxes, lifted, codes=(CODE,)):
    """Whether an invented end is: soon, or after the daemon had its time."""
    with contextlib.suppress(AssertionError):
        wait_until(
            lambda: set(codes) & set(ends(host, command, *boxes)),
            "the end",
            slow(10) if lifted else 0.7,
        )
    told = ends(host, command, *boxes)
    return judged(host, bool(set(codes) & set(told)), f"ends told: {told}")


def keeper_row(name, attack, wall, proof="succeeds in a frame as it should be", **more):
    def wrap(act):
        row(
            f"keeper-{name}",
            f"a keeper that was taken over: {attack}",
            P,
            wall,
            by="A1 A2 A8",
            proof=proof,
            **more,
        )(act)
        return act

    return wrap


# ---- whose word it is ----


@keeper_row(
    "end-of-another",
    "tell the end of another sandbox's command",
    "a keeper is believed about its own sandbox",
    "succeeds from that sandbox's keeper",
)
def end_of_another(host, lifted):
    with with_command(host) as (own, _), with_command(host) as (other, command), TakenKeeper(
        host, other if lifted else own
    ) as keeper:
        keeper.say(frame(wire.NOTE, 0, wire.ended(command, CODE)))
        return on_record(host, command, (own, other), lifted)


@keeper_row(
    "name-of-another",
    "say that it is another sandbox's keeper, and tell the end of that one's command",
    "HELLO must name the sandbox",
    "succeeds from that sandbox's keeper",
)
def name_of_another(host, lifted):
    with with_command(host) as (own, _), with_command(host) as (other, command):

        def greeting(payload):
            return frame(wire.HELLO, 0, payload + wire.encode({wire.SANDBOX: other.id})) + frame(
                wire.NOTE, 0, wire.ended(command, CODE)
            )

        with TakenKeeper(host, other if lifted else own, greeting=greeting):
            return on_record(host, command, (own, other), lifted)


@keeper_row(
    "end-twice",
    "tell a command's end again, otherwise",
    "an end is on record once",
    "succeeds where it is the first word",
)
def end_twice(host, lifted):
    with with_command(host) as (box, command), TakenKeeper(host, box) as keeper:
        if not lifted:
            keeper.say(frame(wire.NOTE, 0, wire.ended(command, 1, 5, at=5)))
            wait_until(lambda: ends(host, command, box) == [1], "the first end")
        for life, at in ((5, 5), (5, 4), (5, 6), (6, 1)):
            keeper.say(frame(wire.NOTE, 0, wire.ended(command, CODE, life, at)))
        return on_record(host, command, (box,), lifted)


# ---- what a frame may be ----


def told_wrongly(name, attack, wall, wrong, right):
    """`wrong(note)`, `right(note)` -> the bytes that are said: the invented end of a command of its
    own."""

    @keeper_row(name, attack, wall)
    def run(host, lifted):
        with with_command(host) as (box, command), TakenKeeper(host, box) as keeper:
            keeper.say((right if lifted else wrong)(wire.ended(command, CODE)))
            return on_record(host, command, (box,), lifted)


def padded(note, size):
    """With a member that nobody knows, so that it has that size."""
    return note + wire.encode({999: bytes(size - len(note) - 6)})


told_wrongly(
    "oversized",
    "an end in a frame that is one byte too long",
    "lengths of frames are bounded",
    lambda note: frame(wire.NOTE, 0, padded(note, wire.MOST_PAYLOAD + 1)),
    lambda note: frame(wire.NOTE, 0, padded(note, wire.MOST_PAYLOAD)),
)
told_wrongly(
    "endless-frame",
    "an end behind a frame of 4 GiB",
    "an impossible length ends the connection",
    lambda note: frame(wire.NOTE, 0, length=0xFFFFFFFF) + frame(wire.NOTE, 0, note),
    lambda note: frame(wire.NOTE, 0) + frame(wire.NOTE, 0, note),
)
told_wrongly(
    "short-frame",
    "an end behind a frame that is shorter than its head",
    "an impossible length ends the connection",
    lambda note: frame(wire.OK, 0, length=7) + frame(wire.NOTE, 0, note),
    lambda note: frame(wire.OK, 0) + frame(wire.NOTE, 0, note),
)
told_wrongly(
    "truncated",
    "an end whose last member is cut",
    "messages are read whole or not at all",
    lambda note: frame(wire.NOTE, 0, note[:-1]),
    lambda note: frame(wire.NOTE, 0, note),
)
told_wrongly(
    "nested",
    "an end inside ends inside ends",
    "messages are bounded in depth",
    lambda note: frame(wire.NOTE, 0, nested(note, 100)),
    lambda note: frame(wire.NOTE, 0, note),
)
told_wrongly(
    "wrong-channel",
    "an end on a request's channel",
    "events come on channel 0",
    lambda note: frame(wire.NOTE, 7, note),
    lambda note: frame(wire.NOTE, 0, note),
)


def nested(note, depth):
    """The command is a member of a command is a member ..."""
    for _ in range(depth):
        note = wire.encode({3: note})
    return note


@keeper_row("before-hello", "tell an end before its HELLO", "HELLO comes first")
def before_hello(host, lifted):
    with with_command(host) as (box, command):

        def greeting(payload):
            hello, note = frame(wire.HELLO, 0, payload), frame(
                wire.NOTE, 0, wire.ended(command, CODE)
            )
            return hello + note if lifted else note + hello

        with TakenKeeper(host, box, greeting=greeting):
            return on_record(host, command, (box,), lifted)


# ---- how much ----

OUTPUT = (
    64
    << 20
    # More than all buffers on the way to a reader hold: with less, what is taken gives credit for
    # the rest.
)


@keeper_row(
    "beyond-credit",
    "send output beyond what it was allowed",
    "output comes under credit",
    "succeeds under credit",
)
def beyond_credit(host, lifted):
    credits, begun = [], []

    def on_request(keeper, kind, channel, payload):
        if kind == wire.CREDIT and begun:
            credits.append(wire.number(wire.decode(payload)[1]))
        if kind == wire.ATTACH and not begun:
            begun.append(channel)
            credits.append(wire.number(wire.decode(payload)[4]))
        return False

    with with_command(host) as (box, command), TakenKeeper(host, box, on_request) as keeper:
        got = 0
        with host.http.stream(
            "GET",
            f"{box.url}/commands/{command}/output",
            params={"stream": "stdout", "follow": "true"},
            timeout=slow(5),
        ) as answer:
            wait_until(lambda: begun, "a reader")
            pieces = answer.iter_raw()
            wait_until(
                lambda: keeper.answered(begun[0]), "the command, to which the output belongs"
            )
            for offset in range(0, OUTPUT, wire.CHUNK):
                while lifted and sum(credits) < offset + wire.CHUNK and got < offset:
                    got += len(next(pieces))
                keeper.say(wire.data(begun[0], offset, bytes(wire.CHUNK), stream=1))
            with contextlib.suppress(Exception):  # the stream breaks off, or is silent
                while got < OUTPUT:
                    got += len(next(pieces))
        return judged(host, got == OUTPUT, f"{got >> 10} KiB")


# ---- the client's answers ----


@keeper_row(
    "tree-of-dots",
    "answer a copy with a file that lies outside of the tree",
    "the client writes below where it was told",
    "a careless unpacker is taken in",
    known=("CVE-2024-28185",),
)
def tree_of_dots(host, lifted):
    content = b"changed"

    def on_request(keeper, kind, channel, payload):
        if kind != wire.FILE_OP or wire.number(wire.decode(payload)[1]) != wire.READ_TREE:
            return False
        keeper.say(
            frame(wire.FILE_INFO, channel, wire.encode({1: "", 2: wire.DIRECTORY, 4: 0o755})),
            frame(
                wire.FILE_INFO,
                channel,
                wire.encode({1: "../marker", 2: wire.FILE, 3: len(content), 4: 0o644}),
            ),
            wire.data(channel, 0, content),
            frame(wire.EOF, channel),
        )
        asked.append(channel)
        return True

    asked = []
    with with_command(host) as (box, _), baits.Marker() as bait:
        to = bait.place / "to"
        to.mkdir()
        if lifted:
            (to / "../marker").write_bytes(content)
            return judged(host, bait.won(None), "")
        box.sh("mkdir -p /srv/out; echo one > /srv/out/one")
        with TakenKeeper(host, box, on_request):
            copied = host.daemon.cli("cp", "-r", f"{box.name}:/srv/out/.", str(to))
        assert asked, "no tree was asked for: the attack would prove nothing"
        return judged(host, bait.won(None), f"ended with {copied.code}")


@keeper_row(
    "spool-link",
    "put a link to the daemon's key where a command's output lay",
    "the spool is read without following links, and what is another's is not read",
    "succeeds where the output is a file",
    holes=("the spool is read without following links", "what is in the spool is the keeper's own"),
)
def spool_link(host, lifted):
    secret = host.daemon.data / "api-key"
    size = secret.stat().st_size
    with with_command(host) as (box, _):
        command = "s" + os.urandom(4).hex()
        done = box.command(["head", "-c", str(size), "/dev/zero"], id=command, ttl_s=-1)
        assert done["state"] == "exited", done
        host.http.post(f"{box.url}/stop").raise_for_status()
        out = host.daemon.data / "spool" / box.id / command / "out"
        owner = out.stat()
        assert owner.st_size == size, "the output is not where it is looked for"
        out.unlink()
        if lifted:
            shutil.copyfile(secret, out)
        else:
            out.symlink_to(secret)
        os.chown(out, owner.st_uid, owner.st_gid, follow_symlinks=False)
        told = talk(
            host,
            f"GET {box.url}/commands/{command}/output?stream=stdout HTTP/1.1\r\n"
            "Host: 127.0.0.1\r\n"
            f"X-Api-Key: {host.daemon.key}\r\n"
            "Connection: close\r\n\r\n".encode(),
        )
        return judged(host, host.daemon.key in told, told.split("\r\n")[0])
