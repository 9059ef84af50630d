"""The escape suite's short form, what it covers, and that it can fail."""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import frame  # noqa: E402
import holes  # noqa: E402
import places  # noqa: E402
import suite  # noqa: E402
import together  # noqa: E402

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or any(shutil.which(tool) is None for tool in ("unshare", "setpriv", "ip")),
    reason="controls take walls away: needs root, unshare, setpriv and ip",
)
# Lines of the threat model's table of known escapes, each by its identifiers.
KNOWN = (
    [
        line.split()
        for line in """
CVE-2024-21626
CVE-2025-31133 CVE-2025-52565 CVE-2025-52881
CVE-2026-31431
CVE-2026-96812
CVE-2026-47243
CVE-2026-44210
CVE-2026-41326 CVE-2026-24834 CVE-2026-24054
CVE-2026-1386
CVE-2026-41163
CVE-2026-13201
CVE-2026-14891
CVE-2026-39861 CVE-2026-25725 CVE-2026-25724
CVE-2026-50549
CVE-2026-32055 CVE-2026-41397 CVE-2026-31990
CVE-2024-28185 CVE-2024-28189 CVE-2024-29021
OpenSandbox#750
CubeSandbox#838 CubeSandbox#841 CubeSandbox#842 CubeSandbox#756
GHSA-fjv8-j4p5-cr9m
microsandbox#675
claude-code#78608
CVE-2026-81096 CVE-2026-41900 CVE-2026-27952 CVE-2026-5752 vm2
crawl4ai ToolUniverse
""".strip().splitlines()
    ]
    + [["AgentCore: DNS"], ["AgentCore (Sonrai)"], ["the proxy as the way out"]]
)
# Snapshots are looked up by their names: there is no path that a check could be taken from.
HELD_BY_AN_ABSENCE = {"CubeSandbox#756"}


def test_every_class_attacker_and_known_escape_has_its_attacks():
    rows = frame.ROWS
    assert len(rows) >= 200
    assert {one.kind for one in rows.values()} == set(frame.CLASSES)
    assert {name for one in rows.values() for name in one.by.split()} == set(frame.ATTACKERS)
    # By what holds them, whatever class they stand in.
    by_filter = [
        one.name
        for one in rows.values()
        if "filter of system calls" in one.wall or one.wall.startswith("profile strict")
    ]
    alone = [
        name for name in by_filter if not re.search("capability set|namespace", rows[name].wall)
    ]
    assert len(alone) <= 40, alone
    # Nor are many more held by it and another wall, but for attempts to mount.
    assert len([name for name in by_filter if rows[name].kind != "mounts"]) <= 40
    covered = {name for one in rows.values() for name in one.known}
    assert [name for line in KNOWN for name in line if name not in covered] == []


def test_every_class_attacker_and_known_escape_has_an_exact_control():
    exact = [one for one in frame.ROWS.values() if one.means_on(True) in frame.EXACT]
    assert set(frame.CLASSES) - {one.kind for one in exact} == set()
    assert set(frame.ATTACKERS) - {name for one in exact for name in one.by.split()} == set()
    covered = {name for one in exact for name in one.known}
    assert [
        name for line in KNOWN for name in line if name not in covered | HELD_BY_AN_ABSENCE
    ] == []


def test_most_controls_take_exactly_the_protection_away_and_no_attack_counts_twice():
    rows = frame.ROWS.values()
    kinds = [one.means_on(True) for one in rows]
    assert set(kinds) == {
        frame.HOLE,
        frame.SETTING,
        frame.LEFT_OUT,
        frame.AS_IT_SHOULD,
        frame.CARELESS,
        frame.DIRECT,
    }
    assert sum(kind in frame.EXACT for kind in kinds) >= 560
    # "The policy allows it" is what the control of the short form is called, where another policy
    # is no part of the row.
    assert [
        one.name for one in rows if one.proof == frame.PROOFS["network"] and not one.holes
    ] == []
    bodies = {}
    for one in rows:
        bodies.setdefault(one.body, []).append(one.name)
    assert [names for names in bodies.values() if len(names) > 1] == []


