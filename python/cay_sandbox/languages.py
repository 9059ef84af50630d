"""What the package has to know of each language. Cay has the rest."""

import re
from collections.abc import Callable
from dataclasses import dataclass

C_COMMENTS = (r"/\*[\s\S]*?\*/", r"//.*$")


@dataclass(frozen=True)
class Language:
    """One language: how its comments and its imports look."""

    name: str
    block_comment: str
    line_comment: str
    imports: Callable[[str], str]  # of a module's name, escaped for a pattern
    installs: bool = True
    draws: bool = False
    nothing: str = "\n"  # the shortest program, which an installation alone needs

    def without_comments(self, code: str) -> str:
        """Returns the code with its comments cut out. It knows no strings, as llm-sandbox."""
        if self.block_comment:
            code = re.sub(self.block_comment, "", code)
        return "\n".join(re.sub(self.line_comment, "", line) for line in code.split("\n"))

    def import_pattern(self, module: str) -> str:
        """Returns a regular expression that finds an import of the module."""
        return self.imports(re.escape(module))


def _python(name: str) -> str:
    return rf"\b(from\s+{name}(?:\s|$|\.)|import\s+{name}(?:\s|$|\.|,))"


def _java(name: str) -> str:
    return rf"(?:^|\s)import\s+(?:static\s+)?{name}[\w.*]*\s*;"


def _javascript(name: str) -> str:
    return rf"(?:import(?:\s+.*\s+from)?|require\s*\()\s*['\"]{name}['\"]"


def _cpp(name: str) -> str:
    return rf"#\s*include\s*[<\"]{name}[>\"]"


def _go(name: str) -> str:
    return rf"import\s*(?:[\w.]+\s+)?(?:\([^)]*)?\"(?:[^\"]*/)?{name}\""


def _ruby(name: str) -> str:
    return rf"\brequire(?:_relative)?\s*\(?\s*['\"]{name}(?:/[^'\"]*)?['\"]"


def _r(name: str) -> str:
    return rf"\b(?:library|require)\s*\(\s*['\"]?{name}['\"]?"


LANGUAGES = {
    one.name: one
    for one in (
        Language("python", r"'''[\s\S]*?'''", r"#.*$", _python, draws=True),
        Language("java", *C_COMMENTS, _java, installs=False),
        Language("javascript", *C_COMMENTS, _javascript),
        Language("cpp", *C_COMMENTS, _cpp),
        Language("go", *C_COMMENTS, _go, nothing="package main\n\nfunc main() {}\n"),
        Language("ruby", r"=begin[\s\S]*?=end", r"#.*$", _ruby),
        Language("r", "", r"#.*$", _r, draws=True),
    )
}
