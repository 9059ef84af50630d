"""The judge of a chaos run: compares what clients saw with what each command really did.

Pure: it takes what was asked, what was seen and the command's own record, and gives sentences, one
for each lie. It knows no daemon.
"""
import contextlib
import dataclasses
import time

from content import content

STREAMS = (1, 2)
FOR_EVER = 1 << 60
# A keeper that is killed under load may not have reaped for so long what had ended.
REAPED_WITHIN_MS = 5000
TERMINAL = {"exited", "signalled", "timed_out", "idle_killed", "oom_killed", "killed", "lost"}


@dataclasses.dataclass
class Asked:
    """One command as a client asked for it, and what that client did to it."""

    id: str
    seed: int
    script: list  # payload.c tells the words
    timeout_ms: int = 0
    # yes: the daemon answered that it runs. no: refused for good. unknown: the answer was cut off.
    accepted: str = "unknown"
    stdin: int = 0  # bytes that the client meant to write
    stdin_acked: int = 0  # surely taken
    stdin_whole: bool = False  # every byte and the end were surely taken
    kills: int = 0  # kills sent, whether or not answered
    asked_ms: int = 0  # when, by the wall clock
    ttl_ms: int = -1  # kept so long after its end; -1: with the sandbox
    limit: int = 0  # bytes kept of each stream, its first and last halves; 0: all
    kind: str = ""
    way: str = ""  # how it was asked for

    def expected(self, stream, size):
        """The first `size` bytes of a stream."""
        return content(self.seed, 0 if stream == 1 and "i" in self.script else stream, size)


@dataclasses.dataclass
class Gap:
    """In the place of data: so many bytes that the daemon says were dropped."""

    length: int

    def __len__(self):
        return self.length


@dataclasses.dataclass
class Faults:
    """What was done to the sandbox, and when: milliseconds of the wall clock."""

    stops: list = dataclasses.field(default_factory=list)  # (asked for, answered)
    keepers_killed: list = dataclasses.field(default_factory=list)  # just after the signal

    @contextlib.contextmanager
    def stopping(self):
        begun = round(time.time() * 1000)
        self.stops.append((begun, FOR_EVER))  # observers may ask before it is answered
        at = len(self.stops) - 1
        yield
        self.stops[at] = (begun, round(time.time() * 1000))


@dataclasses.dataclass
class Seen:
    """What one observer was told of one command."""

    observer: str
    state: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    by: str = ""
    reason: str = ""
    started_ms: int | None = None  # by the wall clock, as told
    duration_ms: int | None = None
    # Data in the order of arrival: (stream, offset, bytes or a Gap). None: this observer read no
    # output.
    chunks: list | None = None
    starts: dict = dataclasses.field(default_factory=lambda: {1: 0, 2: 0})
    whole: tuple = STREAMS  # the streams that were read to the command's end
    extents: dict | None = None  # stream -> (bytes, end_offset)
    gaps: dict | None = None  # stream -> (begin, end) of what was dropped
    beginning: dict | None = None  # stream -> its first bytes: of an answer that says it is not all
    past_end: bool = False  # it had read more than was told to be there when it came again
    forgotten_ms: int | None = None  # when it was told that there is no such command (any more)
    text: dict | None = None  # stream -> str, of a facade that decodes
    shell_code: int | None = None  # of a facade that has only this
    ends: int = 1  # how often it was told an end

    @property
    def end(self):
        return self.state, self.exit_code, self.signal, self.by


