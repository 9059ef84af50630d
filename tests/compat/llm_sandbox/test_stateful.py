"""Interactive sessions, pools, plots and the scan of source text, as the published examples."""
import base64
import concurrent.futures
import itertools

import pytest
from harness import slow


@pytest.fixture(scope="module")
def kernel(daemon):
    from cay_sandbox import InteractiveSandboxSession
    from cay_sandbox.api import Api

    with InteractiveSandboxSession(lang="python", api=Api(daemon.url, daemon.key)) as made:
        yield made


def test_variables_live_between_runs(kernel):
    """interactive_session_demo.py."""
    assert kernel.run("x = 21\ny = 2").exit_code == 0
    assert kernel.run("print(f'Result: {x * y}')").stdout == "Result: 42\n"
    kernel.run("def double(n):\n    return 2 * n")
    got = kernel.run("double(x)")
    assert got.stdout.startswith("Out[") and got.stdout.endswith("]: 42\n")
    got = kernel.run("z = x / 0")
    assert got.exit_code == 1 and got.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert kernel.run("print(x, y)").stdout == "21 2\n"


def test_a_limit_interrupts_and_keeps_the_variables(kernel):
    from cay_sandbox import SandboxTimeoutError

    kernel.run("kept = 1")
    with pytest.raises(SandboxTimeoutError, match="Interactive execution timed out after 0.5"):
        kernel.run("while True: pass", timeout=0.5)
    assert kernel.run("print(kept)", timeout=slow(30)).stdout == "1\n"


def test_the_settings_of_an_interactive_session(http):
    from cay_sandbox import InteractiveSandboxSession, InteractiveSettings, KernelType
    from cay_sandbox.exceptions import LanguageNotSupportedError, NotOpenSessionError

    settings = InteractiveSettings(kernel_type=KernelType.IPYTHON, max_memory="512MB", timeout=600)
    with InteractiveSandboxSession(lang="python", interactive_settings=settings) as session:
        box = http.get(f"/api/v1/sandboxes/{session.container.id}").json()
        assert box["limits"]["memory_bytes"] == 512 << 20
        assert session.run("import os; print(os.getcwd())").stdout == "/sandbox\n"
    with pytest.raises(NotOpenSessionError):
        session.run("1")
    with pytest.raises(LanguageNotSupportedError):
        InteractiveSandboxSession(lang="java")
    with pytest.raises(ValueError, match="poll_interval"):
        InteractiveSettings(poll_interval=0)


# --- pools ---


def test_a_pool_lends_clean_sandboxes(ids):
    """pool_basic_demo.py and pool_monitoring_demo.py. There a sandbox keeps what was left in it."""
    from cay_sandbox import SandboxSession
    from cay_sandbox.pool import PoolClosedError, PoolConfig, create_pool_manager

    before = ids()
    pool = create_pool_manager(
        backend="docker", config=PoolConfig(max_pool_size=3, min_pool_size=2), lang="python"
    )
    stats = pool.get_stats()
    assert stats["state_counts"]["idle"] == 2, "two are made ahead"
    assert (stats["total_size"], stats["max_size"], stats["min_size"]) == (2, 3, 2)
    lent = pool.acquire()
    assert lent.use_count == 1 and pool.get_stats()["state_counts"]["busy"] == 1
    pool.release(lent)
    assert pool.get_stats()["state_counts"] == {
        "initializing": 0,
        "idle": 2,
        "busy": 0,
        "unhealthy": 0,
        "removing": 0,
    }
    used = set()
    for number in range(3):
        with SandboxSession(pool=pool, lang="python") as session:
            used.add(session.container.id)
            code = "import os; print(os.path.exists('/left')); open('/left', 'w')"
            assert session.run(code).stdout == "False\n", f"use {number}"
            session.execute_command("nohup sleep 97542 >/dev/null 2>&1 &")
            look = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 9754[2]'"
            assert session.execute_command(look).stdout == "1\n", "no process of the use before"
    assert len(used) <= 2 and len(ids() - before) == 2, "sandboxes are used again"
    pool.close()
    assert ids() == before and pool.get_stats()["closed"]
    with pytest.raises(PoolClosedError):
        pool.acquire()


