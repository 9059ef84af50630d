"""Checks that no class declares more than 20 methods.

It reads headers and sources without a compiler. A method is a statement of a class body that has
a name before a parenthesis. Operators count. Constructors, destructors, friends, nested types and
members that hold a function do not.
"""

import re

MOST_METHODS = 20
# Classes that are still to be split (docs/roadmap.md), with the number that they may not exceed.
TO_SPLIT = {}
CLASS = re.compile(
    r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?([\w:]+)(?:\s+final)?\s*(?::(?!:)[^{;]*)?\{"
)
NO_METHOD = ("using", "friend", "struct", "class", "enum", "union", "static_assert", "typedef")
FUNCTION_MEMBER = re.compile(r"^(?:mutable |const |static )*std::(?:move_only_)?function<")
NAME = re.compile(r"([~\w]+|operator\s*[^\s(]+)\s*\(")
ASSIGNMENT = re.compile(r"(?<![=!<>])=(?!=)")
ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\]")


def without_comments(text):
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def statements(text, start):
    """Returns the statements of the class body that begins at `start`, without nested bodies."""
    depth, out = 1, ""
    for char in text[start:]:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth == 0:
            break
        if depth == 1:
            out += ";" if char == "}" else char
    return re.split(r";|\b(?:public|private|protected)\s*:", out)


def is_method(statement, of):
    """Returns true if a statement of the body of class `of` declares a method."""
    text = ATTRIBUTE.sub("", statement).strip()
    if text.startswith(NO_METHOD) or FUNCTION_MEMBER.match(text):
        return False
    found = NAME.search(ASSIGNMENT.split(text)[0])
    return found is not None and found.group(1).lstrip("~") != of


def methods_of(text):
    """Yields (class, number of methods) for the classes that a file defines."""
    text = without_comments(text)
    for found in CLASS.finditer(text):
        name = found.group(1).split("::")[-1]
        yield name, sum(is_method(one, name) for one in statements(text, found.end()))


def check(root):
    """Prints the classes with too many methods, and returns their number."""
    bad = 0
    for folder in ("src", "include", "apps"):
        files = (p for p in (root / folder).rglob("*") if p.suffix in (".h", ".cc"))
        for path in sorted(files):
            for name, count in methods_of(path.read_text("utf-8")):
                where = path.relative_to(root)
                most = TO_SPLIT.get((str(where), name), MOST_METHODS)
                if count > most:
                    print(f"{where}: {name} has {count} methods, and {most} are the most")
                    bad += 1
    return bad


def self_check():
    """Returns 0 if the check counts what it has to count."""
    text = """
    class One final : public Two {
     public:
      One(int a) : a_(a) {}
      One(const One&) = delete;
      ~One();
      Result<void> open(std::string name);  // one(), two()
      std::function<void(int)> called;
      bool operator==(const One&) const;
      struct Inner { int x() { return 1; } };
      int a_ = f(3);
    };"""
    if dict(methods_of(text)) != {"One": 2, "Inner": 1}:
        print(f"lint: the check of class sizes fails: {dict(methods_of(text))}")
        return 1
    return 0
