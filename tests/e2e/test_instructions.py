"""How many instructions the daemon may take for one request.

System calls and wakes have budgets of their own (test_budgets.py). An algorithm that got slow shows
here, on any machine and at any load. A budget is about 15 % above the count. Five runs of the test
differed by 1 %, but for an exec: 25 %, since its answers come in one piece or in several. Its
budget is 10 % above the largest count. Whoever needs more raises it, and says why in the commit.
After an improvement it goes down. `callgrind_annotate` shows where the instructions are."""
import statistics
import sys
import time

import pytest
from harness import ROOT, SANITIZED, needs_root, new_daemon

sys.path.append(str(ROOT / "bench"))  # behind tests, which has an images.py too
import instructions  # noqa: E402
from api import Api  # noqa: E402

pytestmark = [
    needs_root,
    pytest.mark.skipif(SANITIZED, reason="a sanitizer adds instructions"),
    pytest.mark.skipif(not instructions.is_there(), reason="valgrind is not installed"),
]
ROUNDS = 5  # the median counts, since the daemon has work of its own every some seconds
REQUESTS = 5  # of a round
WARM = 12
# Thousands of instructions of the daemon, for one request.
BUDGETS = {"create": 740, "pooled create": 800, "exec": 430, "evaluation": 335}
# The least that a request can need: a count below has not seen it.
LEAST = 100
ROOM = "[host]\nmemory_overcommit = 100.0\ncpu_overcommit = 1000.0\npool = {}\n"


class Counted:
    def __init__(self, daemon, count):
        self.daemon, self.count = daemon, count
        self.api = Api(daemon.url, daemon.key)
        self.box = self.api.create(name="counted")

    def run(self):
        self.api.run(self.box, "/bin/true")

    def settle(self, quiet):
        """Waits until the pool has booted nothing for so long. It asks the daemon nothing."""
        seen, since = None, time.monotonic()
        while time.monotonic() < since + quiet:
            keepers = {one.name for one in (self.daemon.data / "run").glob("*-*.sock")}
            if keepers != seen:
                seen, since = keepers, time.monotonic()
            time.sleep(0.05)

    def thousands(self, request, quiet=0):
        """Returns those of one request, and of the boots that follow within `quiet`."""
        for _ in range(WARM):
            request()
        rounds = []
        for _ in range(ROUNDS):
            self.settle(quiet)
            self.count.since(self.api)
            for _ in range(REQUESTS):
                request()
            self.settle(quiet)
            rounds.append(self.count.since(self.api) / REQUESTS / 1000)
        return statistics.median(rounds)

    def taken(self):
        """Returns how many creations took a sandbox of the pool."""
        line = 'cay_pool_takes_total{outcome="spare"} '
        text = self.api.call("GET", "/metrics").decode()
        return next(float(one[len(line) :]) for one in text.splitlines() if one.startswith(line))


@pytest.fixture(scope="module")
def counted():
    daemon = new_daemon()
    path = daemon.data.parent / "room.toml"
    path.write_text(ROOM.format(REQUESTS + 3))
    daemon.args += ["--config", str(path)]
    daemon.start()
    with instructions.Instructions(daemon) as count:
        yield Counted(daemon, count)
    daemon.close()


def held(what, thousands):
    told = f"{what}: {thousands:.0f} thousand instructions; the budget is {BUDGETS[what]}"
    print(told)
    assert LEAST < thousands <= BUDGETS[what], told


def test_an_exec_keeps_to_its_instructions(counted):
    held("exec", counted.thousands(counted.run))


def test_an_evaluation_keeps_to_its_instructions(counted):
    path = f"/api/v1/sandboxes/{counted.box}/contexts"
    made = counted.api.json("POST", path, {"language": "python", "warm": True})["id"]

    def evaluate():
        counted.api.call("POST", f"{path}/{made}/run", {"code": "1 + 1"})

    held("evaluation", counted.thousands(evaluate))


def test_a_create_keeps_to_its_instructions(counted):
    names, boxes = iter(range(1000)), []
    made = counted.thousands(lambda: boxes.append(counted.api.create(name=f"n{next(names)}")))
    held("create", made)
    for box in boxes:
        counted.api.remove(box)


def test_a_pooled_create_and_the_boot_behind_it_keep_to_theirs(counted):
    boxes = []
    before = counted.taken()
    made = counted.thousands(lambda: boxes.append(counted.api.create()), quiet=0.3)
    assert counted.taken() - before >= ROUNDS * REQUESTS
    held("pooled create", made)
    for box in boxes:
        counted.api.remove(box)


def test_the_count_sees_a_little_more(counted):
    """The control: with one small request beside it an exec is beyond its budget."""

    def more():
        counted.run()
        counted.api.call("GET", f"/api/v1/sandboxes/{counted.box}/commands?limit=1")

    thousands = counted.thousands(more)
    assert thousands > BUDGETS["exec"], thousands
