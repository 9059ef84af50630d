"""Checks that each promise of SPEC.md and tests/promises.toml has tests, and that these exist."""
import re
import tomllib

# A path, with `::name` if one test of the file holds the promise. Words behind it are for readers.
TEST = re.compile(r"(?P<path>[^ :]+)(?:::(?P<name>\S+))?")
TEST_FILE = re.compile(r"(^|/)(test_[^/]*\.py|[^/]*_test\.cc)$")
A_TEST = re.compile(r"^\s*(?:async )?def test_|^(?:TYPED_)?TEST(?:_[FP])?\(", re.M)
ROW = re.compile(r"^\| ([A-Z]\d+) \|.*\| `([^`]+)` \|$", re.M)


def has_test(text, name):
    """Returns whether a file has a test, or another check, of that name."""
    last = re.escape(name.split("::")[-1].split("[")[0])
    shape = rf"^\s*(?:async )?def {last}\b|^(?:TYPED_)?TEST(?:_[FP])?\(\s*\w+,\s*{last}\s*\)"
    return re.search(shape, text, re.M) is not None


def test_complaint(test, texts_of):
    """Returns why `test` holds no promise. Empty: it may. `texts_of`: path -> {name: text}, with
    None for a folder."""
    path, name = TEST.match(test).group("path", "name")
    found = texts_of(path)
    if not found:
        return "which does not exist"
    texts = {file: text for file, text in found.items() if text is not None}
    if name and not any(has_test(text, name) for text in texts.values()):
        return f"and {path} has no test of that name"
    for file, text in texts.items():
        if TEST_FILE.search(file) and not A_TEST.search(text):
            return f"and {file} has no test"
    return ""


def complaints(promises, rows, texts_of):
    """Yields what is wrong with the promises and with `rows` of SPEC.md: (id, test)."""
    tests_of = {}
    for one in promises:
        if one["id"] in tests_of:
            yield f"tests/promises.toml: two promises are called {one['id']}"
        tests_of[one["id"]] = one["tests"]
        if not one["text"].strip() or not one["tests"]:
            yield f"tests/promises.toml: {one['id']} has no text or no test"
        for test in one["tests"]:
            if why := test_complaint(test, texts_of):
                yield f"tests/promises.toml: {one['id']} names {test}, {why}"
    for number, test in rows:
        if number not in tests_of:
            yield f"SPEC.md has {number}, which tests/promises.toml lacks"
        elif test not in tests_of[number]:
            yield f"SPEC.md: {number} names {test}, which that promise lacks in tests/promises.toml"
        if why := test_complaint(test, texts_of):
            yield f"SPEC.md: {number} names {test}, {why}"


def texts_in(root):
    """Returns a function as `texts_of` for the tree: paths are below tests/ or the root."""

    def texts_of(path):
        for base in (root / "tests", root):
            found = [base / path] if (base / path).exists() else sorted(base.glob(path))
            if found:
                return {
                    str(one.relative_to(root)): one.read_text("utf-8") if one.is_file() else None
                    for one in found
                }
        return {}

    return texts_of


def check(root):
    promises = tomllib.loads((root / "tests/promises.toml").read_text("utf-8"))["promise"]
    rows = ROW.findall((root / "SPEC.md").read_text("utf-8"))
    bad = list(complaints(promises, rows, texts_in(root)))
    for complaint in bad:
        print(complaint)
    return len(bad)


def self_check():
    files = {
        "a": {"tests/a": None},
        "e2e/test_x.py": {"tests/e2e/test_x.py": "def helper():\n    pass\ndef test_one(box):\n"},
        "e2e/test_empty.py": {"tests/e2e/test_empty.py": "# def test_one():\n"},
        "src/x_test.cc": {"src/x_test.cc": "TEST_F(XTest,\n       HoldsLong) {\n"},
        "bench/x.py": {"bench/x.py": "print()\n"},
    }
    texts_of = lambda path: files.get(path, {})
    missed = []
    for test, holds in {
        "a": True,
        "a slowly": True,
        "b": False,
        "bench/x.py": True,
        "e2e/test_x.py": True,
        "e2e/test_x.py::test_one": True,
        "e2e/test_x.py::test_on": False,
        "e2e/test_empty.py": False,
        "src/x_test.cc::HoldsLong": True,
        "src/x_test.cc::Holds": False,
    }.items():
        if (test_complaint(test, texts_of) == "") != holds:
            missed.append(test)
    twice = [{"id": "T1", "text": "x", "tests": ["a"]}, {"id": "T1", "text": "", "tests": []}]
    other = [{"id": "T1", "text": "x", "tests": ["a"]}]
    if (
        len(list(complaints(twice, [("T2", "b")], texts_of))) != 4
        or list(complaints(other, [("T1", "a")], texts_of))
        or len(list(complaints(other, [("T1", "e2e/test_x.py")], texts_of))) != 1
    ):
        missed.append("rows")
    if missed:
        print(f"promises: self-check failed: {missed}")
    return len(missed)
