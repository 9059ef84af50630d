"""How long a command may be, from both APIs: what the kernel takes runs, and what it does not take
is refused by name."""
import json

import pytest
from websockets.sync.client import connect

from harness import slow

LIMIT = 2_000_000  # model/command.h, kMaxCommandBytes
REQUEST_LIMIT = 16 << 20  # model/command_limits.h, kMaxCommandRequest
THOUSANDS = ["x" * 1000] * 1100
NAMES = [f"/srv/data/set-{i % 97}/part-{i:06}-of-020000.parquet" for i in range(20_000)]
ESCAPED = ["\x01" * 120_000] * 15  # six bytes of JSON each
COUNT = ("sh", "-c", "echo $#; cat /proc/$$/cmdline | wc -c", "sh")
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
    for body in (
        {"command": "#" * LIMIT},
        {"argv": ["echo", "x" * 131_072]},
        {"argv": ["echo"] + ["x" * 1000] * 2000},
        {"command": "true", "env": {"A": "x" * 131_072}},
    ):
        answer = http.post(
            f"/api/v1/sandboxes/{box['id']}/commands", json={**body, "wait": True, "timeout_s": 30}
        )
        assert answer.status_code == 413, answer.text[:300]
        error = answer.json()["error"]
        assert error["reason"] == "arguments_too_long"
        assert ("2000000" in error["message"] or "131071" in error["message"]) and "file" in error[
            "message"
        ]
    # Positive control: a little less runs.
    answer = http.post(
        f"/api/v1/sandboxes/{box['id']}/commands",
        json={"argv": ["echo"] + ["x" * 1000] * 1900, "wait": True, "timeout_s": 30},
    )
    assert answer.status_code == 200 and answer.json()["exit_code"] == 0, answer.text[:300]


@pytest.mark.parametrize("many", [THOUSANDS, NAMES, ESCAPED], ids=["thousands", "names", "escaped"])
def test_long_argument_lists_by_the_cli(daemon, http, box, many):
    """What one route takes, all do: exec and run over the WebSocket, as the HTTP route."""
    size = sum(len(one) + 1 for one in [*COUNT, *many])
    answer = http.post(
        f"/api/v1/sandboxes/{box['id']}/commands",
        json={"argv": [*COUNT, *many], "wait": True, "timeout_s": 30},
    )
    assert answer.json()["stdout"] == f"{len(many)}\n{size}\n", answer.text[:300]
    for command in (("exec", box["id"]), ("run",)):
        got = daemon.cli(*command, "--", *COUNT, *many)
        assert (got.code, got.text) == (0, answer.json()["stdout"]), got.err[:300]


def test_a_message_over_the_limit_is_answered_at_once(daemon, http, box):
    """By the WebSocket as by HTTP: by a sentence that names the limit."""
    start = json.dumps({"type": "start", "argv": ["echo", "x" * 40_000_000]})
    url = daemon.url.replace("http://", "ws://") + f"/api/v1/sandboxes/{box['id']}/commands/ws"
    with connect(url, additional_headers={"X-Api-Key": daemon.key}) as socket:
        socket.send(start)
        told = json.loads(socket.recv(timeout=slow(5)))
        assert told["type"] == "error" and told["error"]["code"] == "invalid_argument"
        with pytest.raises(Exception, match=str(REQUEST_LIMIT)):
            socket.recv(timeout=slow(5))
        assert socket.close_code == 1009
        assert socket.close_reason == f"the message is longer than {REQUEST_LIMIT} bytes"
    answer = http.post(f"/api/v1/sandboxes/{box['id']}/commands", content=start)
    assert answer.status_code == 413
    for error in (told["error"], answer.json()["error"]):
        assert error["reason"] == "body_too_large" and str(REQUEST_LIMIT) in error["message"], error


def test_beyond_the_limit_the_cli_says_so(daemon, box):
    # A little less than what the host's own kernel takes.
    got = daemon.cli("exec", box["id"], "--", "true", *["y" * 100] * 18_500)
    assert got.code == 125 and b"2000000" in got.err and b"upload it" in got.err, got.err[:500]


def test_a_longer_script_goes_by_a_file(http, box, run):
    script = "# " + "x" * 3_000_000 + "\necho done\n"
    put = http.put(
        f"/api/v1/sandboxes/{box['id']}/files",
        params={"path": "/tmp/script"},
        content=script.encode(),
    )
    assert put.status_code in (200, 201, 204), put.text
    assert run("sh /tmp/script")["stdout"] == "done\n"


def test_a_commands_record_stays_small(http, box):
    answer = http.post(
        f"/api/v1/sandboxes/{box['id']}/commands",
        json={"id": "long", "command": "true #" + "x" * 500_000, "wait": True, "timeout_s": 30},
    )
    assert answer.json()["exit_code"] == 0
    told = http.get(f"/api/v1/sandboxes/{box['id']}/commands/long").json()
    assert (
        told["argv_truncated"] is True
        and told["argv"][:2] == ["/bin/sh", "-c"]
        and len(told["argv"][2]) == 4096
    )
    http.post(
        f"/api/v1/sandboxes/{box['id']}/commands",
        json={"id": "short", "argv": ["true"], "wait": True, "timeout_s": 30},
    )
    assert (
        http.get(f"/api/v1/sandboxes/{box['id']}/commands/short").json()["argv_truncated"] is False
    )
