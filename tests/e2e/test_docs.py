"""Every fenced command of README and quickstart, and every example, as a newcomer would run
them."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from harness import BUILD, ROOT
from model_server import Call, Turn, model_server
from scripted_model import scripted_model

AGENT = "06_agent"  # of examples/cpp: it needs a model


def fences(path, language):
    text = (ROOT / path).read_text()
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.M | re.S)


@pytest.fixture
def shell(daemon, tmp_path):
    env = {
        **os.environ,
        **daemon.env,
        "CAY_DATA": str(daemon.data),
        "PATH": f"{ROOT / BUILD}:{os.environ['PATH']}",
        "LANGSMITH_TRACING": "false",
    }

    def call(script, timeout=120, cwd=ROOT):
        return subprocess.run(
            ["bash", "-eu", "-c", script],
            capture_output=True,
            text=True,
            env=env,
            cwd=cwd,
            timeout=timeout,
        )

    yield call
    call("cay rm --all; rm -rf /tmp/cay-example.txt /tmp/cay-example-app /tmp/note")


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_readme_console_blocks(shell, readme):
    blocks = fences(readme, "console")
    assert len(blocks) == 3
    script, want = [], []
    for block in blocks:
        for line in block.splitlines():
            line = re.sub(r"^ {0,3}", "", line)
            (script.append(line[2:]) if line.startswith("$ ") else want.append(line))
    done = shell("\n".join(script))
    assert done.returncode == 0, done.stderr
    got = [line for line in done.stdout.splitlines() if line.strip()]
    # `cay create` prints its result. Everything else is as printed in the README.
    assert [line for line in got if line in want] == want, (got, want)


def test_readme_python_block(shell):
    code = re.sub(r"^ {3}", "", fences("README.md", "python")[0], flags=re.M)
    done = shell(f"{sys.executable} - <<'EOF'\n{code}\nEOF")
    assert done.returncode == 0 and done.stdout.startswith("hello from "), done.stderr


def test_readmes_are_in_step():
    for language in ("console", "python"):
        assert fences("README.md", language) == fences("README.zh-CN.md", language)


def test_quickstart(shell):
    blocks = fences("docs/quickstart.md", "sh")
    assert len(blocks) >= 7
    done = shell("\n".join(blocks))
    assert done.returncode == 0, done.stderr
    assert "42\n" in done.stdout and "step 3\n" in done.stdout
    assert re.search(
        r"^http://192\.0\.0\.3/openai/v1 cay-token-\w+$", done.stdout, re.M
    ), "an API, and no key"
    assert re.search(
        r"^openai is gone; .*\nSANDBOX +RULES *\nbox +openai *$", done.stdout, re.M
    ), done.stdout


@pytest.mark.parametrize("script", sorted(p.name for p in (ROOT / "examples/shell").glob("*.sh")))
def test_shell_examples(shell, script):
    done = shell(f"examples/shell/{script}")
    assert done.returncode == 0 and done.stdout, done.stderr


# With a model: test_an_agent_of_langchains_runs_what_it_writes.
ALONE = "langchain_code_sandbox.py"
DEEP = "deep_agent.py"  # tests/compat/deepagents
DAYTONA = {"daytona_agent.py", "daytona_thread.py"}  # tests/compat/daytona


@pytest.mark.parametrize(
    "script",
    sorted({p.name for p in (ROOT / "examples/python").glob("*.py")} - {ALONE, DEEP} - DAYTONA),
)
def test_python_examples(shell, script):
    done = shell(f"{sys.executable} examples/python/{script}")
    assert done.returncode == 0 and done.stdout, done.stderr


def test_an_agent_of_langchains_runs_what_it_writes(daemon, shell):
    """The four inputs of the code-sandbox tutorial. The model knows what the tool returned, and
    nothing else: so the answers are those of the real runs."""
    lines = (ROOT / "examples/python" / ALONE).read_text().splitlines()
    assert len(lines) <= 30
    with daemon.http() as http, scripted_model() as model:
        before = http.get("/api/v1/sandboxes").json()["items"]
        words = " ".join(f"{name}={value}" for name, value in model.env.items())
        done = shell(f"{words} {sys.executable} examples/python/{ALONE}")
        assert done.returncode == 0, done.stderr
        assert http.get("/api/v1/sandboxes").json()["items"] == before, "each run's is gone"
        results = [json.loads(one.results[-1].text) for one in model.requests if one.results]
    pi, *exact = done.stdout.splitlines()
    assert 3.1 < float(pi) < 3.2
    assert exact == ["2432902008176640000", "0 1 1 2 3 5 8 13 21 34", "50005000"]
    assert [" ".join(one["stdout"].split()) for one in results] == [pi, *exact]
    assert len({one["sandbox"] for one in results}) == 4


def test_typescript_example(shell):
    folder = ROOT / "build/examples-typescript"
    done = shell(
        f"mkdir -p {folder} && cp examples/typescript/* {folder}/ && cd {folder} && "
        "npm install --silent --no-audit --no-fund && npm start --silent",
        timeout=300,
    )
    assert done.returncode == 0 and "step 3\nexit 2" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "program", sorted({p.stem for p in (ROOT / "examples/cpp").glob("*.cc")} - {AGENT})
)
def test_cpp_examples(shell, program):
    done = shell(f"{ROOT / BUILD}/examples/example_{program}")
    assert done.returncode == 0 and done.stdout, done.stderr


def test_the_shortest_agent_of_cpp(daemon, shell, tmp_path):
    """The model writes a script and runs it. Its answer is what the run printed."""

    def script(request):
        if request.turn == 0:
            file = {"file_path": "/tmp/hello.py", "content": "print('hello', 6 * 7)"}
            return Turn(calls=[Call("write_file", file)])
        if request.turn == 1:
            return Turn(calls=[Call("execute", {"command": "python3 /tmp/hello.py"})])
        return Turn(request.results[0].text.splitlines()[0])

    with daemon.http() as http, model_server(script) as model:
        words = {**model.env, "OPENAI_MODEL": "scripted", "CAY_STATE_DIR": tmp_path}
        settings = " ".join(f"{name}={value}" for name, value in words.items())
        done = shell(f"{settings} {ROOT / BUILD}/examples/example_{AGENT}")
        assert (done.returncode, done.stdout) == (0, "hello 42\n"), done.stderr
        assert http.get("/api/v1/sandboxes").json()["items"] == [], "its sandbox is gone"


def test_relative_links_of_the_docs_exist():
    broken = []
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "docs/llms.txt"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken


@pytest.mark.parametrize("folder", ["guide", "operator"])
def test_commands_and_options_of_the_pages_exist(folder):
    """Each `cay COMMAND --option` in a block of a page is in the help of that command."""
    helps, unknown, seen = {}, [], 0
    for page in sorted((ROOT / "docs" / folder).glob("*.md")):
        lines = "\n".join(fences(page.relative_to(ROOT), "sh")).splitlines()
        for line in lines:
            line = line.split(" #")[0].split(" -- ")[0]
            for command, rest in re.findall(r"(?:^|\s|\()cay ([a-z]+)([^|&]*)", line):
                if command not in helps:
                    done = subprocess.run(
                        [ROOT / BUILD / "cay", command, "--help"], capture_output=True, text=True
                    )
                    helps[command] = done.stdout if done.returncode == 0 else ""
                words = [command, *re.findall(r"(?<=\s)--[a-z-]+", rest)]
                seen += len(words)
                unknown += [f"{page.name}: {line}" for word in words if word not in helps[command]]
    assert seen > 10 and not unknown


def test_the_guide_lists_every_event_of_an_agents_thread():
    """The table of docs/guide/agent.md and that of the code have the same types and members."""
    source = (ROOT / "src/agent/threads/event.cc").read_text()
    table = source[source.index("kTypes = {{") : source.index("}};")]
    coded = {
        name: sorted(members.replace("?", "").split())
        for name, members in re.findall(r'\{"(\w+)",\s*"([^"]*)"\}', table)
    }
    guide = (ROOT / "docs/guide/agent.md").read_text()
    rows = guide[guide.index("| Event | Members |") :].split("\n\n")[0].splitlines()[2:]
    written = {}
    for row in rows:
        _, name, members, _ = row.split("|")
        written[name.strip(" `")] = sorted(re.findall(r"`(\w+)`", members.partition(":")[0]))
    assert len(coded) > 15 and written == coded
