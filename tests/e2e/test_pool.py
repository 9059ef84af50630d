"""Sandboxes that are booted ahead: whoever gets one gets a fresh one, of his own, and nothing of
them is left behind."""
import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import subprocess

import httpx
import pytest

from census import census, processes_of
from harness import kill_keeper, needs_root, slow, wait_until
from image_root import root_tar

MIB = 1 << 20
# The room of the host bounds no pool of these tests.
ROOM = "[host]\nmemory_overcommit = 100.0\ncpu_overcommit = 1000.0\npool = {}\n"
HOST = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def metric(http, line):
    found = [
        float(one.rsplit(" ", 1)[1])
        for one in http.get("/metrics").text.splitlines()
        if one.startswith(line + " ")
    ]
    return found[0] if found else None


def spares(http):
    return metric(http, "cay_pool_spares")


def taken(http):
    return metric(http, 'cay_pool_takes_total{outcome="spare"}')


def has_spares(http, count):
    wait_until(lambda: spares(http) == count, f"{count} spares", limit=30)


@pytest.fixture
def pooled(own_daemon, tmp_path):
    def make(count, more=""):
        config = tmp_path / "pool.toml"
        config.write_text(ROOM.format(count) + more)
        return own_daemon("--config", str(config))

    return make


def create(http, **spec):
    answer = http.post("/api/v1/sandboxes", json=spec)
    assert answer.status_code == 201, answer.text
    return answer.json()


