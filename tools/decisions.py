"""Checks that each decision has the short form: its parts, and at most 800 words."""

import re

PARTS = ("Context", "Decision", "Consequences", "Sources")
MOST_WORDS = 800


def complaints_of(text):
    """Yields what is wrong with the text of one decision."""
    if not re.search(r"^Status: (accepted|superseded)\b", text, re.M):
        yield 'has no line "Status: accepted." or "Status: superseded by …"'
    for part in PARTS:
        if f"\n## {part}\n" not in text:
            yield f"has no part {part}"
    words = len(text.split())
    if words > MOST_WORDS:
        yield f"has {words} words, and {MOST_WORDS} are the most"


def check(root):
    """Prints the complaints about docs/decisions, and returns their number."""
    bad = 0
    folder = root / "docs/decisions"
    index = (folder / "README.md").read_text("utf-8")
    for path in sorted(folder.glob("[0-9]*.md")):
        complaints = list(complaints_of(path.read_text("utf-8")))
        if f"({path.name})" not in index:
            complaints.append("is not in docs/decisions/README.md")
        for complaint in complaints:
            print(f"docs/decisions/{path.name}: {complaint}")
            bad += 1
    return bad


def self_check():
    """Returns 0 if the check finds what it has to find."""
    good = "# 1\n\nStatus: accepted.\n" + "".join(f"\n## {part}\n\nx\n" for part in PARTS)
    bad = good.replace("Status", "State").replace("## Sources", "## Source") + "word " * MOST_WORDS
    if list(complaints_of(good)) or len(list(complaints_of(bad))) != 3:
        print("lint: the check of decisions fails")
        return 1
    return 0
