#!/usr/bin/env python3
"""Checks that comments and documents are written in plain words (CONTRIBUTING.md, "Words").

    tools/plain_words.py                 check what differs from the base: see `base_commit`
    tools/plain_words.py --base COMMIT   check the lines that were added since COMMIT
    tools/plain_words.py FILE...         check whole files

It prints `FILE:LINE: RULE: TEXT` for each place and exits 1 if there are any.

The rules:
  riddle   A sentence begins with What, Who, Which, Where, Whose or Of and is no question.
  long     A sentence has more than 25 words in a comment, or more than 30 in a document.
  chatty   A program "tells", "says" or "asks" where it returns, reports or requests.
  chained  A paragraph of a document joins sentences by more than one semicolon.
  wide     A line of code, comment or document is longer than 100 columns.

Tables and links in Markdown may be wider: a row cannot be broken.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = 100
COMMENT_WORDS = 25
DOCUMENT_WORDS = 30
SOURCES = {".cc": "//", ".h": "//", ".c": "//", ".py": "#", ".sh": "#"}
RIDDLE = re.compile(r"^(What|Whatever|Who|Whoever|Whom|Which|Where|Whose|Of)\b(?!.*\?$)")
CHATTY = re.compile(r"\b(tell|told|telling|say|said|saying|ask|asked|asking)s?\b", re.IGNORECASE)
CODE = re.compile(r"`[^`]*`")  # names of the program, which are no prose
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])")
WORD = re.compile(r"[A-Za-z0-9'`_/.-]*[A-Za-z][A-Za-z0-9'`_/.-]*")
PRAGMA = re.compile(r"^(NOLINT|clang-format|shellcheck|SPDX|noqa|type:|!)")
LIST_ITEM = re.compile(r"^([-*]|\d+\.)\s+")
# Figures and raw results, translations, and the change log's own history are not prose of the tree.
EXEMPT = re.compile(r"(^|/)(measured|third_party|node_modules)/|\.zh-CN\.md$")


class Paragraph:
    """Consecutive lines of a comment or a document that form one text, with their numbers."""

    def __init__(self):
        self.lines = []

    def add(self, number, text):
        self.lines.append((number, text))

    def sentences(self):
        """Yields (first line number, last line number, sentence)."""
        text = " ".join(part for _, part in self.lines)
        starts, position = [], 0
        for number, part in self.lines:
            starts.append((position, number))
            position += len(part) + 1
        line_at = lambda offset: [number for start, number in starts if start <= offset][-1]
        begin = 0
        for match in [*SENTENCE_END.finditer(text), None]:
            end = match.start() if match else len(text)
            if text[begin:end].strip():
                yield line_at(begin), line_at(max(begin, end - 1)), text[begin:end].strip()
            begin = match.end() if match else end


class Paragraphs:
    """Collects lines into paragraphs. `flush` ends the present one."""

    def __init__(self):
        self.all, self.current = [], Paragraph()

    def add(self, number, text):
        self.current.add(number, text)

    def flush(self):
        if self.current.lines:
            self.all.append(self.current)
        self.current = Paragraph()


def comment_paragraphs(text, mark):
    """Returns the comments of a source file."""
    out = Paragraphs()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith(mark):
            words = stripped.lstrip(mark[0]).strip()
            if not words or PRAGMA.match(words):
                out.flush()
            else:
                out.add(number, words)
            continue
        out.flush()
        before, found, behind = line.partition(f"  {mark} ")
        if found and '"' not in behind and before.strip() and not PRAGMA.match(behind.strip()):
            out.add(number, behind.strip())
            out.flush()
    out.flush()
    return out.all


def document_paragraphs(text):
    """Returns the prose of a Markdown document: paragraphs, list items and table cells, no code."""
    out, fenced = Paragraphs(), False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced = not fenced
        if (
            fenced
            or not stripped
            or stripped.startswith(("#", "```"))
            or set(stripped) <= set("|-: ")
        ):
            out.flush()
        elif stripped.startswith("|"):
            out.flush()
            for cell in stripped.strip("|").split("|"):
                out.add(number, cell.strip())
                out.flush()
        else:
            if LIST_ITEM.match(stripped):
                out.flush()
                stripped = LIST_ITEM.sub("", stripped)
            out.add(number, stripped)
    out.flush()
    return out.all


def check_text(name, text):
    """Yields (first line number, last line number, rule, text) for one file."""
    document = name.endswith(".md")
    suffix = pathlib.PurePath(name).suffix
    if document:
        paragraphs, most = document_paragraphs(text), DOCUMENT_WORDS
    else:
        paragraphs, most = comment_paragraphs(text, SOURCES[suffix]), COMMENT_WORDS
    for paragraph in paragraphs:
        for first, last, sentence in paragraph.sentences():
            if RIDDLE.match(sentence):
                yield first, last, "riddle", sentence
            if len(WORD.findall(sentence)) > most:
                yield first, last, "long", sentence
            if CHATTY.search(CODE.sub("", sentence)):
                yield first, last, "chatty", sentence
        if document and sum(part.count(";") for _, part in paragraph.lines) > 1:
            yield paragraph.lines[0][0], paragraph.lines[-1][0], "chained", paragraph.lines[0][1]
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= document and line.strip().startswith("```")
        table_or_link = document and (
            fenced or line.lstrip().startswith("|") or "](" in line or "http" in line
        )
        if len(line) > COLUMNS and not table_or_link:
            yield number, number, "wide", f"{len(line)} columns"


def is_checked(name):
    suffix = pathlib.PurePath(name).suffix
    return (suffix in SOURCES or suffix == ".md") and not EXEMPT.search(name)


def git(*arguments):
    return subprocess.run(
        ["git", "-C", ROOT, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    ).stdout


def base_commit():
    """The parent of HEAD: the check covers the last commit and what is not committed yet."""
    return git("rev-parse", "HEAD~1").strip()


def added_lines(base):
    """{file: numbers of the lines that were added since `base`}, with what is not committed yet."""
    out, name = {}, None
    for line in git("diff", "--unified=0", "--no-color", "--no-ext-diff", base).splitlines():
        if line.startswith("+++ "):
            name = line[6:] if line.startswith("+++ b/") else None
        elif line.startswith("@@") and name:
            start, count = re.search(r"\+(\d+)(?:,(\d+))?", line).groups()
            numbers = range(int(start), int(start) + int(count or 1))
            out.setdefault(name, set()).update(numbers)
    for name in git("ls-files", "--others", "--exclude-standard").splitlines():
        out[name] = None  # a new file counts as a whole
    return out


def complaints_about(name, lines=None):
    """Yields the complaints about a file, of all its lines or of those in `lines`."""
    path = ROOT / name
    if not is_checked(name) or not path.is_file():
        return
    for first, last, rule, text in check_text(name, path.read_text("utf-8", "replace")):
        if lines is None or not lines.isdisjoint(range(first, last + 1)):
            yield f"{name}:{first}: {rule}: {text[:110]}"


def check_change(base=None):
    """Prints each place that the change breaks a rule at, and returns their number."""
    base = base or base_commit()
    bad = 0
    for name, lines in sorted(added_lines(base).items()) if base else []:
        for complaint in complaints_about(name, lines):
            print(complaint)
            bad += 1
    return bad


def self_check():
    """Each rule finds its case, and plain text passes. Returns 1 and names the case otherwise."""
    long_sentence = "The gate " + "very " * 30 + "long."
    cases = {
        "riddle": ("a.cc", "// What a name alone decides.\n"),
        "long": ("a.cc", f"// {long_sentence}\n"),
        "chatty": ("a.md", "The daemon tells the client.\n"),
        "chained": ("a.md", "One; two; three.\n"),
        "wide": ("a.py", "x = 1" + " " * COLUMNS + "# y\n"),
    }
    missed = [
        rule
        for rule, (name, text) in cases.items()
        if rule not in {found[2] for found in check_text(name, text)}
    ]
    plain = "// Returns the verdict for `name`. What is a name? NOLINT\n" "int x;  // bytes\n"
    false_alarms = list(check_text("a.cc", plain)) + list(
        check_text("a.md", "```\n" + "x" * 200 + "\n```\nPlain; short.\n")
    )
    if missed or false_alarms:
        print(f"plain words: self-check failed: missed {missed}, false alarms {false_alarms}")
        return 1
    return 0


def main(arguments):
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if arguments[:1] == ["--base"]:
        bad = check_change(arguments[1])
    elif arguments:
        found = [
            one
            for name in arguments
            for one in complaints_about(str(pathlib.Path(name).resolve().relative_to(ROOT)))
        ]
        print("\n".join(found))
        bad = len(found)
    else:
        bad = check_change()
    return 1 if bad or self_check() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
