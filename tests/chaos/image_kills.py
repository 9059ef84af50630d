"""Kills while snapshots are imported, built, captured, forked, deleted and collected, and while
volumes are made, mounted and removed.

What was finished is found finished, and nothing leaks. Each client owns its names and writes down
each answer. A request that a kill cut off may have happened or not: the daemon then has to show one
of the two, whole. `check` compares the rows with the launcher's list and the store's directories.
"""
import collections
import contextlib
import dataclasses
import http.client
import io
import json
import os
import pathlib
import random
import signal
import sqlite3
import tarfile
import threading
import time
import urllib.parse

from census import census, disks, launchers_of, processes_of
from harness import new_daemon, slow, wait_until
from image_root import root_tar
from runner import settled_census
from service_group import ServiceGroup

PATIENCE = 120  # seconds in which the daemon, which is killed all the time, must have answered
BROKEN = (OSError, EOFError, http.client.HTTPException)
SANDBOX = {"limits": {"memory_bytes": 128 << 20, "disk_bytes": 1 << 30}}
MARK, IN_VOLUME = "/mark", "/data/mark"
MOST_SNAPSHOTS, MOST_BOXES, MOST_VOLUMES = 4, 4, 3  # of one client
KINDS = ("images", "builds", "volumes")  # of verbs
# A build of three layers: COPY, RUN, and COPY again.
DOCKERFILE = """FROM {base}
COPY files /copied
RUN cat /copied/text > /mark && echo {text} > /made && test "$(cat /made)" = "$(cat /mark)"
COPY --chmod=0600 files/text /later
"""


@dataclasses.dataclass
class Config:
    seed: int = 1
    kills: int = 20
    clients: int = 3
    check_every: int = 25  # kills between two looks at the store
    longest: float = 0.8  # seconds from the daemon's start to the next kill, at most
    whole: float = 0.15  # the part of the kills that ends the launcher as well
    images: float = 0.1  # the part that ends the image process alone
    kinds: tuple = KINDS
    until: tuple = ()  # figures: it goes on until each is above 0
    seconds: float = 0  # an end in any case; 0: none
    verbose: bool = False


class Lost(Exception):
    """The connection broke: whether it was done is not known."""


