#!/usr/bin/env python3
"""What a step of tests/long that ran pytest comes to, by its log: a run in which every test was
skipped has passed nothing.

Usage: long_verdict.py LOG EXIT-STATUS       Prints "passed ...", "SKIPPED ..." or "FAILED ..." with
the numbers."""
import pathlib
import re
import sys

COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
NOTHING_RAN = 5  # pytest's status where modules skipped themselves, too
REASON = re.compile(r"^SKIPPED \[\d+\] \S+: (.*)$", re.M)


def verdict(log, status):
    # The last line that counts is pytest's own; a guest's console ends its lines with CR LF.
    log = log.replace("\r", "")
    counted = [line for line in log.splitlines() if COUNT.search(line) and " in " in line]
    numbers = {}
    for count, what in COUNT.findall(counted[-1]) if counted else ():
        numbers[what.removesuffix("s") if what == "errors" else what] = int(count)
    shown = ", ".join(f"{count} {what}" for what, count in numbers.items()) or "no test ran"
    reasons = "; ".join(dict.fromkeys(REASON.findall(log)))
    why = f": {reasons}" if reasons and numbers.get("skipped") else ""
    if status not in (0, NOTHING_RAN) or numbers.get("failed") or numbers.get("error"):
        return f"FAILED   {shown}"
    if numbers.get("passed"):
        return f"passed   {shown}{' (SKIPPED' + why + ')' if why else ''}"
    return f"SKIPPED  {shown}{why}" if numbers.get("skipped") else "FAILED   no test ran"


if __name__ == "__main__":
    print(verdict(pathlib.Path(sys.argv[1]).read_text(errors="replace"), int(sys.argv[2])))
