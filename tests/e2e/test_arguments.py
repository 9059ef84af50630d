"""How long a command may be, from both APIs: what the kernel takes runs, and what it does not take is refused by name."""
import pytest

LIMIT = 2_000_000  # model/command.h, kMaxCommandBytes
LINE = "cat > /tmp/big <<'EOF'\n%s\nEOF\nwc -c < /tmp/big; echo \"$0 $#\"; false; exit 3"


def heredoc(size):
    return LINE % "\n".join("é" * 50 for _ in range(size // 101))


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("size", [100_000, 1_900_000])
def test_a_long_line_runs(run, shell, size):
    got = run(heredoc(size), shell=shell)
    count, rest = got["stdout"].split("\n", 1)
    assert got["exit_code"] == 3 and rest == f"{shell} 0\n", got["stderr"][:500]
    assert int(count) == (size // 101) * 101


def test_beyond_the_limit_it_says_so(http, box):
    for body in ({"command": "#" * LIMIT}, {"argv": ["echo", "x" * 131_072]}, {"argv": ["echo"] + ["x" * 1000] * 2000},
                 {"command": "true", "env": {"A": "x" * 131_072}}):
        answer = http.post(f"/api/v1/sandboxes/{box['id']}/commands", json={**body, "wait": True, "timeout_s": 30})
        assert answer.status_code == 413, answer.text[:300]
        error = answer.json()["error"]
        assert error["reason"] == "arguments_too_long"
        assert ("2000000" in error["message"] or "131071" in error["message"]) and "file" in error["message"]
    # Positive control: a little less runs.
    answer = http.post(f"/api/v1/sandboxes/{box['id']}/commands",
                       json={"argv": ["echo"] + ["x" * 1000] * 1900, "wait": True, "timeout_s": 30})
    assert answer.status_code == 200 and answer.json()["exit_code"] == 0, answer.text[:300]


def test_a_longer_script_goes_by_a_file(http, box, run):
    script = "# " + "x" * 3_000_000 + "\necho done\n"
    put = http.put(f"/api/v1/sandboxes/{box['id']}/files", params={"path": "/tmp/script"}, content=script.encode())
    assert put.status_code in (200, 201, 204), put.text
    assert run("sh /tmp/script")["stdout"] == "done\n"


def test_a_commands_record_stays_small(http, box):
    answer = http.post(f"/api/v1/sandboxes/{box['id']}/commands",
                       json={"id": "long", "command": "true #" + "x" * 500_000, "wait": True, "timeout_s": 30})
    assert answer.json()["exit_code"] == 0
    told = http.get(f"/api/v1/sandboxes/{box['id']}/commands/long").json()
    assert told["argv_truncated"] is True and told["argv"][:2] == ["/bin/sh", "-c"] and len(told["argv"][2]) == 4096
    http.post(f"/api/v1/sandboxes/{box['id']}/commands", json={"id": "short", "argv": ["true"], "wait": True, "timeout_s": 30})
    assert http.get(f"/api/v1/sandboxes/{box['id']}/commands/short").json()["argv_truncated"] is False