def test_rows_that_the_documents_name_are_there():
    top = HERE.parents[1]
    named = []
    for page in [top / "tests/promises.toml", *sorted((top / "docs").glob("*.md"))]:
        for listed in re.findall(r"escape: ([^|;)`\"]+)", page.read_text()):
            if not listed.startswith(("class", "NAME")):
                named += [(page.name, name) for name in re.split(r", | … ", listed.strip())]
    assert len(named) >= 100
    assert [one for one in named if not fnmatch.filter(frame.ROWS, one[1])] == []


def test_the_core_has_every_class_and_attacker():
    rows = [frame.ROWS[name] for name in frame.core()]
    assert {one.kind for one in rows} == set(frame.CLASSES)
    assert {name for one in rows for name in one.by.split()} == set(frame.ATTACKERS)
    assert len(rows) <= 90


@pytest.mark.parametrize("form", ["--core", pytest.param("--short", marks=pytest.mark.depth)])
def test_nothing_gets_out_and_holes_are_seen(form):
    """First the attacks, then products with holes, each of which must be seen, by one daemon."""
    done = subprocess.run(
        [HERE / "run", form, "--prove"], capture_output=True, text=True, errors="replace"
    )
    wrong = [
        line for line in done.stdout.splitlines() if not line.startswith(("HELD ", "| ", "red "))
    ]
    assert done.returncode == 0, "\n".join(wrong) + done.stderr[-3000:]
    red = [line for line in done.stdout.splitlines() if line.startswith("red ")]
    assert len(red) == len(suite.DAMAGED) + len(suite.SEEDED), red
    assert "ESCAPED" not in done.stdout and "DEFECT" not in done.stdout


def test_the_build_with_holes_knows_the_sources():
    texts = holes.patched()
    assert all(
        text.count("cay_hole(")
        for file, text in texts.items()
        if file not in {file for file, *_ in holes.PASSED_ON}
    )
    rows = {name for one in frame.ROWS.values() for name in one.holes}
    assert rows == holes.NAMES, "a hole that no row needs, or a row without its hole"


def test_files_that_are_compiled_together_are_found(tmp_path):
    unity = tmp_path / "Unity" / "unity_0_cxx.cxx"
    unity.parent.mkdir()
    source = {
        name: str(holes.ROOT / "src/vault" / name)
        for name in ("request_filter.cc", "rules.cc", "relay.cc")
    }
    unity.write_text(
        "/* generated */\n"
        "\n"
        f'#include "{source["request_filter.cc"]}"\n'
        "\n"
        f'#include "{source["rules.cc"]}"\n'
    )
    units = holes.units_of(
        [str(unity), source["relay.cc"], source["rules.cc"] + "_test.cc"],
        ["vault/request_filter.cc", "vault/relay.cc"],
    )
    assert units == {
        str(unity): {source["request_filter.cc"]: "vault/request_filter.cc"},
        source["relay.cc"]: {source["relay.cc"]: "vault/relay.cc"},
    }
    with pytest.raises(SystemExit, match="vault/request_filter.cc"):
        holes.units_of([source["relay.cc"]], ["vault/request_filter.cc"])


def test_what_is_not_held_ends_with_an_error():
    assert suite.exit_code(["HELD", "NO CONTROL"]) == 0
    assert suite.exit_code(["HELD", "ESCAPED"]) == suite.exit_code(["DEFECT"]) == 1


def made(won, control=None):
    def fail(host):
        raise places.Defect("it fails too")

    return frame.Row(
        "a",
        "an attack",
        "files",
        "A1",
        "a wall",
        lambda host: frame.Outcome(won, "EPERM"),
        control or fail,
    )


def test_verdicts():
    assert frame.verdict(None, made(True))[0] == "ESCAPED"
    assert frame.verdict(None, made(False))[0] == "DEFECT"  # a control that fails proves nothing
    assert frame.verdict(None, made(False, lambda host: None))[0] == "HELD"
    broken = made(False, lambda host: None)
    broken.attempt = lambda host: {}["no such file"]
    assert frame.verdict(None, broken)[0] == "DEFECT"  # nor does an attack that breaks
    without = made(False)
    without.needs = lambda: "not on this kernel"
    assert frame.verdict(None, without) == ("NO CONTROL", "not on this kernel")


