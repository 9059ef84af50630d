"""Create to first output of `echo`: the sequential mode beside the peers, staggered and burst.

For Cay: the request to create, the request to run, its answer; the deletion is not timed. For the
others: the start of their program, to its first byte of output."""

import figures

ECHO = ("/bin/echo", "hi")
COMMAND = {"argv": list(ECHO), "wait": True}
# The sandboxes of one mode exist at once, and the host admits only as many as its memory holds.
SMALL = {"limits": {"memory_bytes": 128 << 20}}


def _sequential(at, names):
    """Each round has all of them, one after the other."""
    rounds = at.count(10, 2)
    took = {name: [] for name in [*names, *(peer.name for peer in at.peers)]}
    failures = dict.fromkeys(took, 0)
    for number in range(rounds):
        at.told(f"round {number + 1} of {rounds}")
        for name, sandbox in names.items():
            got = at.client("create", count=at.count(10), sandbox=sandbox, command=COMMAND)
            took[name].append(got["microseconds"])
            failures[name] += got["failures"]
        for peer in at.peers:
            got = at.spawn("once", at.count(peer.per_round, 3), 1, peer.run_argv(*ECHO), peer.env)
            took[peer.name].append(got["first"])
            failures[peer.name] += got["failures"]
    return took, failures


def sequential(at):
    names = {"cay": {}, "cay, the peers' root": {"snapshot": at.root}}
    took, failures = _sequential(at, names)
    for name, rounds in took.items():
        peer = next((peer for peer in at.peers if peer.name == name), None)
        row = at.add(
            f"create, sequential: {name}",
            [one for each in rounds for one in each],
            failures=failures[name],
            note=peer.note if peer else "",
            version=peer.version if peer else "",
        )
        if peer and rounds[0]:
            row["cay_to_it"] = figures.ratio(took["cay"], rounds)
            at.told(f"  cay takes {row['cay_to_it'][0]:.2f} of it")


def _wall(count, got):
    """The time from the first request to the last output. The target is one of 100."""
    return {f"wall_of_{count}_ms": got["wall_us"] / 1e3}


def many(at, mode, gap_ms):
    count = at.count(100, 20)
    got = at.client(
        "create",
        count=count,
        mode=mode,
        gap_ms=gap_ms,
        warm=3,
        settle_ms=2000,
        sandbox=SMALL,
        command=COMMAND,
    )
    at.add(
        f"create, {mode}: cay",
        got["microseconds"],
        failures=got["failures"],
        why=got["why"],
        **_wall(count, got),
    )
    at.told(f"  all of {count} in {got['wall_us'] / 1e3:.0f} ms, {got['failures']} failures")
    for peer in at.peers:
        got = at.spawn("many", count, gap_ms, peer.run_argv(*ECHO), peer.env)
        at.add(
            f"create, {mode}: {peer.name}",
            got["first"],
            failures=got["failures"],
            **_wall(count, got),
        )


def measure(at):
    sequential(at)
    many(at, "staggered", 200 if not at.quick else 50)
    many(at, "burst", 0)
