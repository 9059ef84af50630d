"""Programs given as text: each language that this host has, through the API and the CLI."""
import base64
import concurrent.futures
import json
import shutil
import socket

import pytest
from harness import new_daemon, slow, wait_until
from image_root import root_tar
from test_gate import pytestmark  # noqa: F401 (what the gate needs of this host)
from test_gate_installs import follow_doctor, registries

MEMORY = 512 << 20
JAVA = "public class Answer {{ public static void main(String[] args) throws Exception {{ {} }} }}"
GO = "package main\nimport (\n{}\n)\nfunc main() {{ {} }}"
CPP = "#include <iostream>\n#include <vector>\nint main() {{ {} }}"
# By language: the program that it needs, and programs. `hello` and `stdin` print 42.
PROGRAMS = {
    "python": {
        "needs": "python3",
        "hello": "print(6 * 7)",
        "stdin": "import sys; print(sum(int(n) for n in sys.stdin))",
        "endless": "while True: pass",
        "memory": "x = b'x' * (2 << 30)",
    },
    "javascript": {
        "needs": "node",
        "hello": "import os from 'os'; console.log(6 * 7)",
        "stdin": "const text = require('fs').readFileSync(0, 'utf8');"
        "console.log(text.trim().split('\\n').map(Number).reduce((a, b) => a + b))",
        "endless": "while (true) {}",
        "memory": "const kept = []; while (true) kept.push(Buffer.alloc(64 << 20, 1))",
    },
    "java": {
        "needs": "javac",
        "hello": JAVA.format("System.out.println(6 * 7);"),
        "stdin": JAVA.format(
            "var in = new java.util.Scanner(System.in); int n = 0;"
            "while (in.hasNextInt()) n += in.nextInt(); System.out.println(n);"
        ),
        "endless": JAVA.format("while (args != null) {}"),
        "memory": JAVA.format(
            "var kept = new java.util.ArrayList<byte[]>();"
            "while (true) kept.add(new byte[64 << 20]);"
        ),
        # Java's own limit of the heap would end it first, and by an exception of its own.
        "env": {"JAVA_TOOL_OPTIONS": "-Xmx4g"},
    },
    "cpp": {
        "needs": "g++",
        "hello": CPP.format("std::cout << 6 * 7 << std::endl;"),
        "stdin": CPP.format(
            "int sum = 0, n; while (std::cin >> n) sum += n; std::cout << sum << std::endl;"
        ),
        "endless": CPP.format("volatile int n = 0; while (true) n = n + 1;"),
        "memory": CPP.format("std::vector<char> x(2L << 30, 1); std::cout << x[7];"),
    },
    "go": {
        "needs": "go",
        "hello": GO.format('"fmt"', "fmt.Println(6 * 7)"),
        "stdin": GO.format(
            '"fmt"',
            "s, n := 0, 0; for { if _, e := fmt.Scan(&n); e != nil { break }; s += n };"
            "fmt.Println(s)",
        ),
        "endless": GO.format('_ "fmt"', "for {}"),
        "memory": GO.format(
            '"fmt"', "x := make([]byte, 2 << 30); for i := range x { x[i] = 1 }; fmt.Println(x[7])"
        ),
    },
    "ruby": {
        "needs": "ruby",
        "hello": "puts 6 * 7",
        "stdin": "puts STDIN.each_line.sum(&:to_i)",
        "endless": "loop {}",
        "memory": "x = 'x' * (2 << 30); puts x[7]",
    },
    "bash": {
        "needs": "bash",
        "hello": "echo $((6 * 7))",
        "stdin": "n=0; while read -r line; do n=$((n + line)); done; echo $n",
        "endless": "while :; do :; done",
    },
    "r": {
        "needs": "Rscript",
        "hello": "cat(6 * 7, '\\n', sep = '')",
        "stdin": "cat(sum(as.numeric(readLines('stdin'))), '\\n', sep = '')",
        "endless": "while (TRUE) {}",
        "memory": "x <- numeric(3e8); x[] <- 1; print(x[7])",
    },
    "typescript": {
        "needs": "tsc",
        "hello": "const n: number = 6 * 7\nconsole.log(n)",
        "stdin": "declare const require: any\n"
        "const text: string = require('fs').readFileSync(0, 'utf8')\n"
        "console.log(text.trim().split('\\n').map(Number).reduce((a, b) => a + b))",
        "endless": "while (true) {}",
    },
}
HERE = [name for name, row in PROGRAMS.items() if shutil.which(row["needs"])]