class Client(threading.Thread):
    """Does one verb after the other, and holds the daemon to each answer that it got."""

    def __init__(self, run, number):
        super().__init__(daemon=True)
        self.run_, self.number = run, number
        self.rng = random.Random(f"{run.config.seed}-{number}")
        self.snapshots, self.boxes = {}, {}  # name -> text of MARK
        self.volumes = {}  # name -> text of IN_VOLUME, or None
        self.built = []  # (base, text) of builds that were done
        self.gone = set()  # names of snapshots that were deleted
        self.gone_volumes = set()
        self.count = 0

    # ---- requests ----

    def once(self, method, path, body=None, kind=None):
        """(status, JSON) of one request, or Lost."""
        connection = http.client.HTTPConnection("127.0.0.1", self.run_.daemon.port, timeout=90)
        head = {"X-Api-Key": self.run_.daemon.key, **({"Content-Type": kind} if kind else {})}
        try:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            connection.request(method, "/api/v1" + path, data, head)
            answer = connection.getresponse()
            content = answer.read()
        except BROKEN as broken:
            raise Lost(str(broken)) from broken
        finally:
            connection.close()
        if answer.getheader("Content-Type", "").startswith("application/json"):
            content = json.loads(content)
        return answer.status, content

    def sure(self, method, path, body=None, passing=(503,)):
        """The first definite answer. Only for what may be done twice."""
        end = time.monotonic() + slow(PATIENCE)
        while True:
            with contextlib.suppress(Lost):
                status, content = self.once(method, path, body)
                if status not in passing:
                    return status, content
            assert time.monotonic() < end, f"no answer to {method} {path}"
            time.sleep(0.02)

    def name(self, kind):
        self.count += 1
        return f"k{self.number}-{kind}-{self.count}"

    # ---- verbs: each leaves what it is sure of in the books ----

    def do_import(self):
        name, text = self.name("i"), os.urandom(8).hex()
        more = {MARK: text.encode()}
        for number in range(self.rng.choice((0, 0, 200))):
            more[f"/more/{number}"] = os.urandom(100)
        tar = root_tar(("sh", "cat"), more, size=self.rng.choice((0, 0, 6 << 20)))
        path = f"/snapshots/archive?wait=60&name={name}"
        self.made(name, text, lambda: self.once("POST", path, tar))

    def do_capture(self):
        if not self.boxes:
            return
        box = self.rng.choice(list(self.boxes))
        name, text = self.name("c"), os.urandom(8).hex()
        if not self.write(box, MARK, text):
            return
        self.boxes[box] = text
        path = f"/sandboxes/{box}/snapshot?wait=60"
        self.made(name, text, lambda: self.once("POST", path, {"name": name}))

    def do_build(self):
        """Of a base of its own. One that was built before finds its layers kept."""
        again = [one for one in self.built if one[0] in self.snapshots]
        if again and self.rng.random() < 0.4:
            base, text = self.rng.choice(again)
        elif self.snapshots:
            base, text = self.rng.choice(list(self.snapshots)), os.urandom(8).hex()
        else:
            return
        name = self.name("d")
        body, kind = build_body(name, DOCKERFILE.format(base=base, text=text), text)
        self.made(name, text, lambda: self.once("POST", "/snapshots/build?wait=60", body, kind))
        if name in self.snapshots:
            self.built = [*self.built[-7:], (base, text)]
            self.run_.figures["snapshots built"] += 1

    def do_make_volume(self):
        if len(self.volumes) >= MOST_VOLUMES:
            return
        name = self.name("v")
        try:
            status, got = self.once("POST", "/volumes", {"name": name, "disk_bytes": 32 << 20})
        except Lost:
            status, got = 0, None
        assert status in (0, 201, 503), f"volume {name}: {status} {got}"
        there, got = self.sure("GET", f"/volumes/{name}")
        assert there == 200 or status != 201, f"{name} was made: {there} {got}"
        if there == 200:
            assert not got["disk_lost"], f"{name} has no directory: {got}"
            self.volumes[name] = None
            self.run_.figures["volumes made"] += 1

    def do_use_volume(self):
        """A sandbox mounts it, reads what the last one wrote, and writes."""
        if not self.volumes or len(self.boxes) >= MOST_BOXES:
            return
        volume, text = self.rng.choice(list(self.volumes)), os.urandom(8).hex()
        box = self.boot(next(iter(self.snapshots), "default"), volume)
        if not box:
            return
        if self.volumes[volume] is not None:
            self.expect(box, self.volumes[volume], IN_VOLUME)
        if self.write(box, IN_VOLUME, text):
            self.volumes[volume] = text
            self.run_.figures["volumes written"] += 1
        if self.rng.random() < 0.5:
            status, got = self.sure("DELETE", f"/volumes/{volume}")
            assert status == 409, f"{volume} is mounted: {status} {got}"
        del self.boxes[box]
        self.delete(f"/sandboxes/{box}")

    def do_delete_volume(self):
        if self.volumes:
            name = self.rng.choice(list(self.volumes))
            del self.volumes[name]
            self.delete(f"/volumes/{name}")
            self.gone_volumes.add(name)
            self.run_.figures["volumes deleted"] += 1

    def made(self, name, text, ask):
        """Makes a snapshot; if the answer is lost, what is there decides."""
        try:
            status, got = ask()
            told = status == 201 and got["status"] == "ready"
        except Lost:
            told = None
            self.run_.figures["answers cut off"] += 1
        status, got = self.sure("GET", f"/snapshots/{name}?wait=60")
        state = got["status"] if status == 200 else "absent"
        assert told is not True or state == "ready", f"{name} was ready and is {state}: {got}"
        assert state in ("ready", "failed", "absent"), f"{name} is {state}: {got}"
        if state == "ready":
            self.snapshots[name] = text
            self.run_.figures["snapshots made"] += 1
            if told is None:  # no answer declared it whole
                self.look_into(name)
        elif state == "failed":
            assert got["status_message"], f"{name} failed and does not say why"
            self.run_.figures["snapshots failed"] += 1
            self.delete(f"/snapshots/{name}")

    def do_boot(self):
        if self.snapshots and len(self.boxes) < MOST_BOXES:
            self.boot(self.rng.choice(list(self.snapshots)))

    def boot(self, snapshot, volume=None):
        """A sandbox of it, or None: the answer was lost, and then it is deleted."""
        name = self.name("b")
        body = {"name": name, "snapshot": snapshot, **SANDBOX}
        if volume:
            body["volumes"] = [{"volume": volume, "path": "/data"}]
        with contextlib.suppress(Lost):
            status, got = self.once("POST", "/sandboxes", body)
            if status in (200, 201):
                self.boxes[name] = self.snapshots.get(snapshot)
                self.run_.figures["sandboxes made"] += 1
                return name
            assert status in (409, 429, 503, 504), f"create from {snapshot}: {status} {got}"
        self.delete(f"/sandboxes/{name}")
        return None

    def do_fork(self):
        if not self.boxes or len(self.boxes) >= MOST_BOXES:
            return
        source = self.rng.choice(list(self.boxes))
        names = [self.name("f") for _ in range(2)]
        try:
            status, got = self.once("POST", f"/sandboxes/{source}/fork", {"names": names})
        except Lost:
            status, got = 0, None
        if status == 201:
            for name in names:
                self.boxes[name] = self.boxes[source]
            self.run_.figures["forks made"] += 2
            return
        assert status in (0, 409, 429, 503, 504), f"fork of {source}: {status} {got}"
        for name in names:
            status, got = self.sure("GET", f"/sandboxes/{name}")
            if status == 200:
                self.delete(f"/sandboxes/{name}")

    def do_delete_snapshot(self):
        if len(self.snapshots) > 1:
            name = self.rng.choice(list(self.snapshots))
            del self.snapshots[name]
            self.delete(f"/snapshots/{name}")
            self.gone.add(name)
            self.run_.figures["snapshots deleted"] += 1

    def do_delete_box(self):
        if self.boxes:
            name = self.rng.choice(list(self.boxes))
            del self.boxes[name]
            self.delete(f"/sandboxes/{name}")
            self.run_.figures["sandboxes deleted"] += 1

    def do_rollback(self):
        """Its disk is the snapshot's again. Once begun, the next boot finishes it."""
        if not self.boxes or not self.snapshots:
            return
        box, to = self.rng.choice(list(self.boxes)), self.rng.choice(list(self.snapshots))
        status, got = self.sure("POST", f"/sandboxes/{box}/rollback", {"snapshot": to})
        if status == 200:
            self.boxes[box] = self.snapshots[to]
            self.run_.figures["rollbacks"] += 1
        else:
            assert status in (409, 429, 504), f"rollback of {box}: {status} {got}"

    def do_look(self):
        if self.boxes and self.rng.random() < 0.7:
            box = self.rng.choice(list(self.boxes))
            self.expect(box, self.boxes[box])
        elif self.snapshots:
            self.look_into(self.rng.choice(list(self.snapshots)))

    # ---- parts of them ----

    def delete(self, path):
        """Until it is gone."""
        status, got = self.sure("DELETE", path, passing=(503, 409, 504))
        assert status in (204, 404), f"DELETE {path}: {status} {got}"
        status, got = self.sure("GET", path)
        assert status == 404, f"{path} was deleted: {status} {got}"

    def write(self, box, path, text):
        where = f"/sandboxes/{box}/files?{urllib.parse.urlencode({'path': path})}"
        status, _ = self.sure("PUT", where, text.encode(), passing=(503, 409, 504))
        return status in (200, 201, 204)

    def expect(self, box, text, path=MARK):
        where = f"/sandboxes/{box}/files?{urllib.parse.urlencode({'path': path})}"
        status, got = self.sure("GET", where, passing=(503, 409, 504))
        got = got if isinstance(got, bytes) else json.dumps(got).encode()
        assert (status, got) == (200, text.encode()), f"{box} has {status} {got!r}, not {text}"
        self.run_.figures["looks"] += 1

    def look_into(self, snapshot):
        box = self.boot(snapshot)
        if box:
            self.expect(box, self.boxes.pop(box))
            self.delete(f"/sandboxes/{box}")

    # ---- the thread ----

    def step(self):
        has_room = len(self.snapshots) < MOST_SNAPSHOTS
        verbs = {
            self.do_import: 3 if not self.snapshots else 0,
            self.do_delete_snapshot: 3 if len(self.snapshots) >= MOST_SNAPSHOTS - 1 else 1,
            self.do_look: 1,
        }
        if "images" in self.run_.config.kinds:
            verbs |= {
                self.do_import: 3 if has_room else 0,
                self.do_capture: 3 if has_room else 0,
                self.do_boot: 2,
                self.do_fork: 3,
                self.do_delete_box: 3 if len(self.boxes) >= MOST_BOXES - 1 else 1,
                self.do_rollback: 1,
            }
        if "builds" in self.run_.config.kinds:
            verbs |= {self.do_build: 5 if has_room else 0}
        if "volumes" in self.run_.config.kinds:
            verbs |= {self.do_make_volume: 2, self.do_use_volume: 3, self.do_delete_volume: 1}
        self.rng.choices(list(verbs), list(verbs.values()))[0]()

    def run(self):
        while not self.run_.over.is_set():
            with self.run_.gate.inside():
                try:
                    self.step()
                except AssertionError as wrong:
                    self.run_.wrong.append(str(wrong)[:600])
                    self.run_.over.set()


