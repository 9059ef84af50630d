"""What a program record costs fork, exec and exit inside a sandbox, and what it costs beside one.

In turns. The record's part in the kernel goes 10 s after the last sandbox that has one, so the
first turn is by itself."""

import json

# Starts /bin/true many times inside and prints how long each took.
SPAWNER = """
import json, os, sys, time
times = []
for _ in range(int(sys.argv[1])):
    begin = time.perf_counter()
    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)
    times.append(time.perf_counter() - begin)
print(json.dumps(times))
"""
NAMES = {
    "without": "fork+exec+exit inside (no record on the host)",
    "with": "  with a program record",
    "beside": "  beside a sandbox with one",
}


def measure(at):
    def spawns(box):
        got = at.api.run(box, "python3", "-c", SPAWNER, str(at.count(400)), timeout_s=300)
        return [one * 1e6 for one in json.loads(got["stdout"])[3:]]

    with at.box() as plain:
        times = {"without": spawns(plain) + spawns(plain), "with": [], "beside": []}
        with at.box(record_programs=True) as recorded:
            for _ in range(2):
                times["beside"] += spawns(plain)
                times["with"] += spawns(recorded)
    for key, name in NAMES.items():
        at.add(name, times[key])