def cases(languages):
    """A case for each language. Those that this host lacks are skipped with the reason."""
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                name not in HERE, reason=f"no {PROGRAMS[name]['needs']} on this host"
            ),
        )
        for name in languages
    ]


@pytest.fixture(scope="module")
def host():
    daemon = new_daemon().start()
    yield daemon
    daemon.close()


@pytest.fixture(scope="module")
def api(host):
    with host.http() as http:
        http.timeout = slow(120)
        yield http


@pytest.fixture(scope="module")
def ref(api):
    """One sandbox for all: what a compiler caches is kept."""
    box = api.post("/api/v1/sandboxes", json={"limits": {"memory_bytes": MEMORY}}).json()
    return f"/api/v1/sandboxes/{box['id']}"


@pytest.fixture
def run(api, ref):
    def call(language, code, **more):
        got = api.post(f"{ref}/code", json={"language": language, "code": code, **more})
        assert got.status_code == 200, got.text
        return got.json()

    yield call
    left = api.post(f"{ref}/files/glob", json={"path": "/tmp", "pattern": "cay-code-*"}).json()
    assert left["items"] == [], "each run removes its files"


def running(api, ref):
    """The command lines inside."""
    look = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"
    return api.post(f"{ref}/commands", json={"command": look}).json()["stdout"]


@pytest.mark.parametrize("language", cases(PROGRAMS))
def test_a_program_prints_and_reads(run, language):
    row = PROGRAMS[language]
    got = run(language, row["hello"])
    assert (got["phase"], got["exit_code"], got["stdout"]) == ("run", 0, "42\n"), got
    assert got["ok"] and got["notes"] == [] and got["artifacts"] == []
    got = run(language, row["stdin"], stdin="40\n2\n")
    assert (got["exit_code"], got["stdout"]) == (0, "42\n"), got


@pytest.mark.parametrize("language", cases(PROGRAMS))
def test_the_time_limit_ends_it(run, language):
    got = run(language, PROGRAMS[language]["endless"], timeout_s=0.5)
    assert (got["phase"], got["state"], got["exit_code"]) == ("run", "timed_out", None), got
    assert got["shell_exit_code"] == 124 and not got["ok"]
    assert "the time limit of 0.500 s ended the program" in got["notes"][0]


@pytest.mark.parametrize("language", cases(name for name in PROGRAMS if "memory" in PROGRAMS[name]))
def test_the_kernels_kill_for_memory_is_told(run, language):
    row = PROGRAMS[language]
    got = run(language, row["memory"], env=row.get("env", {}))
    assert (got["phase"], got["state"], got["oom_kills"]) == ("run", "oom_killed", 1), got
    assert "for want of memory: the sandbox has 512 MiB" in got["notes"][0]


def test_a_time_limit_ends_what_the_program_started(run, api, ref):
    code = "import subprocess\nsubprocess.run(['sleep', '97531'])"
    got = run("python", code, timeout_s=slow(2))
    assert got["state"] == "timed_out", got
    assert "97531" not in running(api, ref)
    api.post(f"{ref}/commands", json={"argv": ["sleep", "97532"], "wait": False})
    assert "97532" in running(api, ref), "the control: one that runs is seen"


def test_a_program_sees_its_surroundings(run):
    code = "import os, sys\nprint(sys.argv[1:], os.getcwd(), os.environ['A'], os.getuid())"
    got = run("python", code, args=["a b", "$c"], cwd="/usr", env={"A": "1"}, user="nobody")
    assert got["stdout"] == f"['a b', '$c'] /usr 1 {65534}\n", got


def test_bytes_that_are_no_text_are_kept(run):
    coded = base64.b64encode(b"\xff\x00").decode()
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
    assert run("python", code, stdin_base64=coded)["stdout_base64"] == coded


def test_output_is_bounded_and_says_so(run):
    got = run("python", "print('x' * 100000)", max_output_bytes=1000)
    assert got["truncated"] and len(got["stdout"]) <= 1000 and got["stdout_bytes"] == 100001
    assert got["command_id"] in got["notes"][0]


# Programs that no compiler accepts, and a word of its complaint.
BROKEN = {
    "cpp": ("int main() { return undeclared; }", "undeclared"),
    "java": (JAVA.format("return undeclared;"), "undeclared"),
    "go": (GO.format('"fmt"', "fmt.Println(undeclared)"), "undeclared"),
}


