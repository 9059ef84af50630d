"""What bench/measure.py says of the promises with figures."""
import sys
import tomllib

from harness import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import measure  # noqa: E402
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
    lines, kept = measure.judged(rows())
    assert kept and len(lines) == 3 and all(line.endswith(": kept") for line in lines)
    for wrong in (rows(wake=40.1), rows(added=0.31), rows(share=0.59)):
        lines, kept = measure.judged(wrong)
        assert not kept and [line.endswith("NOT KEPT") for line in lines].count(True) == 1, lines
    lines, kept = measure.judged([{"name": TUNNEL, "share": 0.1}])
    assert kept and lines[0].endswith(": not reached"), "an aim is no promise"
    assert measure.judged([]) == ([], True)  # `--services` alone, say


def test_the_promises_are_those_that_are_written_down():
    promises = tomllib.loads((ROOT / "tests/promises.toml").read_text())["promise"]
    line = {one["id"]: " ".join(one["text"].split()) for one in promises}
    assert (
        "at most 40 ms" in line["L22"] and "at most 0.3 ms" in line["L31"] and "60 %" in line["L31"]
    )
    assert "at most 0.3 ms" in line["L37"] and "at most 0.3 ms" in line["L38"]


def test_the_figures_have_those_names():
    bench, ways = ((ROOT / "bench" / name).read_text() for name in ("bench.py", "ways.py"))
    assert '"wake of a stopped sandbox (/bin/true)"' in bench
    for _, name, *_ in measure.PROMISES[1:] + measure.AIMS:
        way, _, figure = name.partition(": ")
        assert f'"{way}"' in ways and figure in (
            "GET of 2 bytes",
            "GET of 256 MiB",
            "PUT of 256 MiB",
        ), name
    assert "GET of 2 bytes" in ways and "{verb} of 256 MiB" in ways


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
