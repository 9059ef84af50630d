"""Each method of the backend: deepagents' protocol, without an interpreter in the sandbox."""
import asyncio
import base64
import threading

import pytest
from harness import slow

EVERY_BYTE = bytes(range(256))
TREE = "a.py sub/b.py sub/nested/c.py readme.md .hidden.py .hidden/x.py .github/workflows/ci.yml"
# The table of deepagents' own contract for glob.
GLOBS = {
    "*.py": "a.py sub/b.py sub/nested/c.py .hidden/x.py",
    "**/*.py": "a.py sub/b.py sub/nested/c.py",
    "sub/*.py": "sub/b.py",
    "sub/**/*.py": "sub/b.py sub/nested/c.py",
    "/*.py": "a.py",
    "a.py/**": "",
    "*.yml": ".github/workflows/ci.yml",
    "**/*.yml": "",
    ".github/**/*.yml": ".github/workflows/ci.yml",
    ".*.py": ".hidden.py",
    "*": "a.py sub/b.py sub/nested/c.py readme.md .hidden/x.py .github/workflows/ci.yml",
    "**/*.{py,md}": "a.py sub/b.py sub/nested/c.py readme.md",
    "[^a].py": "sub/b.py sub/nested/c.py .hidden/x.py",
    "sub/**": "sub/b.py sub/nested/c.py",
    "sub/": "",
}


@pytest.fixture(scope="module")
def tree(backend):
    files = [(f"/tree/{name}", b"needle\nother\n") for name in TREE.split()]
    assert all(one.error is None for one in backend.upload_files(files))
    return "/tree"


@pytest.mark.parametrize("pattern", GLOBS)
def test_glob_follows_the_contract_of_deepagents(backend, tree, pattern):
    got = backend.glob(pattern, tree)
    wanted = sorted(f"{tree}/{name}" for name in GLOBS[pattern].split())
    assert ([one["path"] for one in got.matches], got.error, got.truncated) == (wanted, None, False)


def test_glob_takes_links_to_files_inside_and_reports_what_it_refuses(backend, tree):
    backend.execute(
        f"cd {tree} && ln -s a.py in.lnk && ln -s /etc/passwd out.lnk && ln -s none broken.lnk"
    )
    assert [one["path"] for one in backend.glob("*.lnk", tree).matches] == [f"{tree}/in.lnk"]
    assert "invalid_pattern" in backend.glob("../*", tree).error
    assert "pattern_too_broad" in backend.glob("{a,b}" * 10, tree).error
    assert "path_not_found" in backend.glob("*.py", "/none").error
    assert "not_a_directory" in backend.glob("*.py", f"{tree}/a.py").error


def test_ls_lists_one_level_with_absolute_paths(backend, tree):
    entries = {one["path"]: one["is_dir"] for one in backend.ls(f"{tree}/").entries}
    assert (entries[f"{tree}/sub"], entries[f"{tree}/a.py"]) == (True, False)
    assert f"{tree}/sub/b.py" not in entries
    assert "path_not_found" in backend.ls("/none").error
    assert "not_a_directory" in backend.ls(f"{tree}/a.py").error
    assert backend.ls("relative").error


def test_grep_is_literal_and_counts_what_it_leaves_out(backend, tree):
    everywhere = [f"{tree}/{name}" for name in TREE.split()]
    got = backend.grep("needle", tree)
    assert [(one["line"], one["text"]) for one in got.matches] == [(1, "needle")] * len(everywhere)
    assert sorted(one["path"] for one in got.matches) == sorted(everywhere)
    assert backend.grep("n..dle", tree).matches == []
    some = backend.grep("needle", tree, max_count=3)
    assert (len(some.matches), some.truncated) == (3, True)
    exact = backend.grep("needle", tree, max_count=len(everywhere))
    assert (len(exact.matches), exact.truncated) == (len(everywhere), False)
    by_path = backend.grep("needle", tree, "sub/**/*.{py,md}")
    assert [one["path"] for one in by_path.matches] == [
        f"{tree}/sub/b.py",
        f"{tree}/sub/nested/c.py",
    ]
    assert "path_not_found" in backend.grep("x", "/none").error


def test_grep_leaves_out_git_unless_it_is_the_root(backend):
    backend.upload_files([("/repo/.git/config", b"in git\n"), ("/repo/a", b"in git\n")])
    assert [one["path"] for one in backend.grep("in git", "/repo").matches] == ["/repo/a"]
    assert backend.grep("in git", "/repo", max_count=1).truncated is False
    assert [one["path"] for one in backend.grep("in git", "/repo/.git").matches] == [
        "/repo/.git/config"
    ]


