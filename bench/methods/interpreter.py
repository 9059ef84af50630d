"""Python: a fresh process, the same on the bare host, an evaluation in a warm context, and one in a
process that is forked off it."""

import figures

PROGRAM = ["/usr/bin/python3", "-c", "print(2 + 2)"]


def measure(at):
    with at.box() as box:
        bare, fresh = [], []
        for _ in range(at.count(5, 1)):
            bare.append(at.spawn("once", at.count(20), 1, PROGRAM)["end"])
            got = at.client(
                "exec",
                sandbox=box,
                count=at.count(20),
                command={"argv": PROGRAM, "wait": True},
            )
            fresh.append(got["microseconds"])
        at.add("python3 -c, fresh: bare", [one for each in bare for one in each])
        row = at.add("python3 -c, fresh: cay", [one for each in fresh for one in each])
        row["to_bare"] = figures.ratio(fresh, bare)
        for language in ("python", "javascript"):
            got = at.client(
                "evaluate", sandbox=box, language=language, code="1 + 1", count=at.count(1000)
            )
            at.add(f"warm evaluation: {language}", got["microseconds"])
        got = at.client("evaluate", sandbox=box, code="1 + 1", fork=1, count=at.count(500))
        at.add("warm evaluation: python, forked", got["microseconds"])
