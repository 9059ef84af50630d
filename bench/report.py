"""What a run leaves: raw JSON, tables for docs/performance.md, and pictures."""

import json
import re
import textwrap

import svg
from targets import SEQUENTIAL, TARGETS, by_name, short

MARKS = "<!-- {}: written by bench/run -->", "<!-- end of {} -->"
CREATED = "create, sequential: "
TITLES = {
    "create.svg": "Create to first output, by runtime",
    "exec.svg": "A program in a running sandbox, by runtime",
    "create-spread.svg": "How many creates are done after how long",
    "churn.svg": "Create, exec and delete, each second",
}


def targets_table(rows):
    named = by_name(rows)
    lines = [
        "| Measure | Target | Reached | Floor* | Elsewhere* | Method |",
        "|---|---|---|---|---|---|",
    ]
    for target in TARGETS:
        ends = [aim.reached(named) for aim in target.aims]
        verdict = "" if None in ends else ("**yes**: " if all(ends) else "no: ")
        if target.missing:
            verdict = "in part: " if all(ends) else "no: "
        if not target.aims:
            shown = target.missing
        elif all(end is None for end in ends):
            shown = "not measured"
        else:
            parts = [aim.told(named) for aim in target.aims]
            shown = verdict + ", ".join(parts + [target.missing] * bool(target.missing))
        lines.append(
            f"| {target.measure} | {target.target} | {shown} | {target.floor} | "
            f"{target.elsewhere} | [{target.method}](#methods) |"
        )
    return lines


def _ratio(row, key):
    found = row.get(key)
    return f"{found[0]:.2f} ({found[1]:.2f}–{found[2]:.2f})" if found else ""


def peers_table(rows, prefix):
    """One line for each way of a method: figures, and how many times of it Cay takes."""
    lines = [
        "| | p50 ms | p95 ms | p99 ms | failures | n | Cay ÷ it |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if not row["name"].startswith(prefix) or not row.get("n"):
            continue
        name = row["name"].removeprefix(prefix)
        if row.get("note"):
            name += f" ({row['note']})"
        figures = " | ".join(short(row[key]) for key in ("p50", "p95", "p99"))
        lines.append(
            f"| {name} | {figures} | {row.get('failures', 0)} | {row['n']} | "
            f"{_ratio(row, 'cay_to_it')} |"
        )
    return lines if len(lines) > 2 else []


def all_rows(rows):
    lines = ["| Method | Figure | Value | p99 | n |", "|---|---|---|---|---|"]
    for row in rows:
        rate = row.get("mb_per_s")
        if "p50" in row:
            value = f"{short(row['p50'])} {row['unit']}" + (f", {rate:.0f} MB/s" if rate else "")
            rest = f"{short(row['p99'])} | {row['n']}"
        elif "value" in row:
            value, rest = f"{short(row['value'])} {row['unit']}", " | "
        else:
            value, rest = "nothing succeeded", " | "
        lines.append(f"| {row['method']} | {row['name'].strip()} | {value} | {rest} |")
    return lines


def text_of(found):
    """Returns the lines between the marks."""
    rows, machine = found["rows"], found["machine"]
    few = " Few samples of each (`--quick`)." if found["quick"] else ""
    lines = [
        *textwrap.wrap(
            f"Commit {found['commit']}, {found['begun']}. {machine['cpu']}, "
            f"{machine['cpus']} CPUs, "
            f"{machine['memory_gib']:.0f} GiB, Linux {machine['kernel']}. Load "
            f"{machine['load_before'][0]} before and {machine['load_after'][0]} after.{few}",
            98,
        ),
        "",
        *targets_table(rows),
        "",
        "\\* Measured before on a machine of this kind, or published. Peers of this run: below.",
    ]
    for title, prefix in (
        ("Create to first output, one after the other", CREATED),
        ("100 begun 200 ms apart", "create, staggered: "),
        ("100 at once", "create, burst: "),
        ("A program in a sandbox that runs", "exec: "),
    ):
        if table := peers_table(rows, prefix):
            lines += ["", f"### {title}", "", *table]
    if found["left_out"]:
        lines += ["", "Left out: "]
        lines += [f"- {name}: {why}" for name, why in found["left_out"].items()]
    lines += ["", "### All figures", "", *all_rows(rows)]
    if shown := pictures(rows):
        for name in shown:
            lines += ["", f"![{TITLES[name]}](performance/{name})"]
    raw = "[measured/performance.json](measured/performance.json)"
    return lines + ["", f"The raw figures are in {raw}."]


def pictures(rows):
    """Returns {file name: SVG} of what was measured."""
    out = {}
    for file, prefix in (("create.svg", CREATED), ("exec.svg", "exec: ")):
        shown = [
            (row["name"].removeprefix(prefix), row["p50"], "cay" in row["name"])
            for row in rows
            if row["name"].startswith(prefix) and row.get("n")
        ]
        if shown:
            out[file] = svg.bars(
                TITLES[file] + ", p50", "ms", sorted(shown, key=lambda one: one[1])
            )
    named = by_name(rows)
    shares = {
        row["name"].removeprefix(CREATED): [
            (value, share) for share, value in row["spread"] if value > 0
        ]
        for row in rows
        if row["name"].startswith(CREATED) and row.get("spread")
    }
    if SEQUENTIAL in named and shares:
        first = dict(sorted(shares.items(), key=lambda one: "cay" not in one[0])[:6])
        out["create-spread.svg"] = svg.lines(
            TITLES["create-spread.svg"], "ms, logarithmic", "%", first, True
        )
    if seconds := named.get("create + exec + delete", {}).get("in_second", [])[:-1]:
        out["churn.svg"] = svg.lines(
            TITLES["churn.svg"],
            "seconds",
            "a second",
            {"cay": list(enumerate(seconds))},
        )
    return out


def between_marks(text, name, lines):
    """Returns the text with these lines between the marks of `name`."""
    begin, end = (mark.format(name) for mark in MARKS)
    shape = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.S)
    if not shape.search(text):
        raise ValueError(f"no marks of {name}: {begin}")
    return shape.sub(lambda _: "\n".join([begin, "", *lines, "", end]), text)


