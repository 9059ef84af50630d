"""The way out: bytes and connections through the gate, by bench/walls.py with its own daemon."""

import json
import pathlib
import subprocess
import sys
import tempfile

WALLS = pathlib.Path(__file__).resolve().parent.parent / "walls.py"


def measure(at):
    with tempfile.TemporaryDirectory(prefix="cay-bench-") as place:
        words = [sys.executable, WALLS, f"{place}/walls", "--without-filter"]
        words += ["--rounds", str(at.count(10, 2)), "--mib", str(at.count(1024, 64))]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        figures = pathlib.Path(f"{place}/walls.json")
        if not figures.exists():
            at.add("gate", [], why=(done.stderr or done.stdout).strip()[-300:])
            return
        found = json.loads(figures.read_text(encoding="utf8"))
    for way, row in found.items():
        if not isinstance(row, dict) or "added_p50_ms" not in row:
            continue
        at.value(f"gate, {way}: added to a connection", row["added_p50_ms"], "ms")
        if "gbit_per_core" in row:
            at.value(f"gate, {way}: bytes", row["gbit_per_core"], "Gbit/s a core")
        if "share" in row:
            at.value(f"gate, {way}: share of plain loopback", 100 * row["share"], "%")
