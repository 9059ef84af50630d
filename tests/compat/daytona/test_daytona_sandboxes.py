"""Daytona's Python client, unmodified: sandboxes, snapshots, volumes, secrets and links."""
import datetime

import httpx
import pytest

from daytona import (
    CreateSandboxFromSnapshotParams,
    DaytonaConflictError,
    DaytonaError,
    DaytonaNotFoundError,
    ListSandboxesQuery,
    Resources,
    VolumeMount,
)
from daytona.common.secret import CreateSecretParams, UpdateSecretParams
from harness import wait_until


def test_a_sandbox_is_made_found_listed_and_deleted(client, name):
    made = client.create(
        CreateSandboxFromSnapshotParams(
            name=name, labels={"suite": name}, env_vars={"COLOUR": "green"}, auto_stop_interval=7
        )
    )
    try:
        assert made.name == name and made.state == "started" and made.organization_id
        assert made.cpu >= 1 and made.memory >= 1 and made.disk >= 1
        assert made.auto_stop_interval == 7 and made.auto_delete_interval == -1
        datetime.datetime.fromisoformat(made.created_at.replace("Z", "+00:00"))
        assert made.process.exec("echo $COLOUR").result == "green\n"
        assert client.get(name).id == client.get(made.id).id == made.id
        assert [one.id for one in client.list(ListSandboxesQuery(labels={"suite": name}))] == [
            made.id
        ]
        assert made.set_labels({"suite": name, "step": "two"})["step"] == "two"
        found = client.list(ListSandboxesQuery(labels={"suite": name, "step": "two"}, limit=1))
        assert [one.id for one in found] == [made.id]
        with pytest.raises(DaytonaConflictError):
            client.create(CreateSandboxFromSnapshotParams(name=name))
    finally:
        made.delete(wait=True)
    with pytest.raises(DaytonaNotFoundError):
        client.get(made.id)


def test_pages_of_a_list_have_each_sandbox_once(client, name):
    params = CreateSandboxFromSnapshotParams(labels={"suite": name})
    made = [client.create(params) for _ in range(3)]
    try:
        found = client.list(ListSandboxesQuery(labels={"suite": name}, limit=1))
        assert sorted(one.id for one in found) == sorted(one.id for one in made)
    finally:
        for one in made:
            client.delete(one)


def test_the_disk_outlives_stop_and_archive(client, name):
    box = client.create(CreateSandboxFromSnapshotParams(name=name))
    try:
        box.fs.upload_file(b"kept", "kept.txt")
        client.stop(box)
        assert box.state == "stopped"
        box.archive()
        box.refresh_data()
        assert box.state in ("archived", "stopped")
        client.start(box)
        assert box.state == "started"
        assert box.fs.download_file("kept.txt") == b"kept"
        box.stop(force=True)
        box.wait_for_sandbox_stop()
        box.start()
        box.wait_for_sandbox_start()
        box.pause()
        assert box.state == "paused"
        box.start()
        assert box.process.exec("cat kept.txt").result == "kept"
    finally:
        box.delete()


def test_intervals_are_minutes_with_the_vendors_zero_and_minus_one(client, sandbox):
    sandbox.set_autostop_interval(30)
    sandbox.set_auto_archive_interval(60)
    sandbox.set_auto_delete_interval(120)
    sandbox.set_ttl(600)
    box = client.get(sandbox.id)
    assert (box.auto_stop_interval, box.auto_archive_interval) == (30, 60)
    assert box.auto_delete_interval == 120 and box.auto_destroy_at
    sandbox.set_ttl(0)
    sandbox.set_autostop_interval(0)
    sandbox.set_auto_delete_interval(-1)
    box = client.get(sandbox.id)
    assert box.auto_stop_interval == 0 and box.auto_delete_interval == -1
    assert not box.auto_destroy_at
    sandbox.set_auto_pause_interval(0)
    with pytest.raises(DaytonaError, match="pauses by request alone"):
        sandbox.set_auto_pause_interval(5)
    sandbox.refresh_activity()


def test_an_ephemeral_sandbox_goes_when_it_stops(client):
    box = client.create(CreateSandboxFromSnapshotParams(ephemeral=True))
    assert box.auto_delete_interval == 0
    box.stop()

    def gone():
        try:
            return client.get(box.id).state == "destroyed"
        except DaytonaNotFoundError:
            return True

    wait_until(gone, "the ephemeral sandbox is gone")


def test_a_fork_and_a_snapshot_have_the_disk(client, name):
    box = client.create(CreateSandboxFromSnapshotParams(name=name))
    others = []
    try:
        box.fs.upload_file(b"of the first", "who.txt")
        others.append(box.fork(f"{name}-fork"))
        box.create_snapshot(f"{name}-snapshot")
        snapshot = client.snapshot.get(f"{name}-snapshot")
        assert snapshot.state == "active"
        others.append(client.create(CreateSandboxFromSnapshotParams(snapshot=snapshot.name)))
        for other in others:
            assert other.id != box.id
            assert other.fs.download_file("who.txt") == b"of the first"
        listed = client.snapshot.list(page=1, limit=100)
        assert snapshot.name in [one.name for one in listed.items] and listed.total >= 2
        client.snapshot.activate(snapshot)
    finally:
        for one in [box, *others]:
            one.delete(wait=True)
    client.snapshot.delete(client.snapshot.get(f"{name}-snapshot"))
    with pytest.raises(DaytonaNotFoundError):
        client.snapshot.get(f"{name}-snapshot")


