"""Attacks as rows, and the verdict over each.

A row has one act and names the protection that holds it. The act is tried against the product, and
then with exactly that protection gone, where it must succeed: else nothing is known of the
protection. Success is always something seen: a secret that was read, a host file that was written,
a process that was signalled, a request that was served."""
import collections
import dataclasses

import bodies
import holes as product
from harness import slow
from places import USED, Defect, StandIn

CLASSES = (
    "kernel view",
    "host processes",
    "shared names",
    "files",
    "mounts",
    "devices",
    "privileges",
    "our processes",
    "system calls",
    "resources",
    "file work",
    "archives",
    "network",
    "api",
    "web pages",
    "service links",
    "host users",
    "guest answers",
    "tenants",
    "profiles",
)
# The attackers and the known escapes of the threat model: docs/decisions/0024-the-escape-suite.md.
ATTACKERS = tuple(f"A{number}" for number in range(1, 9))
WALLS = {
    "filter": "filter of system calls",
    "caps": "capability set",
    "limits": "resource limits",
    "cgroup": "control group",
    "user": "user namespace",
    "namespaces": "count of namespaces",
    "pid": "pid namespace",
    "mount": "mount namespace",
    "net": "network namespace",
    "ipc": "ipc namespace",
    "uts": "uts namespace",
    "cgroupns": "cgroup namespace",
    "time": "time namespace",
    "pivot": "pivoted root",
}
WORDS = {
    "mask": "cover over {}",
    "ro": "{} read-only",
    "nodev": "nodev on {}",
    "nosuid": "nosuid on {}",
    "noexec": "noexec on {}",
    "leak": "no descriptor of the host's",
}


# The control of a row without walls of the kernel's.
PROOFS = {
    "file work": "a careless helper is taken in",
    "archives": "a careless unpacker is taken in",
    "guest answers": "the same bytes, not through Cay, do it",
    "api": "succeeds where the check is met",
    "web pages": "succeeds where the check is met",
    "service links": "succeeds where the check is met",
    "tenants": "succeeds where the check is met",
    "host users": "succeeds with the modes open",
    "network": "succeeds where the policy allows it",
    "our processes": "succeeds against a process with the guest's ids",
}


# The kinds of controls. The first three take exactly the protection away. The others try an act
# that it does not prevent.
HOLE, SETTING, LEFT_OUT, AS_IT_SHOULD, CARELESS, DIRECT = (
    "hole",
    "setting",
    "wall left out",
    "as it should be",
    "done by somebody careless",
    "done without Cay",
)
EXACT = (HOLE, SETTING, LEFT_OUT)
MEANS = {
    "succeeds without it": LEFT_OUT,
    "succeeds unconfined": LEFT_OUT,
    "succeeds where no user namespace is between": LEFT_OUT,
    "succeeds without the network namespace": LEFT_OUT,
    "succeeds with all of root's": LEFT_OUT,
    "succeeds where the operator has opened that address": SETTING,
    "succeeds where the policy allows it": SETTING,
    "succeeds with the modes open": SETTING,
    "succeeds without those rules": LEFT_OUT,
    "succeeds in profile default": SETTING,
    "succeeds where the rule names neither": SETTING,
    "succeeds with all as it was": SETTING,
    "the same bytes, not through Cay, do it": DIRECT,
    "the same request, not through Cay, tells them": DIRECT,
    "the same request, not through Cay, is redirected": DIRECT,
    "a careless helper is taken in": CARELESS,
    "a careless unpacker is taken in": CARELESS,
    "a careless relay is taken in": CARELESS,
    "a careless reader keeps all": CARELESS,
    "a careless reader is held": CARELESS,
}


