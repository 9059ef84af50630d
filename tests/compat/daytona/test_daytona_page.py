"""docs/from-daytona.md has a row for each public method of both clients, and no other."""

import re

from daytona_surface import (
    CLASSES,
    documented,
    python_classes,
    rows,
    surface_of,
    typescript_surface,
)
from harness import ROOT


def test_each_method_of_python_has_its_row():
    wanted = surface_of(python_classes("sync")) | surface_of(python_classes("async"))
    assert set(documented(0)) == wanted


def test_each_method_of_typescript_has_its_row():
    assert set(documented(1)) == typescript_surface()


def test_each_heading_is_of_one_class():
    titles = [one for one in rows() if rows()[one]]
    assert titles == list(CLASSES)


def test_the_same_means_that_a_test_calls_it():
    here = ROOT / "tests/compat/daytona"
    files = [*here.glob("*.py"), *here.glob("**/*.mjs")]
    tests = "".join(one.read_text() for one in files)
    missing = [
        f"{title}.{python or script}"
        for title, listed in rows().items()
        for python, script, note in listed
        if note == "the same" and not re.search(rf"\.({python or '-'}|{script or '-'})\b", tests)
    ]
    assert not missing


def test_the_page_names_the_versions_that_the_tests_run():
    page = (ROOT / "docs/from-daytona.md").read_text()
    wanted = (ROOT / "tests/requirements.txt").read_text()
    script = (ROOT / "tools/testenv.sh").read_text()
    pins = re.findall(r"^(?:daytona|langchain-daytona|deepagents)==(\S+)$", wanted, re.M)
    pins += re.findall(r"^(?:daytona|langchain_daytona|deepagents)=(\S+)$", script, re.M)
    assert len(pins) == 6 and all(one in page for one in pins), pins