def run(http, box, command, **fields):
    body = {"command": command, "wait": True, "timeout_s": slow(30), **fields}
    answer = http.post(f"/api/v1/sandboxes/{box['id']}/commands", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def remove(http, *boxes):
    for box in boxes:
        assert http.delete(f"/api/v1/sandboxes/{box['id']}").status_code == 204


def fill(http, count, **spec):
    """Creates so many that the daemon keeps `count`, and removes them."""
    remove(http, *[create(http, **spec) for _ in range(count)])
    has_spares(http, count)


@contextlib.contextmanager
def other_tenant(daemon):
    """A client with a key of another tenant."""
    made = subprocess.run(
        [daemon.program, "key", "--data", daemon.data, "create", "other", "--tenant", "beta"],
        capture_output=True,
        text=True,
        check=True,
    )
    key = made.stdout.split()[-1]
    with httpx.Client(base_url=daemon.url, headers={"X-Api-Key": key}, timeout=60) as client:
        yield client


FACTS = """
cd /
set -- /proc/[0-9]*
echo "processes $#"
echo "host $(hostname) $(cat /etc/hostname)"
echo "key $KEY"
echo "files $(ls -A /tmp /root /home /var/tmp 2>/dev/null | grep -v ':$' | sort | tr '\\n' ' ')"
"""


def facts(http, box):
    done = run(http, box, FACTS)
    assert done["exit_code"] == 0, done
    return dict((line + " ").split(" ", 1) for line in done["stdout"].splitlines())


def test_a_taken_sandbox_is_as_good_as_a_booted_one(pooled):
    daemon = pooled(4)
    with daemon.http() as http:
        has_spares(http, 1)  # of all defaults, before anybody created one
        booted = create(http, name="booted", env={"KEY": "one"})
        assert taken(http) == 0, "a name of its own is a host name of its own"
        begin = datetime.datetime.now(datetime.timezone.utc)
        box = create(http, labels={"a": "b"}, env={"KEY": "two"}, idle_ttl_s=77)
        assert taken(http) == 1
        assert box["labels"] == {"a": "b"} and box["idle_ttl_s"] == 77
        same = ("state", "policy", "network", "limits", "snapshot", "profile", "created_by")
        assert {name: box.get(name) for name in same} == {name: booted.get(name) for name in same}
        created = datetime.datetime.fromisoformat(box["created_at"].replace("Z", "+00:00"))
        assert abs((created - begin).total_seconds()) < slow(5)
        wanted, got = facts(http, booted), facts(http, box)
        assert wanted.pop("host") == "booted booted "
        assert got.pop("host") == f"{box['name']} {box['name']} "
        assert (wanted.pop("key"), got.pop("key")) == ("one ", "two ")
        assert got == wanted
        assert daemon.cli("diff", box["id"], "--json").text == ""
        run(http, box, "echo mine > /root/mine; echo mine > /tmp/mine")
        remove(http, box)
        has_spares(http, 1)
        assert facts(http, create(http))["files"] == wanted["files"]
        assert taken(http) == 2
        # The policy is the request's.
        for _ in range(2):
            create(http, policy="off")
        has_spares(http, 4)  # two of each policy
        before = taken(http)
        shut = create(http, policy="off")
        assert taken(http) == before + 1
        assert (shut["policy"], shut["network"]["state"]) == ("off", "off")
        # It stops, starts, and is stopped, as any other.
        assert http.post(f"/api/v1/sandboxes/{shut['id']}/stop").status_code < 300
        assert run(http, shut, "hostname")["stdout"] == f"{shut['name']}\n"


def test_a_hundred_creations_at_once_get_one_each(pooled):
    daemon = pooled(16)
    small = {"limits": {"memory_bytes": 64 * MIB, "disk_bytes": 64 * MIB}}
    with daemon.http() as http:
        fill(http, 16, **small)
        before = taken(http)

        def life(number):
            with daemon.http() as mine:
                box = create(mine, **small)
                done = run(mine, box, f"echo {number} >> /root/mine; cat /root/mine; hostname")
                assert done["stdout"] == f"{number}\n{box['name']}\n", done
                return box

        with concurrent.futures.ThreadPoolExecutor(25) as pool:
            boxes = list(pool.map(life, range(100)))
        assert len({box["id"] for box in boxes}) == len({box["name"] for box in boxes}) == 100
        assert 15 <= taken(http) - before <= 100  # one of the 16 was of all defaults
        assert spares(http) <= 16
        listed = http.get("/api/v1/sandboxes", params={"limit": 500}).json()["items"]
        assert {box["id"] for box in listed} == {box["id"] for box in boxes}
        remove(http, *boxes)


@needs_root
def test_a_killed_daemon_with_a_full_pool_leaves_nothing(own_daemon):
    daemon = own_daemon()
    with daemon.http() as http:
        remove(http, create(http))  # what a first use makes once counts as before
    before = census(daemon)
    daemon.terminate()
    usual, daemon.args = daemon.args, [*daemon.args, "--pool", "4"]
    daemon.start()
    with daemon.http() as http:
        fill(http, 4)
    assert census(daemon)["cgroups"] > before["cgroups"]
    daemon.kill()
    assert len(processes_of((daemon.data / "instance").read_text().strip())) > 4, "they live on"
    daemon.args = usual
    daemon.start()
    wait_until(lambda: census(daemon) == before, "the machine as before")
    # A daemon that ends removes them.
    daemon.terminate()
    daemon.args = [*usual, "--pool", "4"]
    daemon.start()
    with daemon.http() as http:
        fill(http, 4)
    daemon.terminate()
    daemon.args = usual
    daemon.start()
    assert census(daemon) == before


def test_a_removed_snapshot_takes_its_spares_along(pooled):
    daemon = pooled(4)
    done = daemon.cli("snapshot", "import", "-", "--name", "small", stdin=root_tar())
    assert done.code == 0, done
    with daemon.http() as http:
        remove(http, *[create(http, snapshot="small") for _ in range(2)])
        has_spares(http, 3)  # and one of all defaults
        fsck = daemon.cli("snapshot", "fsck", timeout=120)
        assert fsck.code == 0, fsck
        box = create(http, snapshot="small")
        assert run(http, box, "cat /etc/os-release")["stdout"] == 'NAME="image of a test"\n'
        remove(http, box)
        assert daemon.cli("snapshot", "rm", "small").code == 0
        has_spares(http, 1)
        assert http.post("/api/v1/sandboxes", json={"snapshot": "small"}).status_code == 404
        fsck = daemon.cli("snapshot", "fsck", timeout=120)
        assert fsck.code == 0, fsck


def test_the_room_of_the_host_bounds_the_pool(own_daemon, tmp_path):
    config = tmp_path / "room.toml"
    reserve = HOST - 4 * 128 * MIB
    config.write_text(
        f"[host]\nmax_sandboxes = 3\nmemory_reserve_bytes = {reserve}\nmemory_overcommit = 1.0\n"
        f"pool = 8\n[defaults]\nmemory_bytes = {128 * MIB}\ncpu_millicores = 50\n"
    )
    daemon = own_daemon("--config", str(config))
    with daemon.http() as http:
        boxes = [create(http) for _ in range(2)]
        has_spares(http, 2)  # room for four, and two run
        boxes.append(create(http))
        has_spares(http, 1)
        refused = http.post("/api/v1/sandboxes", json={"timeout_s": 1})
        assert refused.json()["error"]["reason"] == "quota_sandboxes", "spares are nobody's"
        with other_tenant(daemon) as other:
            boxes.append(create(other, name="last"))
            has_spares(http, 0)
            remove(other, boxes.pop())
        remove(http, *boxes)


def test_nothing_of_a_tenant_is_in_a_spare(pooled):
    daemon = pooled(4)
    needle = os.urandom(8).hex()
    with daemon.http() as http, other_tenant(daemon) as other:
        boxes = [create(http, env={"TOKEN": needle}, labels={"l": needle}) for _ in range(4)]
        for box in boxes:
            assert run(http, box, "echo $TOKEN > /root/token")["exit_code"] == 0
        has_spares(http, 4)
        before = taken(http)
        theirs = create(other)
        assert taken(http) == before + 1
        look = "env; cat /proc/[0-9]*/environ; grep -rs . /root /tmp /etc /run /home 2>/dev/null"
        assert needle not in run(other, theirs, look, user="root")["stdout"]
        # Positive control.
        mine = create(http, env={"TOKEN": needle})
        assert needle in run(http, mine, look, user="root")["stdout"]
        assert [one["id"] for one in other.get("/api/v1/sandboxes").json()["items"]] == [
            theirs["id"]
        ]
        assert http.get(f"/api/v1/sandboxes/{theirs['id']}").status_code == 404


def test_a_drain_empties_the_pool_and_doctor_shows_it(pooled):
    daemon = pooled(2)
    with daemon.http() as http:
        has_spares(http, 1)
        shown = daemon.cli("doctor", "pool", "--json")
        assert json.loads(shown.text)["features"][0]["found"].startswith("1 of at most 2"), shown
        assert daemon.cli("drain").code == 0
        has_spares(http, 0)
        assert daemon.cli("drain", "--undo").code == 0
        has_spares(http, 1)


@needs_root
def test_a_spare_that_dies_is_replaced(pooled):
    daemon = pooled(2)
    with daemon.http() as http:
        has_spares(http, 1)
        (dead,) = [one.stem for one in (daemon.data / "run").glob("????????-*.sock")]
        kill_keeper(daemon, dead)
        died = 'cay_pool_removed_total{why="died"}'
        wait_until(lambda: metric(http, died) == 1, "its end is seen")
        box = create(http)
        assert box["id"] != dead
        assert run(http, box, "echo lives")["stdout"] == "lives\n"
        wait_until(lambda: not processes_of(dead), "nothing of it is left")
        assert not (daemon.data / "spool" / dead).exists()


def has_ended(pid):
    """Whether it runs no more. Nobody may have waited for it yet."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf8", errors="replace")
    except OSError:
        return True
    return stat.rsplit(")", 1)[1].split()[0] in "ZX"


@needs_root
def test_a_spare_whose_death_was_not_reported_fails_no_creation(pooled):
    daemon = pooled(2)
    with daemon.http() as http:

        def unowned():
            rows = {one["id"] for one in http.get("/api/v1/sandboxes").json()["items"]}
            return {one.stem for one in (daemon.data / "run").glob("????????-*.sock")} - rows

        for _ in range(3):
            # None boots meanwhile.
            wait_until(lambda: 0 < spares(http) == len(unowned()), "spares", limit=slow(30))
            dead = unowned()
            for keeper in [kill_keeper(daemon, one) for one in dead]:
                wait_until(lambda: has_ended(keeper), "its end", interval=0)
            box = create(http)  # at once
            assert run(http, box, "echo lives")["stdout"] == "lives\n"
            for one in dead - {box["id"]}:
                wait_until(lambda: not processes_of(one), "nothing of it is left")
            remove(http, box)
