"""A host that loses its power forgets what was not on the disk yet: each record may be missing
without the others.

Then nothing is torn, nothing leaks, and the daemon reports what is lost.
(docs/operator/upgrade.md, docs/decisions/0016-power-cuts.md)
"""
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

from census import census
from harness import keeper_of, needs_root, slow, wait_until
from host_restart import guardian, tops, turn_off, turn_on

pytestmark = needs_root


def test_each_record_may_be_missing_without_the_others(own_daemon, tmp_path):
    daemon = own_daemon()
    with daemon.http() as http:
        first = http.post("/api/v1/sandboxes", json={}).json()  # what a first use makes once
        http.delete(f"/api/v1/sandboxes/{first['id']}")
        clean = census(daemon)
        ids = {
            name: http.post("/api/v1/sandboxes", json={"name": name}).json()["id"]
            for name in ("whole", "no-record", "no-row", "no-disk", "row-alone")
        }
        for name in ids:
            http.put(
                f"/api/v1/sandboxes/{name}/files",
                params={"path": "/root/kept"},
                content=name.encode(),
            )
        told = http.get("/api/v1/events", params={"limit": 100}).json()["items"][-1]["seq"]
    store = pathlib.Path(f"/proc/{guardian(daemon)}/root{daemon.data}/store")

    def disk_goes(name):
        disk = store / ids[name]
        assert disk.exists()  # positive control

        def gone():
            if (
                subprocess.run(
                    ["btrfs", "subvolume", "delete", disk], capture_output=True
                ).returncode
                != 0
            ):
                shutil.rmtree(disk, ignore_errors=True)
            return not disk.exists()

        wait_until(gone, "the disk is gone")

    turn_off(
        daemon,
        {box: keeper_of(daemon, box) for box in ids.values()},
        lambda: [disk_goes("no-disk"), disk_goes("row-alone")],
    )
    (daemon.data / "sandboxes" / ids["no-record"] / "record").write_bytes(
        b""
    )  # as a file system leaves a new file
    for folder in ("sandboxes", "spool"):
        shutil.rmtree(daemon.data / folder / ids["row-alone"])
    with sqlite3.connect(daemon.data / "state.db") as db:
        db.execute("delete from sandbox where id = ?", (ids["no-row"],))
    db.close()

    turn_on(daemon, tmp_path)
    with daemon.http() as http:
        boxes = {box["name"]: box for box in http.get("/api/v1/sandboxes").json()["items"]}
        assert {name: box["state"] for name, box in boxes.items()} == {
            "whole": "stopped",
            "no-record": "stopped",
            "no-disk": "failed",
            "row-alone": "failed",
        }
        for name in ("no-disk", "row-alone"):
            assert "disk" in boxes[name]["reason"], boxes[name]
        for name in ("whole", "no-record"):
            assert (
                http.get(f"/api/v1/sandboxes/{name}/files", params={"path": "/root/kept"}).text
                == name
            )  # wakes it
        refused = http.post("/api/v1/sandboxes/no-disk/start")
        wait_until(
            lambda: http.get("/api/v1/sandboxes/no-disk").json()["state"] == "failed",
            "not started on an empty disk",
        )
        assert (
            "gone" in refused.text
            or "gone" in http.get("/api/v1/sandboxes/no-disk").json()["reason"]
        )
        # Earlier events may be missing. None of their numbers is given again.
        events = http.get("/api/v1/events", params={"limit": 100}).json()["items"]
        numbers = [event["seq"] for event in events]
        assert numbers == sorted(set(numbers)) and numbers[-1] > told + 1_000_000
        for name in boxes:
            assert http.delete(f"/api/v1/sandboxes/{name}").status_code == 204
    wait_until(lambda: census(daemon) == clean, "nothing is left", limit=slow(20))
    assert len(tops(daemon)) > 0  # positive control: these are the groups that were counted


def test_a_command_whose_record_was_left_empty_is_lost_and_stays_known(own_daemon, tmp_path):
    daemon = own_daemon()
    once = {
        "id": "once",
        "argv": ["sh", "-c", "echo ran >> /root/runs; echo out; exit 5"],
        "ttl_s": -1,
    }
    with daemon.http() as http:
        box = http.post("/api/v1/sandboxes", json={"name": "box"}).json()["id"]
        assert http.post("/api/v1/sandboxes/box/commands", json=once).json()["exit_code"] == 5
        runs = {
            "id": "runs",
            "argv": ["sh", "-c", "echo begun; sleep 1000"],
            "wait": False,
            "ttl_s": -1,
        }
        assert http.post("/api/v1/sandboxes/box/commands", json=runs).status_code == 201
        wait_until(
            lambda: http.get("/api/v1/sandboxes/box/commands/runs/output").text == "begun\n",
            "its output",
        )

    def empty():
        for name in ("once", "runs"):
            (daemon.data / "spool" / box / name / "record").write_bytes(
                b""
            )  # as ext4 leaves a new file, whatever was written

    turn_off(daemon, {box: keeper_of(daemon, box)}, empty)
    turn_on(daemon, tmp_path)
    with daemon.http() as http:
        for when in ("read of the spool", "told by the keeper"):
            for name, output in (("once", "out\n"), ("runs", "begun\n")):
                told = http.get(f"/api/v1/sandboxes/box/commands/{name}").json()
                assert (told["state"], "record damaged" in told["reason"]) == ("lost", True), (
                    when,
                    told,
                )
                assert http.get(f"/api/v1/sandboxes/box/commands/{name}/output").text == output
            assert http.post("/api/v1/sandboxes/box/start").status_code in (200, 202)
            wait_until(
                lambda: http.get("/api/v1/sandboxes/box").json()["state"] == "ready", "it runs"
            )
        again = http.post("/api/v1/sandboxes/box/commands", json=once)
        assert again.json()["state"] == "lost", again.text
        assert (
            http.get("/api/v1/sandboxes/box/files", params={"path": "/root/runs"}).text == "ran\n"
        ), "it ran once"
