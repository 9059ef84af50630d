"""What bench/run says of the targets and of the promises with figures, and the short form that CI
reports."""

import json
import subprocess
import sys
import tomllib

import pytest
from harness import ROOT, SANITIZED, needs_root, slow

sys.path.append(str(ROOT / "bench"))  # behind tests, which has an images.py too
import report  # noqa: E402
import targets  # noqa: E402
import walls  # noqa: E402

LINK = "  through its link: GET of 256 MiB"
SMALL = "  through its link: GET of 2 bytes"
TUNNEL = "  through cay tunnel: GET of 256 MiB"


def rows(wake=12.0, added=0.1, share=0.8):
    return [
        {"name": "wake of a stopped sandbox (/bin/true)", "p50": wake, "p99": 99.0},
        {"name": SMALL, "added_p50_ms": added},
        {"name": LINK, "share": share},
        {"name": "pause", "p50": 1000.0},
    ]


def test_a_figure_is_held_to_its_promise():
    lines, kept = targets.judged(rows())
    assert kept and len(lines) == 3 and all(line.endswith(": kept") for line in lines)
    for wrong in (rows(wake=40.1), rows(added=0.31), rows(share=0.59)):
        lines, kept = targets.judged(wrong)
        assert not kept and [line.endswith("NOT KEPT") for line in lines].count(True) == 1, lines
    tunnel = [{"name": TUNNEL, "share": 0.1}]
    assert targets.judged(tunnel) == ([], True), "an aim is no promise"
    assert targets.unpromised(tunnel)[0].endswith(": not reached")
    assert targets.judged([]) == ([], True)  # none of its methods ran


def test_the_promises_are_those_that_are_written_down():
    promises = tomllib.loads((ROOT / "tests/promises.toml").read_text())["promise"]
    line = {one["id"]: " ".join(one["text"].split()) for one in promises}
    assert (
        "at most 40 ms" in line["L22"] and "at most 0.3 ms" in line["L31"] and "60 %" in line["L31"]
    )
    assert "at most 0.3 ms" in line["L37"] and "at most 0.3 ms" in line["L38"]


def test_a_target_is_reached_by_all_its_figures():
    wake = next(one for one in targets.TARGETS if one.measure.startswith("wake"))
    shown = lambda p50: next(
        line
        for line in report.targets_table([{"name": wake.aims[0].row, "p50": p50}])
        if line.startswith("| wake")
    )
    assert "**yes**: p50 5.99 ms" in shown(5.99) and "| no: p50 6.01 ms" in shown(6.01)
    burst = [{"name": "create, burst: cay", "wall_of_100_ms": 699.0, "failures": 0}]
    table = report.targets_table(burst)
    assert any(
        "| full not measured, failures not measured, empty 699 ms, failures 0.00 |" in line
        for line in table
    )
    assert sum("| not measured |" in line for line in table) == len(targets.TARGETS) - 1


def test_the_aims_of_the_walls():
    found = {
        "gate": {"gbit_per_core": 6.0, "share": 0.4, "added_p50_ms": 0.21},
        "http": {"gbit_per_core": 4.9, "added_p50_ms": 0.1},
        "tls": {"gbit_per_core": 5.1},
        "hello": {"added_p50_ms": 0.3},
        "filter": {"overhead_at_most": 0.049},
    }
    said = [line.rsplit(": ", 1)[1] for line in walls.judged(found)]
    assert said == [
        "reached",
        "not reached (the one above is enough)",
        "not reached",
        "not reached",
        "reached",
        "reached",
        "not reached",
        "reached",
    ]
    found["gate"]["gbit_per_core"] = 4.0
    assert [line.rsplit(": ", 1)[1] for line in walls.judged(found)][:2] == ["not reached"] * 2


@needs_root
@pytest.mark.skipif(SANITIZED, reason="its times say nothing")
def test_the_short_form_reports(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "bench/run", "--short", "--out", tmp_path],
        capture_output=True,
        text=True,
        timeout=slow(400),
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["machine"]["kernel"] and len(found["machine"]["load_after"]) == 3
    named = targets.by_name(found["rows"])
    for name in (targets.SEQUENTIAL, "exec: bare", "exec: cay", "file upload: 1 KiB"):
        assert named[name]["n"] and named[name]["p50"] > 0, name
    assert named[targets.SEQUENTIAL]["failures"] == 0
    assert named["create, burst: cay"]["failures"] == 0
    # Each figure of a target is the name of a row, or is not part of the short form.
    methods = {row["method"] for row in found["rows"]}
    for target in targets.TARGETS:
        if target.method in methods and target.aims:
            assert any(aim.value(named) is not None for aim in target.aims), target.measure
    assert (tmp_path / "create.svg").read_text().startswith("<svg")
    assert "| create → first output" in (tmp_path / "table.md").read_text()
