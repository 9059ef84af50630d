"""The commands of the chaos test: every kind, drawn from a seeded generator."""
import random

from checker import Asked

KINDS = {  # kind: weight
    "short": 30,
    "failing": 12,
    "silent": 8,
    "long": 8,
    "chatty": 4,
    "forking": 6,
    "late": 5,
    "stdin": 8,
    "signalled": 5,
    "timing_out": 4,
    "killed": 6,
}


def _some(rng, most):
    return rng.randrange(1, most // 16) * 16


def _script(kind, rng):
    code = rng.choice((0, 0, 1, 2, 7, 99, 126, 127, 137, 255))
    if kind == "short":
        return [f"o{_some(rng, 600)}", f"e{_some(rng, 200)}", f"x{code}"]
    if kind == "failing":
        return [f"e{_some(rng, 400)}", f"x{rng.randrange(1, 256)}"]
    if kind == "silent":
        return [f"z{rng.randrange(0, 60)}", f"x{code}"]
    if kind == "long":
        words = []
        for _ in range(rng.randrange(4, 20)):
            words += [f"o{_some(rng, 2000)}", f"e{_some(rng, 300)}", f"z{rng.randrange(5, 120)}"]
        return [*words, f"x{code}"]
    if kind == "chatty":
        return [f"o{_some(rng, 1 << rng.randrange(16, 21))}", f"e{_some(rng, 1 << 16)}", f"x{code}"]
    if kind == "forking":
        words = [f"f{rng.randrange(10, 2000)}" for _ in range(rng.randrange(1, 6))]
        return [*words, f"o{_some(rng, 500)}", f"x{code}"]
    if kind == "late":
        return [f"o{_some(rng, 500)}", f"l{_some(rng, 20000)}", f"x{code}"]
    if kind == "stdin":
        return ["i", f"x{code}"]
    if kind == "signalled":
        return [f"o{_some(rng, 500)}", f"k{rng.choice((9, 11, 15, 6))}"]
    if kind == "timing_out":
        return [f"o{_some(rng, 500)}", "f60000", "h"]
    if kind == "killed":
        return [
            f"o{_some(rng, 4000)}",
            "f60000",
            f"z{rng.randrange(50, 400)}",
            rng.choice(("h", f"x{code}")),
        ]
    raise ValueError(kind)


# Written beyond what is kept: some of these.
LIMITED = {"chatty", "long", "stdin", "late"}


def limit_more(asked, rng):
    """Some commands are kept for a moment only, or in part: of those that the native API is asked
    for."""
    if rng.random() < 0.12:
        asked.ttl_ms = rng.choice((0, 1000, 1500, 3000))
    if asked.kind in LIMITED and rng.random() < 0.3:
        asked.limit = rng.choice((4096, 4097, 8192, 10_001, 65_536))


def draw(rng, number):
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    asked = Asked(
        id=f"c{number}", seed=rng.randrange(1 << 31), script=_script(kind, rng), kind=kind
    )
    if kind == "timing_out":
        asked.timeout_ms = rng.randrange(100, 700)
    if kind == "stdin":
        asked.stdin = _some(rng, 1 << rng.randrange(6, 18))
    return asked


def seeded(*parts):
    """A generator of its own for each part of a run, so that none depends on another's pace."""
    return random.Random(":".join(map(str, parts)))