# The holes of holes.py that are behind a protection of another name.
HOLES_OF = {
    "API key of WebSockets": ("API key",),
    "tokens are no keys": ("API key",),
    "scope read": ("scopes",),
    "scope create": ("scopes",),
    "scope use": ("scopes",),
    "removal of keys": ("removal and rotation of keys",),
    "rotation of keys": ("removal and rotation of keys",),
    "the API is never under such a host": ("the API is never under a service's host",),
    **{name: (name,) for name in product.NAMES},
}
HOLED = "succeeds in a build without that check"


def told_of(wall):
    """A wall as the report names it."""
    kind, _, rest = wall.partition(":")
    if kind == "host":
        return "nothing of the host's at " + rest.split("=")[1]
    if kind == "take":
        return "own " + {"mnt": "mounts"}.get(rest.split("=")[0], rest.split("=")[0]) + " namespace"
    return WALLS.get(wall) or WORDS[kind].format(rest)


@dataclasses.dataclass
class Outcome:
    won: bool
    told: str = ""  # how it was refused, or what it got


@dataclasses.dataclass
class Row:
    name: str
    attack: str  # what is tried
    kind: str  # one of CLASSES
    by: str  # "A1 A8"
    wall: str  # the protection, for the report
    attempt: object  # attempt(host) -> Outcome, against the product
    # control(host) -> None. It raises Defect where the attack does not succeed without the wall.
    control: object
    proof: str = "succeeds without it"  # what the control is
    known: tuple = ()  # known escapes of the same mechanism
    short: bool = True  # in the short form too
    needs: object = None  # needs() -> "" or why this machine cannot show the control
    unshown: dict = dataclasses.field(
        default_factory=dict
    )  # of a row that is several together: part -> why this machine cannot show its control
    holes: tuple = ()  # of holes.py: the checks that hold it; with any one of them it is held still
    holed: object = None  # holed(host) as `control`, against a build without those checks
    means: str = ""  # of what kind the control is; told by `proof` where it is not said
    body: str = ""  # what is tried, told apart from what others try

    def proof_on(self, with_holes):
        return HOLED if self.holes and with_holes else self.proof

    def means_on(self, with_holes):
        return (
            HOLE if self.holes and with_holes else self.means or MEANS.get(self.proof, AS_IT_SHOULD)
        )


ROWS = {}


def add(row):
    assert row.name not in ROWS, row.name
    assert row.kind in CLASSES and set(row.by.split()) <= set(ATTACKERS), row
    ROWS[row.name] = row


def row(name, attack, kind, wall, by="A1 A8", **more):
    """Decorator for a row whose one function does both: act(host, lifted) -> Outcome, in which
    `lifted` changes that one thing; where there is a build with holes, its control is the act
    itself against that."""
    more.setdefault("proof", PROOFS.get(kind, "succeeds without it"))
    holes = more.setdefault("holes", HOLES_OF.get(wall, ()))
    assert set(holes) <= product.NAMES, holes

    def wrap(act):
        def control(host):
            with host.unprotected():
                got = act(host, True)
            if not got.won:
                raise Defect(f"without the protection it fails too: {got.told}")

        def holed(host):
            for stays in holes if len(holes) > 1 else ():
                if act(host.holed(set(holes) - {stays}), False).won:
                    raise Defect(
                        f"it succeeds though '{stays}' stands: that is no part of the protection"
                    )
            with host.holed(set(holes)).unprotected() as place:
                got = act(place, False)
            if not got.won:
                raise Defect(f"in a build without the protection it fails too: {got.told}")

        add(
            Row(
                name,
                attack,
                kind,
                by,
                wall,
                lambda host: act(host, False),
                control,
                holed=holed,
                body=bodies.of(act),
                **more,
            )
        )
        return act

    return wrap


class Bait:
    """What an act is after. A context: entering gives it to the act as arguments; won() tells from
    outside or from the answer, and waits for what comes late: long where the act should succeed."""

    patience = 0.3

    def __init__(self, **arguments):
        self.arguments = arguments

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def given(self, host, lifted):
        return self.arguments

    def won(self, told):
        return told is True


