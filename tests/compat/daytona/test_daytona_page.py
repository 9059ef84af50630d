"""docs/from-daytona.md has a row for each public method of both clients, and no other."""
import re

import pytest

from daytona import Daytona, Sandbox
from daytona._sync.code_interpreter import CodeInterpreter
from daytona._sync.computer_use import ComputerUse
from daytona._sync.filesystem import FileSystem
from daytona._sync.git import Git
from daytona._sync.lsp_server import LspServer
from daytona._sync.process import Process
from daytona._sync.secret import SecretService
from daytona._sync.snapshot import SnapshotService
from daytona._sync.volume import VolumeService
from daytona._sync.warm_pool import WarmPoolService
from daytona.handle.pty_handle import PtyHandle
from harness import ROOT

TYPES = ROOT / "build/node/daytona/node_modules/@daytonaio/sdk/esm"
# A heading: the class of Python, and the file and class of TypeScript.
CLASSES = {
    "Daytona": (Daytona, "Daytona"),
    "Sandbox": (Sandbox, "Sandbox"),
    "sandbox.process": (Process, "Process"),
    "sandbox.fs": (FileSystem, "FileSystem"),
    "sandbox.git": (Git, "Git"),
    "sandbox.code_interpreter": (CodeInterpreter, "CodeInterpreter"),
    "PtyHandle": (PtyHandle, "PtyHandle"),
    "LspServer": (LspServer, "LspServer"),
    "sandbox.computer_use": (ComputerUse, "ComputerUse"),
    "daytona.snapshot": (SnapshotService, "Snapshot"),
    "daytona.volume": (VolumeService, "Volume"),
    "daytona.secret": (SecretService, "Secret"),
    "daytona.warm_pool": (WarmPoolService, "WarmPool"),
}
NOT_OF_A_USER = {"model_post_init", "createAxiosInstance"}


def rows():
    page = (ROOT / "docs/from-daytona.md").read_text()
    out = {}
    for part in page.split("\n### ")[1:]:
        title, _, text = part.partition("\n")
        found = re.findall(r"^\| (?:`(\w+)`)? ?\| (?:`(\w+)`)? ?\| (.+) \|$", text, re.M)
        out[title] = found
    return out


def python_names(kind):
    return {
        name
        for name, value in vars(kind).items()
        if not name.startswith("_")
        and not isinstance(value, property)
        and (callable(value) or isinstance(value, (staticmethod, classmethod)))
    } - NOT_OF_A_USER


def typescript_names(name):
    """The public methods of the class whose name the file has, or begins with it."""
    text = (TYPES / f"{name}.d.ts").read_text()
    [body] = re.findall(
        rf"^export declare class {name}(?:Service)?\b[^\n]*\{{$(.*?)^\}}", text, re.M | re.S
    )
    names = re.findall(r"^    (?:static )?(\w+)(?:<[^>]*>)?\(", body, re.M)
    return {one for one in names if not one.startswith("_")} - {"constructor"} - NOT_OF_A_USER


@pytest.mark.parametrize("title", CLASSES)
def test_each_method_has_its_row(title):
    kind, name = CLASSES[title]
    listed = rows()[title]
    assert {one[0] for one in listed if one[0]} == python_names(kind)
    assert {one[1] for one in listed if one[1]} == typescript_names(name)


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