class Judge:
    """Collects what is wrong with one command."""

    def __init__(self, asked, record, faults):
        self.asked, self.record, self.faults = asked, record, faults
        self.wrong = []

    def say(self, sentence):
        self.wrong.append(
            f"{self.asked.id} ({self.asked.way} {self.asked.kind}: "
            f"{' '.join(self.asked.script)}): {sentence}"
        )

    # ---- the end ----

    def check_end(self, seen):
        asked, record, who = self.asked, self.record, seen.observer
        if seen.ends != 1:
            self.say(f"{who} was told {seen.ends} ends")
        if seen.state not in TERMINAL:
            return self.say(f"{who} saw the state {seen.state!r}, which is no end")
        if seen.state == "exited":
            if record is None or record.exit is None:
                self.say(
                    f"{who} saw an invented exit {seen.exit_code}: the command never was about to "
                    "exit"
                )
            elif record.exit != seen.exit_code:
                self.say(f"{who} saw exit {seen.exit_code}, the command exited with {record.exit}")
        elif seen.state == "signalled":
            if record is None or record.signal != seen.signal:
                self.say(f"{who} saw signal {seen.signal}, which the command did not send itself")
        elif seen.state == "timed_out":
            if asked.timeout_ms <= 0:
                self.say(f"{who} saw a timeout of a command without one")
            elif seen.duration_ms is not None and seen.duration_ms < asked.timeout_ms - 5:
                self.say(f"{who} saw a timeout after {seen.duration_ms} of {asked.timeout_ms} ms")
        elif seen.state == "killed":
            allowed = (seen.by == "client" and asked.kills > 0) or (
                seen.by == "sandbox stop" and self.stop_may_have_killed(seen)
            )
            if not allowed:
                self.say(
                    f"{who} saw it killed by {seen.by!r}, who did not kill it "
                    f"({self.told_of_faults()})"
                )
        elif seen.state == "lost":
            if (seen.reason or "").startswith("input lost"):
                self.check_input_lost(seen)
            elif not self.keeper_may_have_lost():
                self.say(
                    f"{who} saw it lost ({seen.reason}), though no keeper was lost while it ran"
                )
            if not seen.reason:
                self.say(f"{who} saw it lost without a reason")
        else:
            self.say(f"{who} saw it {seen.state}, for which there was no cause")

    def check_input_lost(self, seen):
        """A daemon that was killed with a part of a command's input ends the command: only one
        whose input nobody knows to be whole."""
        if self.asked.stdin == 0 or self.asked.stdin_whole:
            self.say(
                f"{seen.observer} saw its input lost, "
                f"{'all of which was taken' if self.asked.stdin else 'of which there was none'}"
            )
        if self.record is not None and self.record.stdin_ended:
            self.say(f"{seen.observer} saw its input lost, whose end it had read")

    def begun_ms(self, seen=None):
        """By its own record. One that was killed before it wrote a word began when the daemon says:
        asked for long before, maybe, while its sandbox could start nothing."""
        if self.record is not None and self.record.begins:
            return self.record.begins[0][1]
        return (
            self.asked.asked_ms
            if seen is None or seen.started_ms is None
            else max(self.asked.asked_ms, seen.started_ms)
        )

    def told_of_faults(self):
        """For whoever looks for the cause: milliseconds since it was asked for."""

        def since(at):
            return (
                "never"
                if at is None
                else "for ever"
                if at == FOR_EVER
                else at - self.asked.asked_ms
            )

        record, faults = self.record, self.faults
        begins = [since(at) for _, at in record.begins] if record is not None else "no record"
        stops = [
            (since(asked), since(answered))
            for asked, answered in faults.stops
            if answered >= self.asked.asked_ms - 10_000
        ]
        killed = [since(at) for at in faults.keepers_killed if at >= self.asked.asked_ms - 10_000]
        return (
            f"began {begins}, ended {since(record.ended_ms) if record is not None else 'never'}; "
            f"stops {stops}, killed keepers {killed}"
        )

    def stop_may_have_killed(self, seen):
        """A stop while it ran: not one after its keeper had died with it."""
        begun = self.begun_ms(seen)
        death = min((at for at in self.faults.keepers_killed if at >= begun), default=FOR_EVER)
        return any(answered >= begun and asked <= death for asked, answered in self.faults.stops)

    def keeper_may_have_lost(self):
        ended = self.record.ended_ms if self.record is not None else None
        latest = FOR_EVER if ended is None else ended + REAPED_WITHIN_MS
        return any(self.asked.asked_ms <= at <= latest for at in self.faults.keepers_killed)

    def check_shell_code(self, seen, canonical):
        state, exit_code, signal, _ = canonical
        want = {"exited": exit_code, "timed_out": 124, "lost": 125}.get(state, 128 + (signal or 0))
        if seen.shell_code != want:
            self.say(
                f"{seen.observer} saw the shell code {seen.shell_code}, the others {state}, which "
                f"is {want}"
            )

    def keeper_died(self):
        """Then the newest bytes of a ring may be told as dropped: its last record need not be of
        them."""
        return any(at >= self.asked.asked_ms for at in self.faults.keepers_killed)

    def check_forgotten(self, seen):
        """No such command: true once its ttl is over, and of no other."""
        if self.asked.ttl_ms < 0:
            return self.say(f"{seen.observer} was told that there is no such command")
        if self.record is None:
            return
        earliest = (self.record.ended_ms or self.begun_ms()) + self.asked.ttl_ms
        if seen.forgotten_ms < earliest - 5:
            self.say(
                f"{seen.observer}: it was forgotten {earliest - seen.forgotten_ms} ms before its "
                f"ttl of {self.asked.ttl_ms} ms was over"
            )

    # ---- the output ----

    def bounds(self, stream, state):
        """Least and most bytes that a stream can have at the leader's end, and after it."""
        record = self.record
        if record is None:
            return 0, 0, 0
        did, may = record.did[stream], record.may[stream]
        if stream == 1 and record.late_from is not None and state != "lost":
            # A child left behind wrote on: the pipe may have had some of it when the end was taken.
            return record.late_from, may, may
        if state in ("exited", "signalled"):
            return did, did, did
        if state == "lost":
            return 0, may, may  # what the keeper had not yet taken from the pipe went with it
        return did, may, may

    def check_chunks(self, seen):
        for stream in STREAMS:
            at = start = seen.starts[stream]
            got = []
            for which, offset, data in seen.chunks:
                if which != stream:
                    continue
                if offset != at:
                    what = "lost" if offset > at else "repeated"
                    return self.say(
                        f"{seen.observer}: bytes of stream {stream} {what}: {offset} follows {at}"
                    )
                at += len(data)
                if isinstance(data, Gap):
                    self.check_gap(seen, stream, offset, at)
                    self.check_bytes(seen, stream, start, b"".join(got), last=False)
                    start, got = at, []
                else:
                    got.append(data)
            self.check_bytes(seen, stream, start, b"".join(got))

    def check_gap(self, seen, stream, begin, end):
        """What a reader may be told as dropped: nothing of the first half, nor of the last."""
        limit, (_, _, most) = self.asked.limit, self.bounds(stream, seen.state)
        tail = 0 if self.keeper_died() else limit - limit // 2
        if limit == 0 or begin < limit // 2 or end > most - tail:
            self.say(
                f"{seen.observer}: bytes {begin} to {end} of stream {stream} are said to be "
                f"dropped, of {most} and a limit of {limit}"
            )

    def check_beginning(self, seen):
        for stream, data in seen.beginning.items():
            limit, (least, _, most) = self.asked.limit, self.bounds(stream, seen.state)
            if len(data) > most:
                self.say(
                    f"{seen.observer}: {len(data)} bytes of stream {stream}, the command wrote "
                    f"{most}"
                )
            elif data != self.asked.expected(stream, most)[: len(data)]:
                self.say(f"{seen.observer}: the beginning of stream {stream} is wrong")
            elif len(data) < min(limit // 2, least):
                self.say(
                    f"{seen.observer}: {len(data)} bytes of stream {stream} were told of {most}, "
                    f"with a limit of {limit}"
                )

    def check_bytes(self, seen, stream, start, data, last=True):
        end = start + len(data)
        least, leader_most, most = self.bounds(stream, seen.state)
        if end > most:
            return self.say(
                f"{seen.observer}: {end} bytes of stream {stream}, the command wrote {most}"
            )
        want = self.asked.expected(stream, end)[start:]
        if data != want:
            at = next(i for i in range(len(data)) if data[i] != want[i])
            block = (start + at) // 16 * 16 - start
            return self.say(
                f"{seen.observer}: stream {stream} is wrong from offset {start + at}: "
                f"{data[max(0, block):block + 48]!r} instead of {want[max(0, block):block + 48]!r}"
            )
        if last and stream in seen.whole and seen.state in TERMINAL and end < least:
            self.say(
                f"{seen.observer}: {end} bytes of stream {stream} at the end, the command wrote "
                f"{least}: "
                f"the tail was lost"
            )

    def check_text(self, seen):
        for stream, text in seen.text.items():
            least, _, most = self.bounds(stream, seen.state)
            most_text = self.asked.expected(stream, most).decode(errors="replace")
            known = text.rstrip("\ufffd")  # a cut character
            if not most_text.startswith(known):
                at = next(
                    (i for i in range(min(len(known), len(most_text))) if known[i] != most_text[i]),
                    len(most_text),
                )
                self.say(
                    f"{seen.observer}: the text of stream {stream} is wrong from character {at}: "
                    f"{known[at:at + 40]!r} "
                    f"instead of {most_text[at:at + 40]!r}"
                )
            elif len(known.encode()) < least - 2:
                self.say(
                    f"{seen.observer}: {len(known.encode())} bytes of text of stream {stream}, "
                    f"the command wrote {least}"
                )

    def check_extents(self, seen):
        for stream, (size, end_offset) in seen.extents.items():
            least, leader_most, most = self.bounds(stream, seen.state)
            if not least <= end_offset <= leader_most:
                self.say(
                    f"{seen.observer}: stream {stream} ended at {end_offset}, the command wrote "
                    f"{least} to {leader_most}"
                )
            if not end_offset <= size <= max(most, end_offset):
                self.say(
                    f"{seen.observer}: stream {stream} has {size} bytes, the command wrote at "
                    f"most {most}"
                )
            self.check_told_gap(seen, stream, size)

    def check_told_gap(self, seen, stream, size):
        """What was dropped is told to the byte."""
        limit, told = self.asked.limit, seen.gaps[stream] if seen.gaps else (0, 0)
        want = (0, 0)
        if limit and size > limit:
            want = (limit // 2, size - (limit - limit // 2))
        if told[0] == told[1]:
            told = (0, 0)
        if (
            self.keeper_died()
            and told[0] == limit // 2
            and want[1] <= told[1] <= size
            and limit <= size
        ):
            want = told
        if told != want:
            self.say(
                f"{seen.observer}: of the {size} bytes of stream {stream} with a limit of "
                f"{limit}, {told} are said to be dropped, not {want}"
            )

    # ---- the whole ----

    def check_stdin(self):
        record, asked = self.record, self.asked
        if record is None or "i" not in asked.script:
            return
        if record.read > asked.stdin:
            self.say(
                f"it read {record.read} bytes of stdin, {asked.stdin} were written: some came twice"
            )
        if record.stdin_ended and record.read < asked.stdin_acked:
            self.say(
                f"it read {record.read} bytes of stdin to the end, {asked.stdin_acked} were "
                "taken: some were lost"
            )
        if asked.stdin_whole and record.stdin_ended and record.read != asked.stdin:
            self.say(
                f"it read {record.read} of {asked.stdin} bytes of stdin, all of which were taken"
            )

    def check(self, seens):
        record, asked = self.record, self.asked
        if record is not None:
            if len(record.begins) > 1:
                self.say(f"it ran {len(record.begins)} times")
            if asked.accepted == "no":
                self.say("it ran though it was refused")
            for which, errno in record.failures:
                self.say(f"its own write or read {which} failed with errno {errno}")
        if asked.accepted == "yes" and not seens:
            self.say("it was accepted and then nobody knew it")
        if asked.accepted == "no" and seens:
            self.say("it was refused and is known")
        ended = [seen for seen in seens if seen.shell_code is None and seen.forgotten_ms is None]
        for seen in ended:
            self.check_end(seen)
        ends = {seen.end for seen in ended}
        if len(ends) > 1:
            told = "; ".join(f"{seen.observer}: {seen.end}" for seen in ended)
            self.say(f"observers were told different ends: {told}")
        for seen in seens:
            if seen.shell_code is not None and ended:
                self.check_shell_code(seen, ended[0].end)
                seen.state = ended[0].state
            if seen.forgotten_ms is not None:
                self.check_forgotten(seen)
                seen.state = ended[0].state if ended else None
            if seen.chunks is not None:
                self.check_chunks(seen)
            if seen.beginning is not None:
                self.check_beginning(seen)
            if seen.past_end and seen.state != "lost":
                self.say(
                    f"{seen.observer} was told of fewer bytes than before, though no keeper was "
                    "lost"
                )
            if seen.text is not None:
                self.check_text(seen)
            if seen.extents is not None:
                self.check_extents(seen)
        self.check_stdin()
        return self.wrong


def check(asked, record, seens, faults):
    """Everything that is wrong with one command; an empty list when nothing is."""
    return Judge(asked, record, faults).check(seens)
