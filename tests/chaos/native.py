"""A client of the native API for the chaos test: patient with trouble, strict about results.

It does what a careful user would: repeats what is safe to repeat, attaches again by id and offset,
and writes down everything it was told.
"""
import base64
import dataclasses
import datetime
import http.client
import json
import struct
import time

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage
from websockets.sync.client import connect

from checker import Gap, Seen

PATIENCE = 120  # seconds until a command without a known end is a finding
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.1
# Errors that pass: a daemon that is away, a sandbox that is being stopped or started.
PASSING = {"unavailable", "not_ready", "lost", "exhausted", "cancelled", "deadline_exceeded"}
BROKEN = (
    OSError,
    EOFError,
    http.client.HTTPException,
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    TimeoutError,
)


class Refused(Exception):
    """A definite answer that is not success."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body!r}")
        self.status = status
        try:
            self.code, self.reason = body["error"]["code"], body["error"]["reason"]
        except (KeyError, TypeError):
            self.code = self.reason = "unknown"


class GaveUp(Exception):
    """Patience is over: a finding."""


class Unsure(Exception):
    """It is not known whether the command was begun, and to ask again could begin it twice: its ttl
    is over."""


def is_forgotten(refusal):
    return refusal.reason == "unknown_command"


def is_past_end(refusal, asked):
    """A ring's newest bytes are in no record when its keeper is killed: a reader may have had more
    than is known now."""
    return asked.limit > 0 and refusal.reason == "offset_past_end"


def milliseconds(text):
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def milliseconds_now():
    return round(time.time() * 1000)


def seen_of(observer, command):
    """What one JSON object about a command tells of its end."""
    seen = Seen(
        observer=observer,
        state=command["state"],
        exit_code=command["exit_code"],
        signal=command["signal"],
        by=command["by"],
        reason=command["reason"],
    )
    if command.get("started_at"):
        seen.started_ms = milliseconds(command["started_at"])
    if command.get("ended_at") and command.get("started_at"):
        seen.duration_ms = milliseconds(command["ended_at"]) - milliseconds(command["started_at"])
    if isinstance(command.get("stdout"), dict):
        seen.extents = {
            number: (command[name]["bytes"], command[name]["end_offset"])
            for number, name in ((1, "stdout"), (2, "stderr"))
        }
        seen.gaps = {
            number: (command[name]["gap_begin"], command[name]["gap_end"])
            for number, name in ((1, "stdout"), (2, "stderr"))
        }
    return seen


@dataclasses.dataclass
class Wire:
    """How this client reaches the daemon, and how rough it treats the connection."""

    host_port: object  # callable -> port: the daemon's own, or a cutting proxy's
    key: str
    rng: object
    stall: object = lambda: 0.0  # seconds to sleep before a frame is read
    tamper: object = None  # seeded bugs: called with each data frame and each end
    attached: object = lambda cut_at: None  # told when a cut-off reader is attached again
    owed: object = (
        lambda cut_at, port: False
    )  # whether a reader that was cut off then must still find its command


class Native:
    def __init__(self, wire):
        self.wire = wire

    # ---- requests ----

    def once(self, method, path, body=None, headers=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.wire.host_port(), timeout=timeout)
        try:
            connection.request(
                method, path, body=body, headers={"X-Api-Key": self.wire.key, **(headers or {})}
            )
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def call(
        self,
        method,
        path,
        body=None,
        good=(200, 201, 202, 204),
        passing=PASSING,
        patience=PATIENCE,
        repeat=True,
        until=None,
    ):
        """Repeats until a definite answer; for requests that may be repeated (`until` then). JSON,
        or bytes of what is not."""
        end, pause = time.monotonic() + patience, FIRST_PAUSE
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        while True:
            try:
                status, headers, got = self.once(method, path, data)
                is_json = headers.get("Content-Type", "").startswith("application/json")
                parsed = json.loads(got) if is_json else got
                if status in good:
                    return parsed
                refusal = Refused(status, parsed)
                if refusal.code not in passing or not repeat:
                    raise refusal
                trouble = refusal
            except BROKEN as broken:
                if not repeat:
                    raise
                trouble = broken
            if time.monotonic() > end:
                raise GaveUp(f"{method} {path} got no answer for {patience} s; last: {trouble!r}")
            time.sleep(pause)
            if until is not None and time.monotonic() > until:
                raise Unsure
            pause = min(pause * 2, LONGEST_PAUSE)

    # ---- running ----

    @staticmethod
    def spec(asked):
        spec = {
            "id": asked.id,
            "argv": ["/root/payload", asked.id, str(asked.seed), *asked.script],
            "timeout_s": asked.timeout_ms / 1000,
            "ttl_s": -1 if asked.ttl_ms < 0 else asked.ttl_ms / 1000,
        }
        if asked.limit:
            spec["output_limit_bytes"] = asked.limit
        if "i" not in asked.script:
            spec["close_stdin"] = True
        return spec

    @staticmethod
    def sure_until(asked):
        """A repeat finds the first run as long as that is kept."""
        return None if asked.ttl_ms < 0 else time.monotonic() + asked.ttl_ms / 1000

    @staticmethod
    def forgotten(observer, chunks=None, starts=None):
        return Seen(
            observer=observer,
            forgotten_ms=milliseconds_now(),
            chunks=chunks,
            starts=starts or {1: 0, 2: 0},
            whole=(),
        )

    def past_end(self, box, asked, observer, chunks, starts=None):
        try:
            seen = seen_of(observer, self.ended(box, asked.id))
        except Refused as refusal:
            if not is_forgotten(refusal):
                raise
            return self.forgotten(observer, chunks, starts)
        seen.chunks, seen.starts, seen.whole, seen.past_end = (
            chunks,
            starts or {1: 0, 2: 0},
            (),
            True,
        )
        return seen

    def run_waiting(self, box, asked):
        """POST with wait: one answer with everything."""
        body = {**self.spec(asked), "wait": True, "max_output_bytes": 64 << 20}
        if asked.stdin:
            body["stdin"] = base64.b64encode(asked.expected(1, asked.stdin)).decode()
        result = self.call(
            "POST", f"/api/v1/sandboxes/{box}/commands", body, until=self.sure_until(asked)
        )
        asked.accepted = "yes"
        return [self.seen_of_result("wait", result, asked)]

    def run_batch(self, box, asked):
        """A batch: files up, the command, its own record down."""
        command = {**self.spec(asked), "max_output_bytes": 64 << 20}
        if asked.stdin:
            command["stdin"] = base64.b64encode(asked.expected(1, asked.stdin)).decode()
        body = {
            "writes": [{"path": f"/root/batch/{asked.id}", "content": asked.id}],
            "command": command,
            "reads": [f"/root/batch/{asked.id}"],
        }
        result = self.call(
            "POST", f"/api/v1/sandboxes/{box}/batch", body, until=self.sure_until(asked)
        )
        asked.accepted = "yes"
        seen = self.seen_of_result("batch", result["command"], asked)
        read = result["reads"][0]
        if read.get("content") != asked.id and read.get("error", {}).get("code") not in PASSING:
            raise GaveUp(f"a batch read back {read!r}")
        return [seen]

    @staticmethod
    def seen_of_result(observer, result, asked):
        seen = seen_of(observer, result)
        out = []
        for number, name in ((1, "stdout"), (2, "stderr")):
            data = (
                base64.b64decode(result[name + "_base64"])
                if name + "_base64" in result
                else result[name].encode()
            )
            gap = result.get(name + "_gap")  # an older daemon keeps the beginning alone
            if gap is None:
                out.append((number, 0, data))
            else:
                behind = gap["at"] + gap["note_bytes"]
                out.append((number, 0, data[: gap["at"]]))
                out.append((number, gap["offset"] + gap["length"], data[behind:]))
        if result["truncated"] and asked.limit:
            seen.beginning = {number: data for number, offset, data in out if offset == 0}
            return seen
        seen.chunks = out
        if result["truncated"]:
            seen.whole = ()
        return seen

    def run_background(self, box, asked, meanwhile):
        """POST without wait, then something else, then the output by HTTP and the end by GET."""
        body = {**self.spec(asked), "wait": False}
        self.call("POST", f"/api/v1/sandboxes/{box}/commands", body, until=self.sure_until(asked))
        asked.accepted = "yes"
        if asked.stdin:
            self.feed_by_http(box, asked)
        meanwhile()
        chunks, starts = [], {1: 0, 2: 0}
        try:
            for number, name in ((1, "stdout"), (2, "stderr")):
                self.follow_by_http(box, asked.id, number, name, chunks)
            seen = seen_of("background", self.ended(box, asked.id))
        except Refused as refusal:
            if is_past_end(refusal, asked):
                return [self.past_end(box, asked, "background", chunks)]
            if not is_forgotten(refusal):
                raise
            return [self.forgotten("background", chunks)]
        seen.chunks, seen.starts = chunks, starts
        return [seen]

    def ended(self, box, command_id):
        end = time.monotonic() + PATIENCE
        while True:
            command = self.call("GET", f"/api/v1/sandboxes/{box}/commands/{command_id}")
            if command["state"] != "running":
                return command
            if time.monotonic() > end:
                raise GaveUp(f"command {command_id} still runs after {PATIENCE} s")
            time.sleep(0.02)

    def follow_by_http(self, box, command_id, number, name, chunks, start=0):
        """…/output with follow, from where the last answer was cut off, until one is whole."""
        at, end = start, time.monotonic() + PATIENCE

        def skip(gap):
            nonlocal at
            if gap[0] <= at < gap[1]:
                chunks.append((number, at, Gap(gap[1] - at)))
                at = gap[1]

        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.wire.host_port(), timeout=60)
            try:
                connection.request(
                    "GET",
                    f"/api/v1/sandboxes/{box}/commands/{command_id}/output?stream={name}"
                    f"&offset={at}&follow=true",
                    headers={"X-Api-Key": self.wire.key},
                )
                answer = connection.getresponse()
                if answer.status == 200:
                    gap = tuple(
                        int(word) for word in answer.headers.get("X-Cay-Gap", "0-0").split("-")
                    )
                    while True:
                        data = answer.read1(65536)
                        if not data:
                            break
                        while data:
                            skip(gap)
                            piece = data[: gap[0] - at] if at < gap[0] else data
                            chunks.append((number, at, piece))
                            at += len(piece)
                            data = data[len(piece) :]
                    if answer.isclosed() or answer.length in (0, None):
                        skip(gap)
                        return
                else:
                    refusal = Refused(answer.status, json.loads(answer.read()))
                    if refusal.code not in PASSING:
                        raise refusal
            except BROKEN:
                pass
            finally:
                connection.close()
            if time.monotonic() > end:
                raise GaveUp(f"the output of {command_id} did not end in {PATIENCE} s")
            time.sleep(0.01)

    def feed_by_http(self, box, asked):
        """Stdin by requests. One that was cut off may or may not have been taken: then no more is
        sent."""
        data, at = asked.expected(1, asked.stdin), 0
        path = f"/api/v1/sandboxes/{box}/commands/{asked.id}/stdin"
        try:
            while at < len(data):
                piece = data[at : at + self.wire.rng.randrange(1, 40000)]
                self.call("POST", path, piece, repeat=False)
                at += len(piece)
                asked.stdin_acked = at
            whole = True
        except (*BROKEN, Refused):
            whole = False
        try:
            self.call("POST", path + "/close")
        except Refused:
            return  # it has ended
        asked.stdin_whole = whole

    def kill(self, box, asked):
        asked.kills += 1
        try:
            self.call("POST", f"/api/v1/sandboxes/{box}/commands/{asked.id}/kill", {})
        except Refused:
            pass  # not known: it never started

    # ---- the WebSocket ----

    def follow(self, box, asked, observer="ws", start=True, from_offsets=(0, 0), on_started=None):
        """Runs (or attaches) and reads to the end, through any number of broken connections."""
        seen = Seen(
            observer=observer, ends=0, chunks=[], starts={1: from_offsets[0], 2: from_offsets[1]}
        )
        at = dict(seen.starts)
        started, cut_at, deadline = not start, None, time.monotonic() + PATIENCE
        until, port = self.sure_until(asked), None
        fed = False
        while True:
            if (
                not started
                and seen.ends == 0
                and port is not None
                and until is not None
                and time.monotonic() > until
            ):
                raise Unsure
            last_port, port = port, self.wire.host_port()
            try:
                with connect(
                    f"ws://127.0.0.1:{port}/api/v1/sandboxes/{box}/commands/ws",
                    additional_headers={"X-Api-Key": self.wire.key},
                    compression=None,
                    max_size=2 << 20,
                    close_timeout=0.1,
                    open_timeout=30,
                ) as ws:
                    if started:
                        ws.send(
                            json.dumps(
                                {
                                    "type": "attach",
                                    "id": asked.id,
                                    "stdout_offset": at[1],
                                    "stderr_offset": at[2],
                                }
                            )
                        )
                    else:
                        ws.send(json.dumps({"type": "start", **self.spec(asked)}))
                    while True:
                        pause = self.wire.stall()
                        if pause:
                            time.sleep(pause)
                        frame = ws.recv(timeout=max(0.1, deadline - time.monotonic()))
                        if isinstance(frame, bytes):
                            self.take(seen, at, frame)
                            continue
                        message = json.loads(frame)
                        if message["type"] == "started":
                            if not started:
                                at = {1: 0, 2: 0}  # a start shows everything from the beginning
                                seen.chunks.clear()
                            started, asked.accepted = True, "yes"
                            if cut_at is not None:
                                self.wire.attached(cut_at)
                                cut_at = None
                            if asked.stdin and not fed and start:
                                fed = True
                                self.feed_by_socket(ws, asked)
                            if on_started is not None:
                                on_started(ws)
                                on_started = None
                        elif message["type"] == "gap":
                            stream = {"stdout": 1, "stderr": 2}[message["stream"]]
                            seen.chunks.append((stream, message["offset"], Gap(message["length"])))
                            at[stream] = message["offset"] + message["length"]
                        elif message["type"] == "end":
                            seen.ends += 1
                            told = seen_of(observer, self.tampered_end(message["command"]))
                            for name in (
                                "state",
                                "exit_code",
                                "signal",
                                "by",
                                "reason",
                                "started_ms",
                                "duration_ms",
                                "extents",
                                "gaps",
                            ):
                                setattr(seen, name, getattr(told, name))
                            self.read_on(ws, seen, at)
                            return [seen]
                        elif message["type"] == "error":
                            code = message["error"]["code"]
                            if code in PASSING:
                                break
                            refusal = Refused(0, message)
                            if started and is_forgotten(refusal) and asked.ttl_ms >= 0:
                                if cut_at is not None and self.wire.owed(cut_at, last_port):
                                    raise GaveUp(
                                        "it was waited for when the daemon was killed, and is "
                                        "forgotten"
                                    )
                                return [self.forgotten(observer, seen.chunks, seen.starts)]
                            if started and is_past_end(refusal, asked):
                                return [
                                    self.past_end(box, asked, observer, seen.chunks, seen.starts)
                                ]
                            if not started:
                                asked.accepted = "no"
                            raise refusal
                        elif message["type"] not in ("warning",):
                            raise GaveUp(f"an unknown frame: {message!r}")
            except BROKEN:
                if cut_at is None:
                    cut_at = time.monotonic()
                if fed and asked.stdin and not asked.stdin_whole and started:
                    # Its last bytes may be lost: end the input here, or it would wait for ever.
                    self.close_stdin(box, asked)
            if time.monotonic() > deadline:
                raise GaveUp(f"no end of {asked.id} within {PATIENCE} s")
            time.sleep(0.01)

    def close_stdin(self, box, asked):
        try:
            self.call("POST", f"/api/v1/sandboxes/{box}/commands/{asked.id}/stdin/close")
        except Refused:
            pass

    def take(self, seen, at, frame):
        stream, _flags, offset = struct.unpack_from("<BBQ", frame)
        pieces = [(offset, frame[10:])]
        if self.wire.tamper is not None:
            pieces = self.wire.tamper.data(stream, offset, frame[10:])
        for place, data in pieces:
            seen.chunks.append((stream, place, data))
            at[stream] = place + len(data)

    def tampered_end(self, command):
        return command if self.wire.tamper is None else self.wire.tamper.end(command)

    def read_on(self, ws, seen, at):
        """After the end nothing may come but the close; a second end is counted."""
        try:
            while True:
                frame = ws.recv(timeout=5)
                if isinstance(frame, bytes):
                    self.take(seen, at, frame)
                elif json.loads(frame)["type"] == "end":
                    seen.ends += 1
        except BROKEN:
            pass

    def feed_by_socket(self, ws, asked):
        data, at = asked.expected(1, asked.stdin), 0
        while at < len(data):
            piece = data[at : at + self.wire.rng.randrange(1, 40000)]
            ws.send(b"\0" + piece)
            at += len(piece)
        ws.send(json.dumps({"type": "stdin_close"}))
