"""What `cay doctor` says of this machine, held against what the machine itself says: hosts differ
(cgroup v1 or v2, the kind of btrfs quota, the kernel), so no fact is a constant here but those of
the guest."""
import json
import os
import pathlib
import socket

import pytest

from harness import needs_root


def told_now(daemon):
    got = daemon.cli("doctor", "--json")
    assert got.code == 0, got
    report = json.loads(got.text)
    assert report["daemon"], f"the launcher's own probes, not what the CLI can see alone: {report}"
    return {feature["name"]: feature for feature in report["features"]}


@pytest.fixture(scope="module")
def told(daemon):
    return told_now(daemon)


def v1_controllers():
    """Controllers that this host keeps on cgroup v1."""
    found = set()
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        kind, _, options = line.split(" - ")[1].split(" ")[:3]
        if kind == "cgroup":
            found |= set(options.split(",")) & {"memory", "pids", "cpu"}
    return found


def test_the_kernel_is_named(told):
    assert told["kernel"]["found"].split()[0] == os.uname().release


def test_what_the_kernel_says_that_it_lacks_is_told(told):
    places = pathlib.Path("/sys/devices/system/cpu/vulnerabilities")
    said = {place.name: place.read_text() for place in places.iterdir()} if places.exists() else {}
    lacking = sorted(name for name, text in said.items() if text.startswith("Vulnerable"))
    lacking += sorted(
        f"{name} (between the threads of a core)"
        for name, text in said.items()
        if name not in lacking and "SMT vulnerable" in text
    )
    if lacking:
        assert (
            told["processor"]["found"].split(";")[0] == "open to " + ", ".join(lacking)
            and not told["processor"]["ok"]
            and told["processor"]["remedy"]
        )
    else:
        assert told["processor"]["ok"]


def test_threads_of_a_core_are_told(told):
    active = pathlib.Path("/sys/devices/system/cpu/smt/active")
    assert ("two threads share a core" in told["processor"]["found"]) == (
        active.exists() and active.read_text().strip() == "1"
    )


def test_own_clocks_are_told(told):
    clocks = told["own clocks"]
    most = pathlib.Path("/proc/sys/user/max_time_namespaces")
    assert clocks["ok"] == (
        os.path.exists("/proc/self/ns/time") and most.read_text().strip() != "0"
    ), clocks
    assert clocks["ok"] or (clocks["fallback"] and clocks["remedy"])


def test_crypto_sockets_are_told_and_not_loaded(told):
    def loaded():
        return any(
            line.startswith("ALG ")
            for line in pathlib.Path("/proc/net/protocols").read_text().splitlines()
        )

    crypto = told["crypto sockets"]
    assert (
        crypto["ok"] and crypto["found"].startswith("AF_ALG is in the kernel") == loaded()
    ), crypto
    if loaded() or "at any process's request" in crypto["found"]:
        assert "modprobe.d" in crypto["remedy"], crypto


@needs_root
def test_a_socket_of_docker_that_the_daemon_reaches_is_told(told, daemon):
    place = pathlib.Path("/run/docker.sock")
    if place.exists():
        pytest.skip("this host has a socket of Docker's own")
    assert told["container engines"]["ok"] or "docker" not in told["container engines"]["found"]

    def now():
        return told_now(daemon)["container engines"]

    with socket.socket(socket.AF_UNIX) as engine:
        try:
            engine.bind(str(place))
            place.chmod(0o600)
            os.chown(place, 0, 0)
            if daemon.data.stat().st_uid != 0:
                assert "/run/docker.sock is not for the daemon's user" in now()["found"]
                os.chown(place, daemon.data.stat().st_uid, 0)
            reached = now()
            assert (
                not reached["ok"]
                and "/run/docker.sock is open to the daemon's user" in reached["found"]
                and reached["remedy"]
            ), reached
            place.chmod(0o666)
            open_to_all = now()
            assert (
                not open_to_all["ok"]
                and "open to everybody" in open_to_all["found"]
                and "chmod o-rw /run/docker.sock" in open_to_all["remedy"]
            )
        finally:
            place.unlink(missing_ok=True)


