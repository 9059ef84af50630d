"""What is done to one sandbox while it is used: stopped and started, held still and let go, its
keeper killed."""
import threading
import time

from harness import kill_keeper, processes_of
from native import BROKEN, GaveUp, Refused, milliseconds_now

LIMIT = 60  # seconds in which the daemon, which is killed all the time, must have said it


class Mischief(threading.Thread):
    """Begins again and again until `over`. What it did is in box.faults, what it found wrong in
    box.wrong."""

    def __init__(self, client, box, over, rng):
        super().__init__()
        self.client, self.box, self.over, self.rng = client, box, over, rng
        self.native, self.path = box.native, f"/api/v1/sandboxes/{box.name}"

    def run(self):
        config = self.client.config
        weights = (config.stops, config.pauses, config.keeper_kills)
        while not self.over.wait(self.rng.expovariate(1 / config.mischief_every)):
            deed = self.rng.choices((self.stop, self.pause, self.kill_keeper), weights)[0]
            self.client.box_trouble = True
            try:
                deed()
            except (GaveUp, Refused) as trouble:
                self.box.find(f"{deed.__name__}: {trouble}")
            except AssertionError as wrong:
                self.box.find(str(wrong))
            self.client.box_trouble, self.client.trouble_ended = False, time.monotonic()

    def verb(self, verb):
        return self.native.call("POST", f"{self.path}/{verb}", {})

    def state(self):
        got = self.native.call("GET", self.path)
        return got["state"], got["reason"], got["id"]

    def wait_until(self, condition, what):
        end = time.monotonic() + LIMIT
        while not condition():
            assert (
                time.monotonic() < end
            ), f"not within {LIMIT} s: {what}; it is {self.state()}; told of it: {self.told()}"
            time.sleep(0.02)

    def told(self):
        """The daemon's own record of its last changes, for whoever looks for the cause."""
        journal = self.native.call(
            "GET", f"/api/v1/events?limit=1000&type=sandbox.&sandbox={self.box.name}"
        )["items"]
        return [
            " ".join(str(event[name]) for name in ("at", "type", "reason", "by") if name in event)
            for event in journal[-12:]
        ]

    # ---- the deeds ----

    def stop(self):
        with self.box.faults.stopping():
            self.verb("stop")
        if self.rng.random() < 0.5:  # else the next command wakes it
            self.verb("start")

    def pause(self):
        """Nothing runs from the answer of the pause to the resume: the commands' own records stand
        still."""
        if not self.client.shared.pauses.value:
            return
        try:
            status, _, _ = self.native.once("POST", f"{self.path}/pause", b"{}")
        except BROKEN:
            status = 0  # it may or may not have been
        if status == 200:
            self.client.count("pauses")
            before = self.sizes()
            time.sleep(self.rng.uniform(0.02, 0.3))
            state = self.state()[0]
            assert state == "paused", f"it was paused and is {state}"
            after = self.sizes()
            grown = [name for name in after if after[name] != before.get(name)]
            assert not grown, f"commands went on while it was paused: {grown[:5]}"
            if self.rng.random() < 0.2 and self.client.config.keeper_kills:
                self.kill_keeper()
        self.wait_until(self.resumed, "resumed")

    def resumed(self):
        if self.state()[0] != "paused":
            return True
        try:
            self.native.once("POST", f"{self.path}/resume", b"{}")
        except BROKEN:
            pass
        return False

    def sizes(self):
        listed = self.native.call("GET", f"{self.path}/files/list?path=/root/records")
        return {item["path"]: item["size"] for item in listed["items"]}

    def kill_keeper(self):
        """The sandbox fails and says why, its processes end, its disk stays; a start revives it."""
        state, _, box_id = self.state()
        if state not in ("ready", "paused"):
            return  # on its way up the death of a keeper is a failed start: the request says so
        keeper = kill_keeper(None, box_id)
        at = milliseconds_now()
        self.box.faults.keepers_killed.append(at)
        self.client.count("keepers killed")
        told = {}

        def failed():
            told["state"], told["reason"], _ = self.state()
            return told["state"] == "failed"

        self.wait_until(
            failed,
            f"a killed keeper ({keeper}, at "
            f"{time.strftime('%T', time.gmtime(at / 1000))}.{at % 1000:03}) makes its sandbox "
            "failed",
        )
        assert told["reason"], "the sandbox failed without a reason"
        self.wait_until(
            lambda: not processes_of(box_id), "the processes of a killed keeper's sandbox end"
        )
        self.verb("start")
        kept = self.native.call("GET", f"{self.path}/files?path={self.box.KEPT}")
        assert kept == self.box.name.encode(), f"the disk was not kept: {kept!r}"