def test_read_returns_a_window_and_its_place(backend):
    text = "".join(f"line {n}\r\n" for n in range(1, 301))
    backend.upload_files([("/read/a.txt", text.encode())])
    got = backend.read("/read/a.txt", 99, 2)
    assert (got.file_data["content"], got.file_data["encoding"]) == ("line 100\nline 101", "utf-8")
    assert (got.start_line, got.end_line, got.total_lines, got.next_offset) == (100, 101, 300, 101)
    last = backend.read("/read/a.txt", 299, 50)
    assert (last.file_data["content"], last.end_line, last.next_offset) == ("line 300", 300, None)
    assert backend.read("/read/a.txt", -5, 1).start_line == 1
    nothing = backend.read("/read/a.txt", 0, 0)
    assert (nothing.file_data["content"], nothing.start_line) == ("", None)
    assert (
        "Line offset 300 exceeds file length (300 lines)" in backend.read("/read/a.txt", 300).error
    )


def test_read_of_other_kinds(backend):
    long = b"x" * 600_000 + b"\nafter\n"
    files = {"empty": b"", "latin": b"caf\xe9\n", "a.png": EVERY_BYTE, "long": long}
    files |= {"large": b"y\n" * 2_000_000, "b.png": bytes(600_000)}
    backend.upload_files([(f"/kinds/{name}", content) for name, content in files.items()])
    assert "empty contents" in backend.read("/kinds/empty").file_data["content"]
    for name in ("latin", "a.png"):
        data = backend.read(f"/kinds/{name}").file_data
        assert (data["encoding"], base64.b64decode(data["content"])) == ("base64", files[name])
    assert "exceeds maximum preview size" in backend.read("/kinds/b.png").error
    cut = backend.read("/kinds/long")
    assert len(cut.file_data["content"].encode()) == 512_000
    assert (cut.end_line, cut.total_lines, cut.next_offset) == (1, 2, 1)
    assert backend.read("/kinds/long", 1).file_data["content"] == "after"
    large = backend.read("/kinds/large", 10, 5)
    assert (large.file_data["content"], large.total_lines, large.next_offset) == (
        "y\ny\ny\ny\ny",
        None,
        15,
    )
    assert "file_not_found" in backend.read("/kinds/none").error
    assert "not_a_file" in backend.read("/kinds").error


def test_write_replaces_and_delete_removes_all(backend):
    assert backend.write("/w/deep/a", "one") == backend.write("/w/deep/a", "two \u2615")
    assert backend.execute("cat /w/deep/a").output == "two \u2615"
    assert "is_directory" in backend.write("/w/deep", "x").error
    assert backend.delete("/w").path == "/w"
    assert "not found" in backend.delete("/w").error


def test_edit_changes_exactly_one_place(backend):
    backend.write("/e/a", "apple pear apple\n")
    assert "multiple" in backend.edit("/e/a", "apple", "fig").error
    assert backend.edit("/e/a", "pear", "p").occurrences == 1
    assert backend.edit("/e/a", "apple", "fig", replace_all=True).occurrences == 2
    assert backend.execute("cat /e/a").output == "fig p fig\n"
    assert "not found" in backend.edit("/e/a", "apple", "x").error
    assert "not found" in backend.edit("/e/none", "a", "b").error
    assert "cannot be empty" in backend.edit("/e/a", "", "x").error
    assert "not a regular file" in backend.edit("/e", "a", "b").error
    backend.upload_files([("/e/latin", b"caf\xe9")])
    assert "not a text file" in backend.edit("/e/latin", "caf", "x").error


def test_edit_keeps_line_ends_modes_and_long_texts(backend):
    backend.upload_files([("/e/crlf", b"one\r\ntwo\r\n")])
    backend.execute("chmod 750 /e/crlf")
    assert backend.edit("/e/crlf", "one\ntwo", "1\n2").occurrences == 1
    assert backend.download_files(["/e/crlf"])[0].content == b"1\r\n2\r\n"
    assert backend.execute("stat -c %a /e/crlf").output == "750\n"
    long, longer = "a" * 70_000, "b" * 90_000
    backend.write("/e/long", f"<{long}>")
    assert backend.edit("/e/long", long, longer).occurrences == 1
    assert backend.download_files(["/e/long"])[0].content == f"<{longer}>".encode()


def test_bytes_go_up_and_come_down(backend):
    large = EVERY_BYTE * 4 * 1024 * 10
    up = backend.upload_files([("/in/bytes", EVERY_BYTE), ("relative", b"x"), ("/in/large", large)])
    assert [(one.path, one.error) for one in up] == [
        ("/in/bytes", None),
        ("relative", "invalid_path"),
        ("/in/large", None),
    ]
    down = backend.download_files(["/in/large", "/in", "/in/none", "relative", "/in/bytes"])
    assert [one.error for one in down] == [
        None,
        "is_directory",
        "file_not_found",
        "invalid_path",
        None,
    ]
    assert down[0].content == large and down[4].content == EVERY_BYTE


def test_execute_returns_both_streams_in_order(backend):
    got = backend.execute("for i in 1 2; do echo out $i; echo err $i >&2; done; exit 3")
    assert (got.output, got.exit_code) == ("out 1\nerr 1\nout 2\nerr 2\n", 3)
    assert backend.execute("[[ a == a ]] && echo bash").output == "bash\n"
    broken = backend.execute("if; then")
    assert broken.exit_code == 2 and "syntax error" in broken.output
    assert backend.execute("cat").output == ""  # standard input is at its end


