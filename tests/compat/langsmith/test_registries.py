"""LangSmith's clients, unmodified, build snapshots from a real registry, and capture and boot."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import images
import pytest
from image_root import root_tar

from harness import slow

HERE = pathlib.Path(__file__).resolve().parent
NODE = HERE.parents[2] / "build" / "node"
NEWEST = (HERE / "versions.txt").read_text().split()[-1]
LOGIN = ("robot-of-a-test", "hush hush pass:word")
GIB = 1 << 30
PROGRAMS = ("bash", "sh", "cat", "chmod", "id", "ls", "mkdir")

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("docker-registry", "skopeo"))),
    reason="not installed: docker-registry and skopeo",
)


@pytest.fixture(scope="module")
def folder():
    made = pathlib.Path(tempfile.mkdtemp(prefix="cay-registries-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def layout(folder):
    config = {"User": "7:8", "WorkingDir": "/srv", "Env": ["FROM_IMAGE=yes", "PATH=/bin"]}
    root = root_tar(programs=PROGRAMS, more={"/srv/note": b"of the image\n"})
    return images.Image(root, config=config).layout(folder / "layout")


def push(layout, host, *how):
    to = f"docker://{host}/team/app:1"
    images.skopeo("copy", "--dest-tls-verify=false", *how, f"oci:{layout}", to)
    return f"{host}/team/app:1"


@pytest.fixture(scope="module")
def opened(folder, layout):
    """The image in a registry that everybody may pull from."""
    with images.registry(folder / "open") as host:
        yield push(layout, host)


@pytest.fixture(scope="module")
def closed(folder, layout):
    """The image in a registry that wants a login."""
    with images.registry(folder / "closed", login=LOGIN) as host:
        yield push(layout, host, f"--dest-creds={LOGIN[0]}:{LOGIN[1]}")


@pytest.fixture
def names(client):
    """Makes names of snapshots, which are deleted afterwards."""
    made = []

    def name(what):
        made.append(f"{what}-{os.urandom(4).hex()}")
        return made[-1]

    yield name
    for one in client.list_snapshots():
        if one.name in made:
            client.delete_snapshot(one.id)


@pytest.fixture
def registry(client, closed):
    host = closed.split("/")[0]
    made = client.registries.create(
        name=f"closed-{os.urandom(4).hex()}",
        url=f"http://{host}",
        username=LOGIN[0],
        password=LOGIN[1],
    )
    yield made
    client.registries.delete(made.name)


def output(client, snapshot, line, **how):
    with client.sandbox(snapshot_id=snapshot.id, **how) as box:
        got = box.run(line)
        assert got.exit_code == 0, got
        return got.stdout


def test_a_snapshot_of_an_image_is_installed_into_captured_and_booted(client, names, opened):
    name = names("open")
    made = client.create_snapshot(
        name, opened, 2 * GIB, tag="base", run_config={"work_dir": "/root", "user": "0"}
    )
    assert (made.status, made.name, made.docker_image) == ("ready", name, opened)
    assert client.get_snapshot(f"{name}:base").id == made.id
    with client.sandbox(snapshot_name=f"{name}:base") as box:
        assert box.run("pwd; id -u; echo $FROM_IMAGE").stdout == "/root\n0\nyes\n"
        box.write("/bin/greet", b"#!/bin/sh\necho installed\n")
        assert box.run("chmod +x /bin/greet && greet").stdout == "installed\n"
        captured = client.capture_snapshot(
            box.name, name, tag="installed", run_config={"env_vars": {"FROM_CAPTURE": "yes"}}
        )
        box.run("rm /bin/greet || true; echo later > /srv/note")
    line = "greet; cat /srv/note; echo $FROM_IMAGE $FROM_CAPTURE"
    assert output(client, captured, line) == "installed\nof the image\nyes yes\n"
    assert client.get_snapshot(f"{name}:installed").id == captured.id
    assert client.get_snapshot(f"{name}:base").id == made.id, "a tag of its own"


def test_a_login_is_kept_used_for_its_host_alone_and_shown_nowhere(
    daemon, client, names, registry, opened, closed
):
    from langsmith.sandbox import ResourceCreationError, ValidationError

    assert registry.created_by and registry.created_by == registry.updated_by
    again = client.registries.retrieve(registry.name)
    assert (again.id, again.url) == (registry.id, registry.url)
    assert registry.id in [one.id for one in client.registries.list().registries]
    with pytest.raises(ResourceCreationError, match="denied|unauthorized|login"):
        client.create_snapshot(names("denied"), closed, 2 * GIB)
    made = client.create_snapshot(names("closed"), closed, 2 * GIB, registry_id=registry.id)
    assert made.registry_id == client.get_snapshot(made.id).registry_id == registry.id
    assert output(client, made, "pwd; id -u; cat note") == "/srv\n7\nof the image\n"
    with pytest.raises(ValidationError):
        client.create_snapshot(names("other"), opened, 2 * GIB, registry_id=registry.id)
    client.registries.update(registry.name, password="wrong")
    with pytest.raises(ResourceCreationError, match="denied|unauthorized|login"):
        client.create_snapshot(names("wrong"), closed, 2 * GIB, registry_id=registry.id)
    client.registries.update(registry.name, password=LOGIN[1])
    with daemon.http() as http:
        seen = [
            http.get(f"/{prefix}sandboxes/{what}").text
            for prefix in ("v2/", "api/v2/")
            for what in ("registries", f"registries/{registry.name}", "snapshots", "usage")
        ]
        seen += [http.get(f"/api/v1/{what}").text for what in ("snapshots", "events?limit=1000")]
    assert registry.name in seen[0] and registry.name in seen[1], "the control"
    seen.append(daemon.log.read_text(errors="replace"))
    for text in seen:
        assert LOGIN[0] not in text and LOGIN[1] not in text
    table = daemon.data / "state.db"
    assert table.stat().st_mode & 0o777 == 0o600


def test_a_registry_that_is_not_reached_is_named(client, names):
    from langsmith.sandbox import ResourceCreationError

    with pytest.raises(ResourceCreationError, match="127.0.0.1:9"):
        client.create_snapshot(names("gone"), "127.0.0.1:9/python:3", 2 * GIB)


def test_what_a_terminal_agent_asks_for_is_begun(daemon, client, names):
    """deepagents-code makes its snapshot so. The pull from Docker Hub is given up."""
    wanted = {"name": names("agent"), "docker_image": "python:3", "fs_capacity_bytes": 16 * GIB}
    with daemon.http() as http:
        answer = http.post("/v2/sandboxes/snapshots", json=wanted)
    assert answer.status_code == 201, answer.text
    begun = answer.json()
    client.delete_snapshot(begun["id"])
    assert begun["status"] == "building" and {key: begun[key] for key in wanted} == wanted


def context(folder, text):
    (folder / "Dockerfile").write_text(text)
    (folder / "greet").write_text("#!/bin/sh\necho hello\n")
    (folder / "greet").chmod(0o755)
    return folder


def test_a_dockerfile_is_built_when_its_image_is_captured(
    client, names, registry, closed, tmp_path
):
    text = f"FROM {closed}\nUSER 0\nARG WORD=none\nRUN echo $WORD > made\nCOPY greet /bin/\n"
    said = []
    made = client.create_snapshot_from_dockerfile(
        names("built"),
        "Dockerfile",
        2 * GIB,
        context=context(tmp_path, text),
        build_args={"WORD": 'a "word"'},
        on_build_log=said.append,
        timeout=int(slow(120)),
    )
    line = "cat /srv/made /srv/note; greet; id -u"
    assert output(client, made, line) == 'a "word"\nof the image\nhello\n0\n'
    assert "The build runs when the image is captured" in "".join(map(str, said))


def test_a_build_that_fails_names_the_line(client, names, registry, closed, tmp_path):
    from langsmith.sandbox import ResourceCreationError, ValidationError

    def build(text):
        client.create_snapshot_from_dockerfile(
            names("failed"), "Dockerfile", context=context(tmp_path, text), timeout=int(slow(120))
        )

    with pytest.raises(ResourceCreationError) as failed:
        build(f"FROM {closed}\nRUN echo why it failed; exit 3\n")
    assert "line 2" in str(failed.value) and "why it failed" in str(failed.value)
    with pytest.raises(ValidationError, match="line 2"):
        build(f"FROM {closed}\nNONSENSE\n")
    # No registry that this tenant saved: the Dockerfile of a sandbox gets no image from there.
    with pytest.raises(ResourceCreationError, match="127.0.0.1"):
        build("FROM 127.0.0.1:9/secret-of-the-sandbox\n")


def test_only_what_buildctl_recorded_is_an_image(client, names):
    from langsmith.sandbox import ValidationError

    with client.sandbox() as box:
        with pytest.raises(ValidationError, match="none:1"):
            client.capture_snapshot(box.name, names("none"), docker_image="none:1")
        run = "buildkitd --addr unix:///run/b.sock & until buildctl --addr unix:///run/b.sock "
        run += "debug workers; do sleep 0.05; done; docker info; kill $!; wait; docker info"
        got = box.run(run)
        assert "There is no BuildKit and no Docker engine here" in got.stdout
        assert got.exit_code != 0, "docker is there only while buildkitd runs"
        box.write("/opt/real/buildctl", b"#!/bin/sh\necho the real $*\n")
        got = box.run("chmod +x /opt/real/buildctl; PATH=$PATH:/opt/real buildctl build x")
        assert got.stdout == "the real build x\n"
        got = box.run("buildctl build --frontend dockerfile.v0")
        assert got.exit_code == 1 and "no buildkitd at" in got.stderr


def test_npm(daemon, closed):
    where = NODE / f"{NEWEST}-with"
    if not where.exists():
        pytest.skip("tools/testenv.sh has not installed the newest npm client")
    done = subprocess.run(
        ["node", HERE / "registries.cjs", where, closed, *LOGIN],
        env={**os.environ, **daemon.env, "LANGSMITH_TRACING": "false"},
        capture_output=True,
        text=True,
        timeout=slow(120),
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failed = "\n\n".join(f"{row['name']}\n{row['error']}" for row in rows if row["error"])
    assert done.returncode == 0 and not failed, failed + done.stderr[-3000:]
    assert len(rows) == 4
