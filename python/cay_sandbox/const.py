"""Names that callers write: backends, languages and llm-sandbox's images."""

from enum import StrEnum
from typing import Literal


class _Name(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> "_Name | None":
        wanted = str(value).lower()
        return next((one for one in cls if one.value == wanted), None)


class SandboxBackend(_Name):
    """Accepted from programs that name one. Every session runs in a sandbox of Cay."""

    DOCKER = "docker"
    KUBERNETES = "kubernetes"
    PODMAN = "podman"
    MICROMAMBA = "micromamba"
    BUBBLEWRAP = "bubblewrap"
    NSJAIL = "nsjail"
    CAY = "cay"


class SupportedLanguage(_Name):
    """A language of SandboxSession."""

    PYTHON = "python"
    JAVA = "java"
    JAVASCRIPT = "javascript"
    CPP = "cpp"
    GO = "go"
    RUBY = "ruby"
    R = "r"


class DefaultImage:
    """The images that llm-sandbox uses where a program names none. Cay pulls one if it is named."""

    PYTHON = "ghcr.io/vndee/sandbox-python-311-bullseye"
    JAVA = "ghcr.io/vndee/sandbox-java-11-bullseye"
    JAVASCRIPT = "ghcr.io/vndee/sandbox-node-22-bullseye"
    CPP = "ghcr.io/vndee/sandbox-cpp-11-bullseye"
    GO = "ghcr.io/vndee/sandbox-go-123-bullseye"
    RUBY = "ghcr.io/vndee/sandbox-ruby-302-bullseye"
    R = "ghcr.io/vndee/sandbox-r-451-bullseye"


EncodingErrorsType = Literal[
    "strict", "replace", "ignore", "surrogateescape", "backslashreplace", "xmlcharrefreplace"
]
