"""A program in a sandbox that runs: the round trip on a kept connection beside a bare vfork, exec
and wait of the same program, and how many a second."""

import figures

TRUE = "/bin/true"
COMMAND = {"argv": [TRUE], "wait": True}


def _with_sandbox(at, peers):
    """Starts a sandbox of each peer, and returns those that have one."""
    started = []
    for peer in peers:
        try:
            peer.start()
            peer.exec_argv(TRUE)
            if at.spawn("once", 1, 0, peer.exec_argv(TRUE), peer.env)["failures"] == 0:
                started.append(peer)
            else:
                at.told(f"exec: {peer.name} does not run a program in a sandbox here")
        except Exception as error:  # pylint: disable=broad-except
            at.told(f"exec: {peer.name} is left out: {error}")
    return started


def _round_trips(at, box, peers):
    took = {name: [] for name in ["bare", "cay", *(peer.name for peer in peers)]}
    for _ in range(at.count(10, 2)):
        took["bare"].append(at.spawn("once", at.count(50, 10), 2, [TRUE])["end"])
        got = at.client("exec", sandbox=box, count=at.count(50, 10), warm=5, command=COMMAND)
        took["cay"].append(got["microseconds"])
        for peer in peers:
            argv = peer.exec_argv(TRUE)
            took[peer.name].append(
                at.spawn("once", at.count(peer.per_round, 3), 1, argv, peer.env)["end"]
            )
    for name, rounds in took.items():
        row = at.add(f"exec: {name}", [one for each in rounds for one in each])
        if name != "cay":
            row["cay_to_it"] = figures.ratio(took["cay"], rounds)
    bare, cay = (
        figures.statistics.median([one for each in took[name] for one in each])
        for name in ("bare", "cay")
    )
    at.value("exec: cay above the bare loop", (cay - bare) / 1e3, "ms")


def _after_a_pause(at, box):
    """Each command 100 ms after the end of the one before: nothing is warm, and CPUs sleep."""
    got = at.client("exec", sandbox=box, count=at.count(100), warm=1, gap_ms=100, command=COMMAND)
    at.add("exec: cay, 100 ms after the one before", got["microseconds"])


def _rates(at, box):
    seconds = at.count(10, 2)
    shares = []
    for _ in range(at.count(3, 1)):
        bare = at.spawn("rate", seconds, 2, [TRUE])["per_second"]
        got = at.client("exec", sandbox=box, clients=8, seconds=seconds, command=COMMAND)
        shares.append((got["per_second"] / bare, got["per_second"], bare, got))
    shares.sort(key=lambda one: one[0])
    share, cay, bare, got = shares[len(shares) // 2]
    at.value("execs a second: bare loop, both CPUs", bare, "1/s")
    at.value("execs a second: cay, 8 clients", cay, "1/s", failures=got["failures"])
    at.value("execs a second: cay, share of the bare loop", 100 * share, "%")
    at.add("exec, 8 clients: cay", got["microseconds"], failures=got["failures"])


def measure(at):
    peers = _with_sandbox(at, at.peers)
    try:
        with at.box() as box:
            _round_trips(at, box, peers)
            _after_a_pause(at, box)
            _rates(at, box)
    finally:
        for peer in peers:
            peer.stop()