def build_body(name, dockerfile, text):
    """The multipart body of a build whose context has files/text and forty more, and its type."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        files = {f"files/{number}": b"%d\n" % number * 400 for number in range(40)}
        for path, data in {"files/text": text.encode(), **files}.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    told = json.dumps({"name": name, "dockerfile": dockerfile, "policy": "off"}).encode()
    parts = [
        (b'name="build"', b"application/json", told),
        (b'name="context"; filename="context.tar"', b"application/x-tar", context.getvalue()),
    ]
    lines = [
        b"--cut\r\nContent-Disposition: form-data; %s\r\nContent-Type: %s\r\n\r\n%s\r\n" % part
        for part in parts
    ]
    return b"".join(lines) + b"--cut--\r\n", "multipart/form-data; boundary=cut"


class Gate:
    """Clients are inside while they do a verb; whoever closes it waits until all are out."""

    def __init__(self):
        self.changed, self.closed, self.count = threading.Condition(), False, 0

    @contextlib.contextmanager
    def inside(self):
        with self.changed:
            self.changed.wait_for(lambda: not self.closed)
            self.count += 1
        try:
            yield
        finally:
            with self.changed:
                self.count -= 1
                self.changed.notify_all()

    @contextlib.contextmanager
    def shut(self):
        with self.changed:
            self.closed = True
            assert self.changed.wait_for(lambda: not self.count, slow(2 * PATIENCE)), "stuck"
        try:
            yield
        finally:
            with self.changed:
                self.closed = False
                self.changed.notify_all()


class Run:
    def __init__(self, config, daemon, group):
        self.config, self.daemon, self.group = config, daemon, group
        self.rng = random.Random(config.seed)
        self.over, self.gate = threading.Event(), Gate()
        self.figures, self.wrong = collections.Counter(), []

    def image_processes(self):
        instance = (self.daemon.data / "instance").read_text().strip()
        found = []
        for pid in processes_of(str(self.daemon.data)) + processes_of(instance):
            with contextlib.suppress(OSError):
                if (pathlib.Path("/proc") / pid / "comm").read_text().startswith("cay-images"):
                    found.append(int(pid))
        return found

    def kill(self):
        draw = self.rng.random()
        if draw < self.config.images:
            for pid in self.image_processes():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self.figures["kills of the image process"] += 1
        elif draw < self.config.images + self.config.whole:
            self.group.kill()
            self.daemon.process.wait()
            self.daemon.start(listen=f"127.0.0.1:{self.daemon.port}")
            self.figures["kills of daemon and launcher"] += 1
        else:
            self.daemon.kill()
            self.daemon.start(listen=f"127.0.0.1:{self.daemon.port}")
            self.figures["kills of the daemon"] += 1
        self.figures["kills"] += 1

    def run(self):
        begun = told = time.monotonic()
        clients = [Client(self, number) for number in range(self.config.clients)]
        for client in clients:
            client.start()
        while not self.over.is_set() and (
            self.figures["kills"] < self.config.kills
            or not all(self.figures[name] for name in self.config.until)
        ):
            time.sleep(self.rng.uniform(0.01, self.config.longest))
            self.kill()
            if self.figures["kills"] % self.config.check_every == 0:
                with self.gate.shut():
                    self.check(clients)
            if self.config.seconds and time.monotonic() - begun > self.config.seconds:
                break
            if self.config.verbose and time.monotonic() - told > 15:
                told = time.monotonic()
                print(f"  {told - begun:.0f} s: {dict(self.figures)}", flush=True)
        self.over.set()
        for client in clients:
            client.join(slow(3 * PATIENCE))
            if client.is_alive():
                self.wrong.append(f"client {client.number} does not end")
        if not self.wrong:
            self.check(clients)
        for client in clients:
            theirs = {"sandboxes": client.boxes, "snapshots": client.snapshots}
            for kind, names in {**theirs, "volumes": client.volumes}.items():
                for name in names:
                    with contextlib.suppress(AssertionError):
                        client.delete(f"/{kind}/{name}")
        self.figures["seconds"] = round(time.monotonic() - begun)
        return self

    # ---- what must be true while nobody changes anything ----

    def check(self, clients):
        try:
            self.agree()
        except AssertionError as wrong:
            self.wrong.append(str(wrong))
        for client in clients:
            with contextlib.suppress(AssertionError):
                for box, text in list(client.boxes.items()):
                    client.expect(box, text)
                for name in client.snapshots:
                    status, got = client.sure("GET", f"/snapshots/{name}")
                    assert status == 200 and got["status"] == "ready", f"{name}: {status} {got}"
                for name in client.gone:
                    status, got = client.sure("GET", f"/snapshots/{name}")
                    assert status == 404, f"{name} was deleted: {got}"
                for name in client.volumes:
                    status, got = client.sure("GET", f"/volumes/{name}")
                    assert status == 200 and not got["disk_lost"], f"{name}: {status} {got}"
                for name in client.gone_volumes:
                    status, got = client.sure("GET", f"/volumes/{name}")
                    assert status == 404, f"{name} was deleted: {got}"
                continue
            self.wrong.append(f"client {client.number}: its books are not what is there")
        told = self.daemon.cli("snapshot", "fsck")
        if told.text != "clean\n":
            self.wrong.append(f"fsck: {told}")
        self.figures["looks at the store"] += 1

    def agree(self):
        try:
            wait_until(lambda: not self.differences(), "rows, list and store agree", limit=60)
        except AssertionError:
            found = self.differences()
            assert not found, f"rows, list and store differ: {found}"

    def differences(self):
        """Where the layers' rows, directories and disks do not agree, and what is half made."""
        data = self.daemon.data
        with contextlib.closing(sqlite3.connect(f"file:{data}/state.db?mode=ro", uri=True)) as db:
            layers = {row[0]: row[1] for row in db.execute("select id, below from layer")}
            snapshots = db.execute("select name, status, layer from snapshot").fetchall()
            boxes = {row[0] for row in db.execute("select id from sandbox")}
            volumes = {row[0] for row in db.execute("select id from volume")}
        host = {one.name for one in (data / "layers").iterdir() if (one / "root").exists()}
        listed = {one.name for one in (data / "layers").iterdir()} - host
        instance = (data / "instance").read_text().strip()
        stored = disks(data, launchers_of(instance))
        sealed = {name.removeprefix("layer-") for name in stored if name.startswith("layer-")}
        found = {}
        if set(layers) - host != listed:
            found["rows and list"] = sorted((set(layers) - host) ^ listed)
        if sealed != listed:
            found["list and store"] = sorted(sealed ^ listed)
        there = {name.removeprefix("volume-") for name in stored if name.startswith("volume-")}
        if volumes != there:
            found["volumes and store"] = sorted(volumes ^ there)
        if half := [name for name in stored if name.startswith("making-")]:
            found["half made"] = half
        if other := [row[:2] for row in snapshots if row[1] not in ("ready", "failed")]:
            found["neither ready nor failed"] = other
        known = set(layers) | host
        if loose := [row for row in snapshots if row[1] == "ready" and row[2] not in known]:
            found["snapshots without a layer"] = loose
        if missing := [one for one in layers.values() if one and one not in known]:
            found["layers without what is below"] = missing
        uuid = {name for name in stored if len(name) == 36 and name.count("-") == 4}
        if uuid - boxes:
            found["disks of no sandbox"] = sorted(uuid - boxes)
        return found


