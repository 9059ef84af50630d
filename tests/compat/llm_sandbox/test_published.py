"""The published example programs of llm-sandbox themselves, with the import line replaced. They
come from the package's source on PyPI, and nothing of them is kept here."""
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import pytest
from harness import new_daemon, slow
from test_gate import pytestmark as of_the_gate
from test_gate_installs import follow_doctor, registries

ROOT = pathlib.Path(__file__).resolve().parents[3]
pytestmark = [of_the_gate, pytest.mark.depth]
VERSION = "0.3.46"
LIBRARIES = "numpy pandas matplotlib seaborn plotly requests ipython"
# Clients of engines that no session needs.
ENGINES = {
    "docker/__init__.py": "class DockerClient:\n    def __init__(self, **_): pass\n"
    "    @classmethod\n    def from_env(cls): return cls()\n\nfrom_env = DockerClient.from_env\n",
    "podman/__init__.py": "class PodmanClient:\n    def __init__(self, **_): pass\n"
    "    @classmethod\n    def from_env(cls): return cls()\n",
}
# By example: its arguments, and what it has to print.
EXAMPLES = {
    "async_example": ("", ["Sync result: Hello, World!", "Async result: Hello, Async!"]),
    "code_runner_bubblewrap": ("", ["Hello from Bubblewrap + seccomp!"]),
    "code_runner_nsjail": ("", ["Hello from NsJail + seccomp!"]),
    "copy_demo": ("docker", ["Check /sandbox/output/", "1,Widget A,100", "completed success"]),
    "test_copy_functions": ("docker", ["7 tests passed, 0 tests failed"]),
    "sandbox_timeout": ("docker", ["5 tests passed, 0 tests failed"]),
    "container_user_privilege": (
        "",
        ["UID: 0, GID: 0", "Custom user result: UID: 1000, GID: 1000"],
    ),
    "existing_container_demo": (
        "",
        ["Found existing data: Custom environment data", "Correctly caught ContainerError"],
    ),
    "interactive_session_demo": (
        "",
        ["Output: Result: 42", "Factorial(5) = 120", "Mean: 11.00", "Hello from shell"]
        + ["Total Sales: $26,556", "x = 42, y = 100", "Average temperature: 21.6°C"],
    ),
    "plot_clearing_example": ("", ["Generated 2 plots", "Output: Hello, world! No plots here."]),
    "python_artifact": ("", ["Captured 16 plots"]),
    "pool_concurrent_demo": ("", ["Task 5: Task 5 completed", "Demo Complete!"]),
    "pool_monitoring_demo": ("", ["Output: Health check test", "Use #5", "Demo Complete!"]),
    "security_integration_tests": ("", ["Tests Passed: 10/10", "Tests Passed: 4/4"]),
    "skip_environment_setup_demo": ("", ["Hello from pre-configured environment!"]),
    "streaming_callbacks_demo": ("", ["[LIVE] Processing step 5/5", "'Line 1\\nLine 2\\nLine 3"]),
    "test_exit_codes": (
        "",
        ["sys.exit(5) result: ConsoleOutput(exit_code=5, stderr='', stdout=''"],
    ),
    "timeout_demo": ("", ["All timeout demos completed successfully!"]),
}


@pytest.fixture(scope="module")
def online():
    """A daemon whose sandboxes reach the registries, with a snapshot of the images' libraries."""
    from cay_sandbox import DefaultImage

    if "pip" not in registries():
        pytest.skip("no registry of pip's answers this host")
    daemon = new_daemon()
    daemon.start()
    follow_doctor(daemon)
    assert daemon.cli("create", "--name", "libraries").code == 0
    line = f"pip3 install -q --break-system-packages --root-user-action=ignore {LIBRARIES}"
    got = daemon.cli("exec", "libraries", "--", "sh", "-c", line, timeout=slow(600))
    assert got.code == 0, got
    for name in ("libraries", DefaultImage.PYTHON):  # some examples name the image
        assert daemon.cli("snapshot", "capture", "libraries", "--name", name).code == 0
    assert daemon.cli("rm", "libraries").code == 0
    yield daemon
    daemon.close()


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    line = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
    line += ["--no-binary", "llm-sandbox", "-d", str(folder), f"llm-sandbox=={VERSION}"]
    got = subprocess.run(line, capture_output=True, text=True, timeout=slow(300))
    source = next(folder.glob("*.tar.gz"), None)
    if source is None:
        pytest.skip(f"the source of llm-sandbox is not reached: {got.stderr[-300:]}")
    with tarfile.open(source) as tar:
        for member in tar:
            found = re.fullmatch(r"[^/]+/examples/(\w+\.py)", member.name)
            if found:
                text = tar.extractfile(member).read().decode()
                (folder / found[1]).write_text(re.sub(r"\bllm_sandbox\b", "cay_sandbox", text))
    for name, text in ENGINES.items():
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    (folder / "README.md").write_text("# An example's data\n")
    return folder


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_published_example(online, examples, name):
    arguments, printed = EXAMPLES[name]
    got = subprocess.run(
        [sys.executable, f"{name}.py", *arguments.split()],
        cwd=examples,
        capture_output=True,
        text=True,
        timeout=slow(600),
        env={
            **os.environ,
            **online.env,
            "CAY_SANDBOX_IMAGE_PYTHON": "libraries",
            "PYTHONPATH": f"{ROOT / 'python'}:{examples}",
        },
    )
    text = got.stdout + got.stderr
    assert got.returncode == 0, text[-3000:]
    for one in printed:
        assert one in text, text[-3000:]