@pytest.mark.parametrize("language", cases(BROKEN))
def test_a_program_that_does_not_compile_never_ran(run, language):
    code, word = BROKEN[language]
    got = run(language, code)
    assert (got["phase"], got["state"], got["ok"]) == ("compile", "exited", False), got
    assert word in got["stderr"] + got["stdout"] and got["run_ms"] == 0


def test_the_output_can_be_followed(run, api, ref):
    """The caller chooses the id of the program's command. The program ends once it was seen."""
    code = (
        "import os, time\nos.write(1, b'begun\\n')\n"
        "while not os.path.exists('/tmp/followed'): time.sleep(0.01)\nprint('over')"
    )
    ask = {"language": "python", "code": code, "command_id": "followed-1"}
    with concurrent.futures.ThreadPoolExecutor() as threads:
        done = threads.submit(run, ask["language"], code, command_id=ask["command_id"])
        path = f"{ref}/commands/followed-1/output"
        wait_until(lambda: api.get(path).status_code == 200, "the program has begun")
        with api.stream("GET", path, params={"stream": "stdout", "follow": "true"}) as output:
            pieces = output.iter_bytes()
            assert next(pieces) == b"begun\n"
            api.put(f"{ref}/files", params={"path": "/tmp/followed"}, content=b"")
            assert b"".join(pieces) == b"over\n"
    assert done.result()["stdout"] == "begun\nover\n"
    assert done.result()["command_id"] == "followed-1"
    assert refused(api, f"{ref}/code", **ask)[:2] == (409, "command_id_in_use")


def test_an_exception_is_the_programs_own_end(run):
    got = run("python", "raise SystemExit(7)")
    assert (got["phase"], got["exit_code"], got["ok"]) == ("run", 7, False)
    assert "exited with code 7" in got["notes"][0]
    got = run("python", "1 / 0")
    assert got["exit_code"] == 1 and "ZeroDivisionError" in got["stderr"]


SILENT = {
    "a value": ("python", "6 * 7", "print()"),
    "a file": ("python", "print('x', file=open('/tmp/y', 'w'))", "print()"),
    "an empty print": ("python", "print(end='')", "print()"),
    "the bin": ("bash", "echo hi >/dev/null", "echo"),
}


@pytest.mark.parametrize("case", SILENT)
def test_silence_is_told_and_no_reason_is_guessed(run, case):
    language, code, prints = SILENT[case]
    got = run(language, code)
    assert got["ok"] and got["notes"] == [
        "the program exited with code 0 and wrote nothing to stdout or stderr. To see a value, "
        f"print it with {prints}"
    ]


def test_a_host_that_the_policy_refused_is_named(run):
    got = run("bash", "getent hosts refused.example.com")
    assert not got["ok"]
    wanted = "the sandbox's policy refused refused.example.com"
    assert any(note.startswith(wanted) for note in got["notes"]), got
    got = run("bash", "echo 1; exit 1")
    assert got["notes"] == [], "the control: what an earlier run tried is no news"


def test_files_of_the_output_directory_are_artifacts(run):
    code = (
        "import os, pathlib\n"
        "out = pathlib.Path(os.environ['CAY_OUTPUT_DIR'])\n"
        "(out / 'a.csv').write_text('1,2')\n"
        "(out / 'b').mkdir()\n"
        "os.symlink('/etc/passwd', out / 'c')\n"
        "(out / 'large.bin').write_bytes(bytes(9 << 20))\n"
    )
    got = run("python", code)
    [one] = got["artifacts"]
    assert (one["name"], one["mime"], one["size"]) == ("a.csv", "text/csv", 3)
    assert base64.b64decode(one["content_base64"]) == b"1,2"
    assert any(note.startswith("1 more files in $CAY_OUTPUT_DIR") for note in got["notes"])


SVG = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>'
# Programs that draw by writing a picture, as their libraries do.
DRAW = {
    "javascript": f"require('fs').writeFileSync(process.env.CAY_OUTPUT_DIR + '/a.svg', `{SVG}`)",
    "bash": f"echo -n '{SVG}' >\"$CAY_OUTPUT_DIR/a.svg\"",
    "cpp": "#include <cstdlib>\n#include <fstream>\n#include <string>\nint main() {\n"
    'std::ofstream(std::string(std::getenv("CAY_OUTPUT_DIR")) + "/a.svg") << R"(' + SVG + ')"; }',
    "ruby": f"File.write(ENV['CAY_OUTPUT_DIR'] + '/a.svg', '{SVG}')",
}