def test_what_a_full_pool_does(ids):
    """pool_concurrent_demo.py."""
    from cay_sandbox.pool import (
        ExhaustionStrategy,
        PoolConfig,
        PoolExhaustedError,
        create_pool_manager,
    )

    before = ids()

    def pool_with(strategy, **more):
        return create_pool_manager(
            config=PoolConfig(max_pool_size=1, exhaustion_strategy=strategy, **more)
        )

    with pool_with(ExhaustionStrategy.FAIL_FAST) as pool:
        pool.acquire()
        with pytest.raises(PoolExhaustedError, match="All 1 containers in pool are busy$"):
            pool.acquire()
    with pool_with(ExhaustionStrategy.WAIT, acquisition_timeout=0.2) as pool:
        pool.acquire()
        with pytest.raises(PoolExhaustedError, match="timeout of 0.2s exceeded"):
            pool.acquire()
    with pool_with(ExhaustionStrategy.TEMPORARY) as pool:
        pool.acquire()
        more = pool.acquire()
        assert len(ids() - before) == 2
        pool.release(more)
        assert len(ids() - before) == 1, "one beyond the pool is removed at its release"
    with pytest.raises(ValueError, match="cannot be greater"):
        PoolConfig(max_pool_size=1, min_pool_size=2)


def test_threads_share_a_pool(ids):
    from cay_sandbox import SandboxSession
    from cay_sandbox.pool import PoolConfig, create_pool_manager

    before = ids()
    config = PoolConfig(max_pool_size=2, acquisition_timeout=slow(60), max_container_uses=2)
    with create_pool_manager(config=config) as pool:

        def work(number):
            with SandboxSession(pool=pool) as session:
                return session.run(f"print({number})").stdout

        with concurrent.futures.ThreadPoolExecutor(5) as threads:
            got = list(threads.map(work, range(5)))
        assert got == [f"{number}\n" for number in range(5)]
        assert pool.get_stats()["total_size"] <= 2
    assert ids() == before


# --- plots ---

# A stand-in for matplotlib, which not every host has: what the package needs of it.
PYPLOT = """
class Axes:
    lines, patches, collections, images, texts = [1], [], [], [], []
class Figure:
    def __init__(self, axes): self.axes = axes
    def get_axes(self): return self.axes
    def savefig(self, path, **_): open(path, 'wb').write(b'\\x89PNG drawn')
figure = Figure([])
def gcf(): return figure
def clf(): global figure; figure = Figure([])
def plot(*_): figure.axes.append(Axes())
def savefig(path, **_): figure.savefig(path)
def show(*_): raise RuntimeError('the package replaces this')
"""
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('drawn')"


def test_plots_gather_until_they_are_cleared(tmp_path):
    """plot_clearing_example.py."""
    from cay_sandbox import ArtifactSandboxSession, FileType

    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "pyplot.py").write_text(PYPLOT)
    with ArtifactSandboxSession(lang="python", verbose=False) as session:
        session.copy_to_runtime(str(tmp_path), "/sandbox/matplotlib")
        got = session.run(PLOT)
        assert (got.exit_code, got.stdout, got.stderr) == (0, "drawn\n", "")
        [plot] = got.plots
        assert plot.format is FileType.PNG
        assert base64.b64decode(plot.content_base64) == b"\x89PNG drawn"
        assert '"format": "png"' in got.to_json(include_plots=True)
        assert len(session.run(PLOT).plots) == 2
        assert len(session.run(PLOT, clear_plots=True).plots) == 1
        got = session.run("print('none')", clear_plots=True)
        assert got.plots == [] and got.stdout == "none\n"
        saved = "import matplotlib.pyplot as p\np.plot()\np.savefig('/sandbox/a.svg')\np.clf()\n"
        [plot] = session.run(saved + "p.show()").plots
        assert plot.format is FileType.SVG, "a saved figure is a plot, and an empty one is none"
        session.clear_plots()
        assert session.run("print(1)").plots == []


def test_plots_of_other_languages_are_refused():
    from cay_sandbox import ArtifactSandboxSession
    from cay_sandbox.exceptions import LanguageNotSupportPlotError

    with ArtifactSandboxSession(lang="ruby") as session:
        with pytest.raises(LanguageNotSupportPlotError, match="ruby does not support plot"):
            session.run("puts 1")


# --- the scan of source text ---