def test_a_resize_is_seen_inside(client, name):
    box = client.create(CreateSandboxFromSnapshotParams(name=name))
    try:
        with pytest.raises(DaytonaError, match="must be stopped"):
            box.resize(Resources(cpu=1, memory=3))
        box.stop()
        box.resize(Resources(cpu=1, memory=3))
        box.wait_for_resize_complete()
        box.start()
        assert (client.get(name).cpu, client.get(name).memory) == (1, 3)
    finally:
        box.delete()


def test_a_volume_outlives_its_sandboxes(client, name):
    volume = client.volume.get(name, create=True)
    assert volume.name == name and volume.state == "ready"
    assert client.volume.get(name).id == volume.id
    assert name in [one.name for one in client.volume.list()]
    params = CreateSandboxFromSnapshotParams(
        volumes=[VolumeMount(volume_id=volume.id, mount_path="/home/daytona/shared")]
    )
    for word in ("one", "two"):
        box = client.create(params)
        try:
            box.process.exec(f"echo {word} >>shared/words")
            text = box.process.exec("cat shared/words").result
            if word == "one":
                with pytest.raises(DaytonaConflictError):
                    client.volume.delete(volume)
        finally:
            box.delete(wait=True)
    assert text == "one\ntwo\n"
    client.volume.delete(volume)
    assert name not in [one.name for one in client.volume.list()]
    other = client.volume.create(name)
    client.volume.delete(other)


def test_secrets_are_named_and_never_shown(client, name):
    made = client.secret.create(
        CreateSecretParams(
            name=name, value="hush-hush-1", description="d", hosts=["api.example.com"]
        )
    )
    try:
        assert made.name == name and made.hosts == ["api.example.com"]
        assert "hush" not in str(made.to_dict() if hasattr(made, "to_dict") else made)
        assert client.secret.get(made.id).name == name
        assert name in [one.name for one in client.secret.list().items]
        changed = client.secret.update(made.id, UpdateSecretParams(value="hush-hush-2"))
        assert changed.id == made.id
    finally:
        client.secret.delete(made.id)
    with pytest.raises(Exception, match="404"):  # the generated client's own
        client.secret.get(made.id)


def test_links_to_a_port_with_a_token_and_signed(client, sandbox):
    sandbox.process.exec(
        "mkdir -p web && echo page >web/index.html && cd web && "
        "(setsid python3 -m http.server 8123 >/dev/null 2>&1 &)"
    )
    link = sandbox.get_preview_link(8123)
    token = {"X-Daytona-Preview-Token": link.token}

    def get(url, **headers):
        # Names below "localhost" are this machine, and not every resolver knows it.
        parts = httpx.URL(url)
        headers["Host"] = parts.netloc.decode()
        return httpx.get(parts.copy_with(host="127.0.0.1"), headers=headers)

    wait_until(lambda: get(link.url, **token).text == "page\n", "the service answers by its link")
    assert get(link.url).status_code in (307, 401)
    signed = sandbox.create_signed_preview_url(8123, 60)
    assert get(signed.url).text == "page\n"
    sandbox.expire_signed_preview_url(8123, signed.token)
    assert get(signed.url).status_code in (307, 401, 404, 410)


def test_signed_links_to_files(client, sandbox):
    sandbox.fs.upload_file(b"signed bytes", "signed.txt")
    url = sandbox.download_url("signed.txt", 60)
    assert httpx.get(url).content == b"signed bytes"
    assert httpx.get(url.replace("signed.txt", "other.txt")).status_code in (401, 403)
    up = sandbox.upload_url("up.txt")
    assert httpx.post(up, files={"file": ("up.txt", b"sent up")}).status_code == 200
    assert sandbox.fs.download_file("up.txt") == b"sent up"
    sandbox.rotate_signing_key()
    assert httpx.get(url).status_code in (401, 403)
    assert httpx.get(sandbox.download_url("signed.txt")).content == b"signed bytes"


def test_facts_about_a_sandbox(client, sandbox):
    home = sandbox.get_user_home_dir()
    assert home == sandbox.get_work_dir() == sandbox.get_user_root_dir()
    assert sandbox.process.exec("pwd").result.strip() == sandbox.get_work_dir()
    now = sandbox.get_metrics_latest()
    assert now.cpu_count >= 1 and 0 <= now.cpu_used_pct <= 100
    assert 0 < now.mem_used <= now.mem_total and 0 < now.disk_used <= now.disk_total
    assert sandbox.get_metrics()[-1].mem_total > 0
    sandbox.update_env({"FROM_ENV": "seen"})
    assert sandbox.process.exec("echo $FROM_ENV").result == "seen\n"
    with pytest.raises(DaytonaError):
        sandbox.update_env({}, unset=["FROM_ENV"])


def test_the_way_out_is_blocked_and_allowed_by_name(client, name):
    box = client.create(CreateSandboxFromSnapshotParams(name=name, network_block_all=True))
    try:
        assert client.get(name).network_block_all is True
        look = "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), 5)\""
        assert box.process.exec(look).exit_code != 0
        box.update_network_settings(
            network_block_all=False, domain_allow_list="pypi.org,*.pypi.org"
        )
        changed = client.get(name)
        assert changed.network_block_all is False
        assert changed.domain_allow_list == "pypi.org,*.pypi.org"
        box.set_public(True)
        assert client.get(name).public is True
    finally:
        box.delete()


def test_what_one_host_cannot_mean_is_refused_with_a_sentence(client, sandbox):
    assert client.warm_pool.list() == []
    with pytest.raises(Exception, match="pool"):  # the generated client's own
        client.warm_pool.create("default", 2)
    with pytest.raises(DaytonaError, match="SSH"):
        sandbox.create_ssh_access(5)
    with pytest.raises(DaytonaError, match="desktop"):
        sandbox.computer_use.start()
    with pytest.raises(DaytonaError, match="kvm"):
        client.create(CreateSandboxFromSnapshotParams(kvm=True))
