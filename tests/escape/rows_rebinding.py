"""A name server that lies: names that an allowed wildcard has mean one address when the policy is
asked, and another later; or both at once; or in another notation. The guest connects by the name,
to the address itself, and shows the name to another address, for the gate to look up. Won: the
server at that address answered. The control: an operator who has opened it; where none can, a gate
without the checks (holes_of_gate.py)."""
import os

from frame import Outcome, row
from harness import slow, wait_until
from nameserver import ZONE
from places import arranged
from rows_network import OPENED, OWN_ADDRESS, S, visit
from world import METADATA, METADATA_6, PRIVATE, V4, V6

N = "network"
KNOWN = ("DNS rebinding",)
LOOPBACK = "127.0.0.1"
A = "addresses are checked after each resolution"
FLIPS = {
    "metadata": ("tunnel", METADATA),
    "private": ("tunnel", PRIVATE[0]),
    "loopback": ("tunnel", LOOPBACK),
    "open": ("open", PRIVATE[1]),
}


def ask_again(name):
    try:
        return sorted({one[4][0] for one in socket.getaddrinfo(name, 80, 0, socket.SOCK_STREAM)})
    except OSError:
        return []


def box_of(place, opened, box):
    return place.opened(box) if opened else place.box(box)


def visited(box, name, *addresses):
    return box.run(visit, {"tries": [(name, name), *((one, name) for one in addresses)]})["done"]


def outcome(told, target):
    return Outcome(
        any(one.endswith(f"by {target}") for one in told), " ".join(one[-24:] for one in told)
    )


@arranged()
def flipped(host, lifted):
    """A name of each that was let through as V4, and means the other since; the gate has asked for
    it anew, which it does once it has forgotten. All at once, once for each daemon."""
    daemon = box_of(host, lifted, "tunnel").host.daemon
    made = host.world.flips.setdefault((daemon.data, daemon.process.pid), {})
    if made:
        return made
    names, server = {word: f"flip{os.urandom(6).hex()}.{ZONE}" for word in FLIPS}, host.world.names
    for name in names.values():
        server.says[name] = [V4]
    for word, (box, _) in FLIPS.items():
        told = visited(box_of(host, lifted, box), names[word])
        assert told[0].endswith(f"by {V4}"), f"it was never let through: {told}"
    before = {word: server.seen(name.split(".")[0].encode()) for word, name in names.items()}
    for word, (_, target) in FLIPS.items():
        server.says[names[word]] = [target]
    for word, (box, _) in FLIPS.items():
        wait_until(
            lambda: box_of(host, lifted, box).run(ask_again, {"name": names[word]}) != [V4]
            and server.seen(names[word].split(".")[0].encode()) > before[word],
            "the gate asks anew",
            slow(60),
        )
    made.update(names)
    return made


def flips(word, attack, **more):
    box = FLIPS[word][0]

    @row(f"answer-flips-{word}", attack, N, A, by="A1 A4", known=KNOWN, short=False, **more)
    def run(host, lifted):
        # Nobody opens loopback: without a build with holes the control is another address.
        meant = "private" if lifted and word == "loopback" else word
        name, to = flipped(host, lifted)[meant], FLIPS[meant][1]
        return outcome(
            visited(box_of(host, lifted, box), name, *([] if to == LOOPBACK else [to]), V6), to
        )


flips(
    "metadata", "a name means the metadata address once it was let through as another", proof=OPENED
)
flips("private", "a name means a private address once it was let through as another", proof=OPENED)
flips(
    "loopback",
    "a name means the host's loopback once it was let through as another",
    proof=OPENED,
    holes=(S, OWN_ADDRESS),
)
flips("open", "the same under the policy `open`, with a private address", proof=OPENED)


def answers(name, attack, says, target, box="tunnel"):
    @row(f"answer-{name}", attack, N, A, by="A1 A4", known=KNOWN, proof=OPENED)
    def run(host, lifted):
        label = f"odd{os.urandom(6).hex()}.{ZONE}"
        host.world.names.says[label] = says
        return outcome(
            visited(box_of(host, lifted, box), label, target, V6 if says[-1] != V6 else V4), target
        )


answers(
    "mixed",
    "a name means the metadata address and one that may be reached",
    [METADATA, V4],
    METADATA,
)
answers(
    "mixed-families",
    "a name means the metadata address by IPv6 and one that may be reached by IPv4",
    [METADATA_6, V4],
    METADATA_6,
)
answers(
    "mapped", "a name means the metadata address, written in IPv6", ["::ffff:" + METADATA], METADATA
)
answers(
    "private-alone",
    "a name means nothing but a private address, under the policy `open`",
    [PRIVATE[2]],
    PRIVATE[2],
    "open",
)