def test_execute_ends_at_its_time_limit_with_what_there_was(backend):
    got = backend.execute("echo begun; sleep 1000", timeout=1)
    assert (got.exit_code, got.output) == (
        124,
        "begun\nError: Command timed out after 1 seconds.",
    )
    kept = backend.execute_with_offload(
        "echo begun; sleep 1000", "/large/x", max_inline_bytes=1000, timeout=1
    )
    assert (kept.response, kept.offloaded) == (got, False)


def test_large_output_stays_in_the_sandbox(backend):
    line = "seq 1 100000; exit 7"
    got = backend.execute_with_offload(line, "/root/kept", max_inline_bytes=1000)
    assert got.offloaded and got.response.exit_code == 7
    assert "lines truncated" in got.response.output
    kept = backend.execute("sha256sum </root/kept").output
    assert kept == backend.execute("seq 1 100000 | sha256sum").output
    small = backend.execute_with_offload("seq 1 3", "/root/none", max_inline_bytes=1000)
    assert (small.offloaded, small.response.output) == (False, "1\n2\n3\n")
    assert backend.execute("test -e /root/none").exit_code == 1
    endless = backend.execute_with_offload(
        "yes", "/root/yes", max_inline_bytes=1000, max_capture_bytes=50_000, timeout=1
    )
    assert (endless.response.exit_code, endless.response.truncated) == (124, True)
    assert endless.response.output.endswith("Error: Command timed out after 1 seconds.")
    assert backend.execute("wc -c </root/yes").output == "50000\n"
    whole = backend.execute("head -c 12000000 /dev/zero | tr '\\0' x")
    assert whole.truncated and len(whole.output) < 11 << 20


def test_coroutines_run_at_once_and_a_cancelled_one_kills_its_command(backend):
    async def all_of_it():
        await backend.awrite("/async/a", "here\n")
        some = await asyncio.gather(*(backend.aexecute(f"sleep 0.2; echo {n}") for n in range(20)))
        assert [one.output for one in some] == [f"{n}\n" for n in range(20)]
        assert (await backend.agrep("here", "/async")).matches[0]["path"] == "/async/a"
        assert (await backend.aglob("a", "/async")).matches[0]["path"] == "/async/a"
        assert (await backend.aread("/async/a")).file_data["content"] == "here"
        long = asyncio.create_task(backend.aexecute("touch /async/begun; exec sleep 31415"))
        while (await backend.aexecute("test -e /async/begun")).exit_code:
            pass
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        return (await backend.aexecute("pgrep -f 'sleep 3141[5]'")).exit_code

    assert asyncio.run(all_of_it()) == 1


def test_failures_of_the_infrastructure_raise(daemon, http):
    from cay_client import Cay, CayError
    from cay_deepagents import CaySandbox

    with pytest.raises(CayError) as caught:
        CaySandbox("no-such-sandbox")
    assert caught.value.reason == "sandbox_not_found"
    with CaySandbox() as made:
        http.delete(f"/api/v1/sandboxes/{made.id}")
        for call in (lambda: made.execute("true"), lambda: made.read("/etc/hostname")):
            with pytest.raises(CayError) as caught:
                call()
            assert caught.value.code == "not_found"
    with pytest.raises(CayError) as caught:
        Cay(daemon.url, "wrong").create()
    assert caught.value.code == "unauthenticated"


def test_a_sandbox_lives_as_long_as_its_backend(http):
    from cay_deepagents import CaySandbox

    with CaySandbox(labels={"for": "test"}) as made:
        assert made.created
        kept = http.get(f"/api/v1/sandboxes/{made.id}").json()
        assert kept["labels"] == {"for": "test"}
        with CaySandbox(kept["name"]) as same:
            assert (same.id, same.created) == (made.id, False)
        assert http.get(f"/api/v1/sandboxes/{made.id}").status_code == 200
    assert http.get(f"/api/v1/sandboxes/{made.id}").status_code == 404


@pytest.mark.depth
def test_a_command_outlives_a_kill_of_the_daemon(own_daemon):
    from cay_client import Cay
    from cay_deepagents import CaySandbox

    daemon = own_daemon()
    with Cay(daemon.url, daemon.key) as cay, CaySandbox(cay=cay) as made:
        got = []
        line = "echo $$ >>/runs; touch /begun; until test -e /go; do sleep 0.05; done; echo end"
        thread = threading.Thread(target=lambda: got.append(made.execute(line)))
        thread.start()
        while made.execute("test -e /begun").exit_code:
            pass
        daemon.restart()
        made.write("/go", "")
        thread.join(slow(60))
        assert (got[0].output, got[0].exit_code) == ("end\n", 0)
        assert made.execute("wc -l </runs").output.strip() == "1"
