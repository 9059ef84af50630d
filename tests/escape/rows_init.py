"""Cay's own process inside a sandbox, attacked by its root. The control is the same act against an
init that has the guest's ids (holes_of_files.py); in the short form, and for signals, which the
kernel keeps from an init whatever its ids are, against a process that entered as ours must not:
with those."""
import os

import baits
from frame import Bait, Outcome, row
from holes_of_files import INIT
from places import StandIn

O = "our processes"


class Ours(Bait):
    of_host = True

    def __init__(self, host):
        super().__init__()
        self.box, self.pid = host.box("main"), None

    def __enter__(self):
        self.victim = None
        return self

    def given(self, host, lifted):
        if lifted:  # a process that has the ids of the guest
            self.mark = (
                f"{600 + int.from_bytes(os.urandom(2), 'big')}."
                f"{int.from_bytes(os.urandom(3), 'big')}"
            )
            self.victim = StandIn(self.box).start(["sleep", self.mark])
            line = (
                f"for p in /proc/[0-9]*; do grep -qa {self.mark} $p/cmdline && grep -qa ^sleep "
                "$p/cmdline && basename $p; done; true"
            )
            baits.wait_until(lambda: self.box.sh(line).strip(), "the victim is there", 20)
            self.pid = int(self.box.sh(line).split()[0])
        return {"pid": self.pid or 1}

    def __exit__(self, *_):
        if self.victim:
            self.victim.kill()
            self.victim.wait()
            self.victim.stdout.close()
        return False


def stop_it(pid):
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + 2
    while (
        stopped := read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] in "Tt"
    ) is False and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(pid, signal.SIGCONT)
    return stopped


def trace_it(pid):
    return call(101, 0x4206, pid, 0, 0) == 0


def read_it_all(pid):
    with open(f"/proc/{pid}/mem", "rb") as memory:
        at = int(read(f"/proc/{pid}/maps").split("-")[0], 16)
        memory.seek(at)
        return len(memory.read(64)) == 64


def its_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd")) > 0


def its_program(pid):
    return len(read(f"/proc/{pid}/exe")) > 0


def its_environment(pid):
    return len(read(f"/proc/{pid}/environ")) > 0


def its_limits(pid):
    import resource

    resource.prlimit(pid, resource.RLIMIT_NOFILE, (10, 10))
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] == 10


def its_processor(pid):
    os.sched_setaffinity(pid, {0})
    return os.sched_getaffinity(pid) == {0}


def its_priority(pid):
    os.setpriority(os.PRIO_PROCESS, pid, 9)
    return os.getpriority(os.PRIO_PROCESS, pid) == 9


def end_it(pid):
    os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 2
    while (
        ended := not os.path.exists(f"/proc/{pid}/stat")
        or read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] in "ZX"
    ) is False:
        if time.monotonic() > end:
            break
        time.sleep(0.01)
    return ended


def its_memory_by_call(pid):
    at = int(read(f"/proc/{pid}/maps").split("-")[0], 16)

    class Part(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    buffer = ctypes.create_string_buffer(64)
    return (
        call(
            310,
            pid,
            ctypes.byref(Part(ctypes.addressof(buffer), 64)),
            1,
            ctypes.byref(Part(at, 64)),
            1,
            0,
        )
        == 64
    )


def its_blame(pid):
    with open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write("1000")
    return read(f"/proc/{pid}/oom_score_adj").strip() == "1000"


IDS = "init has ids that the guest cannot signal, trace or limit"


def against_init(name, attack, act, holes=(INIT,), **more):
    """Against init, and in the control against a process with the guest's ids."""

    @row(name, attack, O, IDS, by="A1 A7", holes=holes, **more)
    def run(host, lifted):
        with Ours(host) as one:
            told = host.box("main").run(act, one.given(host, lifted))
        return Outcome(told.get("done") is True, str(told.get("refused", told.get("done"))))


against_init("stop-init", "stop Cay's process inside", stop_it, ())
against_init("kill-init", "kill it", end_it, ())
against_init("trace-init", "trace it", trace_it, known=("CVE-2026-41163",))
against_init("memory-of-init", "read its memory", read_it_all)
against_init("memory-of-init-by-call", "read its memory by process_vm_readv", its_memory_by_call)
against_init(
    "descriptors-of-init", "list its descriptors", its_descriptors, known=("CVE-2024-21626",)
)
against_init(
    "program-of-init", "open its program: Cay's own binary", its_program, known=("CVE-2019-5736",)
)
against_init("environment-of-init", "read its environment", its_environment)
against_init("limits-of-init", "lower its limits", its_limits)
against_init("processor-of-init", "bind it to one processor", its_processor)
against_init("priority-of-init", "lower its priority", its_priority)
against_init("blame-init", "make it the first that is killed for memory", its_blame)