def check_drawn(got):
    [one] = got["artifacts"]
    assert (one["name"], one["mime"]) == ("a.svg", "image/svg+xml"), got
    assert got["notes"] == [], "a drawn picture is no silence"
    assert base64.b64decode(one["content_base64"]) == SVG.encode()


@pytest.mark.parametrize("language", cases(DRAW))
def test_pictures_of_any_language_are_artifacts(run, language):
    check_drawn(run(language, DRAW[language]))


@pytest.mark.skipif("r" not in HERE, reason="no Rscript on this host")
def test_plots_of_r_are_artifacts(run):
    got = run("r", "plot(1:3)\nhist(c(1, 2, 2))")
    assert [one["name"] for one in got["artifacts"]] == ["plot-0001.png", "plot-0002.png"], got


def refused(api, path, **body):
    got = api.post(path, json=body)
    error = got.json()["error"]
    return got.status_code, error["reason"], error["message"]


def test_a_missing_toolchain_names_what_has_it(api):
    root = api.post(
        "/api/v1/snapshots/archive",
        params={"name": "bare", "wait": 60},
        content=root_tar(("sh", "cat", "mkdir", "id", "rm")),
    )
    assert root.status_code == 201, root.text
    bare = {"snapshot": "bare"}
    status, reason, text = refused(
        api, "/api/v1/code", language="go", code="package main", sandbox=bare
    )
    assert (status, reason) == (400, "toolchain_missing")
    for part in ("program go,", "apt-get install golang-go", "--debian golang-go -t go", "golang:"):
        assert part in text, text
    _, _, text = refused(
        api, "/api/v1/code", language="js", code="1", libraries=["left-pad"], sandbox=bare
    )
    assert "programs node, npm" in text and "--debian nodejs,npm" in text, text


def test_a_request_that_cannot_work_is_refused(api, ref):
    path = f"{ref}/code"
    assert refused(api, path, language="cobol", code="1")[:2] == (400, "unknown_language")
    assert refused(api, path, language="cpp", code="1", libraries=["boost"])[1] == (
        "libraries_unsupported"
    )
    assert refused(api, path, language="java", code="1", libraries=["guava"])[1] == (
        "libraries_unsupported"
    )
    assert refused(api, path, language="python", code="1", libraries=["-r/etc/passwd"])[1] == (
        "invalid_field"
    )
    assert refused(api, path, language="python", code="1", cwd="/none")[1] == "bad_cwd"
    assert refused(api, path, language="python", code="1", user="none")[1] == "bad_user"


def names(api):
    return {box["id"] for box in api.get("/api/v1/sandboxes").json()["items"]}


def test_a_sandbox_of_one_run_is_gone_after_it(api):
    before = names(api)
    ask = {"language": "bash", "code": "echo $((6 * 7)); exit 3"}
    got = api.post("/api/v1/code", json={**ask, "sandbox": {"env": {"A": "1"}}}).json()
    assert (got["exit_code"], got["stdout"]) == (3, "42\n")
    assert names(api) == before and got["sandbox"] not in before
    assert refused(api, "/api/v1/code", **ask, cwd="/none")[1] == "bad_cwd"
    wait_until(lambda: names(api) == before, "the sandbox of the failure is gone")