class Boxes:
    """A host of the long form, whose sandboxes do nothing."""

    program_with_holes = "a program"

    def __init__(self):
        answer = types.SimpleNamespace(status_code=201, json=lambda: {"id": "x"})
        ran = types.SimpleNamespace(status_code=200, json=lambda: {"shell_exit_code": 0})
        self.http = types.SimpleNamespace(
            post=lambda path, json: ran if path.endswith("commands") else answer
        )

    def act(self, policy):
        places.Sandbox(self, "a", policy=policy).command(["true"])


def test_a_control_under_a_policy_that_lets_everything_through_is_a_defect():
    def judged(attack, control, host=None):
        one = made(False, lambda host: host.act(control))
        one.attempt = lambda host: host.act(attack) or frame.Outcome(False, "EPERM")
        return frame.verdict(host or Boxes(), one)[0]

    assert judged("packages", "open") == "DEFECT"
    assert judged("packages", "packages,a.test") == "HELD"
    assert judged("open", "open") == "HELD"  # it is held there, too
    of_the_short_form = Boxes()
    of_the_short_form.program_with_holes = None
    assert judged("packages", "open", of_the_short_form) == "HELD"

    class Arranging(Boxes):
        def act(self, policy):
            with places.arranged():
                super().act("open")
            super().act(policy)

    assert (
        judged("packages", "packages", Arranging()) == "HELD"
        and judged("packages", "open", Arranging()) == "DEFECT"
    )
    # With holes it is the act against the build with them that counts.
    one = made(False)
    one.holes, one.holed = ("a hole",), lambda host: host.act("open")
    assert frame.verdict(Boxes(), one)[0] == "DEFECT"


def several(monkeypatch, **parts):
    """A row of these parts: name -> (won, why it cannot be shown)."""
    monkeypatch.setattr(frame, "ROWS", {})
    for name, (won, why) in parts.items():
        one = made(won, None if why else lambda host: None)
        one.name, one.needs = name, lambda why=why: why
        frame.add(one)
    together.together("all", "attacks", "files", "a wall", list(parts))
    return frame.ROWS["all"]


def told_in_the_table(one):
    return next(
        suite.table(
            types.SimpleNamespace(program_with_holes=None), [(one, *frame.verdict(None, one))]
        )
    )


def test_parts_that_cannot_be_shown_are_told_and_not_held(monkeypatch):
    one = several(monkeypatch, shown=(False, ""), other=(False, "no such family"))
    assert frame.verdict(None, one) == ("HELD", "EPERM; not shown here: other (no such family)")
    assert "| held: EPERM; not shown here: other (no such family) |" in told_in_the_table(one)
    assert frame.verdict(None, several(monkeypatch, shown=(False, ""), too=(False, ""))) == (
        "HELD",
        "EPERM",
    )
    # An attack that succeeds is an escape, even if the control cannot be shown.
    assert (
        frame.verdict(
            None, several(monkeypatch, shown=(False, ""), other=(True, "no such family"))
        )[0]
        == "ESCAPED"
    )
    none = several(monkeypatch, one=(False, "no such family"), other=(False, "no such module"))
    assert frame.verdict(None, none) == ("NO CONTROL", "no such family; no such module")
    assert "| not shown | - | none: no such family; no such module |" in told_in_the_table(
        none
    ) and "held" not in told_in_the_table(none)


def test_an_act_that_tells_nothing_is_a_defect():
    assert places.told_by(0, 'x\n@@{"done": 1}\n', "", False) == {"done": 1}
    assert places.told_by(128 + 31, "", "", True) == {"refused": "SIGSYS"}
    for code, may_die in ((1, False), (1, True), (128 + 31, False), (0, True)):
        with pytest.raises(places.Defect):
            places.told_by(code, "nothing", "", may_die)
