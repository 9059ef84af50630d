"""docs/from-daytona.md has a row for each public method of both clients, and no other."""

import re

from daytona_surface import CLASSES, OTHERS, documented, python_classes, rows, surface_of
from harness import ROOT

TYPES = ROOT / "build/node/daytona/node_modules/@daytonaio/sdk/esm"


def typescript_surface():
    """The public methods of every class that the client's files declare, as Class.method."""
    found = set()
    for file in TYPES.glob("*.d.ts"):
        text = file.read_text()
        for name, body in re.findall(
            r"^export declare class (\w+)\b[^\n]*\{$(.*?)^\}", text, re.M | re.S
        ):
            names = re.findall(r"^    (?:static )?(\w+)(?:<[^>]*>)?\(", body, re.M)
            found |= {f"{name}.{one}" for one in names if one[0] != "_" and one != "constructor"}
    return {one for one in found if one.split(".")[0] not in OTHERS}


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
    tests = "".join(one.read_text() for one in [*here.glob("*.py"), *here.glob("*.mjs")])
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
