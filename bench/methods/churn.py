"""Create, run `echo`, delete, without a pause: how many a second, and whether the daemon and the
launcher grow meanwhile."""

import statistics
import threading

import processes


def _growth(at, stop, seen):
    """Adds {role: (KiB, descriptors)} to `seen` every few seconds until `stop` is set."""
    while not stop.wait(max(1, at.seconds / 30)):
        seen.append(
            {
                role: (
                    sum(processes.pss_kib(pid) for pid in pids),
                    sum(processes.descriptors(pid) for pid in pids),
                )
                for role, pids in processes.of_daemon(at.daemon).items()
            }
        )


def measure(at):
    stop, seen = threading.Event(), []
    watcher = threading.Thread(target=_growth, args=(at, stop, seen))
    watcher.start()
    available = processes.memory()["MemAvailable"]
    got = at.client("churn", seconds=at.seconds, clients=4)
    after = processes.memory()["MemAvailable"]
    stop.set()
    watcher.join()
    whole = got["in_second"][1:-1] or got["in_second"]
    at.value(
        "create + exec + delete",
        got["per_second"],
        "1/s",
        seconds=at.seconds,
        failures=got["failures"],
        why=got["why"],
        slowest_second=min(whole),
        in_second=got["in_second"],
    )
    at.add("create + exec + delete, 4 clients", got["microseconds"], failures=got["failures"])
    at.value("  host memory that it left in use", (available - after) / 1024, "MiB")
    # The first tenth fills caches and pools.
    settled = seen[max(1, len(seen) // 10) :]
    if len(settled) < 2:
        return
    for role in settled[0]:
        first, last = (
            [statistics.median(one[role][i] for one in part if role in one) for i in (0, 1)]
            for part in (settled[: len(settled) // 3 + 1], settled[-len(settled) // 3 :])
        )
        at.value(f"  growth of {role}: memory", (last[0] - first[0]) / 1024, "MiB", at_end=last[0])
        at.value(f"  growth of {role}: descriptors", last[1] - first[1], "", at_end=last[1])
