"""tests/long tells what was skipped from what was tested."""
import ast
import re
import subprocess
import sys

import pytest

from harness import ROOT
from long_verdict import verdict

SOURCES = {
    "passed   2 passed": "def test_a(): pass\ndef test_b(): pass\n",
    "SKIPPED  2 skipped: no Chromium here": "import pytest\n"
    "pytestmark = pytest.mark.skip(reason='no Chromium here')\n"
    "def test_a(): pass\n"
    "def test_b(): pass\n",
    "SKIPPED  1 skipped: not unpacked": "import pytest\n"
    "pytest.skip('not unpacked', allow_module_level=True)\n",
    "passed   1 passed, 1 skipped (SKIPPED: no Go)": "import pytest\n"
    "def test_a(): pass\n"
    "def test_b(): pytest.skip('no Go')\n",
    "FAILED   1 failed, 1 passed": "def test_a(): pass\ndef test_b(): assert False\n",
    "FAILED   1 error": "def test_a(nothing): pass\n",
    "FAILED   no test ran": "",
}


@pytest.mark.parametrize("expected", SOURCES)
def test_a_step_that_only_skipped_has_not_passed(tmp_path, expected):
    (tmp_path / "test_it.py").write_text(SOURCES[expected])
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert verdict(done.stdout, done.returncode) == expected, done.stdout
    assert (
        verdict(done.stdout.replace("\n", "\r\n"), done.returncode) == expected
    )  # as the guest's console writes it


def test_every_step_that_runs_pytest_is_told_by_its_numbers_and_its_reasons():
    script = (ROOT / "tests/long").read_text()
    by_pytest = set(re.search(r'by_pytest=" (.*) "', script).group(1).split())
    runs = {
        name
        for name, body in re.findall(r"^(\w+)\(\) \{\n(.*?)^\}", script, re.M | re.S)
        if "-m pytest" in body
    }
    by_depth = set(re.findall(r"^(\w+)\(\) \{ depth ", script, re.M))
    assert "depth" in runs and {"gate", "vault"} <= by_depth
    assert runs - {"depth"} | by_depth | {"guest"} == by_pytest
    assert all(
        "-rs" in line for line in script.replace("\\\n", "").splitlines() if "-m pytest" in line
    )


def left_out_of_the_test_command(path):
    """Whether every test of the file is marked `depth`, so that tests/long alone runs it."""
    source = ast.parse(path.read_text())
    marks = [
        ast.unparse(node.value)
        for node in source.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    tests = [
        [ast.unparse(one) for one in node.decorator_list]
        for node in source.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    return any("pytest.mark.depth" in mark for mark in marks) or all(
        "pytest.mark.depth" in marked for marked in tests
    )


def test_every_promise_of_spec_is_held_by_a_test_that_the_test_command_runs():
    named = re.findall(
        r"`((?:e2e|kernel|compat|escape)/\S*test_\w+\.py)`", (ROOT / "SPEC.md").read_text()
    )
    assert len(named) > 30
    assert [one for one in named if left_out_of_the_test_command(ROOT / "tests" / one)] == []
    assert left_out_of_the_test_command(ROOT / "tests/e2e/test_gate_memory.py")  # the control


def test_what_was_skipped_whole_is_no_success_unless_it_is_allowed(tmp_path):
    """With the steps of a copy replaced by ones that take no time."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/long_verdict.py").write_bytes((ROOT / "tests/long_verdict.py").read_bytes())
    script = (ROOT / "tests/long").read_text()
    fakes = (
        'browser() { echo "SKIPPED [2] x.py:1: no Chromium"; echo "2 skipped in 0.1s"; }\n'
        'nginx() { echo "3 passed in 0.1s"; }\n'
        'fuzz() { echo "SKIPPED no compiler"; return 77; }\n'
        'hostile() { echo "1 failed in 0.1s"; return 1; }\n'
    )
    marker = "# What a step's log comes down to."
    assert marker in script
    (tmp_path / "tests/long").write_text(script.replace(marker, fakes + marker))

    def long(*words):
        return subprocess.run(
            ["bash", tmp_path / "tests/long", *words], capture_output=True, text=True
        )

    done = long("browser", "nginx", "fuzz")
    assert (
        done.returncode == 3
        and "SKIPPED: browser fuzz" in done.stderr
        and "--allow-skips" in done.stderr
    ), done
    assert re.search(r"browser +SKIPPED  2 skipped: no Chromium ", done.stdout) and re.search(
        r"nginx +passed   3 passed ", done.stdout
    ), done.stdout
    assert re.search(r"fuzz +SKIPPED  no compiler ", done.stdout), done.stdout
    assert long("--allow-skips", "browser", "nginx", "fuzz").returncode == 0
    assert long("nginx").returncode == 0  # the control
    done = long("--allow-skips", "browser", "hostile")
    assert done.returncode == 1 and "FAILED: hostile" in done.stderr, done