def without_kept_layers(daemon):
    """Builds keep their layers for a week. This week is over."""
    daemon.kill()
    with contextlib.closing(sqlite3.connect(daemon.data / "state.db")) as db:
        db.execute("update layer set used_at = 1 where used_at > 0")
        db.commit()
    daemon.start(listen=f"127.0.0.1:{daemon.port}")


def image_kills(config, daemon=None, group=None):
    """Under this daemon in its group, or under one of its own. Gives the run."""
    own = daemon is None
    if own:
        daemon = new_daemon()
        group = ServiceGroup(daemon)
    try:
        if own:
            daemon.start()
        warm = Client(Run(dataclasses.replace(config, kills=0), daemon, group), 99)
        warm.do_import()  # what a first use makes once counts as before
        assert warm.snapshots, "no image can be imported here"
        warm.look_into(next(iter(warm.snapshots)))
        warm.do_build()
        for name in warm.snapshots:
            warm.delete(f"/snapshots/{name}")
        without_kept_layers(daemon)
        warm.run_.agree()
        before = census(daemon)
        run = Run(config, daemon, group).run()
        without_kept_layers(daemon)
        if left := settled_census(daemon, before, limit=60):
            run.wrong.append(f"left behind (before, after): {left}; {run.differences()}")
        return run
    finally:
        if own:
            daemon.close()
            group.remove()
