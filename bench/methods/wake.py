"""A sandbox that does not run: the wake of a stopped one, from the request of a command to the
command's end, and pause and resume."""

import figures


def measure(at):
    with at.box() as box:
        got = at.client("wake", sandbox=box, count=at.count(100))
        at.add("wake of a stopped sandbox (/bin/true)", got["microseconds"])
        took = {"pause": [], "resume": []}
        for _ in range(at.count(50)):
            for verb, times in took.items():
                begun = figures.now()
                at.api.call("POST", f"/api/v1/sandboxes/{box}/{verb}")
                times.append((figures.now() - begun) * 1e6)
        for verb, times in took.items():
            at.add(verb, times)
