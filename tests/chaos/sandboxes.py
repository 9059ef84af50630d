"""One sandbox of the chaos test: made, used by several threads, stopped and started, at last
judged."""
import io
import re
import tarfile
import threading
import time

import checker
from content import parse_record
from native import BROKEN, GaveUp, Refused, is_forgotten, seen_of

SAMPLE = 0.08  # of the commands are read again by other observers
ID_IN_LINE = re.compile(r"/root/payload (\S+) ")


def asked_id(command):
    """The id that the payload was given: a facade's own command ids differ from it."""
    argv = command["argv"]
    if not argv:  # a record that was damaged has nothing but its own
        return command["id"]
    if argv and argv[0] == "/root/payload":
        return argv[1]
    found = ID_IN_LINE.search(argv[-1] if argv else "")
    return found.group(1) if found else None


class Box:
    KEPT = "/root/kept"  # a file that outlives everything

    def __init__(self, native, name, payload, rng):
        self.native, self.name, self.rng = native, name, rng
        self.asked, self.seens = {}, {}
        self.faults = checker.Faults()
        self.wrong = []
        self.limits = True  # its keeper knows short ttls and limits of output
        self.lock = threading.Lock()
        self.make()
        native.call("PUT", f"/api/v1/sandboxes/{name}/files?path=/root/payload&mode=0755", payload)
        native.call("POST", f"/api/v1/sandboxes/{name}/files/mkdir", {"path": "/root/records"})
        native.call("PUT", f"/api/v1/sandboxes/{name}/files?path={self.KEPT}", name.encode())

    def make(self):
        """A create whose answer was cut off may have made it: the name tells."""
        end = time.monotonic() + 120
        while True:
            try:
                return self.native.call(
                    "POST",
                    "/api/v1/sandboxes",
                    {
                        "name": self.name,
                        "idle_ttl_s": 0,
                        "timeout_s": 60,
                        "limits": {"memory_bytes": 512 << 20},
                    },
                )
            except Refused as refusal:
                if refusal.code != "already_exists":
                    raise
            try:
                got = self.native.call("GET", f"/api/v1/sandboxes/{self.name}")
                if got["state"] in ("ready", "stopped"):
                    return got
            except Refused:
                pass
            if time.monotonic() > end:
                raise GaveUp(f"sandbox {self.name} does not come up")
            time.sleep(0.05)

    def saw(self, asked, seens):
        with self.lock:
            self.seens.setdefault(asked.id, []).extend(seens)

    def find(self, sentence):
        with self.lock:
            self.wrong.append(f"sandbox {self.name}: {sentence}")

    # ---- the judgement ----

    def listed(self, observer):
        commands = self.native.call("GET", f"/api/v1/sandboxes/{self.name}/commands")["items"]
        known = {}
        for command in commands:
            name = asked_id(command)
            if name in known:
                self.find(f"{observer}: {name} is listed twice")
            known[name] = command
        for name, asked in self.asked.items():
            if name in known:
                self.saw(asked, [seen_of(observer, known[name])])
            elif asked.accepted == "yes" and asked.ttl_ms < 0:
                self.find(f"{observer}: the accepted command {name} ({asked.kind}) is not listed")
        return known

    def settle(self):
        """Waits until nothing runs: commands whose client lost them end by themselves or are
        killed."""
        end = time.monotonic() + 60
        while True:
            running = [
                c
                for c in self.native.call("GET", f"/api/v1/sandboxes/{self.name}/commands")["items"]
                if c["state"] == "running"
            ]
            if not running:
                return
            if time.monotonic() > end:
                return self.find(f"still running: {[asked_id(c) for c in running]}")
            for command in running:
                asked = self.asked.get(asked_id(command))
                if asked is not None and ("h" in asked.script or "i" in asked.script):
                    asked.kills += 1
                    self.native.call(
                        "POST",
                        f"/api/v1/sandboxes/{self.name}/commands/{command['id']}/kill",
                        {},
                        good=(204, 409, 404),
                    )
            time.sleep(0.05)

    def look_again(self, observer, known):
        """Some commands are attached to again from the beginning or from the middle."""
        for name, command in known.items():
            asked = self.asked.get(name)
            if asked is None or self.rng.random() > SAMPLE:
                continue
            offsets = [0, 0]
            if self.rng.random() < 0.5:
                offsets = [
                    self.rng.randrange(0, command[s]["bytes"] + 1) for s in ("stdout", "stderr")
                ]
            try:
                self.look_at(observer, asked, command, offsets)
            except Refused as refusal:
                if not is_forgotten(refusal):
                    raise
                self.saw(asked, [self.native.forgotten(observer)])

    def look_at(self, observer, asked, command, offsets):
        if self.rng.random() < 0.5:
            twin = checker.Asked(
                id=command["id"],
                seed=asked.seed,
                script=asked.script,
                ttl_ms=asked.ttl_ms,
                limit=asked.limit,
            )
            self.saw(
                asked,
                self.native.follow(self.name, twin, observer, start=False, from_offsets=offsets),
            )
        else:
            seen = seen_of(
                observer,
                self.native.call("GET", f"/api/v1/sandboxes/{self.name}/commands/{command['id']}"),
            )
            seen.chunks, seen.starts = [], {1: offsets[0], 2: offsets[1]}
            for number, stream in ((1, "stdout"), (2, "stderr")):
                self.native.follow_by_http(
                    self.name, command["id"], number, stream, seen.chunks, offsets[number - 1]
                )
            self.saw(asked, [seen])

    def records(self):
        tar = self.native.call(
            "GET", f"/api/v1/sandboxes/{self.name}/files/tree?path=/root/records"
        )
        found = {}
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            for member in archive:
                if member.isfile():
                    found[member.name.rsplit("/", 1)[-1]] = parse_record(
                        archive.extractfile(member).read().decode()
                    )
        return found

    def judge(self):
        """The end of its life: every observer is asked, the records are read, it is deleted."""
        self.settle()
        self.look_again("attach again", self.listed("list"))
        with self.faults.stopping():
            self.native.call("POST", f"/api/v1/sandboxes/{self.name}/stop", {})
        self.look_again("attach when stopped", self.listed("list when stopped"))
        records = self.records()  # wakes it
        self.listed("list in the next life")
        for name, asked in self.asked.items():
            found = checker.check(asked, records.get(name), self.seens.get(name, []), self.faults)
            self.wrong += [f"sandbox {self.name}: {sentence}" for sentence in found]
        for name in records.keys() - self.asked.keys():
            self.find(f"a command that nobody asked for ran: {name}")
        self.native.call("DELETE", f"/api/v1/sandboxes/{self.name}", good=(204, 404))
        return self.wrong