def inside(
    name,
    attack,
    kind,
    lift,
    act,
    bait=Bait,
    by="A1 A8",
    user=None,
    box="main",
    may_die=False,
    wall=None,
    **more,
):
    """A row whose act runs in a sandbox. `lift`: walls, none of which may be left out of the
    control: with any one of them standing the act must fail. `bait` is made anew for each try; it
    and `lift` may be functions of the host.
    """

    def walls(host):
        return tuple(lift(host)) if callable(lift) else tuple(lift)

    def tried(host, place, lifted):
        made = bait(host) if getattr(bait, "of_host", False) else bait()
        with made as one:
            if lifted and set(lifted) == set(walls(host)):
                one.patience = slow(20)
            told = place.run(act, one.given(host, lifted), user=user, may_die=may_die)
            won = one.won(told.get("done"))
        return Outcome(
            won,
            told["refused"]
            if "refused" in told
            else "refused"
            if not won and told["done"] is None
            else str(told["done"])[:60],
        )

    def attempt(host):
        sandbox = host.box(box)
        got = tried(host, sandbox, ())
        if host.seeded and not got.won:  # as if the product had that hole
            return tried(
                host,
                StandIn(sandbox, [one for one in walls(host) if one in host.seeded]),
                host.seeded,
            )
        return got

    def control(host):
        sandbox, lifted = host.box(box), walls(host)
        got = tried(host, StandIn(sandbox), ())
        if got.won:
            raise Defect(
                "the stand-in is not what the sandbox is: with every wall standing it gives "
                f"{got.told}"
            )
        for stays in lifted if len(lifted) > 1 else ():
            less = tuple(one for one in lifted if one != stays)
            if tried(host, StandIn(sandbox, less), less).won:
                raise Defect(
                    f"it succeeds though '{told_of(stays)}' stands: that is no part of the "
                    "protection"
                )
        got = tried(host, StandIn(sandbox, lifted), lifted)
        if not got.won:
            raise Defect(f"without the protection it fails too: {got.told}")

    add(
        Row(
            name,
            attack,
            kind,
            by,
            wall or (" and ".join(map(told_of, lift)) if not callable(lift) else ""),
            attempt,
            control,
            means=LEFT_OUT,
            body=bodies.of((act, bait, user, box)),
            **more,
        )
    )


ALL = "open"  # a policy that lets everything through


def core():
    """Returns the names of the rows that ./test tries: three of each class and of each attacker."""
    names, counts = set(), collections.Counter()
    for one in filter(lambda one: one.short, ROWS.values()):
        groups = (one.kind, *one.by.split())
        if any(counts[group] < 3 for group in groups):
            names.add(one.name)
            counts.update(groups)
    return names


def verdict(host, one):
    """(word, how): HELD, ESCAPED, DEFECT or NO CONTROL. Of a row that is several together, HELD
    tells which of them were not shown."""
    why = one.needs() if one.needs else ""
    with_holes = host is not None and host.program_with_holes
    USED.clear()
    try:
        got = one.attempt(host)
    except Exception as defect:  # whatever breaks an attack must not pass for a wall that held
        return "DEFECT", f"attack: {type(defect).__name__}: {defect}"
    if got.won:
        return "ESCAPED", got.told
    if why:
        return "NO CONTROL", why
    opened = ALL in USED  # the attack is one under that policy
    try:
        (one.holed if one.holes and with_holes else one.control)(host)
    except Exception as defect:
        return "DEFECT", f"control: {type(defect).__name__}: {defect}"
    if with_holes and ALL in USED and not opened:
        return (
            "DEFECT",
            f"control: it is tried in a sandbox whose policy is '{ALL}', which takes every check "
            "of a connection away at once",
        )
    return "HELD", "; ".join(
        [got.told, *(f"not shown here: {part} ({why})" for part, why in one.unshown.items())]
    )