# The figures that README shows: what they are called there, the row, and the figure.
FIRST = (
    ("create → first output", SEQUENTIAL, "p50", "ms"),
    ("from the pool", "create, pooled: cay", "p50", "ms"),
    ("a command", "exec: cay", "p50", "ms"),
    ("Python, forked", "warm evaluation: python, forked", "p50", "ms"),
    ("output", "streamed output: native", "mb_per_s", "MB/s"),
)


def first_lines(found):
    """Returns the lines of README: some figures and one picture."""
    rows = by_name(found["rows"])
    shown = [
        (title, f"{short(rows[name][figure])} {unit}")
        for title, name, figure, unit in FIRST
        if figure in rows.get(name, {})
    ]
    return [
        "".join(f"| {title} " for title, _ in shown) + "|",
        "|---" * len(shown) + "|",
        "".join(f"| {value} " for _, value in shown) + "|",
        "",
        f"[![{TITLES['create.svg']}](docs/performance/create.svg)](docs/performance.md)",
    ]


def write(found, directory):
    """Writes results.json, table.md and the pictures."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "results.json").write_text(json.dumps(found, indent=1) + "\n", "utf8")
    (directory / "table.md").write_text("\n".join(text_of(found)) + "\n", "utf8")
    for name, picture in pictures(found["rows"]).items():
        (directory / name).write_text(picture, "utf8")


def publish(found, root):
    """Writes the same into docs/: the page, its pictures, and the figures under docs/measured."""
    for name, lines in (("docs/performance.md", text_of), ("README.md", first_lines)):
        page = root / name
        page.write_text(between_marks(page.read_text("utf8"), "bench", lines(found)), "utf8")
    for name, picture in pictures(found["rows"]).items():
        target = root / "docs/performance" / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(picture, "utf8")
    kept = {**found, "rows": [dict(row) for row in found["rows"]]}
    (root / "docs/measured/performance.json").write_text(json.dumps(kept, indent=1) + "\n", "utf8")