def test_what_everybody_may_write_is_told(told, daemon):
    assert told["data directory"]["ok"], told["data directory"]
    planted = daemon.data / "open-to-all"
    planted.write_text("")
    planted.chmod(0o666)
    try:
        got = told_now(daemon)["data directory"]
        assert (
            not got["ok"]
            and str(planted.resolve()) in got["found"]
            and got["remedy"] == f"chmod o-w {planted.resolve()}"
        ), got
    finally:
        planted.unlink()


def test_known_defects_of_the_kernel_are_looked_up(told):
    told = told["kernel defects"]
    assert told["ok"] == (not told["found"].startswith("CVE-"))
    assert told["ok"] or "security tracker" in told["remedy"]


def test_where_each_controller_is(told):
    old = v1_controllers()
    for controller in ("memory", "pids", "cpu"):
        assert (
            f"{controller} {'v1' if controller in old else 'v2'}" in told["cgroups"]["found"]
        ), told["cgroups"]
    assert told["cgroups"]["found"].startswith("hybrid" if old else "pure v2")
    assert told["cgroups"]["fallback"] == ("limits are written through v1" if old else "")
    assert told["cgroup.kill"]["ok"]


def test_which_quota_holds_the_disk_limit(told):
    quota = told["disk quota"]
    if not quota["ok"]:
        assert "not enforced" in quota["fallback"] and quota["remedy"]
        return
    major, minor = (int(part) for part in os.uname().release.split(".")[:2])
    simple = (major, minor) >= (6, 7)
    assert ("simple quota" in quota["found"]) == simple
    assert ("full qgroups" in quota["fallback"]) != simple


def test_the_room_for_filters_is_tried(told):
    limit = pathlib.Path("/proc/sys/net/core/bpf_jit_limit")
    room = told["room for filters"]
    assert room["ok"] == room["found"].startswith("at least 64 more"), room
    assert room["ok"] or "net.core.bpf_jit_limit" in room["remedy"], room
    if os.geteuid() == 0 and limit.exists():
        assert limit.read_text().strip() in room["found"], room


def test_swap_and_links(told, daemon):
    used = len(pathlib.Path("/proc/swaps").read_text().splitlines()) > 1
    assert told["swap"]["found"].startswith("in use" if used else "none")
    same = os.stat("/usr").st_dev == os.stat(daemon.data).st_dev
    assert ("copied" in told["default snapshot"]["fallback"]) != same


def test_what_is_missing_has_a_remedy_or_a_fallback(told):
    assert {
        "network",
        "gate",
        "kernel defects",
        "processor",
        "idmapped mounts (layers)",
        "idmapped mounts (disks)",
        "overlay",
        "seccomp",
        "room for filters",
        "landlock",
        "user namespaces",
        "own clocks",
        "crypto sockets",
        "module requests",
        "container engines",
        "data directory",
        "uid ranges",
    } <= set(told)
    for feature in told.values():
        assert feature["found"], feature
        assert feature["ok"] or feature["fallback"] or feature["remedy"], feature


def test_what_sandboxes_lack_is_told(told):
    for name, path in (
        ("python3", "/usr/bin/python3"),
        ("git", "/usr/bin/git"),
        ("npm", "/usr/bin/npm"),
        ("sudo", "/usr/bin/sudo"),
    ):
        there = f" {name}," in f" {told['programs']['found']},"
        assert there == os.path.lexists(path), (name, told["programs"])
        assert there or (name in told["programs"]["fallback"] and told["programs"]["remedy"])


def test_the_table_shows_the_same(told, daemon):
    text = daemon.cli("doctor").text
    for feature in told.values():
        assert feature["name"] in text and feature["fallback"] in text, feature["name"]


@pytest.mark.skipif(
    "CAY_GUEST" not in os.environ, reason="what is true of tests/guest/run's guest alone"
)
def test_the_guest_is_debian_12_with_cgroup_v2_alone(told, daemon):
    print(daemon.cli("doctor").text)
    assert os.uname().release.startswith("6.1.") and told["kernel"]["ok"]
    assert told["cgroups"]["found"] == "pure v2: memory v2, pids v2, cpu v2, kill v2"
    assert "full qgroups" in told["disk quota"]["fallback"]
    assert told["landlock"]["found"] == "ABI 2, for the gate"  # of Linux 5.19; ABI 3 came with 6.2
    assert all(feature["ok"] for feature in told.values()), told
