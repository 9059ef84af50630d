"""Every language in the snapshot that docs/guide/code.md builds, and R and TypeScript beside them.
It takes a quarter of an hour, and needs Debian's archive."""
import re

import pytest
from harness import ROOT, new_daemon, slow
from test_code import DRAW, MEMORY, PROGRAMS, check_drawn
from test_gate import pytestmark as of_the_gate
from test_gate_installs import follow_doctor, registries

pytestmark = [of_the_gate, pytest.mark.depth]
MORE = "FROM six\nRUN apt-get update && apt-get install -y --no-install-recommends {}\n"


def documented():
    """The Dockerfile of the guide."""
    text = (ROOT / "docs/guide/code.md").read_text()
    return re.search(r"cay build -t six - <<'END'\n(.*?)^END$", text, re.M | re.S)[1]


@pytest.fixture(scope="module")
def call():
    if "apt" not in registries():
        pytest.skip("no registry of apt's answers this host")
    daemon = new_daemon()
    daemon.start()
    follow_doctor(daemon)
    for arguments, text in (
        (("-t", "debian:12", "--debian", "ca-certificates"), None),
        (("-t", "six", "-"), documented()),
        (("-t", "more", "-"), MORE.format("r-base-core node-typescript")),
    ):
        stdin = None if text is None else text.encode()
        got = daemon.cli("build", *arguments, stdin=stdin, timeout=slow(1800))
        assert got.code == 0, got
    with daemon.http() as http:
        http.timeout = slow(300)
        yield caller(http, "more")
    daemon.close()


def caller(http, snapshot):
    ask = {"snapshot": snapshot, "limits": {"memory_bytes": MEMORY}}
    box = http.post("/api/v1/sandboxes", json=ask).json()

    def run(language, code, **more):
        path = f"/api/v1/sandboxes/{box['id']}/code"
        got = http.post(path, json={"language": language, "code": code, **more})
        assert got.status_code == 200, got.text
        return got.json()

    return run


@pytest.mark.parametrize("language", PROGRAMS)
def test_each_language_runs_reads_and_is_limited(call, language):
    check_language(call, language)


def check_language(call, language):
    row = PROGRAMS[language]
    got = call(language, row["hello"])
    assert (got["phase"], got["exit_code"], got["stdout"]) == ("run", 0, "42\n"), got
    assert call(language, row["stdin"], stdin="40\n2\n")["stdout"] == "42\n"
    assert call(language, row["endless"], timeout_s=0.5)["state"] == "timed_out"
    if "memory" in row:
        got = call(language, row["memory"], env=row.get("env", {}), timeout_s=slow(60))
        assert (got["state"], got["oom_kills"]) == ("oom_killed", 1), got
    if language in DRAW:
        check_drawn(call(language, DRAW[language]))


def test_plots_of_r(call):
    got = call("r", "plot(1:3)\nhist(c(1, 2, 2))")
    assert [one["name"] for one in got["artifacts"]] == ["plot-0001.png", "plot-0002.png"], got
