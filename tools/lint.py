#!/usr/bin/env python3
"""Checks the include arrows between the rooms of src/, the shapes of co_await, the catalogue of
errors, the layout, promises, the form of decisions, and the plain words of what a change adds.

    tools/lint.py            check the tree; exit 1 and name each place on trouble
    tools/lint.py --self     check that the checks can fail (run by the tests)
"""

import pathlib
import re
import shutil
import subprocess
import sys

import class_sizes
import decisions
import plain_words
import promises

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = 100

# Room -> rooms it may include (itself aside). CONTRIBUTING.md gives the reasons.
ARROWS = {
    "base": "",
    "async": "base",
    "os": "base",
    "db": "os base",
    "model": "base",
    "policy": "base",
    "dockerfile": "model base",
    "code": "codec model base",
    "wire": "base",
    "launcher": "wire os base keeper",  # forks keepers without exec, so it links them
    "keeper": "wire os base",
    "codec": "model base policy",
    "archive": "codec os model base",
    "http": "async model base",  # model: only the Principal that a request carries
    "core": "code dockerfile model async base policy",
    # The client of a keeper anywhere. It sees no launcher and no file of this host.
    "runtime/keeper": "core wire os model async base",  # os: random bytes for the HELLO
    "runtime/native": "runtime/keeper core wire os model async base",
    # wire: it is a process of its own. archive, codec: it reads layers and manifests.
    "image": "archive codec wire core http model os async base",
    # Wire: keepers lend it sockets, the daemon reads what it decided.
    "gate": "wire core http model os async base policy",
    # Gate: who may be reached, and how it is dialled.
    "vault": "gate wire core codec http model os async base",
    "store": "core db model base",
    "server": "core http model async base",
    # Each facade is a room of its own. They share common and never include each other.
    "api/common": "archive core codec http model async base",
    "api/gateway": "api/common core codec http model async base",
    "api/langsmith": "api/common core codec http model async base policy",
    "api/daytona": "api/common code core codec http model async base policy",
    "api/mcp": "api/common code core codec http model async base",
    "api/native": "api/common code core codec http model async base policy",
    "api/outbound": "core codec http model async base",
    "api/testing": "api/common core codec http model async base",
    "api/fuzz": "api/common api/gateway api/daytona api/langsmith http model async base",
    "client": "archive codec dockerfile http model async base",
    "cli": "agent/acp agent/loop agent/threads agent/tools agent/llm providers http model async"
    " base archive client code codec dockerfile policy",
    # A harness sees sandboxes through the interface of a provider alone, as with another cloud.
    "providers": "client codec http model os async base",
    "agent/llm": "codec http model async base",
    "agent/tools": "agent/llm providers code codec http model async base",
    "agent/threads": "agent/llm codec db model os async base",
    # It sees a run by its events alone.
    "agent/acp": "agent/llm agent/threads codec model async base",
    "agent/loop": "agent/llm agent/tools agent/threads providers codec model os async base",
}
# These include core only for the ports they implement.
PORTS_ONLY = {"runtime/keeper", "runtime/native", "image", "gate", "vault", "store"}
TEST_ROOMS = re.compile(r"(_test\.(cc|h)|/testing/)")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z_]+)/([^"]+)"')

AWAIT_SHAPES = [
    (re.compile(r"\b(?:if|while|switch|for)\s*\([^;]*\bco_await\b"), "co_await in a condition"),
    (re.compile(r"\?[^:;]*\bco_await\b"), "co_await in a conditional expression"),
    (re.compile(r"\bco_await\b.*\bco_await\b"), "two co_awaits in one statement"),
    (
        re.compile(r"\bco_await\s+[\w:.>()-]*\(\s*\[[^\]]*\]"),
        "co_await of a call that takes a lambda literal",
    ),
]
# A typed error's reason, where it is made. Each stands in docs/errors.md, with cause and remedy.
REASONS = [
    re.compile(r'\bCode::k\w+,\s*"([a-z][a-z0-9_]+)"\s*,'),
    re.compile(r'\b(?:bad|invalid|exhausted)\(\s*(?:\d+,\s*)?"([a-z][a-z0-9_]+)"\s*,'),
    re.compile(r'\bCode::k\w+,\s*[^,"]*\? "([a-z][a-z0-9_]+)" : "[a-z0-9_]+"'),
    re.compile(r'\bCode::k\w+,\s*[^,"]*\? "[a-z0-9_]+" : "([a-z][a-z0-9_]+)"'),
]
DETACHED = re.compile(r"\basio::detached\b")
DETACHED_HOME = "src/async/"
LINK_LINE = re.compile(r"(?:[-*] )?(?:\[[^\]]*\]:? ?\(?|<)?https?://\S+$")
LIBARCHIVE = re.compile(r"#\s*include\s+<archive")
LIBARCHIVE_HOME = "src/archive/"


def strip_comment(line):
    return line.split("//", 1)[0]


def room_of(path):
    """Returns the room of a path under src/. A room may be a folder of a folder (api/native)."""
    first, second = [*path.split("/"), ""][:2]
    return first if first in ARROWS else f"{first}/{second}"


def check_file(name, text):
    """Yields (line number, complaint) for one file, `name` relative to the repository."""
    room = room_of(name.removeprefix("src/"))
    allowed = set(ARROWS.get(room, "").split()) | {room}
    is_test = bool(TEST_ROOMS.search(name))
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        target = room_of("/".join(found.groups())) if found else ""
        if target in ARROWS and not is_test:
            if target not in allowed:
                yield number, f"{room} may not include {target}/ (see CONTRIBUTING.md)"
            elif (
                target == "core" and room in PORTS_ONLY and not found.group(2).startswith("ports/")
            ):
                yield number, f"{room} may include only core/ports/"
        code = strip_comment(line)
        for shape, why in AWAIT_SHAPES:
            if shape.search(code):
                yield number, f"{why}: bind it to a name first"
        if DETACHED.search(code) and not name.startswith(DETACHED_HOME):
            yield number, "asio::detached outside src/async: nobody owns that coroutine"
        if LIBARCHIVE.search(code) and not is_test and not name.startswith(LIBARCHIVE_HOME):
            yield number, "libarchive outside src/archive: tar has one implementation"


def reasons_of(text):
    return {found for shape in REASONS for found in shape.findall(text)}


# The same with its code, where both stand together.
CODED = [
    re.compile(r'\bCode::k(\w+),\s*"([a-z][a-z0-9_]+)"\s*,'),
    re.compile(r'\bCode::k(\w+),\s*[^,"]*\? "([a-z][a-z0-9_]+)" : "[a-z0-9_]+"'),
    re.compile(r'\bCode::k(\w+),\s*[^,"]*\? "[a-z0-9_]+" : "([a-z][a-z0-9_]+)"'),
]


def coded_reasons_of(text):
    """Yields (code as the API spells it, reason)."""
    for shape in CODED:
        for code, reason in shape.findall(text):
            yield re.sub(r"(?<!^)([A-Z])", r"_\1", code).lower(), reason


def catalogue(text):
    """Reason -> what its rows say of its code. The quotas' table has no such column: their code is
    in its heading."""
    out, heading = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line
        if line.startswith("| `"):
            cells = line.strip("| ").split(" | ")
            code = re.search(r"\(code (\w+)\)", heading)
            for reason in re.findall(r"`([a-z0-9_]+)`", cells[0]):
                out[reason] = out.get(reason, "") + " " + (code.group(1) if code else cells[1])
    return out


def check_reasons():
    """Every reason of an error is in the catalogue, with every code that it comes with."""
    known = catalogue((ROOT / "docs/errors.md").read_text(encoding="utf-8"))
    bad = 0
    for path in sorted([*(ROOT / "src").rglob("*.cc"), *(ROOT / "apps").rglob("*.cc")]):
        name = str(path.relative_to(ROOT))
        if TEST_ROOMS.search(name) or "/fuzz/" in name:
            continue
        text = path.read_text(encoding="utf-8")
        for reason in sorted(reasons_of(text) - set(known)):
            print(f"{name}: the reason {reason} is not in docs/errors.md")
            bad += 1
        for code, reason in sorted(set(coded_reasons_of(text))):
            told = known.get(reason, "by its errno")
            if "by its errno" not in told and code not in re.findall(r"[a-z_]+", told):
                print(f"{name}: the reason {reason} comes with {code}, docs/errors.md says{told}")
                bad += 1
    return bad


def command_complaints(listed, entries, documented):
    """Yields commands of the CLI that one place lacks: COMMANDS in CMake, an entry, docs/cli.md."""
    for name in sorted(entries - listed):
        yield f"src/cli: {name}_entry() is not in COMMANDS of CMakeLists.txt"
    for name in sorted(listed - documented):
        yield f"docs/cli.md: the command {name} is missing"


def check_commands():
    cmake = (ROOT / "src/cli/CMakeLists.txt").read_text(encoding="utf-8")
    listed = set(re.search(r"set\(COMMANDS ([^)]*)\)", cmake).group(1).split())
    entries = set()
    for path in (ROOT / "src/cli").glob("*.cc"):
        if not TEST_ROOMS.search(str(path.relative_to(ROOT))):
            entries |= set(
                re.findall(r"^Command (\w+)_entry\(\)", path.read_text(encoding="utf-8"), re.M)
            )
    table = re.findall(r"^\| (`.*?) \|", (ROOT / "docs/cli.md").read_text(encoding="utf-8"), re.M)
    documented = {word for row in table for word in re.findall(r"`(\w+)", row)}
    bad = list(command_complaints(listed, entries, documented))
    for complaint in bad:
        print(complaint)
    return len(bad)


def tracked(*patterns):
    """Returns the names of the tree's files that match."""
    done = subprocess.run(
        ["git", "-C", ROOT, "ls-files", *patterns], capture_output=True, text=True, check=False
    )
    return [name for name in done.stdout.split() if (ROOT / name).is_file()]


def check_format():
    """Every C++ source has the layout of .clang-format, where the formatter is installed."""
    formatter = shutil.which("clang-format-19")
    if formatter is None:
        print("lint: SKIPPED the layout: clang-format-19 is not installed")
        return 0
    names = tracked("*.cc", "*.h", "*.c")
    bad = 0
    for first in range(0, len(names), 100):
        some = [ROOT / name for name in names[first : first + 100]]
        done = subprocess.run(
            [formatter, "--dry-run", *some], capture_output=True, text=True, check=False
        )
        for line in done.stderr.splitlines():
            if "[-Wclang-format-violations]" in line:
                print(line.replace(f"{ROOT}/", ""))
                bad += 1
    return bad


def check_python_format():
    """Every Python source has the layout of black, where it is installed."""
    formatter = shutil.which("black")
    if formatter is None:
        print("lint: SKIPPED the layout of Python: black is not installed")
        return 0
    done = subprocess.run(
        [formatter, "--check", "-l", str(COLUMNS), *(ROOT / name for name in tracked("*.py"))],
        capture_output=True,
        text=True,
        check=False,
    )
    bad = [line for line in done.stderr.splitlines() if line.startswith(("would", "error"))]
    print(*(line.replace(f"{ROOT}/", "") for line in bad), sep="\n", end="\n" * bool(bad))
    return len(bad) or int(done.returncode != 0)


def wide_lines(names, read):
    """Yields (room, lines, lines of more than 100 columns) of C++."""
    counts = {}
    for name in names:
        parts = name.split("/")
        room = "/".join(parts[:2]) if parts[0] == "src" else parts[0]
        lines = read(name).splitlines()
        count = counts.setdefault(room, [0, 0])
        count[0] += len(lines)
        count[1] += sum(len(line) > COLUMNS for line in lines)
    for room, (lines, wide) in sorted(counts.items()):
        yield room, lines, wide


def wide_places(name, text):
    """Yields the numbers of lines of more than 100 columns in Python or Markdown. A document's
    tables, code and lines that are one link may be wider: they cannot be broken."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if name.endswith(".md"):
            fenced ^= stripped.startswith("```")
            if fenced or stripped.startswith("|") or LINK_LINE.match(stripped):
                continue
        if len(line) > COLUMNS:
            yield number


def check_width():
    """In each room of C++ at most one line of a thousand is wider than 100 columns. In Python and
    Markdown none is."""
    read = lambda name: (ROOT / name).read_text("utf-8", "replace")
    bad = 0
    for room, lines, wide in wide_lines(tracked("*.cc", "*.h", "*.c"), read):
        if wide * 1000 > lines:
            print(f"{room}: {wide} of {lines} lines are wider than {COLUMNS} columns")
            bad += 1
    for name in tracked("*.py", "*.md"):
        for number in wide_places(name, read(name)):
            print(f"{name}:{number}: wider than {COLUMNS} columns")
            bad += 1
    return bad


def check_patches():
    """The sources have the code that the escape suite and the fuzzers replace in a copy."""
    done = subprocess.run([sys.executable, ROOT / "tests/check_patches.py"], check=False)
    return 1 if done.returncode else 0


def check_tree():
    bad = 0
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in {".cc", ".h"}:
            continue
        name = str(path.relative_to(ROOT))
        if room_of(name.removeprefix("src/")) not in ARROWS:
            print(f"{name}: unknown room; add it to tools/lint.py")
            bad += 1
            continue
        for number, complaint in check_file(name, path.read_text(encoding="utf-8")):
            print(f"{name}:{number}: {complaint}")
            bad += 1
    return bad


def self_check():
    cases = {
        "src/core/x.cc": '#include "http/router.h"',
        "src/store/x.cc": '#include "core/cay.h"',
        "src/api/native/w.cc": '#include "api/langsmith/config.h"',
        "src/api/common/w.cc": '#include "api/native/native.h"',
        "src/runtime/keeper/w.cc": '#include "runtime/native/spool_reader.h"',
        "src/server/w.cc": '#include "api/common/answer.h"',
        "src/api/native/x.cc": "if (co_await ready()) return;",
        "src/api/native/y.cc": "auto v = c ? co_await a() : b;",
        "src/http/x.cc": "asio::co_spawn(ex, f(), asio::detached);",
        "src/http/y.cc": "co_await each([items] { go(); });",
    }
    missed = [name for name, text in cases.items() if not list(check_file(name, text))]
    clean = list(
        check_file(
            "src/api/native/z.cc",
            '#include "core/cay.h"\n#include "api/common/answer.h"\n'
            "auto ok = co_await ready();  // if (co_await x())",
        )
    )
    made = reasons_of(
        'return Error{Code::kLost, "one_of", 0}; bad(400, "two_of", x);'
        ' {Code::kX, key ? "three_of" : "four_of", y}'
    )
    if made != {"one_of", "two_of", "three_of", "four_of"}:
        missed.append(f"reasons: {made}")
    told = catalogue(
        "## Quotas (code exhausted)\n| `a_b` | x | y |\n"
        "## Others\n| `c_d`, `e_f` | lost, internal | x | y |\n"
    )
    coded = set(coded_reasons_of('{Code::kNotFound, "c_d", "x", 0}'))
    if told != {
        "a_b": " exhausted",
        "c_d": " lost, internal",
        "e_f": " lost, internal",
    } or coded != {("not_found", "c_d")}:
        missed.append(f"codes: {told} {coded}")
    if len(list(command_complaints({"ls", "rm"}, {"ls", "cp"}, {"ls"}))) != 2:
        missed.append("commands")
    texts = {"src/core/x.cc": "x" * 101 + "\n" + "y\n" * 999, "tests/x.py": "x" * 100 + "\n"}
    if list(wide_lines(texts, texts.get)) != [("src/core", 1000, 1), ("tests", 1, 0)]:
        missed.append("width")
    wide = "x" * 101
    document = f"{wide}\n| {wide} |\n```\n{wide}\n```\n- [a](https://{wide})\n{wide}\n"
    if [*wide_places("a.md", document)] != [1, 7] or [*wide_places("a.py", wide)] != [1]:
        missed.append("width of documents")
    if missed or clean:
        print(f"lint: self-check failed: missed {missed}, false alarms {clean}")
        return 1
    return 0


if __name__ == "__main__":
    self_complaints = (
        self_check()
        + plain_words.self_check()
        + decisions.self_check()
        + promises.self_check()
        + class_sizes.self_check()
    )
    if "--self" in sys.argv:
        sys.exit(self_complaints)
    complaints = (
        self_complaints
        + check_tree()
        + check_reasons()
        + check_commands()
        + promises.check(ROOT)
        + check_format()
        + check_python_format()
        + check_width()
        + check_patches()
        + decisions.check(ROOT)
        + class_sizes.check(ROOT)
        + plain_words.check_change()
    )
    print(f"lint: {complaints} complaints")
    sys.exit(1 if complaints else 0)
