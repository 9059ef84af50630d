"""A scan of source text by patterns. It is advice for people: run() never asks it, and code can
hide from it. What holds a program is the sandbox, and its policy of the network."""

import re
from dataclasses import dataclass
from enum import IntEnum

from .exceptions import InvalidRegexPatternError
from .languages import Language


class SecurityIssueSeverity(IntEnum):
    SAFE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


@dataclass
class SecurityPattern:
    """A regular expression that is searched in the code."""

    pattern: str
    description: str
    severity: SecurityIssueSeverity

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise InvalidRegexPatternError(self.pattern) from error


@dataclass
class RestrictedModule:
    """A module whose import is a finding, and that run() and install() refuse to install."""

    name: str
    description: str
    severity: SecurityIssueSeverity


@dataclass
class SecurityPolicy:
    """Patterns and modules. A finding at or above the threshold makes code unsafe."""

    severity_threshold: SecurityIssueSeverity = SecurityIssueSeverity.SAFE
    patterns: list[SecurityPattern] | None = None
    restricted_modules: list[RestrictedModule] | None = None

    def add_pattern(self, pattern: SecurityPattern) -> None:
        self.patterns = [*(self.patterns or []), pattern]

    def add_restricted_module(self, module: RestrictedModule) -> None:
        self.restricted_modules = [*(self.restricted_modules or []), module]


def scan(
    policy: SecurityPolicy | None, language: Language, code: str
) -> tuple[bool, list[SecurityPattern]]:
    """Returns whether the code is safe, and the findings up to the first that makes it unsafe."""
    if policy is None:
        return True, []
    modules = [
        SecurityPattern(language.import_pattern(one.name), one.description, one.severity)
        for one in policy.restricted_modules or []
    ]
    text = language.without_comments(code)
    findings = []
    for one in [*(policy.patterns or []), *modules]:
        if not one.pattern or not re.search(one.pattern, text):
            continue
        findings.append(one)
        threshold = policy.severity_threshold
        if threshold > SecurityIssueSeverity.SAFE and one.severity >= threshold:
            return False, findings
    return True, findings