def test_a_caller_that_goes_away_leaves_nothing(host, api, ref):
    """Neither the sandbox that was made for it, nor its program in one that was there."""
    before = names(api)

    def begin(path):
        body = '{"language": "bash", "code": "exec sleep 97533"}'
        sock = socket.create_connection(("127.0.0.1", host.port), timeout=60)
        sock.sendall(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {host.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        return sock

    with begin("/api/v1/code"):
        wait_until(lambda: len(names(api)) == len(before) + 1, "its sandbox is there")
        [made] = names(api) - before
        wait_until(lambda: "97533" in running(api, f"/api/v1/sandboxes/{made}"), "it runs")
    wait_until(lambda: names(api) == before, "its sandbox is gone")
    with begin(f"{ref}/code"):
        wait_until(lambda: "97533" in running(api, ref), "it runs")
    wait_until(lambda: "97533" not in running(api, ref), "it was ended")
    wait_until(
        lambda: api.post(
            f"{ref}/files/glob", json={"path": "/tmp", "pattern": "cay-code-*"}
        ).json()["items"]
        == [],
        "its files are gone",
    )


def test_the_cli(host, tmp_path):
    got = host.cli("code", "-l", "python", "-", stdin=b"print(2 + 2)")
    assert (got.code, got.out) == (0, b"4\n"), got
    program = tmp_path / "program.sh"
    program.write_text('cat; echo "$1" >&2; echo data >"$CAY_OUTPUT_DIR/a.txt"; exit 3\n')
    folder = tmp_path / "made" / "out"  # neither is there
    got = host.cli("code", "-i", "-o", str(folder), str(program), "--", "to stderr", stdin=b"typed")
    assert (got.code, got.out) == (3, b"typed") and b"to stderr" in got.err, got
    assert (folder / "a.txt").read_text() == "data\n"
    got = host.cli("code", "-l", "python", "-", stdin=b"1 + 1")
    assert got.code == 0 and b"wrote nothing to stdout or stderr" in got.err, got
    got = host.cli("code", "-l", "cobol", "-", stdin=b"1")
    assert got.code == 125 and b"python, java, javascript" in got.err, got
    unnamed = tmp_path / "unnamed"
    unnamed.write_text("#!/usr/bin/env python3\nprint(6 * 7)\n")
    assert host.cli("code", str(unnamed)).out == b"42\n"
    got = host.cli("code", "-l", "bash", "--timeout", "0.3", "-", stdin=b"sleep 97534")
    assert got.code == 124 and b"time limit" in got.err, got


def test_the_cli_writes_artifacts_or_says_so_first(host, api, tmp_path):
    program = tmp_path / "program.sh"
    program.write_text('mkdir "$CAY_OUTPUT_DIR/b"; echo data >"$CAY_OUTPUT_DIR/a.txt"; exit $1\n')
    taken = tmp_path / "taken"
    taken.write_text("a file")
    box = api.post("/api/v1/sandboxes", json={}).json()["id"]
    leave = "touch /tmp/ran"
    got = host.cli(
        "code", "-l", "bash", "--sandbox", box, "-o", str(taken), "-", stdin=leave.encode()
    )
    assert got.code == 125 and b"artifacts cannot be written into" in got.err, got
    ran = {"path": "/tmp/ran"}
    assert api.get(f"/api/v1/sandboxes/{box}/files", params=ran).status_code == 404
    # One that fails after the run: a directory has the artifact's name.
    folder = tmp_path / "out"
    (folder / "a.txt").mkdir(parents=True)
    for own, code in (("0", 125), ("3", 3)):
        got = host.cli("code", "--json", "-o", str(folder), str(program), "--", own)
        assert got.code == code and b"a.txt" in got.err, got
        assert json.loads(got.out)["exit_code"] == int(own), "one document"


# --- libraries, from this host's own registries ---


@pytest.fixture(scope="module")
def online():
    """A daemon whose sandboxes reach the registries, a sandbox, and which registries there are."""
    found = registries()
    if not found:
        pytest.skip("no package registry answers this host: nothing to install from")
    daemon = new_daemon()
    daemon.start()
    follow_doctor(daemon)
    with daemon.http() as http:
        http.timeout = slow(300)
        box = http.post("/api/v1/sandboxes", json={"policy": "packages"}).json()

        def call(language, code, **more):
            path = f"/api/v1/sandboxes/{box['id']}/code"
            got = http.post(path, json={"language": language, "code": code, **more})
            return got.json()

        yield call, found
    daemon.close()


def test_a_library_of_python_is_installed_once(online):
    call, found = online
    if "pip" not in found:
        pytest.skip("no registry of pip's answers this host")
    ask = {"code": "import cowsay; cowsay.cow('moo')", "libraries": ["cowsay"]}
    got = call("python", **ask)
    assert got["ok"] and got["installed"] and "moo" in got["stdout"], got
    got = call("python", **ask)
    assert got["ok"] and not got["installed"] and got["install_ms"] == 0, got
    got = call("python", "print(1)", libraries=["cowsay==0.0.0.1"])
    assert (got["phase"], got["ok"], got["run_ms"]) == ("install", False, 0), got
    assert "cowsay==0.0.0.1" in got["stderr"]


def test_plots_of_matplotlib_are_artifacts(online):
    """What show() is called for, and what is open at the end; not again what was saved there."""
    call, found = online
    if "pip" not in found:
        pytest.skip("no registry of pip's answers this host")
    code = (
        "import os\nimport matplotlib.pyplot as plt\n"
        "plt.plot([1, 2]); plt.show()\n"
        "plt.figure(); plt.plot([2, 1])\n"
        "saved = plt.figure(); saved.savefig(os.environ['CAY_OUTPUT_DIR'] + '/own.png')\n"
        "print(len(plt.get_fignums()))\n"
    )
    got = call("python", code, libraries=["matplotlib"])
    assert got["ok"] and got["stdout"] == "2\n", got
    assert [one["name"] for one in got["artifacts"]] == [
        "own.png",
        "plot-0001.png",
        "plot-0002.png",
    ]
    for one in got["artifacts"]:
        assert one["mime"] == "image/png"
        assert base64.b64decode(one["content_base64"]).startswith(b"\x89PNG\r\n")


def test_a_library_of_javascript_is_found_by_scripts_and_modules(online):
    call, found = online
    if "npm" not in found or "javascript" not in HERE:
        pytest.skip("no registry of npm's answers this host")
    got = call(
        "javascript", "console.log(require('left-pad')('7', 3, '0'))", libraries=["left-pad"]
    )
    assert got["ok"] and got["installed"] and got["stdout"] == "007\n", got
    got = call(
        "javascript",
        "import pad from 'left-pad'\nconsole.log(pad('7', 3, '0'))",
        libraries=["left-pad"],
    )
    assert got["ok"] and not got["installed"] and got["stdout"] == "007\n", got


MAKE_GEM = """
mkdir -p /tmp/greet/lib && cd /tmp/greet
echo "def greet = 'hello of a gem'" >lib/greet.rb
cat >greet.gemspec <<'END'
Gem::Specification.new do |made|
  made.name, made.version, made.summary, made.authors = 'greet', '1.0', 'greets', ['Cay']
  made.files = ['lib/greet.rb']
end
END
gem build greet.gemspec
"""


def test_the_errors_advice_brings_ruby(online):
    """Where this host has no ruby: the line that the error names installs it."""
    call, found = online
    if "apt" not in found:
        pytest.skip("no registry of apt's answers this host")
    if "ruby" not in HERE:
        got = call("ruby", PROGRAMS["ruby"]["hello"])
        line = got["error"]["message"].split("`")[1]
        assert line == "apt-get install ruby"
        quiet = f"apt-get update -q && {line} -y -q --no-install-recommends"
        done = call("bash", quiet, timeout_s=slow(120))
        assert done["ok"], done["stderr"]
    assert call("ruby", PROGRAMS["ruby"]["hello"])["stdout"] == "42\n"
    assert call("ruby", PROGRAMS["ruby"]["stdin"], stdin="40\n2\n")["stdout"] == "42\n"
    got = call("ruby", "puts 1", timeout_s=slow(20))
    assert got["ok"], got
    assert call("ruby", "loop {}", timeout_s=0.5)["state"] == "timed_out"
    got = call("ruby", "kept = []; loop { kept << 'x' * (256 << 20) }")
    assert (got["state"], got["oom_kills"]) == ("oom_killed", 1), got
    check_drawn(call("ruby", DRAW["ruby"]))
    # A gem in a file, so that no registry of gems is needed.
    made = call("bash", MAKE_GEM)
    assert made["ok"], made
    ask = {"code": "require 'greet'; puts greet", "libraries": ["/tmp/greet/greet-1.0.gem"]}
    got = call("ruby", **ask)
    assert got["ok"] and got["installed"] and got["stdout"] == "hello of a gem\n", got
    got = call("ruby", **ask)
    assert got["ok"] and not got["installed"], got


def test_a_library_of_go_is_installed(online):
    call, _ = online
    if "go" not in HERE:
        pytest.skip("no go on this host")
    code = GO.format('"fmt"\n"github.com/google/uuid"', "fmt.Println(uuid.Nil)")
    got = call("go", code, libraries=["github.com/google/uuid@v1.6.0"])
    if got["phase"] == "install" and "proxy.golang.org" in got["stderr"] + str(got["notes"]):
        pytest.skip("no proxy of Go's modules answers this host")
    assert got["ok"] and got["stdout"] == "00000000-0000-0000-0000-000000000000\n", got
