"""Must show 4: big output, slow and often reconnecting readers, bounded memory."""
import hashlib
import json
import os
import pathlib
import random
import struct

import pytest
from websockets.sync.client import connect

from file_daemon import daemon, http  # noqa: F401 (fixtures)
from harness import keeper_of

# A quarter of a gibibyte here, all of it in the long form (tests/long commands).
MUCH = (1 << 30) if os.environ.get("CAY_LONG") else (1 << 28)
# Deterministic, incompressible enough, and quick to make: an AES stream of zeros.
MAKE = (
    "openssl enc -aes-128-ctr -K 00112233445566778899aabbccddeeff -iv 0 -in /dev/zero 2>/dev/null "
    "| head -c {size}"
)


def expected(size):
    import subprocess

    done = subprocess.Popen(["sh", "-c", MAKE.format(size=size)], stdout=subprocess.PIPE)
    digest = hashlib.sha256()
    while chunk := done.stdout.read(1 << 20):
        digest.update(chunk)
    done.wait()
    return digest.hexdigest()


def resident(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def socket(daemon, box):
    return connect(
        f"ws://127.0.0.1:{daemon.port}/api/v1/sandboxes/{box['id']}/commands/ws",
        additional_headers={"X-Api-Key": daemon.key},
        max_size=1 << 20,
        compression=None,
        close_timeout=0.2,
    )  # with a full queue this client reads no more, so it never sees the close frame


def read_from(daemon, box, command_id, offset, budget, digest, pause=None):
    """Reads at most `budget` bytes of stdout from `offset`; returns (new offset, end frame or
    None)."""
    import json

    got = 0
    with socket(daemon, box) as ws:
        ws.send(
            json.dumps(
                {"type": "attach", "id": command_id, "stdout_offset": offset, "stderr_offset": 0}
            )
        )
        while budget is None or got < budget:
            frame = ws.recv(timeout=60)
            if isinstance(frame, str):
                message = json.loads(frame)
                assert message["type"] in ("started", "end"), message
                if message["type"] == "end":
                    return offset, message
                continue
            stream, _, at = struct.unpack_from("<BBQ", frame)
            data = frame[10:]
            if stream == 1:
                assert at == offset, f"hole or repeat: {at} != {offset}"
                digest.update(data)
                offset += len(data)
                got += len(data)
                if pause:
                    pause(offset)
    return offset, None


@pytest.mark.heavy
@pytest.mark.parametrize("how", ["slow", "reconnecting"])
def test_much_output(daemon, http, box, how):
    answer = http.post(
        f"/api/v1/sandboxes/{box['id']}/commands",
        json={
            "command": MAKE.format(size=MUCH),
            "wait": False,
            "timeout_s": 0,
            "idle_timeout_s": -1,
        },
    )
    assert answer.status_code == 201, answer.text
    command_id, digest = answer.json()["id"], hashlib.sha256()
    if how == "slow":
        # A reader that stalls until the writer is done: everything waits in the spool.
        import time

        stalls = iter(range(1 << 20, MUCH, MUCH // 8))
        upcoming = [next(stalls)]

        def pause(offset):
            if offset >= upcoming[0]:
                upcoming[0] = next(stalls, MUCH * 2)
                time.sleep(0.3)  # the slowness under test, not a synchronisation

        offset, end = read_from(daemon, box, command_id, 0, None, digest, pause)
    else:
        rng, offset, end = random.Random(3), 0, None
        for _ in range(50):
            offset, end = read_from(
                daemon, box, command_id, offset, rng.randrange(1, MUCH // 60), digest
            )
        offset, end = read_from(daemon, box, command_id, offset, None, digest)
    assert offset == MUCH and end is not None
    assert digest.hexdigest() == expected(MUCH)
    assert resident(daemon.process.pid) < 64 << 20
    assert resident(keeper_of(daemon, box["id"])) < 64 << 20


def test_exact_bytes_of_every_value(run):
    import base64

    got = run('for i in $(seq 0 255); do printf "\\\\$(printf %03o $i)"; done')
    assert base64.b64decode(got["stdout_base64"]) == bytes(range(256))


def test_output_leaves_the_hosts_reserve_alone(own_daemon, tmp_path):
    import shutil

    daemon = own_daemon()
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={}).json()
        url = f"/api/v1/sandboxes/{box['id']}/commands"

        def gap_of(size):
            got = http.post(
                url, json={"command": f"head -c {size} /dev/zero", "max_output_bytes": 1}
            ).json()
            assert (got["exit_code"], got["stdout_bytes"]) == (0, size)
            return http.get(
                f"{url}/{got['command_id']}/output", params={"stream": "stdout"}
            ).headers.get("X-Cay-Gap")

        assert gap_of(4_000_000) is None

        def reserve(size):
            config = tmp_path / "cay.toml"
            config.write_text(f"[host]\ndisk_reserve_bytes = {size}\n")
            daemon.args = ["--config", config]
            daemon.restart()

        # From now on the disk has less free than is kept back: ordinary outputs may have half of
        # it.
        reserve(shutil.disk_usage(daemon.data).free * 3 // 2)
        assert gap_of(100_000) is None
        assert gap_of(4_000_000) == f"{128 * 1024}-{4_000_000 - 128 * 1024}"
        # That half is used up as well: however many commands there are, each keeps a page.
        reserve(1 << 60)
        assert gap_of(4096) is None
        assert gap_of(100_000) == f"2048-{100_000 - 2048}"


def test_late_bytes_of_children_left_are_marked_after_the_end(daemon, http, box):
    import json

    with socket(daemon, box) as ws:
        ws.send(
            json.dumps(
                {
                    "type": "start",
                    "command": "(sleep 0.5; echo late) & echo early",
                    "idle_timeout_s": -1,
                }
            )
        )
        kinds = []
        while True:
            frame = ws.recv(timeout=30)
            if isinstance(frame, str):
                kinds.append(json.loads(frame)["type"])
                if kinds[-1] == "end":
                    break
            else:
                kinds.append(frame[10:])
    assert kinds == ["started", b"early\n", "end"]


def kept(result):
    """The beginning and the end of a result's stdout. What it says of the gap is true."""
    text, gap = result["stdout"].encode(), result["stdout_gap"]
    note = text[gap["at"] : gap["at"] + gap["note_bytes"]].decode()
    assert note == f"\n[cay: {gap['length']} bytes of output are left out here]\n", note
    head, tail = text[: gap["at"]], text[gap["at"] + gap["note_bytes"] :]
    assert gap["offset"] == len(head)
    assert len(head) + gap["length"] + len(tail) == result["stdout_bytes"] and result["truncated"]
    return head.decode(), tail.decode()


CUPS = f"seq -f 'line %06.0f {'☕' * 16}' 50000"


def test_a_bounded_result_keeps_the_end_of_the_output(daemon, http, box):
    """A compiler's last line counts: in every document that is bounded, in whole characters."""
    line = f"{CUPS}; echo 'x.c:1: error: the last line'; exit 1"
    url = f"/api/v1/sandboxes/{box['id']}"
    told = daemon.cli("exec", "--json", box["id"], "--", "sh", "-c", line)
    results = [
        json.loads(told.out),
        http.post(f"{url}/commands", json={"command": line}).json(),
        http.post(f"{url}/batch", json={"command": {"command": line}}).json()["command"],
    ]
    whole = daemon.cli("exec", box["id"], "--", "sh", "-c", line).out.decode()
    assert told.code == 1 and len(whole.encode()) > 2 << 20
    for result in results:
        head, tail = kept(result)
        assert whole.startswith(head) and whole.endswith(tail) and "\ufffd" not in head + tail
        assert tail.endswith("\nx.c:1: error: the last line\n")
        assert (1 << 20) - 100 < len(result["stdout"].encode()) <= 1 << 20
        assert len(head.encode()) > 500_000 and len(tail.encode()) > 500_000
        assert result["stderr"] == "" and result["stderr_gap"] is None
    short = json.loads(daemon.cli("exec", "--json", box["id"], "--", "echo", "short").out)
    assert (short["stdout"], short["stdout_gap"], short["truncated"]) == ("short\n", None, False)


def test_a_waited_answer_marks_what_a_small_spool_dropped(daemon, http, box):
    """A line of two halves that are joined would be one that nobody wrote."""
    body = {
        "argv": ["seq", "-w", "1", "200000"],
        "output_limit_bytes": 4096,
        "max_output_bytes": 8 << 20,
    }
    got = http.post(f"/api/v1/sandboxes/{box['id']}/commands", json=body).json()
    whole = "".join(f"{n:06}\n" for n in range(1, 200001))
    head, tail = kept(got)
    assert got["stdout_bytes"] == len(whole) and min(len(head), len(tail)) >= 2000
    assert whole.startswith(head) and whole.endswith(tail)
    words = ["--since-offset", "100", box["id"], got["command_id"]]
    again = json.loads(daemon.cli("attach", "--json", *words).out)
    gap = again["stdout_gap"]
    assert gap["offset"] == gap["at"] + 100 == 2048, "the spool's own gap, after the first half"
    assert again["stdout"].endswith(tail)