def test_the_scan_finds_patterns_and_imports(ids):
    """security_policy_examples.py and test_security.py: no sandbox is needed."""
    from cay_sandbox import SandboxSession
    from cay_sandbox.exceptions import InvalidRegexPatternError
    from cay_sandbox.security import (
        RestrictedModule,
        SecurityIssueSeverity,
        SecurityPattern,
        SecurityPolicy,
    )

    before = ids()
    high, low = SecurityIssueSeverity.HIGH, SecurityIssueSeverity.LOW
    policy = SecurityPolicy(severity_threshold=SecurityIssueSeverity.MEDIUM)
    policy.add_pattern(SecurityPattern(r"\bos\.system\s*\(", "a command", high))
    policy.add_pattern(SecurityPattern(r"\bhashlib\.md5\b", "a weak hash", low))
    policy.add_restricted_module(RestrictedModule("socket", "the network", high))
    session = SandboxSession(lang="python", security_policy=policy)
    for code, safe, found in (
        ("print('Hello')", True, []),
        ("import os\nos.system('ls')", False, ["a command"]),
        ("# os.system('ls')\nprint(1)", True, []),
        ("print('os.system is dangerous')", True, []),
        ("import hashlib\nhashlib.md5(b'')", True, ["a weak hash"]),
        ("from socket import create_connection", False, ["the network"]),
        ("import socket as s", False, ["the network"]),
        ("import socketserver", True, []),
    ):
        got = session.is_safe(code)
        assert (got[0], [one.description for one in got[1]]) == (safe, found), code
    with pytest.raises(InvalidRegexPatternError, match=r"Invalid regex pattern: \("):
        SecurityPattern("(", "broken", high)
    assert ids() == before


IMPORTS = {
    "java": "import java.net.Socket;",
    "javascript": "const s = require('net')",
    "cpp": "#include <sys/socket.h>",
    "go": 'import (\n\t"fmt"\n\t"net"\n)',
    "ruby": "require 'socket'",
    "r": "library(httr)",
}
MODULES = {"java": "java.net", "javascript": "net", "cpp": "sys/socket.h", "go": "net"}
MODULES |= {"ruby": "socket", "r": "httr"}


@pytest.mark.parametrize("language", IMPORTS)
def test_imports_of_each_language(language):
    from cay_sandbox.languages import LANGUAGES
    from cay_sandbox.security import RestrictedModule, SecurityIssueSeverity, SecurityPolicy, scan

    high = SecurityIssueSeverity.HIGH
    policy = SecurityPolicy(high, None, [RestrictedModule(MODULES[language], "it", high)])
    row = LANGUAGES[language]
    assert scan(policy, row, IMPORTS[language])[0] is False
    comment = "# " if language in ("ruby", "r") else "// "
    commented = "\n".join(comment + line for line in IMPORTS[language].split("\n"))
    assert scan(policy, row, commented) == (True, [])


def test_a_restricted_module_is_not_installed():
    from cay_sandbox import SandboxSession
    from cay_sandbox.exceptions import SecurityViolationError
    from cay_sandbox.security import RestrictedModule, SecurityIssueSeverity, SecurityPolicy

    policy = SecurityPolicy(
        restricted_modules=[RestrictedModule("requests", "HTTP", SecurityIssueSeverity.LOW)]
    )
    with SandboxSession(lang="python", security_policy=policy) as session:
        with pytest.raises(SecurityViolationError, match="requests is not allowed"):
            session.run("print(1)", libraries=["requests"])


def test_every_module_of_the_published_examples_is_there():
    """The import lines of the examples, with the package's name replaced."""
    import importlib

    for module, names in {
        "cay_sandbox": "ArtifactSandboxSession InteractiveSandboxSession KernelType SandboxBackend "
        "SandboxSession SupportedLanguage",
        "cay_sandbox.const": "SandboxBackend",
        "cay_sandbox.core.session_base": "BaseSession",
        "cay_sandbox.data": "ConsoleOutput ExecutionResult",
        "cay_sandbox.exceptions": "ContainerError NotOpenSessionError SandboxError "
        "SandboxTimeoutError",
        "cay_sandbox.interactive": "InteractiveSandboxSession InteractiveSettings",
        "cay_sandbox.pool": "ContainerPoolManager ExhaustionStrategy PoolConfig "
        "create_pool_manager",
        "cay_sandbox.security": "RestrictedModule SecurityIssueSeverity SecurityPattern "
        "SecurityPolicy",
    }.items():
        loaded = importlib.import_module(module)
        for name in itertools.chain(names.split()):
            assert hasattr(loaded, name), (module, name)
