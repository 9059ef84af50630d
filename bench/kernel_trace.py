"""KernelTrace: system calls and task switches of chosen processes, by the kernel's own tracing.

It needs root and tracefs. It works in an instance of its own, so it disturbs no other trace. The
children of a traced process are traced from their birth."""
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass

CALLS = ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit")
SWITCHES = (
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_process_fork",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
)
BUFFER_KIB = 32768  # of each CPU
HEADERS = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h")

# "  cay-1234   [001] d..2.  5678.901234: sched_switch: prev_comm=..."
LINE = re.compile(
    r"^\s*(?P<comm>.{1,16})-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+(?P<at>[\d.]+): "
    r"(?P<name>\w+): (?P<rest>.*)$"
)


@dataclass
class Event:
    comm: str
    pid: int
    cpu: int
    at: float  # seconds of the monotonic clock
    name: str
    rest: str

    def field(self, name):
        """Returns a field of a scheduler's event as text."""
        found = re.search(rf"\b{name}=(.*?)(?= \w+=| ==>|$)", self.rest)
        return found.group(1) if found else ""

    def number(self):
        """Returns the number of a system call."""
        return int(re.match(r"NR (-?\d+)", self.rest).group(1))


def names_of_calls():
    """Returns {number: name}. Without the kernel's headers it is empty."""
    for header in map(pathlib.Path, HEADERS):
        if header.exists():
            lines = re.findall(r"#define __NR_(\w+)\s+(\d+)", header.read_text("ascii"))
            return {int(number): name for name, number in lines}
    return {}


class Unsupported(Exception):
    """Why this machine cannot trace."""


class KernelTrace:
    def __init__(self, events=CALLS + SWITCHES):
        self.events = events
        self.place = self.mounted = None

    def __enter__(self):
        root = pathlib.Path("/sys/kernel/tracing")
        if not (root / "instances").is_dir():
            root = self.mounted = pathlib.Path(tempfile.mkdtemp(prefix="cay-trace-"))
            words = ["mount", "-t", "tracefs", "trace", root]
            if subprocess.run(words, capture_output=True, check=False).returncode != 0:
                root.rmdir()
                raise Unsupported("this kernel, or this user, can mount no tracefs")
        self.place = root / "instances" / f"cay-{os.getpid()}"
        self.place.mkdir()
        missing = [one for one in self.events if not (self.place / "events" / one).is_dir()]
        if missing:
            self.__exit__()
            raise Unsupported(f"this kernel has no tracepoints {missing}")
        self.write("buffer_size_kb", BUFFER_KIB)
        self.write("trace_clock", "mono")
        self.write("options/event-fork", 1)
        for event in self.events:
            self.write(f"events/{event}/enable", 1)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.write("tracing_on", 0)
        with contextlib.suppress(OSError):
            self.place.rmdir()
        if self.mounted:
            subprocess.run(["umount", self.mounted], check=False, capture_output=True)
            with contextlib.suppress(OSError):
                self.mounted.rmdir()

    def write(self, name, text):
        (self.place / name).write_text(str(text), encoding="ascii")

    def start(self, pids):
        """Begins anew with these processes, all their threads included."""
        threads = []
        for pid in pids:
            with contextlib.suppress(OSError):
                threads += os.listdir(f"/proc/{pid}/task")
        self.write("tracing_on", 0)
        self.write("set_event_pid", " ".join(threads))
        self.write("trace", "")
        self.write("tracing_on", 1)

    def settle(self, seconds=0.15, limit=1.5):
        """Waits until nothing was traced for so long: work in the background has ended.

        Timers of traced processes go on, so it ends after `limit` in any case."""
        seen, quiet, end = -1, time.monotonic() + seconds, time.monotonic() + limit
        while time.monotonic() < min(quiet, end):
            now = self.count()
            if now != seen:
                seen, quiet = now, time.monotonic() + seconds
            time.sleep(0.05)

    def count(self):
        """Returns how many events were recorded so far."""
        total = 0
        for stats in self.place.glob("per_cpu/cpu*/stats"):
            entries = re.search(r"^entries: (\d+)", stats.read_text("ascii"), re.M)
            total += int(entries.group(1))
        return total

    def stop(self):
        """Returns the events since start(), in order. Raises RuntimeError if some are lost."""
        self.write("tracing_on", 0)
        for stats in self.place.glob("per_cpu/cpu*/stats"):
            text = stats.read_text("ascii")
            lost = sum(map(int, re.findall(r"^(?:overrun|dropped events): (\d+)", text, re.M)))
            if lost:
                raise RuntimeError(f"the trace lost {lost} events")
        found = []
        for line in (self.place / "trace").read_text("utf8", errors="replace").splitlines():
            match = LINE.match(line)
            if match:
                comm, pid, cpu, at, name, rest = match.groups()
                found.append(Event(comm.strip(), int(pid), int(cpu), float(at), name, rest))
        return sorted(found, key=lambda event: event.at)


def calls_by_comm(events):
    """Returns {program: how many system calls it made}."""
    out = {}
    for event in events:
        if event.name == "sys_enter":
            out[event.comm] = out.get(event.comm, 0) + 1
    return out
