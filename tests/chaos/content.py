"""What the payload writes: bytes that follow from (seed, stream, offset) alone, and its records.

A block is 16 bytes: 8 digits of a key, 5 digits of the block's number, an é (two bytes, so that
text facades must keep characters whole) and a newline. A lost, doubled or swapped block cannot
look right, and a failure shows which block it was.
"""
import dataclasses
import functools

BLOCK = 16
LARGEST = BLOCK << 20  # the block number has five digits


def key(seed, stream):
    return (seed * 2654435761 + stream * 40503) & 0xFFFFFFFF


@functools.lru_cache(maxsize=4)
def _numbers(blocks):
    return [b"%05x\xc3\xa9\n" % number for number in range(blocks)]


def content(seed, stream, size):
    assert size <= LARGEST
    blocks = -(-size // BLOCK)
    head = b"%08x" % key(seed, stream)
    numbers = _numbers(1 << max(8, blocks.bit_length()))
    return (head + head.join(numbers[:blocks]))[:size] if blocks else b""


@dataclasses.dataclass
class Record:
    """One run of the payload, as it wrote it down itself."""

    begins: list = dataclasses.field(
        default_factory=list
    )  # (pid, ms): more than one is a second run
    did: dict = dataclasses.field(default_factory=lambda: {1: 0, 2: 0})  # surely written
    may: dict = dataclasses.field(default_factory=lambda: {1: 0, 2: 0})  # at most written
    read: int = 0  # bytes of stdin
    stdin_ended: bool = False
    exit: int | None = None  # about to exit with this
    ended_ms: int | None = None  # when it said so, or sent itself a signal
    signal: int | None = None
    hung: bool = False
    late_from: int | None = None  # where a child left behind began to write
    late_done: bool = False
    failures: list = dataclasses.field(default_factory=list)


def parse_record(text):
    record = Record()
    for line in text.splitlines():
        fact, first, second = line.split()
        first, second = int(first), int(second)
        if fact == "begin":
            record.begins.append((first, second))
        elif fact in ("did1", "did2"):
            record.did[int(fact[3])] = first
        elif fact in ("may1", "may2"):
            record.may[int(fact[3])] = first
        elif fact == "read":
            record.read += first
        elif fact == "stdin_end":
            record.stdin_ended = True
        elif fact == "exit":
            record.exit, record.ended_ms = first, second
        elif fact == "signal":
            record.signal, record.ended_ms = first, second
        elif fact == "hang":
            record.hung = True
        elif fact == "late_begins":
            record.late_from = first
        elif fact == "late_done":
            record.late_done = True
        elif fact == "failed":
            record.failures.append((first, second))
        elif fact != "child":
            raise ValueError(f"not a fact: {line!r}")
    return record
